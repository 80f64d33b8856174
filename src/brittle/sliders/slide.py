"""Images of a class on the way from unshifted to shifted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.models.load_pipeline import as_pipeline
from brittle.sliders.adapter import late, slider_on
from brittle.sliders.check_whole import check_whole
from brittle.sliders.sampling import Progress, Sampling, check_seeds, draw_images
from brittle.sliders.shifts import SCALES
from brittle.sliders.slider import Slider

Draw = Callable[[Sequence[tuple[int, float]]], Image]
"""One batch of images for pairs of seed and scale."""


def slide(
    pipeline: Any,
    slider: Slider,
    scales: Sequence[float] = SCALES,
    seeds: Sequence[int] = range(1, 51),
    *,
    active: float = 0.75,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    progress: Progress | None = None,
) -> Image:
    """The images of each seed at each scale, seeds × scales × side × side × 3.

    The same seed gives the same noise at every scale, so one row is one picture on its way. Any real scale will do,
    negative ones too. With a batch of 1, images at scale 0 are those of the plain pipeline, bit for bit; larger
    batches, which mix scales and seeds, may differ in the last bit of a colour, and are faster on a GPU.

    Args:
        pipeline: a Stable Diffusion pipeline of diffusers, or its folder.
        active: the slider is on where the timestep is at most this share of all timesteps, and off in the noisier ones
            before, where the composition of an image is decided.
        sampling: prompts, guidance, steps and scheduler.
    """
    drawing = sliding(as_pipeline(pipeline), slider, active=active, sampling=sampling)
    return draw_all(drawing, scales, seeds, batch_size, progress)


@contextmanager
def sliding(pipeline: Any, slider: Slider, *, active: float = 0.75, sampling: Sampling | None = None) -> Iterator[Draw]:
    """A function that draws a batch of (seed, scale) pairs, while the slider is on the pipeline."""
    if not 0 <= active <= 1:
        raise ValueError(f"active is a share of the timesteps between 0 and 1, got {active!r}")
    how = sampling or Sampling()
    words = how.words(slider.prompt)
    timesteps = int(pipeline.scheduler.config.num_train_timesteps)
    with slider_on(pipeline, slider) as adapter:

        def draw(pairs: Sequence[tuple[int, float]]) -> Image:
            seeds, scales = [seed for seed, _ in pairs], [scale for _, scale in pairs]
            with late(adapter, scales, active=active, timesteps=timesteps):
                return draw_images(pipeline, [words] * len(pairs), seeds, how)

        yield draw


def draw_all(
    drawing: AbstractContextManager[Draw],
    scales: Sequence[float],
    seeds: Sequence[int],
    batch_size: int,
    progress: Progress | None,
) -> Image:
    """Every seed at every scale, batch by batch."""
    at, several = check_scales(scales), check_seeds(seeds)
    check_whole(batch_size=(batch_size, 1))
    pairs = [(seed, scale) for seed in several for scale in at]
    found: list[Image] = []
    with drawing as draw:
        for start in range(0, len(pairs), batch_size):
            found.extend(draw(pairs[start : start + batch_size]))
            if progress is not None:
                progress(len(found), len(pairs))
    return np.stack(found).reshape(len(several), len(at), *found[0].shape)


def check_scales(scales: Sequence[float]) -> list[float]:
    """Scales as distinct finite numbers."""
    found = [float(scale) for scale in scales]
    if not found or not all(map(math.isfinite, found)) or len(set(found)) != len(found):
        raise ValueError(f"scales are distinct numbers, as 0, 0.5, 1, 1.5, 2, 2.5; got {scales!r}")
    return found
