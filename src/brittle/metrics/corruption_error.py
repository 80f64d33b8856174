"""Errors of a benchmark in one number: unnormalised error, mCE, relative mCE, robustness, drops, rCE, balance.

`metric` registers one, so that every run is scored by it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_fractions, divide

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


def robustness_score(accuracy: ArrayLike, clean_accuracy: ArrayLike) -> FloatArray:
    """R = A(c) / A(clean) of NOC, each model divided by its own clean accuracy.

    1 is no loss. It is meaningful only for a good clean accuracy: an untrained model scores 1.
    """
    return divide(
        check_fractions(accuracy, "the accuracy"),
        check_fractions(clean_accuracy, "the clean accuracy"),
        "the clean accuracy",
    )


COMPARABLE_CLEAN = 0.95
"""Clean accuracies below this share of the best one make robustness scores R mislead.

NOC (section 3.1) asks for clean accuracies that are relatively high, without a number. Its ranges of severity begin
where a corruption takes 5 % of a model's clean accuracy (R = 0.95): a larger difference of clean accuracies moves R by
more than the weakest corruption does.
"""


def uneven_clean(clean: Mapping[str, float], images: int, *, reference: str | None = None) -> dict[str, float]:
    """The models whose clean accuracy differs so much that robustness scores R = A(c) / A(clean) mislead.

    Each has the ratio of its clean accuracy to that of `reference`, by default the best model. Listed are ratios below
    0.95 or above 1/0.95 (`COMPARABLE_CLEAN`), if the accuracies also differ by more than two standard errors on
    `images` test images.
    """
    best = max(clean, key=clean.__getitem__) if reference is None else reference
    ratios = {}
    for name, accuracy in clean.items():
        noise = np.sqrt(sum(share * (1 - share) for share in (accuracy, clean[best])) / images)
        lower, higher = sorted((accuracy, clean[best]))
        if lower < COMPARABLE_CLEAN * higher and higher - lower > 2 * noise:
            ratios[name] = accuracy / clean[best] if clean[best] else float("inf")
    return ratios


def accuracy_drop(accuracy: ArrayLike, clean_accuracy: ArrayLike) -> FloatArray:
    """A(clean) − A(c), cell by cell. 0 is no loss, and a negative drop is a gain."""
    return np.asarray(check_fractions(clean_accuracy, "the clean accuracy") - check_fractions(accuracy, "the accuracy"))


def residual_robustness(accuracy: ArrayLike, clean_accuracy: ArrayLike) -> FloatArray:
    """The mean accuracy drop over the corruptions of a benchmark, on the last axis (Syn2Nat). Lower is better."""
    clean = np.asarray(clean_accuracy, dtype=np.float64)
    return np.asarray(accuracy_drop(accuracy, clean[..., np.newaxis]).mean(axis=-1))


def unnormalised_error(errors: ArrayLike) -> FloatArray:
    """The plain mean of the errors over corruptions, without a reference model: the score that C-bar reports."""
    return np.asarray(check_fractions(errors, "the error").mean(axis=-1))


def corruption_errors(errors: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """E(c) / E_baseline(c) for each corruption: the terms of mCE (Hendrycks and Dietterich, 2019)."""
    denominator = check_fractions(baseline, "the baseline error")
    return divide(
        _check_same_corruptions(check_fractions(errors, "the error"), denominator), denominator, "a baseline error"
    )


def mce(errors: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """mCE: the mean over corruptions of the error divided by the baseline's. 1 is the baseline."""
    return np.asarray(corruption_errors(errors, baseline).mean(axis=-1))


def relative_corruption_errors(
    errors: ArrayLike, clean_error: ArrayLike, baseline: ArrayLike, baseline_clean_error: float
) -> FloatArray:
    """(E(c) − E(clean)) / (E_baseline(c) − E_baseline(clean)): the terms of relative mCE.

    NOC reports these, times 100, under the name CE.
    """
    clean = check_fractions(clean_error, "the clean error")[..., np.newaxis]
    denominator = check_fractions(baseline, "the baseline error") - check_fractions(
        baseline_clean_error, "the baseline's clean error"
    )
    numerator = _check_same_corruptions(check_fractions(errors, "the error"), denominator) - clean
    return divide(numerator, denominator, "a baseline error minus the baseline's clean error")


def relative_mce(
    errors: ArrayLike, clean_error: ArrayLike, baseline: ArrayLike, baseline_clean_error: float
) -> FloatArray:
    """Relative mCE: the increase of the error by corruptions, relative to the increase of the baseline's."""
    return np.asarray(relative_corruption_errors(errors, clean_error, baseline, baseline_clean_error).mean(axis=-1))


@metric("mean accuracy")
def _mean_accuracy(accuracy: FloatArray) -> FloatArray:
    return np.asarray(accuracy.mean(axis=-1))


