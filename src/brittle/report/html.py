"""The page's HTML: tags whose text is escaped, and its colours and style."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from brittle.benchmarks import Level, ends
from brittle.metrics import Estimate
from brittle.plots import (
    DARK,
    FAMILY_COLOURS,
    HEAT,
    LIGHT,
    MODEL_COLOURS,
    SHIFT,
    STEPS,
    colour_scale,
    on_dark,
    on_light,
    readable_on,
)


def theme_css() -> str:
    """The colours as variables. Dark ones are for screens alone, so paper is always light."""
    light, dark = _block(0), _block(1)
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
        + "".join(f".m{i}{{--c:var(--m{i})}}" for i in range(len(MODEL_COLOURS)))
        + "".join(f".f-{family}{{--f:var(--f-{family})}}" for family in FAMILY_COLOURS)
        + "".join(f".{k}{i}{{background:var(--{k}{i});color:var(--{k}{i}t)}}" for k in "hd" for i in range(STEPS + 1))
        + "\n"
    )


def _block(dark: int) -> str:
    named = dict(DARK if dark else LIGHT)
    shown = on_dark if dark else on_light
    named |= {f"m{i}": shown(colour) for i, colour in enumerate(MODEL_COLOURS)}
    named |= {f"f-{family}": shown(colour) for family, colour in FAMILY_COLOURS.items()}
    for key, anchors in (("h", HEAT[dark]), ("d", SHIFT[dark])):
        for i, colour in enumerate(colour_scale(anchors)):
            named |= {f"{key}{i}": colour, f"{key}{i}t": readable_on(colour)}
    return "".join(f"--{name}:{value};" for name, value in named.items())


DASHES = (None, "6 3", "2 2.5", "8 3 2 3", "10 4", "4 2 1 2 1 2")


@dataclass(frozen=True)
class ModelStyle:
    """The place of a model among those of the page, best first; the first few have a colour, the others are grey."""

    place: int

    @property
    def shown(self) -> bool:
        """Whether it has a colour of its own."""
        return self.place < len(MODEL_COLOURS)

    @property
    def name(self) -> str:
        """The CSS class."""
        return f"m{self.place}" if self.shown else "rest"

    @property
    def dash(self) -> str | None:
        """The line style."""
        return DASHES[self.place] if self.shown else None

    def marker(self, x: float, y: float, size: float = 3.2) -> Html:
        """The marker at a point of a drawing."""
        if self.place % len(MODEL_COLOURS) == 0:
            return tag("circle", cx=fmt(x), cy=fmt(y), r=fmt(size), class_="mark")
        corners = _CORNERS[self.place % len(MODEL_COLOURS)]
        path = "M" + "L".join(f"{fmt(x + size * dx)} {fmt(y + size * dy)}" for dx, dy in corners) + "Z"
        return tag("path", d=path, class_="mark")

    def swatch(self) -> Html:
        """A piece of the line with its marker, for legends."""
        line = tag("line", x1=1, y1=6, x2=27, y2=6, class_="line", stroke_dasharray=self.dash)
        return tag(
            "svg",
            line,
            self.marker(14, 6, 4) if self.shown else None,
            class_=f"swatch {self.name}",
            viewBox="0 0 28 12",
            width=28,
            height=12,
            aria_hidden="true",
        )


_CORNERS = (
    (),
    ((-0.95, -0.95), (0.95, -0.95), (0.95, 0.95), (-0.95, 0.95)),
    ((0, -1.25), (1.15, 0.85), (-1.15, 0.85)),
    ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    ((0, 1.25), (1.15, -0.85), (-1.15, -0.85)),
    ((-0.4, -1.3), (0.4, -1.3), (0.4, -0.4), (1.3, -0.4), (1.3, 0.4), (0.4, 0.4), (0.4, 1.3), (-0.4, 1.3), (-0.4, 0.4),
     (-1.3, 0.4), (-1.3, -0.4), (-0.4, -0.4)),
)  # fmt: skip


class ModelStyles:
    """The look of every model of the page, the same in all its parts."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = list(order)
        self._of = {model: ModelStyle(place) for place, model in enumerate(self.order)}

    def __getitem__(self, model: str) -> ModelStyle:
        return self._of[model]

    def legend(self, models: Sequence[str]) -> Html | None:
        """Who is who; nothing if there is only one."""
        if len(models) < 2:
            return None
        shown = [model for model in models if self[model].shown]
        items = [tag("li", self[model].swatch(), model) for model in shown]
        rest = len(models) - len(shown)
        if rest:
            items.append(
                tag("li", ModelStyle(len(MODEL_COLOURS)).swatch(), f"{rest} other model{'s' if rest > 1 else ''}")
            )
        return tag("ul", *items, class_="legend")


def fmt(value: float) -> str:
    """A length with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


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
