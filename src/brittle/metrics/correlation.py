"""Correlations and linear fits, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_fractions, check_level
from brittle.metrics.intervals import Estimate

EXACT = 100
"""The largest number of models for which Kendall's p-value is exact; SciPy enumerates all permutations."""


@dataclass(frozen=True)
class Correlation(Estimate):
    """A correlation over models, with its interval and the two-sided p-value of no correlation."""

    p: float = math.nan

    def __str__(self) -> str:
        return f"{super().__str__()}, p = {self.p:.3g}, n = {self.n}"


def pearson(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Pearson's correlation; the interval is Fisher's, the p-value Student's."""
    a, b = _pairs(x, y)
    r = float(correlate(a, b))
    return _estimate("Pearson correlation", r, 1.0, 3, _student(r, len(a)), len(a), level)


def spearman(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Spearman's rank correlation, ties sharing their mean rank; the interval is Bonett and Wright's (2000)."""
    a, b = _pairs(x, y)
    r = float(correlate(mean_ranks(a), mean_ranks(b)))
    return _estimate("Spearman correlation", r, 1 + r * r / 2, 3, _student(r, len(a)), len(a), level)


def kendall(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Kendall's τ-b; the interval is Fieller's (1957), the p-value exact unless there are ties or many models."""
    from scipy.stats import kendalltau

    a, b = _pairs(x, y)
    ties = len(np.unique(a)) < len(a) or len(np.unique(b)) < len(b)
    tau = kendalltau(a, b, method="asymptotic" if ties or len(a) > EXACT else "exact")
    return _estimate("Kendall correlation", float(tau.statistic), 0.437, 4, float(tau.pvalue), len(a), level)


def correlate(x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's correlation along the last axis."""
    a, b = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    return np.asarray(np.clip((a * b).sum(axis=-1) / scale, -1, 1))


def mean_ranks(x: FloatArray) -> FloatArray:
    """Ranks from 1, ties sharing their mean, along the last axis."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(x, axis=-1))


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or len(a) < 3:
        raise BrittleError(f"a correlation needs three or more pairs, got shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        row = int(np.flatnonzero(~(np.isfinite(a) & np.isfinite(b)))[0])
        raise BrittleError(
            f"a correlation needs finite numbers, and pair {row} is {a[row]:g} and {b[row]:g}; leave out models with a "
            "missing value"
        )
    for side in (a, b):
        if (side == side[0]).all():
            raise BrittleError(f"all values of one side are {side[0]:g}, so there is no correlation")
    return a, b


def _student(r: float, n: int) -> float:
    """Student's two-sided p-value: n − 2 degrees of freedom, t = r √((n − 2) / (1 − r²))."""
    from scipy.special import stdtr

    return 0.0 if abs(r) == 1 else 2 * float(stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / (1 - r * r))))


def _estimate(name: str, r: float, variance: float, lost_df: int, p: float, n: int, level: float) -> Correlation:
    """The interval in Fisher's z = artanh r, whose variance is about variance / (n − lost_df)."""
    quantile = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    if n <= lost_df:
        low, high = -1.0, 1.0
    elif abs(r) == 1:
        low = high = r
    else:
        half = quantile * math.sqrt(variance / (n - lost_df))
        low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return Correlation(name, r, low, high, level, n, "Fisher z", percent=False, p=p)


AXES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "linear": lambda p: p,
    "probit": lambda p: _probit(p),
    "logit": lambda p: np.log(p) - np.log1p(-p),
}


@dataclass(frozen=True)
class LinearFit:
    """A least-squares line with its standard errors."""

    slope: float
    intercept: float
    r_squared: float
    slope_error: float
    intercept_error: float
    p: float
    n: int
    axes: str

    def estimate(self, *, level: float = 0.95) -> Estimate:
        """The slope with Student's interval on n − 2 degrees of freedom."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.n - 2, (1 + check_level(level)) / 2)) * self.slope_error
        name, ends = f"ID/OOD slope ({self.axes})", (self.slope - half, self.slope + half)
        return Estimate(name, self.slope, *ends, level, self.n, "Student", percent=False)

    def __str__(self) -> str:
        return f"{self.estimate()}, R² {self.r_squared:.2f}, {self.n} models"


def id_ood_slope(id_accuracy: ArrayLike, ood_accuracy: ArrayLike, *, axes: str = "linear") -> LinearFit:
    """Fit OOD accuracy against ID accuracy over models, one point each.

    CNS-Bench fits the accuracies themselves ("linear"). "Accuracy on the line" (Miller et al., 2021), which it cites,
    fits them on "probit" axes, where the relation over many models is closer to linear; "logit" is similar.
    """
    if axes not in AXES:
        raise BrittleError(f"axes must be one of {', '.join(AXES)}, got {axes!r}")
    x, y = check_fractions(id_accuracy, "the ID accuracy"), check_fractions(ood_accuracy, "the OOD accuracy")
    if x.ndim != 1 or x.shape != y.shape or len(x) < 3:
        raise BrittleError(
            f"a slope needs the same three or more models on both axes, got shapes {x.shape} and {y.shape}"
        )
    if axes != "linear" and not (((x > 0) & (x < 1)).all() and ((y > 0) & (y < 1)).all()):
        raise BrittleError(f'accuracies of exactly 0 or 1 have no {axes}; leave those models out or use axes="linear"')
    return linear_fit(AXES[axes](x), AXES[axes](y), axes=axes)


def linear_fit(x: ArrayLike, y: ArrayLike, *, axes: str = "linear") -> LinearFit:
    """Least squares of y on x, with standard errors on n − 2 degrees of freedom."""
    from scipy.stats import linregress

    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if (x == x[0]).all():
        raise BrittleError(f"all points have the same x, {x[0]:g}, so there is no slope")
    fit = linregress(x, y)
    constant = bool((y == y[0]).all())  # a constant fits constant points exactly
    return LinearFit(
        slope=float(fit.slope),
        intercept=float(fit.intercept),
        r_squared=1.0 if constant else float(fit.rvalue) ** 2,
        slope_error=0.0 if constant else float(fit.stderr),
        intercept_error=0.0 if constant else float(fit.intercept_stderr),
        p=1.0 if constant else float(fit.pvalue),
        n=len(x),
        axes=axes,
    )


def _probit(p: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri(p))
