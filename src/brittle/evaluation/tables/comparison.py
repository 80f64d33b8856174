"""Results as lists and records that print as tables: scores, differences to the best, failures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from brittle._errors import BrittleError
from brittle._html import html_block
from brittle.benchmarks import Benchmark, Cell
from brittle.evaluation.references import Comparable, comparable, published_rows
from brittle.evaluation.results import Results
from brittle.evaluation.score import Scores, compare_all, scores
from brittle.evaluation.tables.formats import Better, Column, ScoreTable, Value
from brittle.evaluation.tables.scores import OVER_IMAGES, as_printed, mark_source, score_notes, table_title
from brittle.metrics import Baseline, Estimate, FailurePoints, PublishedScore, failure_points

WHAT = "scores in percent, mean over corruptions and severities"
SCORES: tuple[tuple[str, Better, str, str], ...] = (
    ("clean accuracy", "higher", "clean", ""),
    ("mean accuracy", "higher", "mean_accuracy", ""),
    ("error", "lower", "error", "unnormalised error"),
    ("R", "higher", "robustness", ""),
    ("mCE", "lower", "mce", "mCE"),
    ("relative mCE", "lower", "relative_mce", "relative mCE"),
)
"""The columns of scores: their names, what is better, their fields, and what published ones are called."""


def _columns(rows: Sequence[Scores], printed: Collection[str] = ()) -> list[tuple[Column, list[Value], str]]:
    """Each score that some model has, or that was printed: its column, its values, and the name it was printed by."""
    known = [
        (Column(name, better), [getattr(r, field) for r in rows], metric) for name, better, field, metric in SCORES
    ]
    added = dict.fromkeys((field, score.name) for row in rows for field, score in row.more.items())
    return [
        *(one for one in known if one[2] in printed or any(value is not None for value in one[1])),
        *((Column(name), [row.more.get(field) for row in rows], "") for field, name in added),
    ]


class ScoreList(list[Scores]):
    """The scores of each model on one benchmark, the best mean accuracy first."""

    def table(self) -> ScoreTable:
        """A row for each model, and a column for each metric that there is."""
        if not self:
            return ScoreTable("scores", "no scores", (Column("model"),), ())
        columns, values, _ = zip(*_columns(self), strict=True)
        lines = zip([row.model for row in self], *values, strict=True)
        title, head = f"{self[0].benchmark}: {WHAT}", (Column("model"), *columns)
        return ScoreTable(f"{self[0].benchmark}-scores", title, head, tuple(lines), OVER_IMAGES, score_notes(self))

    def to_polars(self) -> pl.DataFrame:
        """A data frame with a row for each model."""
        return self.table().to_polars()

    def to_pandas(self) -> Any:
        """The same as a DataFrame of pandas."""
        return self.table().to_pandas()

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Models on one benchmark against the best of them, in pairs, and what others published where that is comparable.

    `differences` are mean accuracies minus that of the best model, the first of `scores`; their intervals are
    simultaneous.
    """

    benchmark: Benchmark
    title: str
    scores: ScoreList
    differences: dict[str, Estimate]
    beside: Comparable

    @property
    def published(self) -> tuple[PublishedScore, ...]:
        """The scores that others printed."""
        return tuple(self.beside.published)

    @property
    def why_not(self) -> str:
        """Why there is no mCE or no published score, in a sentence, or nothing."""
        return self.beside.refusal(has_reference=any(row.reference for row in self.scores))

    def table(self, *, published: bool = True) -> ScoreTable:
        """A row for each model, the best first, and published ones below; the mean accuracy is not printed."""
        theirs = published_rows(self.beside.published) if published else {}
        known = _columns(
            self.scores, {score.metric for published_scores in theirs.values() for score in published_scores}
        )
        lines: list[tuple[Value, ...]] = []
        for place, row in enumerate(self.scores):
            values = [column[place] for _, column, _ in known]
            lines.append((row.model, place + 1, *values, self.differences.get(row.model), "this run"))
        sources: list[str] = []
        for who, published_scores in theirs.items():
            printed = {score.metric: as_printed(score) for score in published_scores}
            citations = list(dict.fromkeys(score.citation for score in published_scores))
            name = " ".join([who, *(mark_source(citation, sources) for citation in citations)])
            lines.append((name, None, *(printed.get(metric) for _, _, metric in known), None, "; ".join(citations)))
        columns = [Column("model"), Column("rank")]
        columns += [replace(column, data_only=column.name == "mean accuracy") for column, _, _ in known]
        columns += [Column("to the best", signed=True), Column("source", data_only=True)]
        kept = [j for j, column in enumerate(columns) if column.name != "to the best" or self.differences]
        return ScoreTable(
            f"{self.benchmark.name}-scores",
            self.title,
            tuple(columns[j] for j in kept),
            tuple(tuple(line[j] for j in kept) for line in lines),
            OVER_IMAGES,
            score_notes(self.scores, self.beside, sources, published=bool(sources)),
        )

    def __repr__(self) -> str:
        return "\n".join(filter(None, [repr(self.table()), self.why_not]))

    def _repr_html_(self) -> str:
        return self.table()._repr_html_() + (html_block("", note=self.why_not) if self.why_not else "")


