"""The sections of a part: each gives what its template shows, or None if the results have nothing of the kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from brittle._types import FloatArray
from brittle.benchmarks import Benchmark
from brittle.evaluation import CONFIDENCE_METRICS, CorruptionScores, calibration_scores, comparable, published_rows
from brittle.evaluation.diagnosis import (
    ClassScores,
    Columns,
    FailureCurves,
    FailureNumbers,
    earliest_failures,
    model_calibration,
    scores_by_class,
    severity_columns,
)
from brittle.metrics import Estimate
from brittle.report import charts
from brittle.report.data import RESAMPLES, Measure, Measured, Part, families
from brittle.report.pictures import failure_strip, run_pictures
from brittle.report.theme import ModelStyle, ModelStyles, listed, percent, severity, short_name, signed, tenths

Shown = dict[str, Any] | None
"""What a template is given."""

CARDS, WORST = 6, 3


def summary(measured: Measured, styles: ModelStyles) -> Shown:
    """A verdict in a few sentences, a card for each of the first models, and one image on its way to its failure."""
    cards = [_card(measured.part, one) for one in measured.models[:CARDS]]
    return {
        "verdict": _verdict(measured),
        "cards": cards,
        "more": len(measured.models) - len(cards),
        "strip": failure_strip(measured.part, measured.best),
        "many_models": len(styles.order) > 1,
    }


def _verdict(measured: Measured) -> dict[str, Any]:
    """What somebody with twenty seconds takes away, about the best model."""
    best, harmful = measured.best, _harmful(measured.best)
    runner_up = measured.models[1].model if len(measured.models) > 1 else None
    worst = harmful[0] if harmful else None
    last = None
    if worst is not None and measured.part.benchmark is not None:
        columns = next(one for one in severity_columns(measured.part.benchmark) if one.entry.id == worst)
        last = (columns.levels[-1], float(best.accuracy[columns.places[-1]])) if columns.ladder else None
    half: dict[str, Any] | None = None
    if best.failures is not None:
        medians = {name: one.median for name, one in best.failures.corruptions.items() if math.isfinite(one.median)}
        half = {"all": len(best.failures.corruptions), "reached": len(medians)}
        if medians:
            steps = {one.entry.id: one.ladder[-1] for one in severity_columns(measured.part.benchmark) if one.ladder}  # type: ignore[arg-type]
            half["name"] = min(medians, key=lambda name: (medians[name] / steps[name], name))
            half["severity"] = medians[half["name"]]
    gap = measured.gaps.get(runner_up) if runner_up else None
    return {
        "best": best,
        "models": len(measured.models),
        "worst": worst,
        "last": last,
        "half": half,
        "runner_up": runner_up,
        "gap": gap,
        "leads": gap is not None and gap.value < 0,
        "is_clear": is_clear(gap),
    }


def _harmful(measure: Measure) -> list[str]:
    """The corruptions that lower the accuracy, the worst first."""
    clean = measure.clean.value if measure.clean else 1.0
    return [name for name in measure.worst() if measure.corruptions[name].value < clean]


def is_clear(gap: Estimate | None) -> bool:
    """Whether a difference is not zero, by its interval."""
    return gap is not None and gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)


def _card(part: Part, measure: Measure) -> dict[str, Any]:
    worst = [(short_name(name), measure.corruptions[name].value) for name in _harmful(measure)[:WORST]]
    kept = None if measure.scores is None else measure.scores.robustness
    return {"model": measure.model, "measure": measure, "kept": kept, "worst": worst, "tiles": key_numbers(measure),
            "benchmark": part.name}  # fmt: skip


def key_numbers(measure: Measure) -> list[tuple[Estimate, str]]:
    """The numbers of a card, each with the direction that is good."""
    if measure.scores is None:
        return [(measure.main, "higher is better")]
    scores = measure.scores
    last = (scores.error, "lower is better")
    if scores.mce is not None and scores.reference is not None:
        last = (scores.mce, f"lower is better; {scores.reference.partition(':')[0]} is 100 %")
    known = [(scores.clean, ""), (scores.mean_accuracy, "over corruptions"), (scores.robustness, "mean ÷ clean"), last]
    return [(estimate, note) for estimate, note in known if estimate is not None]


FIX_PICTURES, FIX_MODELS = 3, 3


@lru_cache(maxsize=16)
def _by_class(part: Part, model: str) -> ClassScores:
    """Measured once for two sections."""
    assert part.benchmark is not None
    return scores_by_class(part.results, part.benchmark, model)


def priorities(measured: Measured, styles: ModelStyles) -> Shown:
    """The pairs of corruption and class with the largest losses of the first models."""
    part = measured.part
    if part.benchmark is None or not part.has_clean:
        return None
    album, views = run_pictures(part), []
    for one in measured.shown(styles)[:FIX_MODELS]:
        classes = _by_class(part, one.model)
        if not classes.losses:
            continue
        pairs = []
        if album is not None:
            drawn = [loss for loss in classes.losses if album.drawable(loss.corruption)][:FIX_PICTURES]
            wanted = [(loss.corruption, loss.label) for loss in drawn]
            failures = earliest_failures(part.results, part.benchmark, one.model, wanted, 1)
            pairs = [album.pair(part, failure) for group in failures for failure in group]
        views.append({"name": one.model, "losses": classes.losses, "pairs": classes.pairs, "pictures": pairs})
    return {"views": views} if views else None


@dataclass(frozen=True)
class Bar:
    """The bar of one model: its estimate, its clean accuracy, and named rings beside it."""

    model: str
    style: ModelStyle
    estimate: Estimate
    clean: Estimate | None
    rings: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True)
class BarGroup:
    """The bars of all models under one title; models without a colour share one line of rings."""

    title: str
    family: str
    note: str
    bars: list[Bar]


def by_family(measured: Measured, styles: ModelStyles) -> Shown:
    """One group of bars for each family."""
    part = measured.part
    if part.benchmark is None:
        return None
    groups = []
    for family, places in families(part.benchmark).items():
        ids = [part.benchmark.entries[i].id for i in places]
        bars = []
        for one in measured.models:
            rings = [(short_name(name), one.corruptions[name].value) for name in ids]
            bars.append(Bar(one.model, styles[one.model], one.families[family], one.clean, rings))
        groups.append(BarGroup(family, family, ", ".join(map(short_name, ids)), bars))
    return {"groups": groups, "many_models": len(styles.order) > 1}


def curves(measured: Measured, styles: ModelStyles) -> Shown:
    """A chart for each corruption with more than one severity, bars for the others, and a table of scores."""
    part, models = measured.part, measured.models
    if part.benchmark is None:
        return None
    columns = severity_columns(part.benchmark)
    climbed, single = [one for one in columns if one.ladder], [one for one in columns if not one.ladder]
    drawings: list[charts.Chart] = []
    if climbed:
        last = max(one.ladder[-1] for one in climbed)
        top = max(float(np.nanmax(one.high)) for one in models)
        drawings = [_curve(one, models, styles, last, top) for one in climbed]
    return {
        "charts": drawings,
        "groups": [_single_level(one, models, styles) for one in single],
        "legend": styles.among(part.models),
        "bands": len(models) <= 3,
        "many_models": len(styles.order) > 1,
        "scores": [{"name": one.model, **_corruption_scores(part.benchmark, one)} for one in models if one.scores],
        "reference": next((one.scores.reference for one in models if one.scores and one.scores.mce), None),
    }


def _corruption_scores(benchmark: Benchmark, measure: Measure) -> dict[str, Any]:
    """The rows of one model, the worst corruption first, and which measures there are."""
    assert measure.scores is not None
    family = {entry.id: entry.corruption.family for entry in benchmark.entries}
    rows: list[tuple[CorruptionScores, str]] = [(one, family[one.corruption]) for one in measure.scores.worst_first()]
    measures = {"CE": "corruption_error", "relative CE": "relative_corruption_error", "robustness R": "robustness"}
    known = {title: name for title, name in measures.items() if any(getattr(one, name) for one, _ in rows)}
    return {"rows": rows, "measures": known}


def _curve(columns: Columns, models: list[Measure], styles: ModelStyles, last: float, top: float) -> charts.Chart:
    name, xs, at = columns.entry.corruption.name, [*columns.ladder], [*columns.places]
    if models[0].clean is not None:
        xs, at = [0.0, *xs], [0, *at]
    series = [
        charts.Series(
            one.model, styles[one.model], xs, one.accuracy[at].tolist(), one.low[at].tolist(), one.high[at].tolist()
        )
        for one in models
    ]
    first = models[0]
    ends = [f"{tenths(first.accuracy[i])} % at severity {severity(x)}" for x, i in ((xs[0], at[0]), (xs[-1], at[-1]))]
    label = f"{name}: the accuracy of {first.model} goes from {ends[0]} to {ends[1]}"
    return charts.severity_curve(
        charts.Caption(name, "", label, columns.entry.corruption.family), series, last=last, top=top
    )


def _single_level(columns: Columns, models: list[Measure], styles: ModelStyles) -> BarGroup:
    entry, i = columns.entry, columns.places[0]
    bars = []
    for one in models:
        estimate = Estimate(entry.id, float(one.accuracy[i]), float(one.low[i]), float(one.high[i]))
        bars.append(Bar(one.model, styles[one.model], estimate, one.clean))
    return BarGroup(entry.corruption.name, entry.corruption.family, "", bars)


def heat_maps(measured: Measured, styles: ModelStyles) -> Shown:
    """A table for each model, and the difference of each coloured one to the best."""
    benchmark, models = measured.part.benchmark, measured.models
    if benchmark is None:
        return None
    best, top = models[0], max(float(np.nanmax(one.accuracy)) for one in models) or 1.0
    views = [{"name": one.model, "map": _heat_map(benchmark, one.accuracy, top)} for one in models]
    for one in measured.shown(styles):
        if one is not best:
            gap = one.accuracy - best.accuracy
            most = float(np.nanmax(np.abs(gap))) or 0.1
            shown = _heat_map(benchmark, gap, most, difference=True)
            views.append({"name": f"{one.model} − {best.model}", "map": shown})
    return {"views": views, "own_levels": len({entry.levels for entry in benchmark.entries}) > 1}


def _heat_map(benchmark: Benchmark, values: FloatArray, top: float, *, difference: bool = False) -> charts.HeatMap:
    columns = severity_columns(benchmark)
    most, shared = max(len(one.levels) for one in columns), len({entry.levels for entry in benchmark.entries}) == 1
    names = [severity(level) for level in columns[0].levels] if shared else [str(i + 1) for i in range(most)]
    has_clean = not np.isnan(values[0])
    heads = [("severity" if shared else "level", name) for name in names]
    clean_head, clean = ([("", "clean")], [float(values[0])]) if has_clean else ([], [])
    rows = []
    for one in columns:
        cells = values[[*one.places]]
        empty = [None] * (most - len(cells))
        notes = [] if shared else [*[""] * has_clean, *map(severity, one.levels)]
        corruption = one.entry.corruption
        shown = [*clean, *map(float, cells), *empty, float(cells.mean())]
        rows.append(charts.HeatRow(corruption.name, shown, notes, corruption.family))
    return charts.HeatMap([*clean_head, *heads, ("", "mean")], rows, top, difference)


IN_TABLE = 4
"""More models than these do not fit beside each other."""


def failures(measured: Measured, styles: ModelStyles) -> Shown:
    """Only for benchmarks whose corruptions have more than one severity."""
    pairs = [(one, one.failures) for one in measured.shown(styles) if one.failures is not None]
    if not pairs:
        return None
    first = pairs[0][1]
    names = sorted(first.corruptions, key=lambda name: (first.corruptions[name].still_right, name))
    what = "severity" if first.shared else "level (corruptions have severities of their own)"
    return {
        "left_out": listed(first.left_out),
        "legend": styles.among([one.model for one, _ in pairs]),
        "charts": [_survival(pairs, styles, what), _histogram(pairs, styles, what)],
        "columns": pairs[:IN_TABLE],
        "rows": [(short_name(name), [points.corruptions[name] for _, points in pairs[:IN_TABLE]]) for name in names],
        "total": [points.pooled for _, points in pairs[:IN_TABLE]],
        "shared": first.shared,
        "median": failure_median,
    }


def failure_median(numbers: FailureNumbers) -> str:
    """The median in words; beyond the axis it is only known to be larger."""
    return f"> {severity(numbers.last)}" if math.isinf(numbers.median) else severity(numbers.median)


Pair = tuple[Measure, FailureCurves]


def _survival(pairs: list[Pair], styles: ModelStyles, what: str) -> charts.Chart:
    ticks = ["clean", *pairs[0][1].ticks]
    xs = [0.3 + i for i in range(len(ticks))]
    across = charts.Axis(0, len(ticks) - 0.7, list(zip(xs, ticks, strict=True)), "level")
    frame = charts.Frame(440, 250, across, charts.share_axis(1.0, "still right"), (10, 10, 24, 32))
    series = [
        charts.Series(one.model, styles[one.model], xs, list(points.survival), list(points.low), list(points.high))
        for one, points in pairs
    ]
    ends = [f"{percent(points.survival[-1])} of {one.model}" for one, points in pairs]
    label = f"Survival curve: still right at the last level are {listed(ends)}"
    caption = charts.Caption("Still right", f"share of images against {what}", label)
    tips = charts.value_tips(series, [f"still right at {name}" for name in ticks])
    return charts.line_chart(frame, series, caption, tips, size=4, bands=len(pairs) <= IN_TABLE)


def _histogram(pairs: list[Pair], styles: ModelStyles, what: str) -> charts.Chart:
    ticks = [*pairs[0][1].ticks, "never"]
    heights = [[*map(float, points.histogram), points.never] for _, points in pairs]
    xs = [i + 0.5 for i in range(len(ticks))]
    across = charts.Axis(0, len(ticks), list(zip(xs, ticks, strict=True)), "level")
    frame = charts.Frame(440, 250, across, charts.share_axis(max(map(max, heights)), "share"), (14, 10, 24, 32))
    series = [
        charts.Series(one.model, styles[one.model], xs, shares) for (one, _), shares in zip(pairs, heights, strict=True)
    ]
    label = f"Histogram of failure points: {percent(heights[0][0])} of {pairs[0][0].model} fail at the first level"
    caption = charts.Caption("Fail here first", f"share of images at each {what}", label)
    heads = [*(f"fail first at {name}" for name in ticks[:-1]), "never fail"]
    return charts.column_chart(frame, series, caption, charts.value_tips(series, heads))


EXAMPLE_MODELS, EXAMPLE_CORRUPTIONS, EXAMPLES_EACH = 3, 4, 3


def examples(measured: Measured, styles: ModelStyles) -> Shown:
    """The worst corruptions of the first models, a few images each."""
    part = measured.part
    if part.benchmark is None:
        return None
    album, views = run_pictures(part), []
    if album is None:
        return {"views": []}
    for one in measured.shown(styles)[:EXAMPLE_MODELS]:
        worst, groups = one.worst()[:EXAMPLE_CORRUPTIONS], []
        wanted = [(name, None) for name in worst]
        chosen = earliest_failures(part.results, part.benchmark, one.model, wanted, EXAMPLES_EACH)
        for corruption, failed in zip(worst, chosen, strict=True):
            drawable = album.drawable(corruption)
            pairs = [album.pair(part, failure) for failure in failed] if drawable else []
            why = "" if pairs else "No image fails." if drawable else "Give its code by --import to see pictures."
            groups.append((short_name(corruption), one.corruptions[corruption].value, pairs, why))
        views.append({"name": one.model, "groups": groups})
    return {"views": views}


CLASS_MODELS = 6


def by_class(measured: Measured, styles: ModelStyles) -> Shown:
    """The accuracy of each class, or of the worst of many, and the most frequent mistakes."""
    if measured.part.benchmark is None:
        return None
    views: list[dict[str, Any]] = [
        {"name": one.model, "measures": _by_class(measured.part, one.model)}
        for one in measured.shown(styles)[:CLASS_MODELS]
    ]
    return {"views": views} if views[0]["measures"].all_classes > 1 else None


def calibrations(measured: Measured, styles: ModelStyles) -> Shown:
    """A reliability diagram for each model with a colour, and every metric; None if rows have no confidences."""
    part, drawings, models = measured.part, [], []
    for one in measured.shown(styles):
        reliability = model_calibration(part.results, part.benchmark, one.model)
        if reliability is None:
            continue
        models.append(one.model)
        gaps = ", ".join(f"{signed(bins.excess)} {name}" for name, bins in reliability.bins.items())
        note = f"confidence − accuracy: {gaps}"
        caption = charts.Caption(one.model, note, f"Reliability diagram of {one.model}, {note}")
        drawings.append(charts.reliability_diagram(caption, reliability.bins, styles[one.model]))
    if not models:
        return None
    scored = calibration_scores(part.results, part.benchmark, models=models, resamples=RESAMPLES)
    rows = [
        (row.model, images, estimates)
        for row in sorted(scored, key=lambda row: models.index(row.model))
        for images, estimates in (("clean", row.clean), ("corrupted", row.mean))
        if estimates
    ]
    metrics = [one for one in CONFIDENCE_METRICS if any(one.field in estimates for _, _, estimates in rows)]
    missing = list(dict.fromkeys(row.missing for row in scored if row.missing))
    return {"charts": drawings, "rows": rows, "metrics": metrics, "missing": missing}


def comparison(measured: Measured, styles: ModelStyles) -> Shown:
    """Only if there are at least two models."""
    if len(measured.models) < 2:
        return None
    return {
        "columns": [name for name, _ in _numbers(measured.best)],
        "rows": [(one, [estimate for _, estimate in _numbers(one)]) for one in measured.models],
        "is_clear": is_clear,
        "styles": styles,
    }


def _numbers(measure: Measure) -> list[tuple[str, Estimate | None]]:
    """The columns of numbers; what a model lacks, such as a ratio to a clean accuracy of zero, is None."""
    clean: list[tuple[str, Estimate | None]] = [(measure.clean.name, measure.clean)] if measure.clean else []
    scores = measure.scores
    if scores is None:
        return clean
    last = ("mCE", scores.mce) if scores.mce else ("unnormalised error", scores.error)
    robustness = [("robustness R", scores.robustness)] if clean else []
    return [*clean, ("mean accuracy", scores.mean_accuracy), *robustness, last]


def beside_published(measured: Measured, _: ModelStyles) -> Shown:
    """Which reference divides mCE, what others published, and how that differs; or why it is not shown."""
    part = measured.part
    if part.benchmark is None:
        return None
    beside = comparable(part.results, part.benchmark)
    scores = [one.scores for one in measured.models if one.scores is not None]
    reference = next((one.reference for one in scores if one.mce is not None), None)
    lines = [f"mCE is divided by the errors of {reference}; those are taken as exact."] if reference else []
    lines.append(beside.refusal(has_reference=reference is not None))
    if beside.published or (beside.baseline is not None and reference == beside.baseline.title):
        lines += beside.notes
    known = {score.metric for score in beside.published}
    metrics = [metric for metric in ("unnormalised error", "mCE", "relative mCE") if metric in known]
    rows = list(_published(published_rows(beside.published), metrics)) if beside.published else []
    lines = [line for line in lines if line]
    return {"lines": lines, "metrics": metrics, "rows": rows} if lines or rows else None


def _published(rows: Any, metrics: Sequence[str]) -> Iterator[tuple[str, list[float | None], str]]:
    for who, scores in rows.items():
        values = {score.metric: score.value for score in scores}
        sources = "; ".join(dict.fromkeys(score.citation for score in scores))
        yield who, [values.get(metric) for metric in metrics], sources
