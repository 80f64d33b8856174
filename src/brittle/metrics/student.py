"""Student's t distribution."""

from __future__ import annotations

import math

from brittle.metrics.incomplete_beta import beta_quantile, incomplete_beta


def t_two_sided(t: float, degrees: int) -> float:
    """The probability of a value at least as far from 0 as t."""
    return float(incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)))


def t_quantile(probability: float, degrees: int) -> float:
    """The value below which t lies with that probability, for probabilities of at least a half."""
    if not 0.5 <= probability < 1:
        raise ValueError(f"the probability must lie between 0.5 and 1, got {probability!r}")
    x = float(beta_quantile(2 * (1 - probability), degrees / 2, 0.5))
    return math.sqrt(degrees * (1 - x) / x)
