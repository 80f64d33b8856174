"""What a report says about one model on one benchmark, taken from the rows once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from brittle.benchmarks import Benchmark
from brittle.corruptions import FAMILIES
from brittle.evaluation.scores import CLEAN_CELL, Scores, by_corruption, cells_of, scores
from brittle.metrics import Estimate, resampled_means, wilson
from brittle.metrics.bootstrap import WIDENED, share_intervals
from brittle.metrics.fraction import Floats
from brittle.report.page.breaking import Breaking, breaking
from brittle.report.page.parts import Part

RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Measure:
    """Accuracies of the clean images (NaN if there are none) and then of each cell, and what is made from them."""

    model: str
    samples: int
    accuracy: Floats
    low: Floats
    high: Floats
    scores: Scores | None = None
    corruptions: dict[str, Estimate] = field(default_factory=dict)
    families: dict[str, Estimate] = field(default_factory=dict)
    breaking: Breaking | None = None

    @property
    def clean(self) -> Estimate | None:
        """The clean accuracy, if the clean images were run."""
        if np.isnan(self.accuracy[0]):
            return None
        low, high = float(self.low[0]), float(self.high[0])
        name = "accuracy" if self.scores is None else "clean accuracy"
        return Estimate(name, float(self.accuracy[0]), low, high, n=self.samples, method="wilson")

    @property
    def main(self) -> Estimate:
        """What models are ranked by: the mean accuracy, or without a benchmark the clean accuracy."""
        found = self.clean if self.scores is None else self.scores.mean_accuracy
        assert found is not None
        return found

    def worst(self) -> list[str]:
        """The corruptions, lowest accuracy first."""
        return sorted(self.corruptions, key=lambda name: (self.corruptions[name].value, name))


def measure(part: Part, reference: str | None = None) -> list[Measure]:
    """Every model of a part, the best first; `reference` divides the errors of mCE, see `scores`."""
    found: dict[str, Scores] = {}
    if part.benchmark is not None:
        rows = scores(part.results, part.benchmark, models=part.models, reference=reference, resamples=RESAMPLES)
        found = {row.model: row for row in rows}
    return sorted((_measure(part, model, found.get(model)) for model in part.models), key=lambda m: -m.main.value)


def _measure(part: Part, model: str, score: Scores | None) -> Measure:
    cells = [] if part.benchmark is None else cells_of(part.benchmark)
    table = part.results.matrix(model, [CLEAN_CELL, *cells] if part.has_clean else cells).values
    right = table.sum(axis=0)
    columns = (right / len(table), *wilson(right, len(table)))
    accuracy, low, high = (x if part.has_clean else np.r_[np.nan, x] for x in columns)
    plain = Measure(model, len(table), accuracy, low, high)
    if part.benchmark is None:
        return plain
    mean = by_corruption(part.benchmark)
    value, shares = mean(accuracy[1:]), mean(table[:, -len(cells) :])
    drawn = mean(resampled_means(table[:, -len(cells) :], resamples=RESAMPLES))

    def over(name: str, columns: list[int]) -> Estimate:
        """The mean over corruptions, with the interval of the same resamples as all other scores."""
        ends = share_intervals(shares[:, columns].mean(1), resampled=drawn[:, columns].mean(1, keepdims=True))
        low, high = (float(end[0]) for end in ends)
        method = f"bootstrap, {RESAMPLES} resamples{WIDENED}"
        return Estimate(name, float(value[columns].mean()), low, high, n=len(table), method=method)

    return replace(
        plain,
        scores=score,
        corruptions={entry.id: over(entry.id, [i]) for i, entry in enumerate(part.benchmark.entries)},
        families={family: over(family, own) for family, own in families(part.benchmark).items()},
        breaking=breaking(part.benchmark, table) if part.has_clean else None,
    )


def families(benchmark: Benchmark) -> dict[str, list[int]]:
    """The positions of each family's corruptions in the recipe."""
    own = [entry.corruption.family for entry in benchmark.entries]
    order = [*(family for family in FAMILIES if family in own), *sorted(set(own) - set(FAMILIES))]
    return {family: [i for i, other in enumerate(own) if other == family] for family in order}
