"""A parser that forgives nothing: what it accepts, every browser reads the same way."""

import base64
import re
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
from PIL import Image

VOID = {"br", "hr", "img", "input", "meta", "wbr"}


class StrictHtml(HTMLParser):
    """Checks balance, ids, links and resources while it reads; keeps words, tags and pictures."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.titles: list[str] = []
        self.pictures: list[np.ndarray] = []
        assert page.startswith("<!doctype html>\n")
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        assert len(set(self.ids)) == len(self.ids), "an id twice"
        assert set(self.links) <= set(self.ids), "a link to nowhere"

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.tags.append(tag)
        values = dict(attrs)
        assert len(values) == len(attrs), f"an attribute twice in <{tag}>"
        for name, value in attrs:
            assert re.fullmatch(r"[a-zA-Z][a-zA-Z-]*\d?", name), f"an odd attribute {name!r}"
            assert not name.startswith("on"), name
            if name == "id":
                self.ids.append(value)
            elif name in ("title", "aria-label"):
                self.titles.append(value)
            elif name == "href":
                assert value.startswith("#"), value
                self.links.append(value[1:])
            elif name == "src":
                kind, _, data = value.partition(";base64,")
                assert kind in ("data:image/png", "data:image/webp"), kind
                self.pictures.append(np.asarray(Image.open(BytesIO(base64.b64decode(data, validate=True)))))
        if tag == "img":
            assert values["alt"]
            assert "src" in values
        if tag == "svg":
            assert values.get("aria-hidden") or (values["role"] == "img" and values["aria-label"])
        assert tag not in ("link", "iframe", "object", "embed", "base")

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside in ("style", "script"):
            assert not re.search(r"https?:|//[a-z]|@import|url\(", data)
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())
