"""What the page shows, measured."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.benchmarks import CLEAN, Benchmark, Cell, Entry, Level, ends
from brittle.corruptions import FAMILIES
from brittle.evaluation import Run
from brittle.evaluation.cell import plan
from brittle.evaluation.results import COLUMNS, Results
from brittle.evaluation.score import Scores, by_corruption, scores
from brittle.evaluation.store import Store, scan
from brittle.evaluation.trajectory_scores import SHIFT
from brittle.metrics import WIDENED, Estimate, failure_points, resampled_means, share_intervals, wilson
from brittle.report.html import severity


@dataclass(frozen=True)
class Columns:
    """A corruption with its levels, lowest first, and the column of each; column 0 is the clean images."""

    entry: Entry
    levels: tuple[Level, ...]
    places: tuple[int, ...]

    @property
    def ladder(self) -> tuple[float, ...]:
        """The severities, if there are at least two; ranges to draw from are no ladder."""
        steps = tuple(level for level in self.levels if not isinstance(level, tuple))
        return steps if len(steps) == len(self.levels) > 1 else ()


def severity_columns(benchmark: Benchmark) -> list[Columns]:
    """Every corruption in the order of the recipe."""
    found, start = [], 1
    for entry in benchmark.entries:
        order = sorted(range(len(entry.levels)), key=[*map(ends, entry.levels)].__getitem__)
        found.append(Columns(entry, tuple(entry.levels[i] for i in order), tuple(start + i for i in order)))
        start += len(entry.levels)
    return found


@dataclass(frozen=True, eq=False)
class Part:
    """One benchmark on one set of images, or the clean images alone; models that lack a cell are left out."""

    number: int
    results: Results
    benchmark: Benchmark | None
    models: list[str]
    left_out: list[str]
    slides: bool = False

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
        """What people call a class."""
        if number < 0:
            return "none of the classes"
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    @property
    def name(self) -> str:
        """What people call the benchmark."""
        if self.benchmark is None:
            return self.data or ("Slides" if self.slides else "Clean images")
        return self.benchmark.title.partition(":")[0].strip() or self.benchmark.name

    @property
    def place(self) -> str:
        """The name with that of the run, where several parts have the same."""
        return f"{self.name}, {self.results.runs[0].folder.name}"

    @property
    def about(self) -> str:
        """The rest of the benchmark's title."""
        return "" if self.benchmark is None else self.benchmark.title.partition(":")[2].strip()


def parts(results: Results) -> list[Part]:
    """All parts, in the order in which they were run."""
    found: list[Part] = []
    for group in same_images(results):
        slid = [cell for cell in group.cells if cell.corruption.startswith(SHIFT)]
        if slid:
            whole = group.models_with(slid)
            left_out = [model for model in group.models if model not in whole]
            if whole:
                found.append(Part(len(found) + 1, group, None, whole, left_out, slides=True))
            continue
        clean = [Cell()] if Cell() in group.cells else []
        own: list[tuple[Benchmark | None, list[str]]] = []
        for benchmark in _recipes(group):
            cells = [*clean, *benchmark.cells()]
            whole = group.models_with(cells)
            if whole:
                own.append((benchmark, whole))
        if not own and clean:
            own.append((None, group.models_with(clean)))
        for recipe, models in own:
            left_out = [model for model in group.models if model not in models]
            found.append(Part(len(found) + 1, group, recipe, models, left_out))
    if not found:
        raise BrittleError(
            f"none of the models {', '.join(results.models)} has results on all cells of a recipe, or on clean images; "
            "run them again to fill what is missing"
        )
    return found


def same_images(results: Results) -> list[Results]:
    """One Results for each set of images, since rows of different images must not be averaged together."""
    if len(results.runs) < 2:
        return [results]
    groups: list[tuple[Any, dict[tuple[str, float], str], list[Run]]] = []
    for run in results.runs:
        keys = {c.place: c.key for recipe in Store(run.folder).recipes() for c in plan(recipe)}
        for data, known, runs in groups:
            if data == _data(run) and all(known.get(cell, key) == key for cell, key in keys.items()):
                known |= keys
                runs.append(run)
                break
        else:
            groups.append((_data(run), keys, [run]))
    return [_together(runs, results) for _, _, runs in groups]


def _data(run: Run) -> tuple[Any, ...]:
    """What tells sets of images apart: a digest, or for published sets on disk what is known of them."""
    return *run.images_key, None if run.data_key is not None else (run.data, run.images)


def _together(runs: list[Run], results: Results) -> Results:
    """The rows of some of the runs, those on the same images, with the names that the models have in all of them."""
    stores, among = ([Store(run.folder) for run in several] for several in (runs, results.runs))
    rows = scan(stores, among).select(COLUMNS).filter(pl.col("model").is_in(results.models))
    return Results(rows, tuple(runs))


def _recipes(group: Results) -> list[Benchmark]:
    order = [s.recipe for run in group.runs for s in run.calls]
    found = group.benchmarks()
    if not found:
        found = _made_up(group)
    return sorted(found, key=lambda recipe: order.index(recipe.hash) if recipe.hash in order else len(order))


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


