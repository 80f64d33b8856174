"""Whether runs keep rules: decided by intervals that hold for all rules at once, never by the point."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_level
from brittle.evaluation.confidence import COLUMNS, MeanConfidences, cell_confidences, difference_of
from brittle.evaluation.results import Results
from brittle.evaluation.rules.evidence import Evidence, Samples
from brittle.evaluation.rules.rule import FAILURE_POINT, Rule
from brittle.metrics import (
    Estimate,
    FailurePoints,
    Statistic,
    bootstrap,
    clopper_pearson,
    quantile_difference,
    resampled_means,
)

Verdict = Literal["holds", "fails", "undecided"]

IN_THE_TAIL, FEWEST, MOST = 5, 1000, 20_000
"""So many resamples lie beyond each end of an interval, and so many are drawn at least and at most."""

UNREACHABLE = 10**8
"""An estimate of more images than this is none."""


@dataclass(frozen=True)
class Outcome:
    """What became of a rule for one model.

    The interval of the estimate is simultaneous with those of all other outcomes of the same call (Bonferroni).
    `against` is the model of the other run; the estimate is then the difference to it. `images_needed` is about how
    many images would decide an undecided rule if the value stays where it is; None if it is too close to the bound.
    """

    rule: Rule
    model: str
    verdict: Verdict
    estimate: Estimate
    benchmark: str | None = None
    against: str | None = None
    images_needed: int | None = None

    @property
    def value(self) -> str:
        """The value as people read it."""
        return self.rule.number(self.estimate.value, signed=self.against is not None)

    @property
    def interval(self) -> str:
        """The interval as people read it."""
        assert self.estimate.low is not None
        assert self.estimate.high is not None
        ends = (self.rule.number(x, signed=self.against is not None) for x in (self.estimate.low, self.estimate.high))
        return f"{' … ' if self.against else '–'}".join(ends)

    @property
    def bound(self) -> str:
        """The bound as people read it."""
        return self.rule.bound(signed=self.against is not None)

    @property
    def sentence(self) -> str:
        """The numbers of the verdict, and what would decide it where nothing is decided."""
        unit = " %" if self.rule.percent else ""
        what = f"the difference to {self.against} in {self.rule.subject}" if self.against else self.rule.subject
        text = (
            f"{what} is {self.value}{unit} [{self.interval}] on {self.estimate.n:,} images, asked for "
            f"{self.bound}{unit}"
        )
        return text if self.verdict != "undecided" else f"{text}; {self.remedy}"

    @property
    def remedy(self) -> str:
        """How many images would decide an undecided rule."""
        if self.images_needed is None:
            return "the value is too close to the bound for any number of images; move the bound"
        return f"about {self.images_needed:,} images would decide it"

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data; a severity beyond the last one is None."""
        estimate = {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in asdict(self.estimate).items()}
        return {
            "rule": self.rule.to_dict(),
            "model": self.model,
            "benchmark": self.benchmark,
            "against": self.against,
            "verdict": self.verdict,
            "estimate": estimate,
            "images_needed": self.images_needed,
        }


