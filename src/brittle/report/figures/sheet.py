"""The paper a figure is drawn on: a ground, a title, a note, and a sentence for those who cannot see it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from textwrap import wrap

from brittle.report.figures.look import LETTER, css
from brittle.report.page.markup import Child, Html, tag

WIDTH = 900
MARGIN = 20
NOTE = 19
"""From one line of the note to the next."""


def sheet(title: str, note: str, body: Child, *, width: float, height: float, label: str = "") -> Html:
    """A whole SVG file; the body is drawn below the title and the note, from its own 0, 0."""
    width = max(width, WIDTH * 2 / 3)
    lines = wrap(note, int((width - 2 * MARGIN) / (14 * LETTER * 0.92)))
    top = 44 + NOTE * len(lines) + 14
    words = [tag("text", line, x=MARGIN, y=44 + NOTE * (i + 1) - 3, class_="note") for i, line in enumerate(lines)]
    across, down = math.ceil(width), math.ceil(top + height + MARGIN)
    return tag(
        "svg",
        tag("title", label or title),
        tag("style", css()),
        tag("defs", _hatch()),
        tag("rect", width=across, height=down, class_="ground"),
        tag("text", title, x=MARGIN, y=36, class_="title"),
        words,
        tag("g", body, transform=f"translate(0 {top})"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {across} {down}",
        width=across,
        height=down,
        role="img",
    )


def short_names(names: Iterable[str]) -> list[str]:
    """Names without the set they come from, if that is the same for all."""
    given = list(names)
    plain = [name.rpartition("/")[2] for name in given]
    return plain if len({name.rpartition("/")[0] for name in given}) == 1 else given


def _hatch() -> Html:
    line = tag("path", d="M0 6L6 0", class_="hatch")
    return tag("pattern", line, id="hatch", width=6, height=6, patternUnits="userSpaceOnUse")
