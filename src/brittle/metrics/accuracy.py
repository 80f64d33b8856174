"""The share of samples that are right, and its exact interval."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.estimate import Estimate
from brittle.metrics.fraction import Floats, right_or_wrong
from brittle.metrics.proportion import clopper_pearson, wilson

Method = Literal["wilson", "clopper-pearson"]


def accuracy(correct: ArrayLike) -> Floats:
    """The share of right samples; the first axis is the sample, any others stay."""
    return np.asarray(right_or_wrong(correct).mean(axis=0))


def error(correct: ArrayLike) -> Floats:
    """The share of wrong samples; the first axis is the sample, any others stay."""
    return np.asarray(1 - accuracy(correct))


def accuracy_estimate(
    correct: ArrayLike, *, name: str = "accuracy", level: float = 0.95, method: Method = "wilson"
) -> Estimate:
    """The accuracy of one cell with its interval.

    Wilson's covers the level on average; Clopper–Pearson's covers at least the level, and is wider for that.
    """
    right = right_or_wrong(correct)
    if right.ndim != 1:
        raise ValueError(f"an estimate is of one cell, a vector of samples; got shape {right.shape}")
    if method not in ("wilson", "clopper-pearson"):
        raise ValueError(f'the interval is "wilson" or "clopper-pearson", got {method!r}')
    interval = wilson if method == "wilson" else clopper_pearson
    low, high = interval(right.sum(), right.size, level=level)
    return Estimate(name, float(right.mean()), float(low), float(high), level, right.size, method)