def check_rules(
    results: Results,
    rules: Sequence[Rule],
    against: Results | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> list[Outcome]:
    """What becomes of each rule, for each model that it is about, in the order of the rules.

    A rule holds if the whole interval of its metric keeps the bound, fails if the whole interval is beyond it, and is
    undecided otherwise. Intervals are Bonferroni's: with m outcomes each has the level 1 − 0.05 / m, so that all hold
    at once in 95 of 100 cases, and a model that is exactly at every bound fails any of them at most so often.

    With `against`, another run on the same images, a rule is about the difference of its metric to that run's, paired
    by image: `at_least=-0.01` lets accuracy lose one point at most. A model is held against the one of its name, or
    against the only one that the other run has.
    """
    if not rules:
        raise BrittleError("there is no rule to check; give at least one")
    check_level(level)
    for rule in rules:
        rule.check_range(difference=against is not None)
    evidence, theirs = Evidence(results), None if against is None else Evidence(against)
    if theirs is not None:
        evidence.check_same_images(theirs)
    questions = [_question(evidence, theirs, rule, model) for rule in rules for model in evidence.models_for(rule)]
    alone = 1 - (1 - level) / len(questions)
    draws = _Draws([one for one in questions if isinstance(one, _Means) and not one.exact], alone, seed)
    return [_outcome(question, question.estimate(alone, draws)) for question in questions]


def verdict_on(rule: Rule, estimate: Estimate) -> Verdict:
    """Whether the whole interval keeps the rule's bound, lies beyond it, or neither."""
    low, high = _ends(estimate)
    least = -math.inf if rule.at_least is None else rule.at_least
    most = math.inf if rule.at_most is None else rule.at_most
    if high < least or low > most:
        return "fails"
    return "holds" if low >= least and high <= most else "undecided"


@dataclass(frozen=True, eq=False)
class _Question(ABC):
    """A rule for one model, with the images that answer it."""

    rule: Rule
    model: str
    benchmark: str | None
    against: str | None

    @abstractmethod
    def estimate(self, level: float, draws: _Draws) -> Estimate:
        """The metric, or its difference to the other run, with an interval of this level."""

    def images_needed(self, estimate: Estimate, bound: float) -> float:
        """From the width of the interval, which shrinks with the root of the number of images."""
        assert estimate.n is not None
        low, high = _ends(estimate)
        gap = abs(estimate.value - bound)
        width = estimate.value - low if bound <= estimate.value else high - estimate.value
        return estimate.n * (width / gap) ** 2 if gap > 0 else math.inf


@dataclass(frozen=True, eq=False)
class _Means(_Question):
    """A statistic of column means; `exact` if it is the share of right or wrong answers, one for each image."""

    rows: FloatArray
    samples: Samples
    statistic: Statistic
    exact: bool

    def estimate(self, level: float, draws: _Draws) -> Estimate:
        name = f"difference of {self.rule.metric}" if self.against else self.rule.metric
        if self.exact:
            right = self.rows[:, 0].sum()
            ends = clopper_pearson(right, len(self.rows), level=level)
            points = np.array([self.rows[:, 0].mean(), *map(float, ends)])[:, np.newaxis]
            value, *limits = np.asarray(self.statistic(points)).ravel().tolist()
            return Estimate(name, value, min(limits), max(limits), level, len(self.rows), "clopper-pearson")
        drawn = draws.of(self)
        how: dict[str, Any] = {"seed": draws.seed, "resamples": len(drawn), "resampled": drawn, "level": level}
        return bootstrap(self.rows, self.statistic, name=name, bounded=True, **how)


@dataclass(frozen=True, eq=False)
class _Points(_Question):
    """Failure points of one model, or of two on the same images."""

    points: FailurePoints
    others: FailurePoints | None = None

    def estimate(self, level: float, draws: _Draws) -> Estimate:
        del draws  # order statistics take none
        if self.others is not None:
            return quantile_difference(self.points, self.others, self.rule.share, level=level)
        return replace(self.points.right_at_zero().quantile(self.rule.share, level=level), n=len(self.points))

    def images_needed(self, estimate: Estimate, bound: float) -> float:
        """From the share that fails before the bound, which is compared with the share of the rule."""
        if self.others is not None:
            return super().images_needed(estimate, bound)
        right = self.points.right_at_zero().points
        share, before = self.rule.share, float((right < bound).mean())
        if before == share:
            return math.inf
        tail = (1 - estimate.level) / 2
        wanted = NormalDist().inv_cdf(1 - tail) ** 2 * share * (1 - share) / (before - share) ** 2
        smallest = math.log(tail) / math.log(max(share, 1 - share))  # with fewer an end of the interval is unknown
        return max(wanted, smallest) * len(self.points) / len(right)


@dataclass(frozen=True, eq=False)
class _Confidences(_Question):
    """A metric of confidences: columns of samples × cells of one model, or of two on the same images."""

    columns: list[NDArray[Any]]
    weights: FloatArray
    others: list[NDArray[Any]] | None = None

    def estimate(self, level: float, draws: _Draws) -> Estimate:
        metric = self.rule.confidence
        assert metric is not None
        first = self._mean(self.columns, draws)
        if self.others is None:
            found = first.estimates(level=level, only=[metric.field])
            return replace(found[metric.field], name=self.rule.metric)
        return difference_of(metric, first, self._mean(self.others, draws), level=level)

    def _mean(self, columns: list[NDArray[Any]], draws: _Draws) -> MeanConfidences:
        mean = MeanConfidences(draws.resamples, draws.seed)
        for place, weight in enumerate(self.weights):
            cell = {name: array[:, place] for name, array in zip(COLUMNS, columns, strict=True)}
            mean.add(cell_confidences(cell, seed=draws.seed), float(weight))
        return mean


class _Draws:
    """Resampled means of all columns that are of the same images, drawn once."""

    def __init__(self, questions: Sequence[_Means], level: float, seed: int) -> None:
        self.seed = seed
        self.resamples = resamples = min(max(FEWEST, math.ceil(2 * IN_THE_TAIL / (1 - level))), MOST)
        groups: dict[bytes, list[_Means]] = {}
        for question in questions:
            groups.setdefault(question.samples.tobytes(), []).append(question)
        self._drawn: dict[int, FloatArray] = {}
        for group in groups.values():
            drawn = resampled_means(np.hstack([one.rows for one in group]), seed=seed, resamples=resamples)
            stops = np.cumsum([one.rows.shape[1] for one in group])
            parts = np.split(drawn, stops[:-1], axis=1)
            self._drawn |= {id(one): part for one, part in zip(group, parts, strict=True)}

    def of(self, question: _Means) -> FloatArray:
        """Those of one question's columns."""
        return self._drawn[id(question)]


def _question(evidence: Evidence, theirs: Evidence | None, rule: Rule, model: str) -> _Question:
    other = None if theirs is None else theirs.namesake(model)
    if rule.metric == FAILURE_POINT:
        recipe = evidence.recipe(rule)
        points, samples = evidence.points(rule, recipe, model)
        if theirs is None or other is None:
            return _Points(rule, model, recipe.name, None, points)
        others, theirs_of = theirs.points(rule, recipe, other)
        if not np.array_equal(points.severities, others.severities):
            raise BrittleError(
                f"the rule {rule.title!r}: the failure points of the two runs are of different severities; search both "
                "with the same `search_step` and `tolerance`"
            )
        i, j = _shared(rule, samples, theirs_of)
        first, second = (FailurePoints(p.points[k], p.severities) for p, k in ((points, i), (others, j)))
        return _Points(rule, model, recipe.name, other, first, second)
    measure = evidence.measure(rule)
    if rule.confidence is not None:
        return _confidence_question(evidence, theirs, rule, model, other)
    rows, samples = evidence.rows(rule, model, measure)
    benchmark = None if measure.benchmark is None else measure.benchmark.name
    if theirs is None or other is None:
        return _Means(rule, model, benchmark, None, rows, samples, measure.statistic, measure.exact)
    theirs.check_same_draws(rule, measure.cells)
    their_rows, their_samples = theirs.rows(rule, other, measure)
    i, j = _shared(rule, samples, their_samples)
    both, width = np.hstack([rows[i], their_rows[j]]), rows.shape[1]

    def difference(means: FloatArray) -> FloatArray:
        first, second = measure.statistic(means[..., :width]), measure.statistic(means[..., width:])
        return np.asarray(np.asarray(first) - np.asarray(second))

    return _Means(rule, model, benchmark, other, both, samples[i], difference, exact=False)


def _confidence_question(
    evidence: Evidence, theirs: Evidence | None, rule: Rule, model: str, other: str | None
) -> _Question:
    measure = evidence.measure(rule)
    benchmark, weights = None if measure.benchmark is None else measure.benchmark.name, measure.weights[:, 0]
    columns, samples = evidence.confidences(rule, model, measure)
    if theirs is None or other is None:
        return _Confidences(rule, model, benchmark, None, columns, weights)
    theirs.check_same_draws(rule, measure.cells)
    their_columns, their_samples = theirs.confidences(rule, other, measure)
    i, j = _shared(rule, samples, their_samples)
    first, second = [column[i] for column in columns], [column[j] for column in their_columns]
    return _Confidences(rule, model, benchmark, other, first, weights, second)


def _shared(rule: Rule, first: Samples, second: Samples) -> tuple[Any, Any]:
    """Where the images that both runs have stand in each."""
    shared, i, j = np.intersect1d(first, second, return_indices=True)
    if not shared.size:
        raise BrittleError(f"the rule {rule.title!r}: the two runs have no image in common; run both on the same data")
    return i, j


def _outcome(question: _Question, estimate: Estimate) -> Outcome:
    rule, needed = question.rule, math.inf
    verdict = verdict_on(rule, estimate)
    if verdict == "undecided":
        low, high = _ends(estimate)
        open_bounds = [least for least in [rule.at_least] if least is not None and low < least]
        open_bounds += [most for most in [rule.at_most] if most is not None and most < high]
        assert estimate.n is not None
        needed = max(1.1 * estimate.n, *(question.images_needed(estimate, bound) for bound in open_bounds))
    images = None if verdict != "undecided" or needed > UNREACHABLE else _rounded_up(needed)
    return Outcome(rule, question.model, verdict, estimate, question.benchmark, question.against, images)


def _ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def _rounded_up(number: float) -> int:
    """To two digits."""
    unit: int = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / unit) * unit
