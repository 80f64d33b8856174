"""The colours and letters of a figure. Literal colours and no variables, so that simple viewers show them too."""

from __future__ import annotations

from collections.abc import Mapping

from brittle.report.page.markup import Html
from brittle.report.page.palette import DARK, LIGHT, MODELS, SHIFT, on_dark, on_light, readable_on, scale

OVERLAP = (("#f6f3ec", "#a9c6e2", "#1c4f8c"), ("#23282d", "#2f5f92", "#a8d0fb"))
"""From no overlap to the same thing, light and dark."""

RAMPS = {"o": OVERLAP, "d": SHIFT}
"""A sequential ramp and a diverging one, by the letter of their classes."""

FAMILY = "system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif"
LETTER = 0.57
"""The width of a letter in heights, on average and rather too wide."""


def width_of(text: str, size: float) -> float:
    """About how wide a text is."""
    return LETTER * size * len(text)


def css() -> Html:
    """The style sheet: light, and dark where the reader prefers that."""
    letters = f"text{{font-family:{FAMILY};font-size:13px}}.title{{font-size:20px;font-weight:600}}"
    sizes = ".note{font-size:14px}.number{font-size:11px;text-anchor:middle}.big{font-size:13px}"
    sizes += ".end{text-anchor:end}.mid{text-anchor:middle}.small{font-size:12px}"
    lines = (
        ".grid{stroke-width:1}.line{fill:none;stroke-width:2;stroke-linejoin:round}.block{fill:none;stroke-width:2}"
        ".target{stroke-width:1;stroke-dasharray:4 3}.bracket{fill:none;stroke-width:1.5}.strong{font-weight:600}"
    )
    light, dark = (_colours(theme, place) for place, theme in enumerate((LIGHT, DARK)))
    return Html(f"{letters}{sizes}{lines}\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}")


def _colours(theme: Mapping[str, str], place: int) -> str:
    rules = {
        "text": f"fill:{theme['ink']}",
        ".note,.soft": f"fill:{theme['soft']}",
        ".ground": f"fill:{theme['ground']}",
        ".self": f"fill:{theme['line']}",
        ".grid": f"stroke:{theme['line']}",
        ".hatch": f"stroke:{theme['rest']}",
        ".line,.block": f"stroke:{theme['accent']}",
        ".bracket": f"stroke:{theme['soft']}",
        ".mark,.bar": f"fill:{theme['accent']}",
        ".band": f"fill:{theme['accent']};fill-opacity:.16",
        ".target": f"stroke:{theme['bad']}",
        ".bad": f"fill:{theme['bad']}",
        ".rest": f"fill:{theme['rest']}",
    }
    shown = on_dark if place else on_light
    for number, name in enumerate((*MODELS, theme["rest"])):
        own = f".m{number}" if number < len(MODELS) else ".rest"
        colour = shown(name) if number < len(MODELS) else name
        rules |= {f"{own} .line": f"stroke:{colour}", f"{own} .mark": f"fill:{colour}"}
        rules |= {f"{own} .band": f"fill:{colour}", f"{own} .column": f"fill:{colour};fill-opacity:.4"}
    for letter, anchors in RAMPS.items():
        for step, colour in enumerate(scale(anchors[place])):
            rules[f".{letter}{step}"] = f"fill:{colour}"
            rules[f"text.{letter}{step}t"] = f"fill:{readable_on(colour)}"
    return "".join(f"{name}{{{rule}}}" for name, rule in rules.items())
