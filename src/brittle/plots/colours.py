"""The colours of figures, reports and the explorer: readable on their grounds, with any colour vision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_ROLES = {
    "ground": ("#fcfbf9", "#15181b"),
    "panel": ("#ffffff", "#1c2024"),
    "sunk": ("#f3f1ec", "#23282d"),
    "ink": ("#1d2024", "#e9e7e2"),
    "soft": ("#5b6168", "#a5abb2"),
    "line": ("#e2dfd8", "#343a40"),
    "accent": ("#1f5aa8", "#86b6f2"),
    "rest": ("#a9adb2", "#666d75"),
    "good": ("#1f6f43", "#7fcf9f"),
    "bad": ("#a8321b", "#f29a80"),
}
LIGHT, DARK = ({role: pair[i] for role, pair in _ROLES.items()} for i in (0, 1))
MODEL_COLOURS = ("#1f5aa8", "#c2570c", "#0f766e", "#8b3fb0", "#a3333d", "#6b6a00")
DASHES: tuple[Any, ...] = (
    "-", (0, (3, 1.5)), (0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)), (0, (5, 2)), (0, (2, 1, 0.5, 1, 0.5, 1)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Each colour comes with a line style and a marker of its own; models beyond these are grey."""

STEPS = 20
"""Heat maps have this many steps, and one more."""

HEAT = (("#a8321b", "#efb28f", "#faf6ef"), ("#e8765a", "#7a4331", "#262b30"))
"""From nothing right to everything right, light and dark: failures stand out."""

SHIFT = (("#b4501e", "#faf6ef", "#3f7cc4"), ("#d9784a", "#262b30", "#6fa3e0"))
"""From worse to better than another model."""

OVERLAP = ("#f6f3ec", "#a9c6e2", "#1c4f8c")
"""From no overlap to the same thing."""

FAMILY_COLOURS = {
    "noise": "#c2410c",
    "blur": "#6d4bc3",
    "weather": "#0b7fab",
    "digital": "#2f7d32",
    "colour": "#b8256e",
    "geometry": "#946200",
    "occlusion": "#4b5563",
}
"""Dark enough to be read as text on white, and distinguishable by people with any colour vision beside their names."""


def series_style(place: int) -> dict[str, Any]:
    """The colour, dashes and marker of a series by its place; those after the sixth are grey and without a marker."""
    if place >= len(MODEL_COLOURS):
        return {"color": LIGHT["rest"], "linestyle": "-", "marker": "", "linewidth": 0.9}
    return {"color": MODEL_COLOURS[place], "linestyle": DASHES[place], "marker": MARKERS[place]}


def colour_scale(anchors: Sequence[str]) -> list[str]:
    """STEPS + 1 colours through the anchors."""
    colours = []
    for i in range(STEPS + 1):
        at = i / STEPS * (len(anchors) - 1)
        left = min(int(at), len(anchors) - 2)
        colours.append(mix_colours(anchors[left], anchors[left + 1], at - left))
    return colours


def ramp_step(share: float) -> int:
    """The step of a share between 0 and 1."""
    return round(STEPS * min(max(share, 0.0), 1.0))


def on_light(colour: str) -> str:
    """The colour, made darker until it can be read on the light ground."""
    return _readable(colour, "#000000", LIGHT["ground"], 4.5)


def on_dark(colour: str) -> str:
    """The colour, made lighter until it can be read on the dark panels."""
    return _readable(colour, "#ffffff", DARK["panel"], 6.0)


def _readable(colour: str, towards: str, ground: str, wanted: float) -> str:
    shades = (mix_colours(colour, towards, part / 20) for part in range(20))
    return next((shade for shade in shades if contrast_ratio(shade, ground) >= wanted), towards)


def readable_on(colour: str) -> str:
    """Black or white, whichever can be read better; on any colour one of them has a contrast of at least 4.58."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast_ratio(ink, colour))


def mix_colours(first: str, second: str, share: float) -> str:
    """So much of the second colour in the first."""
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def contrast_ratio(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21; text needs 4.5."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(colour: str) -> float:
    linear = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
