"""Tables for papers: every corruption, ranks, and published tables as they were printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from brittle._errors import BrittleError, did_you_mean
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, Cell
from brittle.evaluation.references import Comparable, comparable
from brittle.evaluation.results import Results
from brittle.evaluation.score import CorruptionScores, Scores, check_same_images, scores, shared_rows
from brittle.evaluation.tables.formats import Better, Column, ScoreTable, Value
from brittle.metrics import (
    Baseline,
    Estimate,
    PublishedScore,
    kendall,
    list_published_tables,
    published_by_corruption,
    published_table,
    resampled_means,
    share_intervals,
)

Measure = Literal["error", "CE", "relative-CE", "accuracy", "R"]
By = Literal["severity", "corruption"]
OVER_IMAGES = "95 % intervals over images"
OVER_MODELS = "95 % intervals over models"


@dataclass(frozen=True)
class _Measure:
    """What is shown of each corruption: its name in a table, what it is, and where it is found."""

    name: str
    what: str
    better: Better
    of_corruption: Callable[[CorruptionScores], Estimate | None]
    over_all: str
    of_all: Callable[[Scores], Estimate | None]
    published: tuple[str, str] | None = None


MEASURES: dict[Measure, _Measure] = {
    "error": _Measure(
        "error",
        "error under each corruption in percent",
        "lower",
        lambda scored: scored.error,
        "mean",
        lambda row: row.error,
        ("error", "unnormalised error"),
    ),
    "CE": _Measure(
        "CE",
        "corruption error (CE: error divided by that of the reference) in percent",
        "lower",
        lambda scored: scored.corruption_error,
        "mCE",
        lambda row: row.mce,
        ("corruption error", "mCE"),
    ),
    "relative-CE": _Measure(
        "relative CE",
        "relative corruption error (what a corruption adds to the error, divided by what it adds to that of the "
        "reference) in percent",
        "lower",
        lambda scored: scored.relative_corruption_error,
        "relative mCE",
        lambda row: row.relative_mce,
        ("relative corruption error", "relative mCE"),
    ),
    "accuracy": _Measure(
        "accuracy",
        "accuracy under each corruption in percent",
        "higher",
        lambda scored: scored.accuracy,
        "mean",
        lambda row: row.mean_accuracy,
    ),
    "R": _Measure(
        "R",
        "robustness R (accuracy divided by clean accuracy) in percent",
        "higher",
        lambda scored: scored.robustness,
        "R",
        lambda row: row.robustness,
    ),
}


def by_corruption_table(
    results: Results,
    benchmark: Benchmark,
    *,
    models: Sequence[str] | None = None,
    reference: Baseline | str | None = None,
    published: bool = True,
    resamples: int = 1000,
    seed: int = 0,
) -> ScoreTable:
    """A row for each model and corruption, with every measure: for CSV and DataFrames; models best first.

    What others published of single corruptions is below, where it is comparable; `source` says whose rows these are.
    """
    rows = scores(results, benchmark, models=models, reference=reference, resamples=resamples, seed=seed)
    beside = comparable(results, benchmark)
    kept = [one for one in MEASURES.values() if any(one.of_corruption(c) for row in rows for c in row.corruptions)]
    theirs = _others(beside, benchmark) if published else {}
    for measure in MEASURES.values():
        names = {score.metric for published_scores in theirs.values() for score in published_scores.values()}
        if measure not in kept and measure.published is not None and measure.published[0] in names:
            kept.append(measure)
    lines: list[tuple[Value, ...]] = [
        (row.model, scored.corruption, *(measure.of_corruption(scored) for measure in kept), "this run")
        for row in rows
        for scored in row.corruptions
    ]
    for (who, citation), printed in theirs.items():
        for corruption, score in printed.items():
            cells = [as_printed(score) if m.published and score.metric == m.published[0] else None for m in kept]
            lines.append((who, corruption, *cells, citation))
    measures = tuple(Column(measure.name, measure.better) for measure in kept)
    columns = (Column("model"), Column("corruption"), *measures, Column("source", data_only=not theirs))
    what = "each model under each corruption, in percent, mean over severities"
    return ScoreTable(
        f"{benchmark.name}-by-corruption",
        table_title(results, benchmark, what),
        tuple(Column(column.name) for column in columns[:-1]) + columns[-1:],
        tuple(lines),
        OVER_IMAGES,
        score_notes(rows, beside, published=bool(theirs)),
    )


def per_corruption_table(
    results: Results,
    benchmark: Benchmark,
    measure: Measure | None = None,
    *,
    models: Sequence[str] | None = None,
    reference: Baseline | str | None = None,
    published: bool = True,
) -> ScoreTable:
    """One measure of every model under every corruption and over all of them, as papers print it.

    Corruptions are rows and models columns, or the other way round where there are more models. The measure is CE if
    there is a reference for it, and else the error. Published models are beside, where they are comparable and printed
    for single corruptions.
    """
    rows = scores(results, benchmark, models=models, reference=reference)
    if measure is None:
        measure = "CE" if any(row.mce is not None for row in rows) else "error"
    if measure not in MEASURES:
        raise BrittleError(f"there is no measure {measure!r}; {did_you_mean(str(measure), MEASURES)}")
    chosen, beside = MEASURES[measure], comparable(results, benchmark)
    if all(chosen.of_all(row) is None for row in rows):
        needed = "clean images" if measure == "R" else "a `reference` model"
        needed += " and clean images" * (measure == "relative-CE")
        raise BrittleError(f"{chosen.name!r} needs {needed}, which these results of {benchmark.name!r} lack")
    names = _short_names(benchmark)
    columns: dict[str, dict[str, Estimate | None]] = {}
    for row in rows:
        column = {names[c.corruption]: chosen.of_corruption(c) for c in row.corruptions}
        columns[row.model] = column | {chosen.over_all: chosen.of_all(row)}
    sources: list[str] = []
    if published and chosen.published is not None:
        means = {
            (score.who, score.citation): score for score in beside.published if score.metric == chosen.published[1]
        }
        for (who, citation), printed in _others(beside, benchmark).items():
            column = {
                names[c]: as_printed(score) for c, score in printed.items() if score.metric == chosen.published[0]
            }
            if column:
                mean = means.get((who, citation))
                column[chosen.over_all] = None if mean is None else as_printed(mean)
                columns[f"{who} {mark_source(citation, sources)}"] = column
    keys = [*names.values(), chosen.over_all]
    what = f"{chosen.what}, mean over severities"
    divided = rows if measure in ("CE", "relative-CE") else []
    caption = Caption(
        f"{benchmark.name}-{measure}",
        table_title(results, benchmark, what),
        OVER_IMAGES,
        score_notes(divided, beside, sources, published=bool(sources)),
    )
    return crossed_table(caption, "corruption", keys, columns, chosen.better)


@dataclass(frozen=True)
class Caption:
    """What stands around the numbers of a table, as in `ScoreTable`."""

    name: str
    title: str
    intervals: str
    notes: tuple[str, ...] = ()


def crossed_table(
    caption: Caption,
    kind: str,
    keys: Sequence[str],
    columns: Mapping[str, Mapping[str, Value]],
    better: Better,
) -> ScoreTable:
    """Models as columns, or as rows where there are more models than keys; the best of each key is marked."""
    name, title, intervals, notes = caption.name, caption.title, caption.intervals, caption.notes
    if len(columns) <= len(keys):
        head = (Column(kind), *(Column(model, better) for model in columns))
        lines = tuple((key, *(values.get(key) for values in columns.values())) for key in keys)
        return ScoreTable(name, title, head, lines, intervals, notes, "row")
    head = (Column("model"), *(Column(key, better) for key in keys))
    lines = tuple((model, *(values.get(key) for key in keys)) for model, values in columns.items())
    return ScoreTable(name, title, head, lines, intervals, notes)


def rank_table(
    results: Results,
    benchmark: Benchmark,
    *,
    by: By | None = None,
    models: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> ScoreTable:
    """The rank of each model at each severity, or under each corruption, and Kendall's τ of these rankings.

    By severity, accuracies are means over corruptions, and τ is to the ranking at the lowest severity; by corruption
    they are means over severities, and τ is to the ranking on the whole benchmark. Without `by` it is the severity
    where the corruptions share two or more. Equal models share the better rank; τ needs three models. The interval of a
    rank holds the ranks that the model has in 95 % of resamples of the images, the same images for all models. CSV and
    DataFrames have the accuracies too.
    """
    check_same_images(results)
    cells = benchmark.cells()
    chosen = list(results.models_with(cells) if models is None else models)
    shared = sorted(set.intersection(*({cell.severity for cell in group} for group in _cells_of(benchmark).values())))
    if by is None:
        by = "severity" if len(shared) > 1 else "corruption"
    if by not in get_args(By):
        raise BrittleError(f"ranks are by severity or by corruption, got {by!r}")
    if by == "severity":
        if not shared:
            raise BrittleError(f"the corruptions of {benchmark.name!r} share no severity; rank by corruption")
        parts = {f"severity {s:g}": [i for i, cell in enumerate(cells) if cell.severity == s] for s in shared}
        note = f"τ is Kendall's τ-b to the ranking at {next(iter(parts))}; accuracies are means over corruptions."
    else:
        names = _short_names(benchmark)
        parts = {names[c]: [cells.index(cell) for cell in group] for c, group in _cells_of(benchmark).items()}
        note = "τ is Kendall's τ-b to the ranking on all corruptions; accuracies are means over severities."
    rows = np.stack(shared_rows(results, chosen, cells))
    shares = np.stack([rows[..., at].mean(-1) for at in parts.values()], axis=-1)  # model × image × part
    if by == "corruption":
        parts["all"] = []
        shares = np.concatenate([shares, shares.mean(-1, keepdims=True)], axis=-1)
    drawn = np.stack([resampled_means(by_image, seed=seed, resamples=resamples) for by_image in shares])
    values, ends = shares.mean(1), [share_intervals(o, resampled=d) for o, d in zip(shares, drawn, strict=True)]
    ranks = _ranks(values)
    low, high = np.percentile(_ranks(drawn), [2.5, 97.5], axis=1, method="nearest")
    first = values[:, 0 if by == "severity" else -1].round(12)  # equal models differ by rounding, else
    order = np.argsort(-values.mean(-1).round(12), kind="stable")
    lines: list[tuple[Value, ...]] = []
    for place, key in enumerate(parts):

        def estimate(name: str, value: FloatArray, low: FloatArray, high: FloatArray, percent: bool) -> Estimate:
            ends = float(low[place]), float(high[place])  # noqa: B023 - called at once
            return Estimate(name, float(value[place]), *ends, n=shares.shape[1], percent=percent)  # noqa: B023

        ranked = [estimate("rank", ranks[m], low[m], high[m], percent=False) for m in order]
        accuracies = [estimate("accuracy", values[m], ends[m][0], ends[m][1], percent=True) for m in order]
        lines.append((key, *ranked, _tau(first, values[:, place].round(12)), *accuracies))
    columns = [Column(by), *(Column(chosen[m], "lower", digits=0) for m in order), Column("Kendall's τ")]
    columns += [Column(f"accuracy of {chosen[m]}", data_only=True) for m in order]
    return ScoreTable(
        f"{benchmark.name}-ranks-by-{by}",
        table_title(results, benchmark, f"rank of each model by accuracy at each {by}"),
        tuple(columns),
        tuple(lines),
        f"{OVER_IMAGES} (ranks) and over models (τ)",
        (note, *(["Kendall's τ needs three models or more."] if len(chosen) < 3 else [])),
        "row",
    )


def _cells_of(benchmark: Benchmark) -> dict[str, list[Cell]]:
    """The cells of each corruption, by its id."""
    return {
        entry.id: [cell for cell in benchmark.cells() if cell.corruption == entry.id] for entry in benchmark.entries
    }


def _ranks(values: FloatArray) -> FloatArray:
    """1 for the largest value on the first axis; values that differ by rounding share a rank."""
    return np.asarray(1 + (values[np.newaxis] > values[:, np.newaxis] + 1e-12).sum(axis=1), dtype=np.float64)


def agreement_table(results: Results, benchmarks: Sequence[Benchmark]) -> ScoreTable:
    """Kendall's τ between the rankings of models on each two benchmarks, with its interval and p-value.

    A pair counts the models that were run through both; with fewer than three there is no τ.
    """
    check_same_images(results)
    names = _distinct(benchmarks)
    accuracies: dict[str, dict[str, float]] = {}
    for name, benchmark in zip(names, benchmarks, strict=True):
        accuracies[name] = {row.model: row.mean_accuracy.value for row in scores(results, benchmark, resamples=1)}
    lines = []
    for a, b in combinations(names, 2):
        models = sorted(accuracies[a].keys() & accuracies[b].keys())
        tau = _tau(*(np.array([accuracies[name][model] for model in models]) for name in (a, b)))
        p = getattr(tau, "p", None)
        lines.append((a, b, len(models), tau, None if p is None else Estimate("p", p, percent=False)))
    return ScoreTable(
        "agreement-of-benchmarks",
        f"Kendall's τ-b between rankings of models by mean accuracy, on {_images(results)}",
        tuple(map(Column, ("benchmark", "other benchmark", "models", "Kendall's τ", "p"))),
        tuple(lines),
        OVER_MODELS,
    )


def _tau(x: FloatArray, y: FloatArray) -> Estimate | None:
    """Kendall's τ, or None where there is none: for fewer than three models, or equal ones."""
    try:
        return kendall(x, y)
    except ValueError:
        return None