@metric("unnormalised error")
def _error(accuracy: FloatArray) -> FloatArray:
    return np.asarray(1 - accuracy.mean(axis=-1))


@metric("mean accuracy drop")
def _drop(accuracy: FloatArray, clean: FloatArray) -> FloatArray:
    return np.asarray(clean - accuracy.mean(axis=-1))


@metric("robustness R")
def _robustness(accuracy: FloatArray, clean: FloatArray) -> FloatArray:
    return robustness_score(accuracy.mean(axis=-1), clean)


@metric("mCE")
def _mce(accuracy: FloatArray, reference: FloatArray) -> FloatArray:
    return mce(1 - accuracy, reference)


@metric("relative mCE")
def _relative_mce(accuracy: FloatArray, clean: FloatArray, reference: FloatArray, clean_reference: float) -> FloatArray:
    return relative_mce(1 - accuracy, 1 - clean, reference, clean_reference)


def errors_from_relative(
    relative: ArrayLike, clean_error: ArrayLike, baseline: ArrayLike, baseline_clean_error: float
) -> FloatArray:
    """Errors from relative corruption errors (1 = the baseline's), for tables that report only the latter."""
    gap = check_fractions(baseline, "the baseline error") - check_fractions(
        baseline_clean_error, "the baseline's clean error"
    )
    scores = _check_same_corruptions(np.asarray(relative, dtype=np.float64), gap)
    return np.asarray(check_fractions(clean_error, "the clean error")[..., np.newaxis] + scores * gap)


def _check_same_corruptions(errors: FloatArray, baseline: FloatArray) -> FloatArray:
    if errors.shape[-1:] != baseline.shape[-1:]:
        raise BrittleError(
            f"the last axis is the corruption, of equal length in both; got errors of shape {errors.shape} and a "
            f"baseline of shape {baseline.shape}"
        )
    return errors


def shift_rce(errors: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """Σ_s (E_s − E_0) / Σ_s (E_baseline,s − E_baseline,0) for each shift; the terms of `rce`.

    The last axis is the scale and begins with scale 0; E_0 is the error on the scale-0 images of the same shift.
    Hendrycks' relative form: the paper's typesetting leaves the scope of the sum open, and no code is released.
    """
    return divide(
        _summed_rise(errors, "the error"), _summed_rise(baseline, "the baseline error"), "the baseline's summed rise"
    )


def rce(errors: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """rCE of CNS-Bench: the mean over shifts, from errors [shift, scale]. Not multiplied by 100."""
    return np.asarray(shift_rce(errors, baseline).mean(axis=-1))


def mean_accuracy_drop(accuracy: ArrayLike, images: ArrayLike | None = None) -> FloatArray:
    """acc(0) − acc(s) for each non-zero scale, averaged over shifts, from accuracies [shift, scale] with scale 0 first.

    By default shifts have equal weights. With the number of images of each shift, images have equal weights, as in the
    authors' notebook, where shifts differ in size.
    """
    right = check_fractions(accuracy, "the accuracy")
    if right.ndim < 2 or right.shape[-1] < 2:
        raise BrittleError(f"accuracies are shift × scale, scale 0 first, got shape {right.shape}")
    weights = np.ones(right.shape[-2]) if images is None else np.asarray(images, dtype=np.float64)
    if weights.shape != right.shape[-2:-1] or (weights <= 0).any():
        raise BrittleError(f"images holds one positive number for each of {right.shape[-2]} shifts, got {images!r}")
    average = (weights / weights.sum()) @ right
    return np.asarray(average[..., :1] - average[..., 1:])


def _summed_rise(errors: ArrayLike, quantity: str) -> FloatArray:
    """How far the errors rise above scale 0, summed over the other scales."""
    array = check_fractions(errors, quantity)
    if array.ndim < 1 or array.shape[-1] < 2:
        raise BrittleError(f"{quantity} needs scale 0 and at least one more on its last axis, got shape {array.shape}")
    return np.asarray((array[..., 1:] - array[..., :1]).sum(axis=-1))


@dataclass(frozen=True)
class Balance:
    """Largest minus smallest value, and the population standard deviation: both 0 if perfectly balanced."""

    range: float
    std: float

    def __str__(self) -> str:
        return f"range {self.range:.3g}, standard deviation {self.std:.3g}"


def balance(values: ArrayLike) -> Balance:
    """The dispersion of a vector of scores, as in NOC's Table 2: scores of models, each trained with one corruption.

    Syn2Nat uses the same standard deviation of the numbers of corruptions in each represented category.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise BrittleError(f"balance is of a vector of finite numbers, got shape {array.shape}")
    return Balance(float(np.ptp(array)), float(array.std()))
