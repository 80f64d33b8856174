"""The numbers that a page shows, by section and label, whatever its markup is.

Only what HTML means is looked at: sections with ids, headings, tables, lists of terms, and the tips of charts. The ids
of sections are those of the page; within one, a number is known by the headings above it and its row and column, its
term, or the first line of its tip.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "meta", "wbr"}
LEVELS = {"summary": 0, "h4": 1, "h5": 2, "figcaption": 3}
SILENT = {"style", "script", "button", "select", "nav"}
NUMBER = re.compile(r"[+−-]?\d[\d,]*(?:\.\d+)?")

Facts = dict[str, dict[str, list[str]]]


@dataclass
class Node:
    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: "list[Node | str]" = field(default_factory=list)

    def all(self, *names: str) -> "list[Node]":
        inner = [child for child in self.children if isinstance(child, Node)]
        return [node for child in inner for node in (*([child] if child.name in names else []), *child.all(*names))]

    @property
    def text(self) -> str:
        """The text as it is read: a tag parts two words, except where it only allows a line to break."""
        parts = [child if isinstance(child, str) else "" if child.name == "wbr" else f" {child.text} "
                 for child in self.children]  # fmt: skip
        return tidy("".join(parts))


def tidy(text: str) -> str:
    return " ".join(text.split())


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("root")
        self.open = [self.root]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop().name != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(page: str) -> Node:
    """The page as a tree."""
    return _Reader(page).root


def shown_numbers(page: str) -> Facts:
    """By the id of a section, and the label of a number, what stands there; labels may come again and again."""
    facts: Facts = {}
    for section in parse(page).all("section"):
        key = section.attributes.get("id") or ""
        if re.fullmatch(r"part\d+-\w+", key):
            _walk(section, {}, facts.setdefault(key, {}))
    return facts


def lacking(before: Facts, after: Facts) -> list[str]:
    """What the first page shows and the second does not."""
    lost = []
    for section, labels in before.items():
        for label, values in labels.items():
            missing = Counter(values) - Counter(after.get(section, {}).get(label, []))
            lost += [f"{section}: {label}: {value}" for value in missing.elements()]
    return lost


def _note(facts: dict[str, list[str]], above: dict[int, str], label: str, value: str) -> None:
    if NUMBER.search(value):
        facts.setdefault(" | ".join([*(above[level] for level in sorted(above)), label]), []).append(value)


def _walk(parent: Node, above: dict[int, str], facts: dict[str, list[str]]) -> None:
    above = dict(above)
    prose: list[str] = []
    for child in parent.children:
        if isinstance(child, str):
            prose.append(child)
            continue
        _tips(child, above, facts)
        if child.name in LEVELS:
            level = LEVELS[child.name]
            for number in NUMBER.findall(child.text):
                _note(facts, {known: text for known, text in above.items() if known < level}, "in headings", number)
            above = {known: text for known, text in above.items() if known < level} | {level: _title(child)}
        elif child.name == "table":
            for label, value in table(child):
                _note(facts, above, label, value)
        elif child.name == "dl":
            _terms(child, above, facts)
        elif child.name == "title":
            _tip(child.children[0], above, facts)  # of a chart
        elif child.name not in SILENT:
            _walk(child, above, facts)
    if parent.name not in ("text", "svg") and above:  # what stands under no heading explains, and measures nothing
        for number in NUMBER.findall(tidy(" ".join(prose))):
            _note(facts, above, "in words", number)


def _title(heading: Node) -> str:
    """What a heading calls its part; captions say more below."""
    inner = [child for child in heading.children if isinstance(child, Node)]
    return inner[0].text if heading.name == "figcaption" and inner else heading.text


def _tips(node: Node, above: dict[int, str], facts: dict[str, list[str]]) -> None:
    for name in ("title", "data-tip"):
        _tip(node.attributes.get(name) or "", above, facts)


def _tip(text: object, above: dict[int, str], facts: dict[str, list[str]]) -> None:
    first, *rest = [tidy(line) for line in str(text).splitlines()] or [""]
    for line in rest:
        _note(facts, above, f"tip {first}", line)
    if not rest:
        _note(facts, above, "tip", first)


def _terms(node: Node, above: dict[int, str], facts: dict[str, list[str]]) -> None:
    term = ""
    for item in node.all("dt", "dd"):
        if item.name == "dt":
            term = item.text
        else:
            _note(facts, above, term, item.text)


def table(node: Node) -> list[tuple[str, str]]:
    """Every cell with its label: the heading of its row, and those of its column from the top down."""
    heads: dict[int, list[str]] = {}
    filled: set[tuple[int, int]] = set()
    cells = []
    for number, row in enumerate(node.all("tr")):
        inner, column, name, values = row.all("th", "td"), 0, "", []
        is_head = all(cell.attributes.get("scope") in ("col", "colgroup") for cell in inner)
        for cell in inner:
            while (number, column) in filled:
                column += 1
            wide, high = (int(cell.attributes.get(span) or 1) for span in ("colspan", "rowspan"))
            filled |= {(number + i, column + j) for i in range(high) for j in range(wide)}
            if is_head:
                for place in range(column, column + wide):
                    heads.setdefault(place, []).append(cell.text)
            elif cell.name == "th":
                name = cell.text
            else:
                values.append((column, cell.text))
            column += wide
        cells += [(f"{name} × {' '.join(heads.get(place, []))}", text) for place, text in values]
    return cells