NO_SCORES = ("_std", "_rank", "difference")
"""How columns of published tables end that have no best value."""


def printed_table(name: str) -> ScoreTable:
    """A bundled published table as it was printed, with its source and year; see `list_published_tables`."""
    table = published_table(name)
    columns, values = [], []
    for column, printed in table.columns.items():
        numbers = isinstance(printed, np.ndarray)
        better = table.better if numbers and not column.endswith(NO_SCORES) else None
        digits = max((len(f"{v:.10f}".rstrip("0").partition(".")[2]) for v in printed), default=0) if numbers else None
        columns.append(Column(column, better, digits=digits))
        values.append([None if numbers and np.isnan(v) else float(v) if numbers else str(v) for v in printed])
    return ScoreTable(
        table.name,
        f"{table.name}: {table.what}",
        tuple(columns),
        tuple(zip(*values, strict=True)),
        notes=(f"As printed: {table.citation}",),
    )


def published_index() -> ScoreTable:
    """The names of all bundled published tables, what they hold, and their sources."""
    tables = [published_table(name) for name in list_published_tables()]
    return ScoreTable(
        "published-tables",
        "Bundled published tables",
        (Column("name"), Column("what"), Column("source")),
        tuple((table.name, table.what, table.citation) for table in tables),
    )


