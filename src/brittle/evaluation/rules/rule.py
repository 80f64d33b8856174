"""Rules that a run must keep: which metric, of what, and its bound; read from a TOML file."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle._identity import settings
from brittle._texts import read_toml_file
from brittle.evaluation.confidence import CONFIDENCE_METRICS, ConfidenceMetric
from brittle.metrics import Metric, list_metrics

FAILURE_POINT, CLEAN_ACCURACY = "failure point", "clean accuracy"
ALIASES = {
    "accuracy": "mean_accuracy",
    "error": "error",
    "accuracy drop": "drop",
    "robustness": "robustness",
    "r": "robustness",
}
"""Short names of metrics that stand for registered ones, by their fields."""

RANGES = {
    CLEAN_ACCURACY: (0.0, 1.0),
    "mean_accuracy": (0.0, 1.0),
    "error": (0.0, 1.0),
    "drop": (-1.0, 1.0),
    "robustness": (0.0, math.inf),
    "mce": (0.0, math.inf),
    FAILURE_POINT: (0.0, math.inf),
}
"""The values that a metric can take; any other metric can take all."""

ON_CLEAN = "clean "
"""What the name of a metric of confidences begins with if it is of clean images."""

SYNONYMS = {"corruptions": "corruption", "families": "family", "class": "classes", "severities": "severity"}
SYNONYMS |= {"models": "model", "level": "severity", "levels": "severity"}
"""Other words for keys, of which the right one is suggested."""


@dataclass(frozen=True)
class Rule:
    """A bound that a metric of a model must keep.

    The metric is over the images of `classes`, under the `corruption`s or families of a benchmark (by default all of
    them), at the levels from the first to the last `severity` (by default all). A bound is a plain number: 0.8 is 80 %.
    A failure point is the severity below which the share `quantile` of the images fails, of those that are right when
    clean; under more than one corruption the first that an image fails counts. `reference` is the one of mCE: what
    `find_reference` takes. Without a `model`, every model of the run must keep it.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    name: str = ""
    benchmark: str | None = None
    corruption: tuple[str, ...] = ()
    family: tuple[str, ...] = ()
    severity: tuple[float, float] | None = None
    classes: tuple[str, ...] = ()
    model: str | None = None
    quantile: float | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        where = f"the rule {self.name!r}" if self.name else f"a rule on {self.metric!r}"
        for key in ("metric", "name", "benchmark", "model", "reference"):
            if getattr(self, key) is not None and not isinstance(getattr(self, key), str):
                raise BrittleError(f"{key} in {where} is a text, got {getattr(self, key)!r}")
        for key in ("corruption", "family", "classes"):
            object.__setattr__(self, key, _texts(getattr(self, key), key, where))
        if self.severity is not None:
            object.__setattr__(self, "severity", _levels(self.severity, where))
        object.__setattr__(self, "metric", _find_metric(self.metric, where))
        for key in ("at_least", "at_most", "quantile"):
            _check_number(getattr(self, key), key, where)
        if self.at_least is None and self.at_most is None:
            raise BrittleError(f"{where} has no bound; give it at_least = … or at_most = …")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise BrittleError(
                f"{where} contradicts itself: at_least = {self.at_least:g} is above at_most = {self.at_most:g}"
            )
        if self.corruption and self.family:
            raise BrittleError(f"{where} names both a corruption and a family; give one of them, or a rule for each")
        if self.severity is not None and not 0 < self.severity[0] <= self.severity[1] < math.inf:
            raise BrittleError(
                f"severity in {where} is a level above 0 or a range [low, high], got {list(self.severity)}"
            )
        self._check_metric(where)

    def _check_metric(self, where: str) -> None:
        """Raise where a key means nothing to the metric."""
        if self.of_clean:
            odd = [key for key in ("corruption", "family", "severity") if getattr(self, key)]
            if odd:
                raise BrittleError(f"{where} is about clean images, so it has no {odd[0]}; leave {odd[0]} out")
        if self.metric != FAILURE_POINT:
            if self.quantile is not None:
                raise BrittleError(f"quantile in {where} belongs to the metric {FAILURE_POINT!r}, not {self.metric!r}")
        elif self.severity is not None:
            raise BrittleError(f"{where} is about failure points, whose bound is a severity; leave severity out")
        elif not 0 < self.share < 1:
            raise BrittleError(f"quantile in {where} is a share between 0 and 1, such as 0.05, got {self.quantile:g}")
        if self.divides_by_reference:
            for key in ("classes", "severity"):
                if getattr(self, key):
                    raise BrittleError(
                        f"{where} divides by a reference's errors, which are over all classes and levels; leave "
                        f"{key} out, or take the metric 'error'"
                    )
        elif self.reference is not None:
            raise BrittleError(f"reference in {where} belongs to a metric such as 'mCE', not {self.metric!r}")

    @property
    def title(self) -> str:
        """The rule's name; without one, what it is about."""
        return self.name or self.subject

    @property
    def subject(self) -> str:
        """What is measured, such as "accuracy, fog 3, automobile"."""
        metric = self.metric.removeprefix("mean ").removeprefix("unnormalised ")
        if self.metric == FAILURE_POINT:
            metric = f"{100 * self.share:g} % failure point"
        where = ", ".join(name.rpartition("/")[2] for name in self.corruption or self.family)
        if self.severity is not None:
            low, high = self.severity
            levels = f"{low:g}" if low == high else f"{low:g}–{high:g}"
            where = f"{where} {levels}" if where else f"level {levels}"
        return ", ".join(filter(None, [metric, where, *self.classes]))

    def bound(self, *, signed: bool = False) -> str:
        """The bound as people read it, such as "≥ 80.0"; with a sign if it is one of differences."""
        ends = (("≥", self.at_least), ("≤", self.at_most))
        return ", ".join(f"{sign} {self.number(end, signed=signed)}" for sign, end in ends if end is not None)

    @property
    def percent(self) -> bool:
        """Whether values are shares that print as percents."""
        return self.metric != FAILURE_POINT if self.confidence is None else self.confidence.percent

    @cached_property
    def confidence(self) -> ConfidenceMetric | None:
        """The metric of confidences, such as ECE; None for all others."""
        return next((m for m in CONFIDENCE_METRICS if m.name == self.metric.removeprefix(ON_CLEAN)), None)

    @property
    def of_clean(self) -> bool:
        """Whether the rule is about clean images, and about no benchmark."""
        return self.metric == CLEAN_ACCURACY or (self.confidence is not None and self.metric.startswith(ON_CLEAN))

    @property
    def share(self) -> float:
        """The quantile of a rule on failure points, by default 5 %."""
        return 0.05 if self.quantile is None else self.quantile

    @cached_property
    def function(self) -> Metric | None:
        """The registered metric; None for clean accuracy, failure points and metrics of confidences."""
        return next((one for one in list_metrics() if one.name == self.metric), None)

    @property
    def divides_by_reference(self) -> bool:
        """Whether the metric needs a reference model, as mCE does."""
        function = self.function
        return function is not None and bool({"reference", "clean_reference"} & set(function.needs))

    def number(self, value: float, *, signed: bool = False) -> str:
        """A value of the metric as people read it."""
        sign = "+" if signed else ""
        digits = 2 if self.confidence is None else 3
        text = f"{100 * value:{sign}.1f}" if self.percent else f"{value:{sign}.{digits}f}"
        return "never" if math.isinf(value) and not self.percent else text

    def check_range(self, *, difference: bool = False) -> None:
        """Raise if a bound lies outside what the metric, or a difference of two values of it, can be."""
        function = self.function
        low, high = RANGES.get(function.field if function is not None else self.metric, (-math.inf, math.inf))
        if self.confidence is not None:
            low, high = 0.0, self.confidence.high
        if difference:
            low, high = low - high, high - low
        for key in ("at_least", "at_most"):
            value = getattr(self, key)
            if value is not None and not low <= value <= high:
                what = f"differences of {self.metric}" if difference else self.metric
                limits = f"between {low:g} and {high:g}" if math.isfinite(high) else f"at least {low:g}"
                hint = "; divide percents by 100" if self.percent and 1 < abs(value) <= 100 else ""
                raise BrittleError(f"{key} = {value:g} in the rule {self.title!r}: {what} is {limits}{hint}")

    def to_dict(self) -> dict[str, Any]:
        """The rule as it stands in a file, without defaults."""
        data: dict[str, Any] = {}
        for key, value in settings(self).items():
            if (key in ("corruption", "family") and len(value) == 1) or (key == "severity" and value[0] == value[1]):
                value = value[0]
            data[key] = list(value) if isinstance(value, tuple) else value
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rule:
        """A rule from plain data; unknown or missing keys raise."""
        known = [field.name for field in fields(cls)]
        for key in data:
            if key not in known:
                meant = f"did you mean {SYNONYMS[key]!r}?" if key in SYNONYMS else did_you_mean(key, known)
                raise BrittleError(f"a rule has no key {key!r}; {meant}")
        if "metric" not in data:
            names = [*(one.name for one in list_metrics()), *(one.name for one in CONFIDENCE_METRICS)]
            listed = ", ".join([*names, CLEAN_ACCURACY, FAILURE_POINT])
            raise BrittleError(f"the rule names no metric; give it one of: {listed}")
        return cls(**data)


