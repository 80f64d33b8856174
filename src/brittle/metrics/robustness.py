"""How much accuracy a corruption leaves: as a ratio (NOC) or as a drop (Syn2Nat, CNS-Bench)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import Floats, divide, fractions


def robustness_score(accuracy: ArrayLike, clean_accuracy: ArrayLike) -> Floats:
    """R = A(c) / A(clean) of NOC, each model divided by its own clean accuracy.

    1 is no harm. It means something only if the clean accuracy is decent: an untrained model scores 1.
    """
    return divide(
        fractions(accuracy, "the accuracy"), fractions(clean_accuracy, "the clean accuracy"), "the clean accuracy"
    )


def accuracy_drop(accuracy: ArrayLike, clean_accuracy: ArrayLike) -> Floats:
    """A(clean) − A(c), cell by cell. 0 is no harm, and a negative drop is a gain."""
    return np.asarray(fractions(clean_accuracy, "the clean accuracy") - fractions(accuracy, "the accuracy"))


def residual_robustness(accuracy: ArrayLike, clean_accuracy: ArrayLike) -> Floats:
    """The mean accuracy drop over the corruptions of a benchmark, on the last axis (Syn2Nat). Lower is better."""
    clean = np.asarray(clean_accuracy, dtype=np.float64)
    return np.asarray(accuracy_drop(accuracy, clean[..., np.newaxis]).mean(axis=-1))
