"""What results say, as tables that show themselves: scores, differences, corruptions one by one, ranks, failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._html import html_block, html_number, html_table
from brittle._optional import require
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, Cell
from brittle.evaluation.references import comparable, find_reference
from brittle.evaluation.results import Results
from brittle.evaluation.score import Scores, check_same_images, compare_all, scores, shared_rows
from brittle.metrics import (
    Baseline,
    Estimate,
    FailurePoints,
    PublishedScore,
    bootstrap,
    failure_points,
    resampled_means,
    robustness_score,
)

Value = str | int | float | Estimate | None


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """Rows of words, numbers and estimates with their intervals, to read, and to go on with by `to_polars`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = "percent, with 95 % intervals over images"

    def __len__(self) -> int:
        return len(self.rows)

    def to_polars(self) -> pl.DataFrame:
        """A data frame; an estimate becomes three columns, such as error, error_low and error_high."""
        frame: dict[str, list[Any]] = {}
        for i, column in enumerate(self.columns):
            values = [row[i] for row in self.rows]
            if any(isinstance(value, Estimate) for value in values):
                for end, suffix in (("value", ""), ("low", "_low"), ("high", "_high")):
                    frame[_column_name(column) + suffix] = [value and getattr(value, end) for value in values]
            else:
                frame[_column_name(column)] = values
        return pl.DataFrame(frame)

    def to_pandas(self) -> Any:
        """The same as a pandas data frame."""
        return to_pandas(self.to_polars())

    def __repr__(self) -> str:
        cells = [[_text(value) for value in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.columns, *cells, strict=True)]
        words = self._words

        def line(row: Sequence[str]) -> str:
            sides = ("<" if i < words else ">" for i in range(len(row)))
            return "  ".join(f"{c:{side}{w}}" for c, side, w in zip(row, sides, widths, strict=True)).rstrip()

        return "\n".join([self.title, line(self.columns), *map(line, cells), *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        rows = [[html_number(*_parts(value)) for value in row] for row in self.rows]
        title = html_number(self.title)
        return html_block(f"<b>{title}</b>", html_table(self.columns, rows, left=self._words), note=self.note)

    @property
    def _words(self) -> int:
        """How many columns, from the left, hold words."""
        for i in range(len(self.columns)):
            if not all(isinstance(row[i], str) for row in self.rows):
                return i
        return len(self.columns)


class ScoreList(list[Scores]):
    """The scores of each model on one benchmark, the best mean accuracy first."""

    def summary(self) -> Summary:
        """A row for each model, and a column for each metric that there is."""
        titles = {
            "clean": "clean accuracy",
            "mean_accuracy": "mean accuracy",
            "robustness": "R",
            "error": "unnormalised error",
            "mce": "mCE",
            "relative_mce": "relative mCE",
        }
        fields = [field for field in titles if any(getattr(row, field) is not None for row in self)]
        added = list({field: score.name for row in self for field, score in row.more.items()}.items())
        rows = [
            (row.model, *(getattr(row, field) for field in fields), *(row.more.get(field) for field, _ in added))
            for row in self
        ]
        reference = next((row.reference for row in self if row.mce is not None), None)
        note = Summary.note + (f"; mCE is divided by the errors of {reference}" if reference else "")
        columns = ("model", *(titles[field] for field in fields), *(name for _, name in added))
        return Summary(self[0].benchmark if self else "no scores", columns, tuple(rows), note)

    def to_polars(self) -> pl.DataFrame:
        """A data frame with a row for each model."""
        return self.summary().to_polars()

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Models on one benchmark against the best of them, in pairs, and what others published where that is comparable.

    `differences` are mean accuracies minus that of the best model, the first of `scores`; their intervals hold
    together. `why_not` says why there is no mCE or no published row.
    """

    scores: ScoreList
    differences: dict[str, Estimate]
    published: tuple[PublishedScore, ...] = ()
    why_not: str = ""

    def summary(self) -> Summary:
        """A row for each model, the best first, and one for each published number."""
        table = self.scores.summary()
        rows = [(row[0], rank, *row[1:], self.differences.get(str(row[0]))) for rank, row in enumerate(table.rows, 1)]
        note = f"{table.note}; differences are paired, and their intervals hold for all models at once"
        return Summary(table.title, ("model", "rank", *table.columns[1:], "to the best"), tuple(rows), note)

    def published_summary(self) -> Summary:
        """The numbers that others printed."""
        rows = [(score.who, score.metric, f"{100 * score.value:.1f}", score.citation) for score in self.published]
        return Summary("published", ("model", "metric", "percent", "source"), tuple(rows), "")

    def __repr__(self) -> str:
        parts = [repr(self.summary()), *([repr(self.published_summary())] if self.published else []), self.why_not]
        return "\n".join(filter(None, parts))

    def _repr_html_(self) -> str:
        beside = self.published_summary()._repr_html_() if self.published else ""
        return self.summary()._repr_html_() + beside + (html_block("", note=self.why_not) if self.why_not else "")


class LevelFailures(dict[tuple[str, str], FailurePoints]):
    """The failure points of each (model, corruption) on the levels that were run."""

    def summary(self) -> Summary:
        """The severities at which 5 % and half of the images have failed, of those that are right when clean."""
        rows: list[tuple[Value, ...]] = []
        for (model, corruption), points in self.items():
            right = len(points) - points.at_zero
            quantiles = [points.right_at_zero().quantile(share) if right else None for share in (0.05, 0.5)]
            never = f"{100 * points.never / right:.0f} %" if right else None
            rows.append((model, corruption, *quantiles, never))
        columns = ("model", "corruption", "5 % fail at", "half fail at", "never fail")
        note = (
            "severities of the images that are right when clean, with 95 % intervals; beyond: at no level that was run"
        )
        return Summary("failure points", columns, tuple(rows), note)

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def score_list(results: Results, benchmark: str | Benchmark | None = None, **how: Any) -> ScoreList:
    """What `scores` gives, as a list that shows itself as a table."""
    return ScoreList(scores(results, benchmark, **how))


def compare_with_best(
    results: Results, benchmark: str | Benchmark | None = None, *, reference: Baseline | str | None = None
) -> Comparison:
    """Every model against the best one, in pairs, and published scores where they are comparable."""
    recipe = results.find_benchmark(benchmark)
    table, beside = score_list(results, recipe, reference=reference), comparable(results, recipe)
    gaps = compare_all(results, recipe, [row.model for row in table])
    refusal = beside.refusal(has_reference=any(row.reference for row in table))
    return Comparison(table, gaps, tuple(beside.published), refusal)


def corruption_summary(
    results: Results,
    benchmark: str | Benchmark | None = None,
    *,
    reference: Baseline | str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Summary:
    """Each model under each corruption, over its levels: accuracy, error, CE, relative CE and R, with intervals.

    CE and relative CE are there if there is a reference model, as for `scores`; relative CE and R need clean images.
    """
    check_same_images(results)
    recipe = results.find_benchmark(benchmark)
    if reference is None:
        reference = comparable(results, recipe).baseline
    elif not isinstance(reference, Baseline):
        reference = find_reference(results, recipe, reference)
    cells = recipe.cells()
    rows: list[tuple[Value, ...]] = []
    for model in results.models_with(cells):
        has_clean = model in results.models_with([Cell()])
        table = results.matrix(model, [Cell(), *cells] if has_clean else [cells[0], *cells]).values
        drawn = resampled_means(table, seed=seed, resamples=resamples)
        for entry in recipe.entries:
            at = [0, *(i for i, cell in enumerate(cells, 1) if cell.corruption == entry.id)]
            found: dict[str, Estimate] = {}
            for name, measure in _corruption_measures(reference, entry.id, has_clean).items():
                with suppress(ValueError):  # a ratio to a clean accuracy of zero
                    found[name] = bootstrap(
                        table[:, at], measure, name=name, seed=seed, resamples=resamples, resampled=drawn[:, at]
                    )
            rows.append((model, entry.id, *(found.get(name) for name in CORRUPTION_COLUMNS)))
    kept = [i for i in range(len(CORRUPTION_COLUMNS) + 2) if i < 2 or any(row[i] is not None for row in rows)]
    columns = ("model", "corruption", *CORRUPTION_COLUMNS.values())
    note = f"{Summary.note}; means over levels" + (f"; CE is divided by {reference.title}" if reference else "")
    return Summary(
        f"{recipe.name} by corruption",
        tuple(columns[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in rows),
        note,
    )


CORRUPTION_COLUMNS = {
    "accuracy": "accuracy",
    "error": "error",
    "corruption error": "CE",
    "relative corruption error": "relative CE",
    "robustness R": "R",
}
"""The estimates for one corruption, and the heading of each."""


def _corruption_measures(
    reference: Baseline | None, corruption: str, has_clean: bool
) -> dict[str, Callable[[FloatArray], FloatArray]]:
    """The functions of accuracies (clean, level, level, …) that can be had for one corruption."""

    def right(a: FloatArray) -> FloatArray:
        return np.asarray(a[..., 1:].mean(-1))

    measures: dict[str, Callable[[FloatArray], FloatArray]] = {
        "accuracy": right,
        "error": lambda a: np.asarray(1 - right(a)),
    }
    if has_clean:
        measures["robustness R"] = lambda a: np.asarray(robustness_score(right(a), a[..., 0]))
    if reference is not None:
        below = float(reference.of([corruption])[0])
        if below:
            measures["corruption error"] = lambda a: np.asarray((1 - right(a)) / below)
        gap = below - reference.clean_error
        if has_clean and gap and not isnan(gap):
            measures["relative corruption error"] = lambda a: np.asarray((a[..., 0] - right(a)) / gap)
    return measures


def severity_ranks(
    results: Results, benchmark: str | Benchmark | None = None, *, resamples: int = 1000, seed: int = 0
) -> Summary:
    """The order of the models at each severity, by mean accuracy over the corruptions that have it.

    The interval of a rank holds the ranks that the model has in 95 % of resamples of the images, the same images for
    all models. Models of equal accuracy share the better rank.
    """
    check_same_images(results)
    recipe = results.find_benchmark(benchmark)
    cells = recipe.cells()
    models = results.models_with(cells)
    tables = shared_rows(results, models, cells)
    drawn = [resampled_means(table, seed=seed, resamples=resamples) for table in tables]
    rows: list[tuple[Value, ...]] = []
    for severity in sorted({cell.severity for cell in cells}):
        at = [i for i, cell in enumerate(cells) if cell.severity == severity]
        estimates = [
            bootstrap(table[:, at], _mean, name="accuracy", seed=seed, resamples=resamples, resampled=means[:, at])
            for table, means in zip(tables, drawn, strict=True)
        ]
        values = _ranks(np.array([one.value for one in estimates]))
        low, high = np.percentile(
            _ranks(np.stack([means[:, at].mean(-1) for means in drawn])), [2.5, 97.5], axis=-1, method="nearest"
        )
        for i in np.argsort(values, kind="stable"):
            rank = Estimate("rank", float(values[i]), float(low[i]), float(high[i]), n=len(tables[i]), percent=False)
            rows.append((f"{severity:g}", models[i], rank, estimates[i]))
    columns = ("severity", "model", "rank", "mean accuracy")
    return Summary(f"{recipe.name} by severity", columns, tuple(rows), f"{Summary.note}; rank 1 is the best")


def _mean(accuracies: FloatArray) -> FloatArray:
    return np.asarray(accuracies.mean(-1))


def _ranks(values: FloatArray) -> FloatArray:
    """1 for the largest value on the first axis; values that differ by rounding share a rank."""
    return np.asarray(1 + (values[np.newaxis] > values[:, np.newaxis] + 1e-12).sum(axis=1), dtype=np.float64)


def level_failures(
    results: Results, corruption: str | None = None, benchmark: str | Benchmark | None = None
) -> LevelFailures:
    """The first level at which each image is wrong, for each model and each corruption, or for one corruption.

    Levels are all that is known here: `search_failure_points` finds failure points between them.
    """
    if corruption is None:
        wanted = [entry.id for entry in results.find_benchmark(benchmark).entries]
    else:
        known = sorted({cell.corruption for cell in results.cells if not cell.is_clean})
        wanted = [one for one in known if corruption in (one, one.rpartition("/")[2])]
        if len(wanted) != 1:
            raise BrittleError(
                f"{corruption!r} is {'none' if not wanted else 'more than one'} of the corruptions of these results: "
                f"{', '.join(wanted or known) or 'they are of clean images alone'}"
            )
    found = LevelFailures()
    for one in wanted:
        cells = [cell for cell in results.cells if cell.corruption == one]
        for model in results.models_with([Cell(), *cells]):
            right, levels, _ = results.correct(model, one)
            found[model, one] = failure_points(right, levels)
    return found


def to_pandas(frame: pl.DataFrame) -> Any:
    """A pandas data frame; pyarrow, which Polars would use for it, is not needed."""
    pandas = require("pandas", "pandas")
    return pandas.DataFrame(frame.to_dict(as_series=False))


def _column_name(title: str) -> str:
    return title.replace(" %", "_percent").replace(" ", "_")


def _parts(value: Value) -> tuple[str, str]:
    """A value, and its interval, as they are printed."""
    if not isinstance(value, Estimate):
        return ("–" if value is None else str(value)), ""

    def number(one: float) -> str:
        if value.percent:
            return f"{100 * one:.1f}"
        return f"{one:.3g}" if isfinite(one) else "beyond"

    if value.low is None or value.high is None or value.low == inf:  # beyond what was tried, all of it
        return number(value.value), ""
    interval = f"[{number(value.low)}, {number(value.high)}]"
    return number(value.value), interval


def _text(value: Value) -> str:
    return " ".join(filter(None, _parts(value)))
