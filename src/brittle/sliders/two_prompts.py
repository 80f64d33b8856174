"""The baseline without a slider: the same seed, once without and once with the shift in the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.models.load_pipeline import as_pipeline
from brittle.sliders.check_whole import check_whole
from brittle.sliders.sampling import Progress, Sampling, check_seeds, draw_images
from brittle.sliders.shifts import shift_words
from brittle.sliders.slide import Draw


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
    pipeline = as_pipeline(pipeline)
    several = check_seeds(seeds)
    check_whole(batch_size=(batch_size, 1))
    pairs = [(seed, scale) for seed in several for scale in (0.0, 1.0)]
    found: list[Image] = []
    with prompting(pipeline, name, shift, sampling=sampling) as draw:
        for start in range(0, len(pairs), batch_size):
            found.extend(draw(pairs[start : start + batch_size]))
            if progress is not None:
                progress(len(found), len(pairs))
    return np.stack(found).reshape(len(several), 2, *found[0].shape)


@contextmanager
def prompting(pipeline: Any, name: str, shift: str, *, sampling: Sampling | None = None) -> Iterator[Draw]:
    """A function that draws a batch of (seed, scale) pairs, where scale 0 is without the shift and 1 with it."""
    how = sampling or Sampling()
    prompts = {0.0: how.words(name), 1.0: f"{how.words(name)} in {shift_words(shift)}"}

    def draw(pairs: Sequence[tuple[int, float]]) -> Image:
        return draw_images(pipeline, [prompts[scale] for _, scale in pairs], [seed for seed, _ in pairs], how)

    yield draw