def load_rules(path: str | Path) -> list[Rule]:
    """The rules of a TOML file, each a [[rule]]."""
    file = Path(path)
    data = read_toml_file(file, "rules")
    for key in data:
        if key != "rule":
            raise BrittleError(f"{str(file)!r} has an unknown key {key!r}; its rules are tables [[rule]]")
    rules = data.get("rule", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise BrittleError(f"the rules of {str(file)!r} are tables [[rule]], with two brackets")
    if not rules:
        raise BrittleError(f"{str(file)!r} holds no rule; write at least one [[rule]] with a metric and a bound")
    loaded = []
    for number, rule in enumerate(rules, 1):
        try:
            loaded.append(Rule.from_dict(rule))
        except BrittleError as error:
            raise BrittleError(f"rule {number} of {str(file)!r}: {error}") from error
    return loaded


def _find_metric(given: str, where: str) -> str:
    """The name of the metric that is meant: by its name, field or short name, whatever the case."""
    wanted = given.replace("_", " ").casefold()
    if wanted in (FAILURE_POINT, CLEAN_ACCURACY):
        return wanted
    metrics = list_metrics()
    for one in metrics:
        if wanted in (one.name.casefold(), one.field.replace("_", " ").casefold()) or one.field == ALIASES.get(wanted):
            return one.name
    on_clean = wanted.startswith(ON_CLEAN)
    for each in CONFIDENCE_METRICS:
        if wanted.removeprefix(ON_CLEAN) in (each.name.casefold(), each.field.replace("_", " "), each.short.casefold()):
            return f"{ON_CLEAN * on_clean}{each.name}"
    known = [*(key for key in ALIASES if len(key) > 1), *(one.name for one in metrics), FAILURE_POINT, CLEAN_ACCURACY]
    known += [one.name for one in CONFIDENCE_METRICS]
    raise BrittleError(f"{where} names the metric {given!r}, which does not exist; {did_you_mean(given, known)}")


def _check_number(value: object, key: str, where: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise BrittleError(f"{key} in {where} is a number, got {value!r}")


def _texts(value: object, key: str, where: str) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts) or texts == []:
        raise BrittleError(f"{key} in {where} is a text or a list of texts, got {value!r}")
    return tuple(dict.fromkeys(texts))


def _levels(value: Any, where: str) -> tuple[float, float]:
    ends = value if isinstance(value, list | tuple) else [value, value]
    for end in ends:
        _check_number(end, "severity", where)
    if len(ends) != 2:
        raise BrittleError(f"severity in {where} is one level, or a range [low, high], got {value!r}")
    return float(ends[0]), float(ends[1])
