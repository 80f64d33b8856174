"""How sliders are trained and images drawn: as published, or as suits the tiny world, unless something else is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brittle.cli.slide.options import TINY

if TYPE_CHECKING:
    from brittle.sliders import Sampling


def training_settings(pipeline: str, **given: Any) -> dict[str, Any]:
    """Options for `train_slider`; those that are None were not given."""
    from brittle.sliders.world import WORLD_TRAINING

    return {**(WORLD_TRAINING if pipeline == TINY else {}), **_said(given)}


def sampling_settings(pipeline: str, **given: Any) -> Sampling:
    """A `Sampling`; options that are None were not given."""
    from dataclasses import replace

    from brittle.sliders import Sampling
    from brittle.sliders.world import WORLD_SAMPLING

    return replace(WORLD_SAMPLING if pipeline == TINY else Sampling(), **_said(given))


def _said(given: dict[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in given.items() if value is not None}
