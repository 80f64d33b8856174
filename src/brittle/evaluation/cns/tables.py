"""Tables of models along the scales of slides: what CNS-Bench reports, for papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from brittle.benchmarks import CLEAN
from brittle.evaluation.cns.ranks import grouped_scores
from brittle.evaluation.cns.scores import ALL, MEAN, CnsScores, cns_scores, ranked_by_drop
from brittle.evaluation.results import Results
from brittle.evaluation.tables.formats import Column, ScoreTable, Value
from brittle.evaluation.tables.scores import OVER_MODELS, Caption, crossed_table
from brittle.metrics import Estimate, wilson

NUISANCES = ("ood-cv/", "imagenet-d/")
"""How the corruptions of sets are called whose images are unusual in one way each."""

OVER_TRAJECTORIES = "95 % intervals over trajectories"


def slide_tables(
    results: Results,
    *,
    baseline: str | None = None,
    id_accuracy: Mapping[str, float] | None = None,
    slope_models: Sequence[str] | None = None,
    model_axes: Mapping[str, Mapping[str, str]] | None = None,
) -> list[ScoreTable]:
    """What CNS-Bench reports, as tables: accuracy drops, failure points, ranks, slopes; with a baseline, rCE.

    See `cns_scores`, which computes them; `baseline` is the model whose errors divide those of others in rCE,
    `id_accuracy` that of models on other images, such as ImageNet's, for the slopes, and `slope_models` those that
    the lines are fitted over. Ranks are by the accuracy drop, which the paper ranks models by, and by accuracy. With
    `model_axes`, of `read_model_axes`, there is a table of the drops of groups of models for each axis.
    """
    scores = cns_scores(results, baseline=baseline, id_accuracy=id_accuracy, slope_models=slope_models)
    count = sum(row["trajectories"] for row in scores.margins.iter_rows(named=True) if row["shift"] != ALL)
    count //= max(1, scores.margins["model"].n_unique())
    lost = sum(scores.dropped.values())
    about = f"{count:,} trajectories" + (f", {lost:,} incomplete ones left out" if lost else "")
    ranks = _rank_table(ranked_by_drop(results, scores), about)
    groups = [_group_table(scores, axis, values, about) for axis, values in (model_axes or {}).items()]
    return [*_slide_tables(scores, about, baseline), ranks, *groups]


def _group_table(scores: CnsScores, axis: str, groups: Mapping[str, str], about: str) -> ScoreTable:
    """Accuracy drops of groups of models."""
    drops = grouped_scores(scores, groups).accuracy.filter((pl.col("shift") != ALL) & (pl.col("scale") > 0))
    title = f"Accuracy drop since scale 0 in percentage points by {axis}, the mean of the models of a group, {about}"
    fields = ("drop", "drop_low", "drop_high")
    return _by_scale(f"slides-drop-by-{axis}", title, drops, fields, "accuracy drop", "ranges of the models of a group")


def _slide_tables(scores: CnsScores, about: str, baseline: str | None) -> Iterator[ScoreTable]:
    shifts = [shift for shift in scores.accuracy["shift"].unique(maintain_order=True) if shift != ALL]
    models = scores.accuracy["model"].unique(maintain_order=True).to_list()
    if baseline is not None:
        rce: dict[str, dict[str, Value]] = {model: {} for model in models}
        for row in scores.rce.iter_rows(named=True):
            ratio = Estimate("rCE", row["rce"], row["low"], row["high"], percent=False)
            rce[row["model"]][row["shift"]] = ratio
        keys = [*(shift for shift in shifts if shift != MEAN), MEAN]
        title = f"rCE of each shift (rise of the error over all scales, divided by that of {baseline}), {about}"
        yield crossed_table(Caption("slides-rce", title, OVER_TRAJECTORIES), "shift", keys, rce, "lower")
    title = f"Accuracy drop since scale 0 in percentage points at each scale, {about}"
    drops = scores.accuracy.filter((pl.col("shift") != ALL) & (pl.col("scale") > 0))
    yield _by_scale("slides-drop", title, drops, ("drop", "drop_low", "drop_high"), "accuracy drop")
    title = f"Share of trajectories in percent that fail first at each scale, {about}"
    never = {
        (row["shift"], row["model"]): row["never_failed"] / row["trajectories"]
        for row in scores.margins.iter_rows(named=True)
    }
    shares = _by_scale("slides-failure-points", title, scores.failure_points, ("share", "low", "high"), "share")
    yield ScoreTable(
        shares.name,
        shares.title,
        (*(Column(column.name) for column in shares.columns), Column("never")),
        tuple((*row, Estimate("share", never[str(row[0]), str(row[1])])) for row in shares.rows),
        OVER_TRAJECTORIES,
        ("At scale 0 are those that were never right.",),
    )
    yield _rank_table(scores, about)
    if len(scores.slopes):
        known = {"clean images": "on clean images", "given": "on other images"}.get(scores.id_axis, "at scale 0")
        title = f"Slope of accuracy under a shift on accuracy {known} over {scores.slopes['models'][0]} models, {about}"
        yield _by_scale("slides-slopes", title, scores.slopes, ("slope", "low", "high"), "slope", OVER_MODELS)


def _rank_table(scores: CnsScores, about: str) -> ScoreTable:
    """Ranks at each scale, with the intervals of resampled trajectories, and τ to the first ranking."""
    models = scores.accuracy["model"].unique(maintain_order=True).to_list()
    shift = ALL if ALL in scores.rankings["shift"] else scores.rankings["shift"][0]
    taus = {
        row["scale"]: Estimate("τ", row["kendall"], row["low"], row["high"], percent=False)
        for row in scores.agreement.filter(pl.col("shift") == shift).iter_rows(named=True)
        if row["kendall"] is not None
    }
    lines = []
    for part in scores.rankings.filter(pl.col("shift") == shift).partition_by("scale", maintain_order=True):
        rank_of = {
            row["model"]: Estimate("rank", float(row["rank"]), row["rank_low"], row["rank_high"], percent=False)
            for row in part.iter_rows(named=True)
        }
        scale = part["scale"][0]
        lines.append((f"scale {scale:g}", *(rank_of[model] for model in models), taus.get(scale)))
    by_drop = scores.rank_by == "drop"
    what, first = ("accuracy drop", "the first scale after 0") if by_drop else ("accuracy", "scale 0")
    return ScoreTable(
        "slides-ranks-by-drop" if by_drop else "slides-ranks",
        f"Rank of each model by {what} at each scale, all shifts together, {about}",
        (Column("scale"), *(Column(model, "lower", digits=0) for model in models), Column("Kendall's τ")),
        tuple(lines),
        f"{OVER_TRAJECTORIES} (ranks), {OVER_MODELS} (τ)",
        (f"τ is Kendall's τ-b to the ranking at {first}; it needs three models.",),
        "row",
    )


def _by_scale(
    name: str,
    title: str,
    frame: pl.DataFrame,
    fields: tuple[str, str, str],
    what: str,
    intervals: str = OVER_TRAJECTORIES,
) -> ScoreTable:
    """Rows of shifts and models, columns of scales."""
    keys = [key for key in ("shift", "model") if key in frame.columns]
    scales = sorted(frame["scale"].unique())
    lines: list[tuple[Value, ...]] = []
    for part in frame.partition_by(*keys, maintain_order=True):
        estimates = {
            row["scale"]: Estimate(what, row[fields[0]], row[fields[1]], row[fields[2]], percent=what != "slope")
            for row in part.iter_rows(named=True)
        }
        lines.append((*(part[key][0] for key in keys), *(estimates.get(scale) for scale in scales)))
    lines.sort(key=lambda line: str(line[0]) in (MEAN, ALL))  # what is over all shifts comes last
    columns = (*map(Column, keys), *(Column(f"scale {scale:g}") for scale in scales))
    return ScoreTable(name, title, columns, tuple(lines), intervals)


def has_nuisances(results: Results) -> bool:
    """Whether results are on images by nuisance, of OOD-CV or ImageNet-D."""
    return any(cell.corruption.startswith(NUISANCES) for cell in results.cells)


def _mean(parts: list[Estimate]) -> Estimate:
    """The mean of independent shares; how far their ends lie from them adds up as squares."""
    value = sum(part.value for part in parts) / len(parts)
    under = sum((part.value - (part.low or 0.0)) ** 2 for part in parts) ** 0.5 / len(parts)
    over = sum(((part.high or 0.0) - part.value) ** 2 for part in parts) ** 0.5 / len(parts)
    return Estimate("accuracy", value, value - under, value + over, method="wilson")


def nuisance_table(results: Results) -> ScoreTable:
    """Accuracy of each model on the images of each nuisance of OOD-CV or ImageNet-D, and on the I.I.D. test set.

    The mean is over nuisances, as the authors of OOD-CV score: each counts the same, however many images it has. All
    models of the table were run on all of them.
    """
    cells = [cell for cell in results.cells if cell.corruption.startswith(NUISANCES)]
    names = sorted({cell.corruption for cell in cells})
    columns: dict[str, dict[str, Value]] = {model: {} for model in results.models_with(cells)}
    for model, corruption, _, count, share in results.accuracy().rows():
        if model in columns and (corruption in names or corruption == CLEAN):
            low, high = wilson(round(share * count), count)
            key = "I.I.D. test set" if corruption == CLEAN else corruption.rpartition("/")[2]
            columns[model][key] = Estimate("accuracy", share, float(low), float(high), n=count, method="wilson")
    keys = [name.rpartition("/")[2] for name in names]
    for values in columns.values():
        each = [value for key in keys if isinstance(value := values[key], Estimate)]
        values["mean of nuisances"] = _mean(each)
    first = ["I.I.D. test set"] if any("I.I.D. test set" in values for values in columns.values()) else []
    title = f"Accuracy in percent by nuisance of {names[0].partition('/')[0]}"
    caption = Caption("nuisances", title, "95 % intervals (Wilson's) over images")
    return crossed_table(caption, "nuisance", [*first, *keys, "mean of nuisances"], columns, "higher")
