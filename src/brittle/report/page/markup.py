"""HTML that cannot forget to escape: text is always escaped, and only what was made here is markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

VOID = frozenset(("br", "hr", "img", "input", "meta"))


class Html(str):
    """Markup. Any other text that goes into a tag is escaped."""

    __slots__ = ()


Child = str | int | None | Iterable[Any]


def together(*children: Child) -> Html:
    """Children one after the other: markup as it is, text escaped, lists flattened, None left out."""
    return Html("".join(map(_text, children)))


def tag(name: str, /, *children: Child, **attributes: Any) -> Html:
    """An element; `class_` is class, `data_tip` is data-tip, and None or False leaves an attribute out."""
    head = name
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        head += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            head += f'="{escape(str(value))}"'
    return Html(f"<{head}>") if name in VOID else Html(f"<{head}>{together(*children)}</{name}>")


def breakable(name: str) -> Html:
    """A name that may be broken after its underscores."""
    first, *rest = name.split("_")
    return together(first, *(together("_", Html("<wbr>"), piece) for piece in rest))


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int):
        return escape(str(child))
    return "".join(map(_text, child))
