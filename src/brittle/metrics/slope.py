"""Does accuracy on the usual data foretell accuracy on shifted data? The ID/OOD slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.estimate import Estimate
from brittle.metrics.fraction import Floats, check_level, fractions

AXES: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda p: p,
    "probit": lambda p: _probit(p),
    "logit": lambda p: np.log(p) - np.log1p(-p),
}


@dataclass(frozen=True)
class LinearFit:
    """A straight line by least squares, with how sure it is."""

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
    fits them on "probit" axes, where the points of many models lie straighter; "logit" is much the same.
    """
    if axes not in AXES:
        raise ValueError(f"axes must be one of {', '.join(AXES)}, got {axes!r}")
    x, y = fractions(id_accuracy, "the ID accuracy"), fractions(ood_accuracy, "the OOD accuracy")
    if x.ndim != 1 or x.shape != y.shape or len(x) < 3:
        raise ValueError(
            f"a slope needs the same three or more models on both axes, got shapes {x.shape} and {y.shape}"
        )
    if axes != "linear" and not (((x > 0) & (x < 1)).all() and ((y > 0) & (y < 1)).all()):
        raise ValueError(f'accuracies of exactly 0 or 1 have no {axes}; leave those models out or use axes="linear"')
    return linear_fit(AXES[axes](x), AXES[axes](y), axes=axes)


def linear_fit(x: ArrayLike, y: ArrayLike, *, axes: str = "linear") -> LinearFit:
    """Least squares of y on x, with standard errors on n − 2 degrees of freedom."""
    from scipy.stats import linregress

    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if (x == x[0]).all():
        raise ValueError("all points have the same x, so there is no slope")
    fit = linregress(x, y)
    constant = bool((y == y[0]).all())  # a flat line fits a flat row of points exactly
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


def _probit(p: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(p))
