"""Overlapping scores with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.benchmarks import Benchmark
from brittle.design.overlap_matrix import OverlapMatrix, names_and_recipe
from brittle.design.overlap_score import FLOOR, Form, check_table, from_gains, gains_of, scores_of
from brittle.metrics.bootstrap import means, resampled_means
from brittle.metrics.fraction import check_level, fractions, right_or_wrong


def overlap_with_intervals(
    correct: ArrayLike,
    names: Sequence[str] | Benchmark,
    *,
    form: Form = "ratio",
    floor: float = FLOOR,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> OverlapMatrix:
    """The overlap matrix with a percentile bootstrap interval for each entry.

    `correct` says right or wrong for (k+1) models × (k+1) test sets × samples, in the order of `overlap_matrix`, the
    same samples in every cell; with several levels a corruption, the share of them that is right, as `correct_cube`
    gives it. `names` are those of the corruptions, or their recipe, which the matrix then carries. Whole samples are
    drawn, so what the cells share stays shared. A resample in which a native gain vanishes leaves the score open: it
    counts as 0 at the low end and as infinite at the high end. The intervals say how far other test images would move
    the score, not how far another training would.
    """
    named, candidates = names_and_recipe(names)
    cells, side = right_or_wrong_cells(correct), len(named) + 1
    if cells.ndim != 3 or cells.shape[:2] != (side, side):
        raise ValueError(
            f"{len(named)} corruptions need {side} models × {side} test sets × samples, got shape {cells.shape}"
        )
    tail = (1 - check_level(level)) / 2
    rows = cells.reshape(side * side, -1).T
    gains, native = gains_of(check_table(means(rows).reshape(side, side), named), form)
    found = from_gains(gains, native, named, floor, candidates)
    try:
        drawn = resampled_means(rows, seed=seed, resamples=resamples).reshape(-1, side, side)
        scores = scores_of(*gains_of(drawn, form), floor)
    except ValueError as error:
        raise ValueError(f"the overlap is undefined in a resample ({error}); it needs more samples") from error
    first, last = math.floor(tail * (resamples - 1)), math.ceil((1 - tail) * (resamples - 1))
    low = np.sort(np.where(np.isnan(scores), 0, scores), axis=0)[first]
    high = np.sort(np.where(np.isnan(scores), np.inf, scores), axis=0)[last]
    unknown = np.isnan(found.scores)
    low, high = (np.where(unknown, np.nan, end) for end in (low, high))
    return replace(found, low=low, high=high)


def right_or_wrong_cells(correct: ArrayLike) -> NDArray[np.generic]:
    """Right or wrong, or the share of the levels of a corruption at which an image is right."""
    cells = np.asarray(correct)
    return fractions(cells, "the share that is right") if cells.dtype.kind == "f" else right_or_wrong(cells)
