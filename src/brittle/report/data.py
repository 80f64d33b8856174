"""Parts of a page, which are benchmarks on sets of images, and what is measured of their models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.corruptions import FAMILIES
from brittle.datasets import class_name
from brittle.evaluation import SHIFT, Results, Scores, by_corruption, compare_all, same_images, scores, shared_rows
from brittle.evaluation.diagnosis import FailureCurves, failure_curves
from brittle.metrics import WIDENED, Estimate, holm, mcnemar, resampled_means, share_intervals, wilson
from brittle.report.theme import ModelStyles


@dataclass(frozen=True, eq=False)
class Part:
    """One benchmark on one set of images, or the clean images alone; models that lack a cell are left out."""

    number: int
    results: Results
    benchmark: Benchmark | None
    models: list[str]
    left_out: list[str]
    slides: bool = False
    sequences: bool = False
    streams: bool = False

    @property
    def has_clean(self) -> bool:
        """Whether the clean images were run; published sets on disk do not hold them."""
        return Cell() in self.results.cells

    @property
    def id(self) -> str:
        """What the ids of its sections begin with."""
        return f"part{self.number}"

    @property
    def data(self) -> str:
        """The name of the images."""
        return next((str(run.data) for run in self.results.runs if run.data), "")

    @property
    def classes(self) -> list[str]:
        """The names of the classes, if they are known."""
        return next((list(run.classes) for run in self.results.runs if run.classes), [])

    def class_name(self, number: int) -> str:
        """The name of a class, or its number."""
        return class_name(number, self.classes)

    @property
    def name(self) -> str:
        """The title of the benchmark, or the name of the images."""
        if self.sequences:
            return "Sequences"
        if self.streams:
            return "Streams"
        if self.benchmark is None:
            return self.data or ("Slides" if self.slides else "Clean images")
        return self.benchmark.title.partition(":")[0].strip() or self.benchmark.name

    @property
    def place(self) -> str:
        """The name with that of the run, where two parts have the same."""
        return f"{self.name}, {self.results.runs[0].folder.name}"

    @property
    def about(self) -> str:
        """The rest of the benchmark's title."""
        return "" if self.benchmark is None else self.benchmark.title.partition(":")[2].strip()


def parts(results: Results) -> list[Part]:
    """All parts, in the order in which they were run."""
    made: list[Part] = []
    for group in same_images(results):
        shifted = [cell for cell in group.cells if cell.corruption.startswith(SHIFT)]
        clean = [Cell()] if Cell() in group.cells else []
        chosen: list[tuple[Benchmark | None, list[str]]] = []
        if shifted:
            chosen.append((None, group.models_with(shifted)))
        else:
            chosen += [(recipe, group.models_with([*clean, *recipe.cells()])) for recipe in _recipes(group)]
            if clean and not any(models for _, models in chosen):
                chosen = [(None, group.models_with(clean))]
        of_group = [
            Part(0, group, recipe, models, [m for m in group.models if m not in models], slides=bool(shifted))
            for recipe, models in chosen
            if models
        ]
        special = [Part(0, group, None, _shown(rows), [], **{kind: True}) for kind, rows in _special(group)]
        alone = clean and all(part.benchmark is None and not part.slides for part in of_group)
        of_group = [*special, *of_group] if alone else [*of_group, *special]  # clean images alone come last
        made += [replace(part, number=len(made) + place) for place, part in enumerate(of_group, start=1)]
    if not made:
        raise BrittleError(
            f"none of the models {', '.join(results.models)} has results on all cells of a recipe, or on clean images; "
            "run them again to fill what is missing"
        )
    return made


def _special(group: Results) -> Iterator[tuple[str, pl.LazyFrame]]:
    """The rows of sequences and of streams, if there are some."""
    for kind in ("sequences", "streams"):
        rows = getattr(group, kind)
        if rows is not None:
            yield kind, rows


