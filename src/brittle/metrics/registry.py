"""The metrics that every run is scored by: functions of accuracies, each with a name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from brittle._errors import BrittleError
from brittle._types import FloatArray

KNOWN = ("accuracy", "clean", "reference", "clean_reference")
"""What a metric may ask for, by the names of its arguments."""

Function = TypeVar("Function", bound=Callable[..., FloatArray])


@dataclass(frozen=True)
class Metric:
    """A function of accuracies, and what it is called: a field in Python and JSON, a name for readers."""

    field: str
    name: str
    function: Callable[..., FloatArray]
    needs: tuple[str, ...]

    def __call__(self, **known: Any) -> FloatArray:
        """The score, from what it needs of what is known."""
        return self.function(**{need: known[need] for need in self.needs})


_metrics: dict[str, Metric] = {}


def metric(name: str, *, field: str | None = None) -> Callable[[Function], Function]:
    """Let a function score every model that is run through a benchmark, with an interval over images.

    Its arguments say what it needs. `accuracy` is that of each corruption, the mean over its levels, on the last axis;
    `clean` the accuracy on clean images; `reference` the error of the reference model under each corruption, and
    `clean_reference` its clean error. Where one of them is not known, as `reference` without a comparable one, there is
    no such score. The function is applied to resamples too, so leading axes must stay.

    Args:
        name: what tables and reports call it.
        field: its key in JSON and in `Scores.more`; by default the function's name.
    """

    def register(function: Function) -> Function:
        known, needs = field or function.__name__.strip("_"), tuple(inspect.signature(function).parameters)
        for need in needs:
            if need not in KNOWN:
                raise BrittleError(f"the metric {name!r} asks for {need!r}; it can have {', '.join(KNOWN)}")
        there = _metrics.get(known)
        if there is not None and there.function.__module__ != function.__module__:
            raise BrittleError(
                f"there is a metric {known!r} already, of {there.function.__module__}; name it otherwise"
            )
        _metrics[known] = Metric(known, name, function, needs)
        return function

    return register


def list_metrics() -> list[Metric]:
    """All metrics, of the modules of this package and of those that were imported."""
    for module in iter_modules(import_module("brittle.metrics").__path__):
        import_module(f"brittle.metrics.{module.name}")
    return list(_metrics.values())
