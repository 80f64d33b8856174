"""The baseline without a slider: the same seed, once without and once with the shift in the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from brittle.arrays import Image
from brittle.models.load_pipeline import as_pipeline
from brittle.sliders.sampling import Progress, Sampling, draw_images
from brittle.sliders.shifts import shift_words
from brittle.sliders.slide import Draw, draw_all

TWO_SCALES = (0.0, 1.0)
"""Without the shift, and with it."""


def two_prompts(
    pipeline: Any,
    name: str,
    shift: str,
    seeds: Sequence[int] = range(1, 51),
    *,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    progress: Progress | None = None,
) -> Image:
    """ "2P" of CNS-Bench: each seed with "a picture of a NAME" and with "… in SHIFT", seeds × 2 × side × side × 3.

    The published script puts no space before "in"; here there is one.
    """
    drawing = prompting(as_pipeline(pipeline), name, shift, sampling=sampling)
    return draw_all(drawing, TWO_SCALES, seeds, batch_size, progress)


@contextmanager
def prompting(pipeline: Any, name: str, shift: str, *, sampling: Sampling | None = None) -> Iterator[Draw]:
    """A function that draws a batch of (seed, scale) pairs, where scale 0 is without the shift and 1 with it."""
    how = sampling or Sampling()
    plain = how.words(name)
    prompts = dict(zip(TWO_SCALES, (plain, f"{plain} in {shift_words(shift)}"), strict=True))

    def draw(pairs: Sequence[tuple[int, float]]) -> Image:
        return draw_images(pipeline, [prompts[scale] for _, scale in pairs], [seed for seed, _ in pairs], how)

    yield draw