def _shown(rows: pl.LazyFrame) -> list[str]:
    return sorted(rows.select("model").unique().collect()["model"])


def _recipes(group: Results) -> list[Benchmark]:
    order = [s.recipe for run in group.runs for s in run.calls]
    recipes = group.benchmarks() or _made_up(group)
    return sorted(recipes, key=lambda recipe: order.index(recipe.hash) if recipe.hash in order else len(order))


def _made_up(group: Results) -> list[Benchmark]:
    """Rows that came without a recipe: what they hold is the recipe, as far as the corruptions are known."""
    levels: dict[str, tuple[float, ...]] = {}
    for cell in group.cells:
        if not cell.is_clean:
            levels[cell.corruption] = (*levels.get(cell.corruption, ()), cell.severity)
    entries = []
    for item in levels.items():
        with suppress(ValueError):
            entries.append(Entry(*item))
    return [Benchmark("all corruptions", tuple(entries), "All corruptions")] if entries else []


RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Measure:
    """Accuracies of the clean images (NaN if there are none) and then of each cell, and what is made from them."""

    model: str
    samples: int
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    scores: Scores | None = None
    corruptions: dict[str, Estimate] = field(default_factory=dict)
    families: dict[str, Estimate] = field(default_factory=dict)
    failures: FailureCurves | None = None

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
        main = self.clean if self.scores is None else self.scores.mean_accuracy
        assert main is not None
        return main

    def worst(self) -> list[str]:
        """The corruptions, lowest accuracy first."""
        return sorted(self.corruptions, key=lambda name: (self.corruptions[name].value, name))


@dataclass(frozen=True, eq=False)
class Measured:
    """A part with its models, the best first, how far the others are from it, and McNemar's p on clean images."""

    part: Part
    models: list[Measure]
    gaps: dict[str, Estimate] = field(default_factory=dict)
    p_values: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> Measure:
        """What was measured of the first model."""
        return self.models[0]

    def shown(self, styles: ModelStyles) -> list[Measure]:
        """The models that have a colour."""
        return [one for one in self.models if styles[one.model].shown]


def measure(part: Part, reference: str | None = None) -> Measured:
    """Every model of a part; `reference` divides the errors of mCE, see `scores`."""
    by_model: dict[str, Scores] = {}
    if part.benchmark is not None:
        rows = scores(part.results, part.benchmark, models=part.models, reference=reference, resamples=RESAMPLES)
        by_model = {row.model: row for row in rows}
    models = sorted((_measure(part, model, by_model.get(model)) for model in part.models), key=lambda m: -m.main.value)
    names = [one.model for one in models]
    gaps = compare_all(part.results, part.benchmark, names, resamples=RESAMPLES)
    return Measured(part, models, gaps, _against_best(part, names) if len(names) > 1 else {})


def _against_best(part: Part, models: list[str]) -> dict[str, float]:
    """McNemar's p of each further model against the first, on the clean images, adjusted for how many they are."""
    if not part.has_clean:
        return {}
    best, *others = (table[:, 0] for table in shared_rows(part.results, models, [Cell()]))
    return dict(zip(models[1:], holm([mcnemar(other, best).p for other in others]), strict=True))


def _measure(part: Part, model: str, score: Scores | None) -> Measure:
    cells = [] if part.benchmark is None else part.benchmark.cells()
    table = part.results.matrix(model, [Cell(), *cells] if part.has_clean else cells).values
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
        families={family: over(family, places) for family, places in families(part.benchmark).items()},
        failures=failure_curves(part.benchmark, table) if part.has_clean else None,
    )


def families(benchmark: Benchmark) -> dict[str, list[int]]:
    """The positions of each family's corruptions in the recipe."""
    names = [entry.corruption.family for entry in benchmark.entries]
    order = [*(family for family in FAMILIES if family in names), *sorted(set(names) - set(FAMILIES))]
    return {family: [i for i, other in enumerate(names) if other == family] for family in order}
