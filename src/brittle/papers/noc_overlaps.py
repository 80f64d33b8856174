"""NOC, appendices A, B, D and E: candidates, thresholds, other architectures, and models of one corruption each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from brittle.benchmarks import Benchmark, load_benchmark
from brittle.design import (
    calibrate_all,
    non_overlapping,
    published_overlap,
    sweep,
    without_masked,
)
from brittle.metrics import published_table
from brittle.models import load_model
from brittle.papers.experiments import Outcome, Setting, experiment, plain_name
from brittle.papers.noc_setup import (
    NEEDS,
    NETWORKS,
    SHARED,
    SMALL_NEEDS,
    agreed,
    agreement_of,
    differences,
    imagenet_c,
    imagenet_noc,
    known_mean,
    known_number,
    listed,
    masked_note,
    matrix_agreement,
    measured_sets,
    names_of,
    noc_candidates,
    noc_data,
    number,
    overlaps,
    pair_rows,
    published_number,
    to_standard,
)
from brittle.plots import plot_agreement, plot_calibration, plot_overlap, plot_sweep

THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


@experiment(
    "fig4",
    "Overlaps of 23 candidates, two architectures",
    claim="DenseNet-121 gives a benchmark much like ResNet-18's: gaussian for quantization, elastic for blur.",
    minutes=0.2,
    after=("table3",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost="39 more trainings",
)
def fig4(setting: Setting) -> Outcome:
    """Both matrices, their agreement, and what Algorithm 1 takes from each."""
    first, second = NETWORKS[setting.scale][:2]
    members = names_of(noc_candidates(setting))
    matrices = {
        first: overlaps(setting).matrix.subset(members),
        second: overlaps(setting, second).matrix.subset(members),
    }
    agreement = matrix_agreement(matrices[first], matrices[second], f"{first} and {second}")
    benchmarks: list[dict[str, Any]] = []
    chosen = []
    for network, matrix in matrices.items():
        found = non_overlapping(without_masked(matrix), 0.1)
        chosen.append({*found.members})
        benchmarks.append(
            {
                "network": network,
                "mean overlap": known_mean(matrix),
                "size": found.size,
                "members": listed(found.members),
                "published size": (8, 7)[len(benchmarks)],
            }
        )
    quoted = [("gaussian", "quantization"), ("elastic", "blur")]
    pairs: list[dict[str, Any]] = [
        {
            "corruption": a,
            "and": b,
            **{network: known_number(matrix[f"noc/{a}", f"noc/{b}"]) for network, matrix in matrices.items()},
            "published, DenseNet-121": published_number(f"densenet121_overlap_{a}_vs_{b}"),
        }
        for a, b in quoted
    ]
    rows = pair_rows(matrices[first], {f"overlap, {second}": matrices[second]})
    verdict = (
        f"The overlaps of {first} and {second} {agreed(agreement)}. "
        f"Under 0.1 they allow {benchmarks[0]['size']} and {benchmarks[1]['size']} corruptions, "
        f"{len(chosen[0] & chosen[1])} shared (the paper: 8 and 7; it says six are shared, its lists share five)."
    )
    figures: dict[str, Any] = {
        f"overlap-{network.replace(':', '-')}": plot_overlap(matrix, order=members)
        for network, matrix in matrices.items()
    }
    figures["agreement"] = plot_agreement(matrices[first], {second: matrices[second]}, across=first)
    differs = differences(setting, masked_note(matrices[first]), masked_note(matrices[second]))
    tables = {"benchmarks": benchmarks, "quoted-pairs": pairs, "pairs": rows}
    return Outcome(verdict, tables, agreement, [one for one in differs if one], figures)


@experiment(
    "fig5",
    "Candidates 1–12: ranges and errors",
    claim="Each range begins where a standard model keeps 95 % of its accuracy, and ends where it keeps 50 %.",
    minutes=1,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost="the standard model of fig3",
)
def fig5(setting: Setting) -> Outcome:
    """The first twelve of the 23 candidates, calibrated with our standard model."""
    return _calibrated_half(setting, "first")


@experiment(
    "fig6",
    "Candidates 13–23: ranges and errors",
    claim="Each range begins at R = 0.95 and ends at 0.5, but hue reaches only 0.63 and gray_scale 0.70.",
    minutes=1,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost="the standard model of fig3",
)
def fig6(setting: Setting) -> Outcome:
    """The other eleven."""
    return _calibrated_half(setting, "second")


def _calibrated_half(setting: Setting, half: str) -> Outcome:
    """Ranges found by NOC's rule, what they mean in the corruption's own parameter, and the errors over them."""
    measured, published = overlaps(setting), load_benchmark("noc-candidates")
    middle = (len(published.entries) + 1) // 2
    entries = published.entries[:middle] if half == "first" else published.entries[middle:]
    recipe = replace(published, entries=entries)
    model = load_model(str(measured.folder / "models" / "standard.safetensors"), device=setting.device)
    test = noc_data(setting)[1]
    path = setting.work("calibration") / f"{half}-half.json"
    found = calibrate_all(
        recipe, model, test, path=path, beyond=True, tolerance=0.1 if setting.small else 0.02, progress=setting.progress
    )
    table, rows, errors = published_table("noc-candidates"), [], []
    side = 32 if setting.small else 224
    for entry, one in zip(recipe.entries, found, strict=True):
        row = table.text("name").index(entry.corruption.name)
        low, high = min(one.severities), max(one.severities)
        levels = [next(iter(entry.corruption.parameters(severity, side).values())) for severity in (low, high)]
        errors.append(float(measured.errors[0, 1 + measured.names.index(entry.id)]))
        rows.append(
            {
                "corruption": entry.corruption.name,
                "parameter": table.text("severity_meaning")[row],
                "from": levels[0],
                "to": levels[1],
                "R at the ends": " … ".join(f"{share:.2f}" for share in one.robustness),
                "0.5 reached": all(one.reached),
                "error of our standard model": errors[-1],
                "published from": float(table.numbers("severity_low")[row]),
                "published to": float(table.numbers("severity_high")[row]),
                "published error, AlexNet": float(table.numbers("alexnet_error")[row]),
            }
        )
    short = [str(row["corruption"]) for row in rows if not row["0.5 reached"]]
    beyond = [one.corruption for one in found if one.beyond]
    verdict = (
        f"{len(rows) - len(short)} of {len(rows)} ranges end at R = 0.5; {listed(short)} cannot do so much harm here. "
        f"{len(beyond)} end beyond the published ranges ({listed(beyond)})."
    )
    agreement = agreement_of(errors, [row["published error, AlexNet"] for row in rows], "errors and AlexNet's")
    differs = differences(
        setting,
        *(["lengths in pixels and counts are scaled to 32 px"] if setting.small else []),
        "AlexNet's errors are on ImageNet; those of our standard model on its own test set, over the recipe's ranges",
    )
    drawn = plot_calibration(found, robustness=(0.95, 0.5))
    return Outcome(verdict, {"candidates": rows}, agreement, differs, {"calibration": drawn})


@experiment(
    "fig7",
    "Algorithm 1 under other thresholds",
    claim="The higher the threshold, the more corruptions a benchmark has, and the more they overlap.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=SHARED,
)
def fig7(setting: Setting) -> Outcome:
    """Sizes, mean overlaps and members: of the 23 candidates, and of the overlaps behind Tables 7 and 8."""
    matrix = overlaps(setting).matrix.subset(names_of(noc_candidates(setting)))
    ours = sweep(without_masked(matrix), THRESHOLDS)
    implied = {"7": published_overlap("noc-table7"), "8": published_overlap("noc-table8")}
    theirs = {which: sweep(one, THRESHOLDS) for which, one in implied.items()}
    rows = []
    for place, row in enumerate(ours.iter_rows(named=True)):
        rows.append(
            {
                "threshold": row["threshold"],
                "size": row["size"],
                "mean overlap": row["mean_overlap"],
                "sets": row["count"],
                "members": listed(row["members"]),
                "published size, 23 candidates": 8 if row["threshold"] == 0.1 else None,
                **{f"published size, from Table {which}": one["size"][place] for which, one in theirs.items()},
                **{
                    f"published members, from Table {which}": listed(one["members"][place])
                    for which, one in theirs.items()
                },
            }
        )
    sizes, means = ours["size"].to_numpy(), ours["mean_overlap"].to_numpy()
    grows = "never shrinks" if (np.diff(sizes) >= 0).all() else "shrinks somewhere"
    verdict = (
        f"From a threshold of {THRESHOLDS[0]:g} to {THRESHOLDS[-1]:g} the benchmark grows from {sizes[0]} to "
        f"{sizes[-1]} of {len(matrix) - len(matrix.unlearned or ())} corruptions and {grows}; its mean overlap goes "
        f"from {number(means[0])} to {number(means[-1])}. At 0.1 it has "
        f"{sizes[THRESHOLDS.index(0.1)]}, in the paper 8."
    )
    differs = differences(
        setting, masked_note(matrix), "the table inside the figure is lost; only the row at 0.1 is known"
    )
    drawn = plot_sweep(ours, chosen=0.1)
    return Outcome(verdict, {"thresholds": rows}, differs=[one for one in differs if one], figures={"sweep": drawn})


@experiment(
    "fig8",
    "Overlaps of fig3, other architectures",
    claim="ResNet-18, DenseNet-121 and WideResNet-50-2 give matrices that look the same.",
    minutes=1.5,
    after=("table3",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost="24 more trainings",
)
def fig8(setting: Setting) -> Outcome:
    """The joint matrix with each architecture, and how far they agree."""
    networks = NETWORKS[setting.scale]
    c, noc = names_of(imagenet_c(setting)), names_of(imagenet_noc(setting))
    joint = _joint(setting)
    matrices = {}
    for place, network in enumerate(networks):
        recipe = joint if place > 1 else None  # the first two share the models of Fig. 4
        matrices[network] = overlaps(setting, network, recipe).matrix.subset([*c, *noc])
    first = networks[0]
    rows: list[dict[str, Any]] = []
    agreement, told = [], []
    for network, matrix in matrices.items():
        found = [] if network == first else matrix_agreement(matrices[first], matrix, f"{first} and {network}")
        agreement += found
        told += [] if network == first else [f"{network} {agreed(found)}"]
        row = {"network": network, "mean, ImageNet-C": known_mean(matrix.subset(c))}
        row |= {"mean, ImageNet-NOC": known_mean(matrix.subset(noc)), "masked": len(matrix.unlearned or ())}
        rows.append(row | {"Spearman with the first": found[0].value if found else None})
    lower = [row["network"] for row in rows if row["mean, ImageNet-NOC"] < row["mean, ImageNet-C"]]
    verdict = (
        f"The overlaps of {first} and {'; those and '.join(told)}. ImageNet-NOC overlaps less than ImageNet-C on "
        f"average with {len(lower)} of {len(rows)} architectures."
    )
    others = {network: matrix for network, matrix in matrices.items() if network != first}
    pairs = pair_rows(matrices[first], {f"overlap, {network}": matrix for network, matrix in others.items()})
    figures: dict[str, Any] = {
        f"overlap-{network.replace(':', '-')}": plot_overlap(matrix, order=[*c, *noc])
        for network, matrix in others.items()
    }
    figures["agreement"] = plot_agreement(matrices[first], others, across=first)
    more = [f"{len(networks)} architectures: {', '.join(networks)}"] if setting.small else []
    caption = "the caption of Fig. 8 says ResNet-50 where the text says ResNet-18; ours is the text's"
    return Outcome(
        verdict, {"architectures": rows, "pairs": pairs}, agreement, differences(setting, *more, caption), figures
    )


@experiment(
    "table7",
    "Trained with one corruption of ImageNet-C",
    claim="A model does best on its own corruption, and models trained with blurs do best on average.",
    minutes=1,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=SHARED,
)
def table7(setting: Setting) -> Outcome:
    """Fifteen models and the standard one on fifteen corruptions."""
    return _cross_table(setting, "noc-table7")


@experiment(
    "table8",
    "Trained with one corruption of ImageNet-NOC",
    claim="A model does best on its own corruption, and hardly better than the standard model on the others.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=SHARED,
)
def table8(setting: Setting) -> Outcome:
    """Eight models and the standard one on eight corruptions."""
    return _cross_table(setting, "noc-table8")


def _cross_table(setting: Setting, name: str) -> Outcome:
    """Ours and the printed cross-table, each as percent of its standard model at small scale, and their overlaps."""
    measured, first, second = measured_sets(setting)
    members, table = first if name == "noc-table7" else second, published_table(name)
    order = [0, *(table.text("trained_with").index(plain_name(member)) for member in members)]
    ours, values = measured.relative(setting, members), table.numbers(*map(plain_name, members))[order]
    compared = to_standard(table, members)[order] if setting.small else values
    labels = ["standard", *map(plain_name, members)]
    tables = {
        "relative-ce": _wide(labels, members, ours, ""),
        "published": _wide(labels, members, values, "published "),
    }
    matrices = measured.matrix.subset(members), published_overlap(name).subset(members)
    tables["overlaps"] = pair_rows(matrices[0], {"published, from its CE": matrices[1]})
    own = np.arange(len(members))
    known = [place for place in own if np.isfinite(ours[1:, place]).any()]
    best = [place for place in known if np.nanargmin(ours[1:, place]) == place]
    theirs = [place for place in own if np.argmin(values[1:, place]) == place]
    other = ~np.eye(len(members), dtype=bool)
    standard = "% of the standard model's" if setting.small else "% of AlexNet's"
    verdict = (
        f"{len(best)} of {len(known)} corruptions are best withstood by their own model (the paper: {len(theirs)} of "
        f"{len(members)}). "
        f"Under its own corruption a model's error rises by {np.nanmean(ours[1:][own, own]):.0f} {standard} "
        f"rise on average (the paper: {compared[1:][own, own].mean():.0f}), under the others by "
        f"{np.nanmean(ours[1:][other]):.0f} (the paper: {compared[1:][other].mean():.0f})."
    )
    open_ones = [plain_name(members[place]) for place in own if place not in known]
    if open_ones:
        verdict += f" Undefined, since the standard model does not get worse: {', '.join(open_ones)}."
    agreement = [
        *agreement_of(ours[1:][other], compared[1:][other], "relative CE on other corruptions than their own"),
        *matrix_agreement(*matrices, "overlaps"),
    ]
    more = ["errors are divided by the standard model's; for that the printed CE are divided by its CE"]
    drawn = plot_agreement(matrices[1], {"ours": matrices[0]}, across=f"from NOC's Table {name[-1]}")
    return Outcome(
        verdict, tables, agreement, differences(setting, *(more if setting.small else [])), {"overlaps": drawn}
    )


def _wide(labels: Sequence[str], members: Sequence[str], values: Any, before: str) -> list[dict[str, Any]]:
    """A row for each model: its values under each corruption, and their mean."""
    rows = []
    for label, numbers in zip(labels, values, strict=True):
        row: dict[str, Any] = {"trained with": label}
        row |= {f"{before}{plain_name(member)}": float(one) for member, one in zip(members, numbers, strict=True)}
        rows.append(row | {f"{before}mean": float(np.nanmean(numbers))})
    return rows


def _joint(setting: Setting) -> Benchmark:
    """The candidates of Fig. 3 alone: 15 of ImageNet-C and 8 of ImageNet-NOC."""
    first, second = imagenet_c(setting), imagenet_noc(setting)
    name = "cifar10-noc-joint" if setting.small else "noc-joint"
    return replace(second, name=name, entries=(*first.entries, *second.entries))
