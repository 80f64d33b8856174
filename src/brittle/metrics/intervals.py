"""Scores with a name and an interval, and the metrics that every run is scored by."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from statistics import NormalDist
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._types import FloatArray, as_bool_array, check_level


@dataclass(frozen=True)
class Estimate:
    """One metric of one model: a value and, unless it is a published number, its confidence interval.

    Values are plain numbers; with `percent` they are fractions and print as percents. `method` is the
    method of the interval, `n` the number of samples.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int | None = None
    method: str = ""
    percent: bool = True

    def __post_init__(self) -> None:
        if not self.name or self.name.upper() == "CE":
            raise BrittleError(f"{self.name!r} is ambiguous; name it mCE, relative mCE, unnormalised error, …")
        if (self.low is None) != (self.high is None):
            raise BrittleError(f"an interval has two ends, got low={self.low!r} and high={self.high!r}")

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        text = f"{self.name} {self._number(self.value)}{' %' if self.percent else ''}"
        if self.low is None or self.high is None:
            return text
        return f"{text} [{self._number(self.low)}, {self._number(self.high)}]"

    def _number(self, value: float) -> str:
        return f"{100 * value:.1f}" if self.percent else f"{value:.3f}"


def wilson(right: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval (1927), element by element: covers the level on average, never outside 0 … 1."""
    k, n = _counts(right, n)
    z = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    share = k / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.where(k == 0, 0.0, middle - half), np.where(k == n, 1.0, middle + half)


def clopper_pearson(right: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """The exact interval of Clopper and Pearson (1934), element by element: never covers less than the level."""
    from scipy.special import betaincinv

    k, n = _counts(right, n)
    tail = (1 - check_level(level)) / 2
    low = betaincinv(np.maximum(k, 1), n - k + 1, tail)
    high = betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail)
    return np.where(k == 0, 0.0, low), np.where(k == n, 1.0, high)


def _counts(right: ArrayLike, n: ArrayLike) -> tuple[FloatArray, FloatArray]:
    k, total = np.broadcast_arrays(np.asarray(right, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not ((total >= 1) & (k >= 0) & (k <= total)).all():
        raise BrittleError(f"a proportion is k of n with 0 ≤ k ≤ n and n ≥ 1, got k = {right!r} and n = {n!r}")
    return k, total


Method = Literal["wilson", "clopper-pearson"]


def accuracy(correct: ArrayLike) -> FloatArray:
    """The fraction of right samples; the first axis is the sample, further axes are kept."""
    return np.asarray(as_bool_array(correct).mean(axis=0))


def error(correct: ArrayLike) -> FloatArray:
    """The fraction of wrong samples; the first axis is the sample, further axes are kept."""
    return np.asarray(1 - accuracy(correct))


def accuracy_estimate(
    correct: ArrayLike, *, name: str = "accuracy", level: float = 0.95, method: Method = "wilson"
) -> Estimate:
    """The accuracy of one cell with its interval.

    Wilson's covers the level on average; Clopper–Pearson's covers at least the level, and is wider for that.
    """
    right = as_bool_array(correct)
    if right.ndim != 1:
        raise BrittleError(f"an estimate is of one cell, a vector of samples; got shape {right.shape}")
    if method not in ("wilson", "clopper-pearson"):
        raise BrittleError(f'the interval is "wilson" or "clopper-pearson", got {method!r}')
    interval = wilson if method == "wilson" else clopper_pearson
    low, high = interval(right.sum(), right.size, level=level)
    return Estimate(name, float(right.mean()), float(low), float(high), level, right.size, method)


ARGUMENTS = ("accuracy", "clean", "reference", "clean_reference")
"""Allowed argument names of a metric."""

Function = TypeVar("Function", bound=Callable[..., FloatArray])


@dataclass(frozen=True)
class Metric:
    """A function of accuracies with its field name in Python and JSON, and its display name."""

    field: str
    name: str
    function: Callable[..., FloatArray]
    needs: tuple[str, ...]

    def __call__(self, **arguments: Any) -> FloatArray:
        """The score, from those arguments that the metric needs."""
        return self.function(**{need: arguments[need] for need in self.needs})


_metrics: dict[str, Metric] = {}


def metric(name: str, *, field: str | None = None) -> Callable[[Function], Function]:
    """Register a function as a score of every model on a benchmark, with an interval over images.

    The names of its arguments declare its inputs. `accuracy` is that of each corruption, the mean over its levels, on
    the last axis; `clean` the accuracy on clean images; `reference` the error of the reference model under each
    corruption, and `clean_reference` its clean error. If one of them is missing, such as `reference` without a
    comparable one, the score is omitted. The function is also applied to resamples, so leading axes must be kept.

    Args:
        name: the name in tables and reports.
        field: its key in JSON and in `Scores.more`; by default the function's name.
    """

    def register(function: Function) -> Function:
        key, needs = field or function.__name__.strip("_"), tuple(inspect.signature(function).parameters)
        for need in needs:
            if need not in ARGUMENTS:
                raise BrittleError(f"the metric {name!r} has an argument {need!r}; allowed are {', '.join(ARGUMENTS)}")
        registered = _metrics.get(key)
        if registered is not None and registered.function.__module__ != function.__module__:
            raise BrittleError(
                f"the metric {key!r} is already registered by {registered.function.__module__}; choose another name"
            )
        _metrics[key] = Metric(key, name, function, needs)
        return function

    return register


def list_metrics() -> list[Metric]:
    """All metrics of this package and of all imported modules."""
    for module in iter_modules(import_module("brittle.metrics").__path__):
        import_module(f"brittle.metrics.{module.name}")
    return list(_metrics.values())