class LevelFailures(dict[tuple[str, str], FailurePoints]):
    """The failure points of each (model, corruption) on the levels that were run."""

    def table(self) -> ScoreTable:
        """The severities at which 5 % and half of the images have failed, of those that are right when clean."""
        lines: list[tuple[Value, ...]] = []
        for (model, corruption), points in self.items():
            right = len(points) - points.at_zero
            quantiles = [points.right_at_zero().quantile(share) if right else None for share in (0.05, 0.5)]
            never = Estimate("images that never fail", points.never / right) if right else None
            lines.append((model, corruption, *quantiles, never))
        severities = (Column(name, digits=2) for name in ("5 % fail at", "half fail at"))
        return ScoreTable(
            "failure-points",
            "Failure points: severities at which images fail that are right when clean, and percent that never fail",
            (Column("model"), Column("corruption"), *severities, Column("never fail")),
            tuple(lines),
            OVER_IMAGES,
            ("∞: at no level that was run",),
        )

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def score_list(results: Results, benchmark: str | Benchmark | None = None, **how: Any) -> ScoreList:
    """What `scores` gives, as a list that shows itself as a table."""
    return ScoreList(scores(results, benchmark, **how))


def compare_with_best(
    results: Results,
    benchmark: str | Benchmark | None = None,
    *,
    models: Sequence[str] | None = None,
    reference: Baseline | str | None = None,
) -> Comparison:
    """Every model against the best one, in pairs, and published scores where they are comparable."""
    recipe = results.find_benchmark(benchmark)
    rows = score_list(results, recipe, models=models, reference=reference)
    gaps = compare_all(results, recipe, [row.model for row in rows])
    return Comparison(recipe, table_title(results, recipe, WHAT), rows, gaps, comparable(results, recipe))


def score_table(
    results: Results,
    benchmark: Benchmark,
    *,
    models: Sequence[str] | None = None,
    reference: Baseline | str | None = None,
    published: bool = True,
) -> ScoreTable:
    """The scores of each model over all corruptions, the best first, and published models below where comparable.

    The last score is the difference of mean accuracies to the best model, in pairs of the same images; with three
    models or more the intervals of differences hold for all at once. The mean accuracy, 1 − error, is not printed.
    """
    return compare_with_best(results, benchmark, models=models, reference=reference).table(published=published)


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
    failures = LevelFailures()
    for one in wanted:
        cells = [cell for cell in results.cells if cell.corruption == one]
        for model in results.models_with([Cell(), *cells]):
            right, levels, _ = results.correct(model, one)
            failures[model, one] = failure_points(right, levels)
    return failures
