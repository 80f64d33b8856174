"""One colour for each family of corruptions, the same in every picture."""

from __future__ import annotations

FAMILY_COLOURS = {
    "noise": "#c2410c",
    "blur": "#6d4bc3",
    "weather": "#0b7fab",
    "digital": "#2f7d32",
    "colour": "#b8256e",
    "geometry": "#946200",
    "occlusion": "#4b5563",
}
"""Dark enough to be read as text on white, and told apart by people with any colour vision beside their names."""
