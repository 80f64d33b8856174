"""How pages look and write: colours, the style of each model, the templates, and numbers in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).parent


@cache
def page_templates() -> jinja2.Environment:
    """The templates of the report, with its filters; what a template is given is escaped.

    `base.html` is the report and, by its blocks, any other document; `macros.html` has what sections share.
    """
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    filters = (
        percent,
        tenths,
        thousandths,
        signed,
        interval,
        count,
        listed,
        p_value,
        severity,
        short_name,
        breakable,
        fixed,
    )
    templates.filters |= {function.__name__: function for function in filters}
    templates.globals |= {"theme_css": theme_css, "page_script": page_script, "number": number, "steps": STEPS}
    return templates


def write_block(template: str, block: str, **given: object) -> str:
    """One block of a template alone, as markup."""
    from markupsafe import Markup

    page = page_templates().get_template(template)
    return Markup("".join(page.blocks[block](page.new_context(given))))


def write_macro(name: str, *given: object) -> str:
    """What a macro makes of what it is given, as markup."""
    made: str = getattr(page_templates().get_template("macros.html").module, name)(*given)
    return made


def page_script() -> str:
    """The script of every page: theme, parts, views, sorting, tips, saving and copying."""
    return (HERE / "report.js").read_text(encoding="utf-8")


def theme_css() -> str:
    """The style of every page: its colours as variables, and its rules.

    Dark colours are for screens alone, so paper is always light.
    """
    return colours_css() + (HERE / "report.css").read_text(encoding="utf-8")


def colours_css() -> str:
    """The colours alone, for pages with rules of their own, such as the explorer's."""
    light, dark = _variables(0), _variables(1)
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
        + "".join(f".m{i}{{--c:var(--m{i})}}" for i in range(len(MODEL_COLOURS)))
        + "".join(f".f-{family}{{--f:var(--f-{family})}}" for family in FAMILY_COLOURS)
        + "".join(f".{k}{i}{{background:var(--{k}{i});color:var(--{k}{i}t)}}" for k in "hd" for i in range(STEPS + 1))
        + "\n"
    )


def _variables(dark: int) -> str:
    named = dict(DARK if dark else LIGHT)
    shown = on_dark if dark else on_light
    named |= {f"m{i}": shown(colour) for i, colour in enumerate(MODEL_COLOURS)}
    named |= {f"f-{family}": shown(colour) for family, colour in FAMILY_COLOURS.items()}
    for key, anchors in (("h", HEAT[dark]), ("d", SHIFT[dark])):
        for i, colour in enumerate(colour_scale(anchors)):
            named |= {f"{key}{i}": colour, f"{key}{i}t": readable_on(colour)}
    return "".join(f"--{name}:{value};" for name, value in named.items())


DASHES = ("", "6 3", "2 2.5", "8 3 2 3", "10 4", "4 2 1 2 1 2")
_CORNERS = (
    (),
    ((-0.95, -0.95), (0.95, -0.95), (0.95, 0.95), (-0.95, 0.95)),
    ((0, -1.25), (1.15, 0.85), (-1.15, 0.85)),
    ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    ((0, 1.25), (1.15, -0.85), (-1.15, -0.85)),
    ((-0.4, -1.3), (0.4, -1.3), (0.4, -0.4), (1.3, -0.4), (1.3, 0.4), (0.4, 0.4), (0.4, 1.3), (-0.4, 1.3), (-0.4, 0.4),
     (-1.3, 0.4), (-1.3, -0.4), (-0.4, -0.4)),
)  # fmt: skip


@dataclass(frozen=True)
class ModelStyle:
    """The place of a model among those of the page, best first; the first few have a colour, the others are grey."""

    place: int

    @property
    def shown(self) -> bool:
        """Whether it has a colour of its own."""
        return self.place < len(MODEL_COLOURS)

    @property
    def css(self) -> str:
        """The CSS class."""
        return f"m{self.place}" if self.shown else "rest"

    @property
    def dash(self) -> str:
        """The line style; empty for a full line."""
        return DASHES[self.place] if self.shown else ""

    def marker(self, x: float, y: float, size: float = 3.2) -> str:
        """The path of the marker at a point of a drawing."""
        corners = _CORNERS[self.place % len(MODEL_COLOURS)]
        if not corners:
            across = number(2 * size)
            radius = number(size)
            return (
                f"M{number(x - size)} {number(y)}a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0-{across} 0"
            )
        return "M" + "L".join(f"{number(x + size * dx)} {number(y + size * dy)}" for dx, dy in corners) + "Z"


class ModelStyles:
    """The style of every model of the page, the same in all its parts."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = list(order)
        self._of = {model: ModelStyle(place) for place, model in enumerate(self.order)}

    def __getitem__(self, model: str) -> ModelStyle:
        return self._of[model]

    def among(self, models: Sequence[str]) -> list[tuple[str, ModelStyle]]:
        """The legend of some models: those with a colour, and how many others there are; one alone needs none."""
        if len(models) < 2:
            return []
        shown = [(model, self[model]) for model in self.order if model in models and self[model].shown]
        rest = len(models) - len(shown)
        others = [(f"{rest} other model{'s' if rest > 1 else ''}", ModelStyle(len(MODEL_COLOURS)))] if rest else []
        return shown + others


def number(value: float) -> str:
    """A length with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


THIN = "\u202f"
"""A narrow space that does not break."""


def percent(value: float) -> str:
    """0.5721 is "57.2 %"."""
    return f"{tenths(value)}{THIN}%" if math.isfinite(value) else "–"


def tenths(value: float) -> str:
    """0.5721 is "57.2"."""
    return f"{100 * value:.1f}".replace("-", "−") if math.isfinite(value) else "–"


def thousandths(value: float) -> str:
    """0.5721 is "0.572"."""
    return fixed(value, 3) if math.isfinite(value) else "–"


def signed(value: float) -> str:
    """0.141 is "+14.1", and what rounds to nothing has no sign."""
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def interval(estimate: Estimate, *, sign: bool = False) -> str:
    """The two ends, "[55.3, 59.3]" in percents or "[0.123, 0.234]"."""
    if estimate.low is None or estimate.high is None or not math.isfinite(estimate.low + estimate.high):
        return ""
    write = signed if sign else tenths if estimate.percent else thousandths
    return f"[{write(estimate.low)},\u00a0{write(estimate.high)}]"


def count(amount: int, one: str, many: str = "") -> str:
    """1 is "1 image", 1000 is "1,000 images"."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else ""


def p_value(p: float) -> str:
    """Two digits, down to a thousandth."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def severity(level: Level) -> str:
    """2.0 is "2", 2.5 is "2.5", and a range is "1–5"."""
    return "–".join(f"{end:.4g}" for end in dict.fromkeys(ends(level)))


def fixed(value: float, decimals: int = 2) -> str:
    """1.5 is "1.50", and −1.5 has a minus sign."""
    return f"{value:.{decimals}f}".replace("-", "−")


def short_name(corruption: str) -> str:
    """imagenet-c/fog is "fog"."""
    return corruption.rpartition("/")[2]


def breakable(name: str) -> str:
    """A name whose line may end after its underscores."""
    from markupsafe import Markup, escape

    return Markup("_<wbr>").join(escape(piece) for piece in name.split("_"))
