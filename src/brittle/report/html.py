"""HTML and numbers as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from brittle.benchmarks import Level, ends
from brittle.metrics import Estimate

VOID = frozenset(("br", "hr", "img", "input", "meta"))


class Html(str):
    """Markup. Any other text that goes into a tag is escaped."""

    __slots__ = ()


Child = str | int | None | Iterable[Any]


def concat(*children: Child) -> Html:
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
    return Html(f"<{head}>") if name in VOID else Html(f"<{head}>{concat(*children)}</{name}>")


def breakable(name: str) -> Html:
    """A name that may be broken after its underscores."""
    first, *rest = name.split("_")
    return concat(first, *(concat("_", Html("<wbr>"), piece) for piece in rest))


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int):
        return escape(str(child))
    return "".join(map(_text, child))


THIN = "\u202f"
"""A narrow space that does not break."""


def percent(value: float) -> str:
    """0.5721 is "57.2 %"."""
    return f"{tenths(value)}{THIN}%" if math.isfinite(value) else "–"


def tenths(value: float) -> str:
    """0.5721 is "57.2"."""
    return f"{100 * value:.1f}".replace("-", "−") if math.isfinite(value) else "–"


def signed(value: float) -> str:
    """0.141 is "+14.1", and what rounds to nothing has no sign."""
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def interval(estimate: Estimate, *, sign: bool = False) -> str:
    """The two ends in percents, "[55.3, 59.3]"."""
    if estimate.low is None or estimate.high is None or not math.isfinite(estimate.low + estimate.high):
        return ""
    write = signed if sign else tenths
    return f"[{write(estimate.low)},\u00a0{write(estimate.high)}]"


def count(number: int, one: str, many: str = "") -> str:
    """1 is "1 image", 1000 is "1,000 images"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: list[str], last: str = "and") -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""


def p_value(p: float) -> str:
    """Two digits, down to a thousandth."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def severity(level: Level) -> str:
    """2.0 is "2", 2.5 is "2.5", and a range is "1–5"."""
    return "–".join(f"{end:.4g}" for end in dict.fromkeys(ends(level)))


OPEN = 6
"""So many views are open without the script, and printed; the others can be opened."""


def views(label: str, items: Sequence[tuple[str, Html]]) -> Html:
    """Named views, the first one shown; a single one needs no switch."""
    if len(items) == 1:
        return items[0][1]
    shown = [
        tag("details", tag("summary", name), body, class_="view", open=i < OPEN) for i, (name, body) in enumerate(items)
    ]
    return tag("div", *shown, class_="views", data_label=label)
