"""The errors of a benchmark in one number: unnormalised error, mCE and relative mCE.

"CE" means three things in the literature, so each has its own function and its own name here. Errors are
fractions; the last axis is the corruption, each entry the mean error over that corruption's severities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import Floats, divide, fractions


def unnormalised_error(errors: ArrayLike) -> Floats:
    """The plain mean of the errors over corruptions, with no reference model: what C-bar prints."""
    return np.asarray(fractions(errors, "the error").mean(axis=-1))


def corruption_errors(errors: ArrayLike, baseline: ArrayLike) -> Floats:
    """E(c) / E_baseline(c) for each corruption: the terms of mCE (Hendrycks and Dietterich, 2019)."""
    below = fractions(baseline, "the baseline error")
    return divide(_matching(fractions(errors, "the error"), below), below, "a baseline error")


def mce(errors: ArrayLike, baseline: ArrayLike) -> Floats:
    """mCE: the mean over corruptions of the error divided by the baseline's. 1 is as bad as the baseline."""
    return np.asarray(corruption_errors(errors, baseline).mean(axis=-1))


def relative_corruption_errors(
    errors: ArrayLike, clean_error: ArrayLike, baseline: ArrayLike, baseline_clean_error: float
) -> Floats:
    """(E(c) − E(clean)) / (E_baseline(c) − E_baseline(clean)): the terms of relative mCE.

    NOC prints these, times 100, under the name CE.
    """
    clean = fractions(clean_error, "the clean error")[..., np.newaxis]
    below = fractions(baseline, "the baseline error") - fractions(baseline_clean_error, "the baseline's clean error")
    above = _matching(fractions(errors, "the error"), below) - clean
    return divide(above, below, "a baseline error minus the baseline's clean error")


def relative_mce(errors: ArrayLike, clean_error: ArrayLike, baseline: ArrayLike, baseline_clean_error: float) -> Floats:
    """Relative mCE: how much corruptions add to the error, compared with what they add to the baseline's."""
    return np.asarray(relative_corruption_errors(errors, clean_error, baseline, baseline_clean_error).mean(axis=-1))


def errors_from_relative(
    relative: ArrayLike, clean_error: ArrayLike, baseline: ArrayLike, baseline_clean_error: float
) -> Floats:
    """Back from relative corruption errors (1 = the baseline's) to errors, to read tables that print no others."""
    gap = fractions(baseline, "the baseline error") - fractions(baseline_clean_error, "the baseline's clean error")
    scores = _matching(np.asarray(relative, dtype=np.float64), gap)
    return np.asarray(fractions(clean_error, "the clean error")[..., np.newaxis] + scores * gap)


def _matching(errors: Floats, baseline: Floats) -> Floats:
    if errors.shape[-1:] != baseline.shape[-1:]:
        raise ValueError(
            f"the last axis is the corruption, of equal length in both; got errors of shape {errors.shape} and a "
            f"baseline of shape {baseline.shape}"
        )
    return errors
