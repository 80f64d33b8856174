"""Figures for papers and notebooks, and the colours that they share with the report."""

from brittle.plots.colours import (
    DARK,
    FAMILY_COLOURS,
    HEAT,
    LIGHT,
    MODEL_COLOURS,
    SHIFT,
    STEPS,
    colour_scale,
    contrast_ratio,
    mix_colours,
    on_dark,
    on_light,
    ramp_step,
    readable_on,
)

__all__ = [
    "DARK",
    "FAMILY_COLOURS",
    "HEAT",
    "LIGHT",
    "MODEL_COLOURS",
    "SHIFT",
    "STEPS",
    "colour_scale",
    "contrast_ratio",
    "mix_colours",
    "on_dark",
    "on_light",
    "ramp_step",
    "readable_on",
]