def _others(beside: Comparable, benchmark: Benchmark) -> dict[tuple[str, str], dict[str, PublishedScore]]:
    """By whose they are and where they were printed: published scores of each corruption, where they are comparable."""
    published: dict[tuple[str, str], dict[str, PublishedScore]] = {}
    if beside.published_name:
        by_name = published_by_corruption(beside.published_name, [entry.id for entry in benchmark.entries])
        for corruption, of_corruption in by_name.items():
            for score in of_corruption:
                published.setdefault((score.who, score.citation), {})[corruption] = score
    return published


def as_printed(score: PublishedScore) -> Estimate:
    """A published score, which has no interval."""
    return Estimate(score.metric, score.value, method=f"published: {score.citation}")


def mark_source(citation: str, sources: list[str]) -> str:
    """The number of a source in brackets; a new one is added to the list."""
    if citation not in sources:
        sources.append(citation)
    return f"[{sources.index(citation) + 1}]"


def score_notes(
    rows: Sequence[Scores], beside: Comparable | None = None, sources: Sequence[str] = (), *, published: bool = False
) -> tuple[str, ...]:
    """Which model divides mCE, why there is none, how pictures differ from published ones, and numbered sources."""
    reference = next((row.reference for row in rows if row.mce is not None), None)
    notes = [f"mCE is divided by the errors of {reference}; those are taken as exact."] if reference else []
    if beside is not None:
        theirs = beside.baseline is not None and reference == beside.baseline.title
        notes += beside.notes if theirs or published else ()
    if sources:
        notes.append("Published: " + "; ".join(f"[{number}] {source}" for number, source in enumerate(sources, 1)))
    return tuple(notes)


def table_title(results: Results, benchmark: Benchmark, what: str) -> str:
    """What a table is of: the benchmark, the images, and what its numbers are."""
    return f"{benchmark.name} on {_images(results)}: {what}"


def _images(results: Results) -> str:
    """How many images of which data a table is of."""
    images = list(dict.fromkeys(f"{run.images:,} images of {run.data}" for run in results.runs))
    return " and ".join(images) or "images"


def _short_names(benchmark: Benchmark) -> dict[str, str]:
    """The name of each corruption by its id, without its source where that is enough."""
    short = [entry.id.rpartition("/")[2] for entry in benchmark.entries]
    return {
        entry.id: entry.id if short.count(name) > 1 else name
        for entry, name in zip(benchmark.entries, short, strict=True)
    }


def _distinct(benchmarks: Sequence[Benchmark]) -> list[str]:
    """The names of benchmarks, with a part of their hash where two have the same."""
    names = [benchmark.name for benchmark in benchmarks]
    return [b.name if names.count(b.name) == 1 else f"{b.name} {b.hash[:6]}" for b in benchmarks]