def in_order(several: list[Part], order: list[str]) -> list[Part]:
    """The same parts with their models in this order."""
    return [replace(part, models=sorted(part.models, key=order.index)) for part in several]


Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class FailureSummary:
    """Failure points of one corruption, or of several: those of images that are right when clean."""

    median: float
    mean: float
    last: float
    still_right: float


@dataclass(frozen=True, eq=False)
class FailureCurves:
    """How images that are right when clean break along the levels.

    `ticks` names the steps of the pooled numbers: severities if all corruptions share them, else their ranks.
    """

    images: int
    ticks: list[str]
    shared: bool
    survival: FloatArray
    low: FloatArray
    high: FloatArray
    histogram: FloatArray
    never: float
    pooled: FailureSummary
    corruptions: dict[str, FailureSummary]
    left_out: list[str]


def failure_curves(benchmark: Benchmark, table: Bools) -> FailureCurves | None:
    """Failure points from a matrix of samples × (clean, then every cell); None if there is nothing to climb."""
    right = table[table[:, 0]]
    climbed = [own for own in severity_columns(benchmark) if own.ladder]
    if not climbed or not len(right):
        return None
    blocks = {own.entry.id: right[:, [0, *own.places]] for own in climbed}
    steps = Counter(len(own.ladder) for own in climbed).most_common(1)[0][0]
    pooled = {own.entry.id: own.ladder for own in climbed if len(own.ladder) == steps}
    ladders = set(pooled.values())
    shared = len(ladders) == 1
    axis = np.array([0.0, *next(iter(ladders))]) if shared else np.arange(steps + 1.0)
    together = np.concatenate([blocks[name] for name in pooled])
    points = failure_points(together, axis)
    alive = np.mean([np.logical_and.accumulate(blocks[name], axis=1) for name in pooled], axis=0)
    low, high = share_intervals(alive)
    low[0] = high[0] = 1.0  # by definition: these images are right at severity 0
    return FailureCurves(
        len(right),
        [severity(float(x)) for x in axis[1:]],
        shared,
        points.survival(),
        low,
        high,
        points.histogram()[1:],
        points.never / len(points),
        _breaks(together, axis),
        {own.entry.id: _breaks(blocks[own.entry.id], np.array([0.0, *own.ladder])) for own in climbed},
        [entry.corruption.name for entry in benchmark.entries if entry.id not in pooled],
    )


def _breaks(right: Bools, axis: FloatArray) -> FailureSummary:
    points = failure_points(right, axis)
    last = float(points.severities[-1])
    return FailureSummary(points.median(), points.mean(), last, float(points.survival([last])[0]))


@dataclass(frozen=True)
class EarliestFailure:
    """An image that is right when clean, and the lowest level at which it is wrong."""

    sample: str
    label: int
    confidence: float
    corruption: str
    level: Level
    wrong: int
    wrong_confidence: float


def earliest_failures(part: Part, model: str, corruptions: list[str], each: int) -> list[list[EarliestFailure]]:
    """For each corruption the images that break earliest; of those the ones the model was surest of, no image twice."""
    assert part.benchmark is not None
    rows = part.results.rows.filter((pl.col("model") == model) & pl.col("corruption").is_in([CLEAN, *corruptions]))
    table = rows.select("corruption", "level", "sample", "label", "prediction", "confidence", "correct").collect()
    sure = table.filter((pl.col("corruption") == CLEAN) & pl.col("correct")).select(
        "sample", "label", pl.col("confidence").alias("sure")
    )
    used: set[str] = set()
    found = []
    for corruption in corruptions:
        levels: dict[float, Level] = {
            sum(level) / 2 if isinstance(level, tuple) else level: level
            for level in part.benchmark.entry(corruption).levels
        }
        failed = (
            table.filter(
                (pl.col("corruption") == corruption) & ~pl.col("correct") & pl.col("level").is_in(list(levels))
            )
            .join(sure.select("sample", "sure"), on="sample")
            .sort(["level", "sure", "sample"], descending=[False, True, False])
            .unique("sample", keep="first", maintain_order=True)
            .filter(~pl.col("sample").is_in(sorted(used)))
            .head(each)
        )
        used |= set(failed["sample"])
        found.append(
            [
                EarliestFailure(
                    row["sample"],
                    row["label"],
                    row["sure"],
                    corruption,
                    levels[row["level"]],
                    row["prediction"],
                    row["confidence"],
                )
                for row in failed.iter_rows(named=True)
            ]
        )
    return found


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
    breaking: FailureCurves | None = None

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
        families={family: over(family, own) for family, own in families(part.benchmark).items()},
        breaking=failure_curves(part.benchmark, table) if part.has_clean else None,
    )


def families(benchmark: Benchmark) -> dict[str, list[int]]:
    """The positions of each family's corruptions in the recipe."""
    own = [entry.corruption.family for entry in benchmark.entries]
    order = [*(family for family in FAMILIES if family in own), *sorted(set(own) - set(FAMILIES))]
    return {family: [i for i, other in enumerate(own) if other == family] for family in order}
