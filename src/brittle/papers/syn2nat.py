"""Syn2Nat: categories of corruptions, balanced benchmarks, and natural shifts, table by table.

The paper asks which synthetic corruptions tell how robust models are to natural shifts. It finds that a benchmark
predicts them better (1) the more categories of corruptions it represents, (2) the more evenly, and (3) the more
corruptions it has. What takes long is measured in `syn2nat_runs` and shared by all experiments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._random import generator
from brittle.design import (
    Categories,
    Drops,
    OverlapMatrix,
    agreement,
    categories,
    correlation_rows,
    correlation_table,
    group_means,
    published_categories,
    same_category_overlaps,
)
from brittle.metrics import uneven_clean
from brittle.papers import syn2nat_runs as runs
from brittle.papers.experiments import Outcome, Setting, experiment
from brittle.papers.models import paper_models
from brittle.papers.syn2nat_groups import (
    GROUP,
    LEAST,
    PICKED,
    PUBLISHED_GROUPS,
    C,
    Groups,
    P,
    agreements,
    beside_published,
    couples,
    drawn_groups,
    fewer_categories,
    group_sizes,
    imbalance_groups,
    picked_benchmark,
    plausible_sizes,
    published_change,
    same_size,
    says,
    shared_pairs,
    summary_row,
    title_of,
)

CHAIN = (
    "clothes of Fashion-MNIST instead of ImageNet, and 16 small classifiers instead of 21 published models",
    "natural shifts are played by pictures that the bundled demo pipeline draws: seven shifts, and no shift at all",
    "the networks of the overlaps are fine-tuned for one epoch instead of trained for 40",
    "corruptions made for 224 px act on 32 px, the grey clothes among them on three equal channels",
    "ImageNet-C and ImageNet-P at the parameters of CIFAR-10-C and CIFAR-10-P",
)
"""What differs at small scale in every experiment."""


def _differs(setting: Setting, *more: str) -> list[str]:
    shared = CHAIN if setting.small else ("ImageNet-P is drawn in memory, not decoded from the published videos",)
    return [*shared, *more]


@experiment(
    "fig1",
    "the forty candidate corruptions",
    claim="Forty library transforms, a heterogeneous set that has most of what benchmarks usually contain.",
    minutes=0.2,
    needs=("imagenet",),
    cost="seconds",
)
def fig1(setting: Setting) -> Outcome:
    """Show one image under every candidate, and say how much each changes images."""
    from matplotlib import pyplot as plt

    from brittle import corrupt
    from brittle.plots import figure_style, short_names

    data = runs.clothes(setting, 20) if setting.small else setting.data("imagenet", limit=20)
    recipe = runs.candidates(setting)
    names = [entry.id for entry in recipe.entries]
    images = [data.image(number) for number in range(len(data))]
    rows: list[dict[str, Any]] = []
    with figure_style():
        _, axes = plt.subplots(-(-len(names) // 8), 8, figsize=(6.8, 4.8))
    for ax in axes.flat:
        ax.axis("off")
    for ax, name, title in zip(axes.flat, names, short_names(names), strict=False):
        changed = [
            corrupt(image, name, severity=5, sample=data.ids[number], seed=setting.seed)
            for number, image in enumerate(images)
        ]
        differences = np.abs(np.stack(changed).astype(float) - np.stack(images))
        rows.append(
            {"corruption": name, "mean change (of 255)": differences.mean(), "most": differences.mean((1, 2, 3)).max()}
        )
        ax.imshow(changed[0])
        ax.set_title(title, fontsize=4.5)
    changes = np.array([row["mean change (of 255)"] for row in rows])
    low, high = rows[int(changes.argmin())], rows[int(changes.argmax())]
    verdict = (
        f"{len(rows)} candidates; on {len(images)} images they change a pixel by {changes.min():.1f} "
        f"({low['corruption']}) to {changes.max():.0f} ({high['corruption']}) of 255 grey levels on average"
    )
    return Outcome(
        verdict, {"candidates": rows}, differs=_differs(setting)[:1] if setting.small else (), figures={"fig1": axes}
    )


@experiment(
    "table1",
    "the models, robust and plain",
    claim="21 models of several architectures, 15 with a robustness intervention; clean accuracies are comparable.",
    minutes=4,
    needs=runs.MODEL_NEEDS,
    cost="21 models over 41 × 50,000 images",
)
def table1(setting: Setting) -> Outcome:
    """Test the models on clean images and under all candidates."""
    results = runs.candidate_results(setting)
    drops = runs.candidate_drops(setting)
    plain = runs.plain_models(setting)
    clean = {name: results.clean_accuracy(name) for name in drops.models}
    rows = [
        {
            "model": name,
            "role": "plain" if name in plain else "robust",
            "clean accuracy": clean[name],
            "mean drop": values.mean(),
            "smallest drop": values.min(),
            "largest drop": values.max(),
        }
        for name, values in zip(drops.models, drops.values, strict=True)
    ]
    images = runs.TEST_IMAGES if setting.small else 50_000
    uneven = uneven_clean(clean, images)
    listed = [
        {
            "model": one.name,
            "role": one.role,
            "published method": one.method,
            "published counterpart": one.counterpart,
            "spec": one.spec,
            "file from": one.source,
            "note": one.note,
        }
        for one in paper_models("syn2nat")
    ]
    mean = {role: np.mean([row["mean drop"] for row in rows if row["role"] == role]) for role in ("plain", "robust")}
    verdict = (
        f"{len(rows)} models, {len(plain)} of them plain; clean accuracies {min(clean.values()):.1%} to "
        f"{max(clean.values()):.1%}, "
        + (f"not comparable: {', '.join(uneven)} are more than 5 % below the best" if uneven else "which is comparable")
        + f"; the plain ones drop by {mean['plain']:.1%} under the candidates, those with an intervention by "
        f"{mean['robust']:.1%}"
    )
    return Outcome(verdict, {"models": rows, "models_of_the_paper": listed}, differs=_differs(setting))


@experiment(
    "fig2",
    "overlaps of the candidates, and their categories",
    claim="K-means on overlap vectors, K growing until same-category vectors correlate by more than 0.5, gives six "
    "categories: heterogeneous, spatial, blurs, lighting, fine-grain artifacts, colour.",
    minutes=5,
    needs=runs.OVERLAP_NEEDS,
    cost="41 trainings of a ResNet-18 on ImageNet-100, 40 epochs each",
)
def fig2(setting: Setting) -> Outcome:
    """Cluster the forty candidates by their overlaps."""
    from brittle.plots import plot_categories

    overlap = runs.measured_overlap(setting)
    found = categories(overlap, seed=setting.seed)
    published = published_categories()
    known = {name: published.of(name) for name in published.names}
    members = [
        {"corruption": name, "category": found.of(name), "published category": known.get(name, "not printed")}
        for name in found.names
    ]
    steps = [
        {"K": step.count, "same-category r": step.scc, "different-category r": step.dcc, "published K": 6}
        for step in found.path
    ]
    together, apart = shared_pairs(found, published)
    lost = [entry.id for entry in runs.candidates(setting).entries if entry.id not in overlap.names]
    verdict = (
        f"{len(found)} categories (the paper: 6) at a same-category correlation of {found.scc:.2f}, different-category "
        f"{found.dcc:.2f}; sizes {', '.join(str(len(group)) for group in found.members.values())}; of the pairs that "
        f"the paper puts together {together.value:.0%} are together here, of those it separates {apart.value:.0%}"
    )
    if lost:
        verdict += f"; {len(lost)} hardly changed the network trained with them and are left out: {', '.join(lost)}"
    return Outcome(
        verdict,
        {"categories": members, "steps": steps},
        agreement=[together, apart],
        differs=_differs(setting, "20 of the paper's 40 memberships are printed nowhere, and cannot be compared"),
        figures={"fig2": plot_categories(overlap, found)},
    )


def _categories(setting: Setting) -> tuple[OverlapMatrix, Categories]:
    """The overlaps, and the categories that are large enough to draw k = 3 from: by the rule, or six and more.

    The rule stops early where overlap vectors are much alike, and then there are too few categories to compare.
    """
    overlap = runs.measured_overlap(setting)
    ruled = categories(overlap, seed=setting.seed)
    for count in (len(ruled), *MORE):
        if count > len(overlap):
            continue
        found = ruled if count == len(ruled) else categories(overlap, count=count, seed=setting.seed)
        large = {name: group for name, group in found.members.items() if len(group) >= LEAST}
        if len(large) >= FEWEST:
            return overlap, Categories(large, found.scc, found.dcc, found.path, found.candidates)
    raise BrittleError(
        f"neither {len(ruled)} categories nor {MORE[0]} to {MORE[-1]} of these {len(overlap)} corruptions have "
        f"{FEWEST} with {LEAST} members or more, so benchmarks of several categories cannot be drawn; measure the "
        "overlaps with another seed"
    )


FEWEST, MORE = 4, (6, 7, 8)
"""Categories that a comparison needs, and how many are tried where the rule of the paper gives fewer."""


@experiment(
    "section4",
    "do models that differ in one corruption of a category differ in the others?",
    claim="Over 21 models the drops on two corruptions of one category correlate by 0.67, of different ones by 0.10.",
    minutes=0.3,
    after=("fig2", "table1"),
    needs=(*runs.OVERLAP_NEEDS, *runs.MODEL_NEEDS),
    cost="after fig2 and table1, seconds",
)
def section4(setting: Setting) -> Outcome:
    """Correlate the drops of the models within and across categories, and within random groups of the same sizes."""
    overlap = runs.measured_overlap(setting)
    found, drops = categories(overlap, seed=setting.seed), runs.candidate_drops(setting)
    measured = agreement(found, drops.values, drops.names)
    rng, chance = generator(setting.seed), []
    for _ in range(500):
        order = iter(rng.permutation(list(found.names)).tolist())
        mixed = Categories({name: tuple(next(order) for _ in group) for name, group in found.members.items()})
        chance.append(agreement(mixed, drops.values, drops.names).scc)
    p = (1 + sum(one >= measured.scc for one in chance)) / (1 + len(chance))
    rows = [
        {
            "pairs": "same category",
            "mean r": measured.scc,
            "in random groups": np.mean(chance),
            "published mean r": 0.67,
        },
        {"pairs": "different categories", "mean r": measured.dcc, "in random groups": None, "published mean r": 0.10},
    ]
    holds = measured.scc > measured.dcc and p < 0.05
    verdict = (
        f"same category {measured.scc:.2f}, different {measured.dcc:.2f} (the paper: 0.67 and 0.10); random groups of "
        f"the same sizes give {np.mean(chance):.2f} (p = {p:.3f}): the categories "
        f"{'say' if holds else 'do not reliably say'} which corruptions rank models alike"
    )
    return Outcome(verdict, {"correlations": rows}, differs=_differs(setting))


def _synthetic(setting: Setting) -> Drops:
    """All drops on synthetic sets, with the flip rates of ImageNet-P as further columns."""
    parts = [runs.candidate_drops(setting), runs.imagenet_c_drops(setting), runs.imagenet_p_flips(setting)]
    models = [model for model in parts[0].models if all(model in part.models for part in parts)]
    names = tuple(name for part in parts for name in part.names)
    return Drops(tuple(models), names, np.hstack([part.of(models).values for part in parts]))


def _all_groups(setting: Setting, found: Categories, overlap: OverlapMatrix) -> Groups:
    groups = drawn_groups(found, setting.seed)
    groups[C] = [runs.imagenet_c_drops(setting).names]
    groups[P] = [runs.imagenet_p_flips(setting).names]
    groups[PICKED] = [picked_benchmark(found, overlap, setting.seed)]
    return groups


@experiment(
    "table2",
    "do balanced benchmarks predict natural shifts? With ImageNet-C and ImageNet-P",
    claim="Correlation with natural shifts grows with n and with k: from 0.668 for (2,3) to 0.748 for (6,3); "
    "ImageNet-C reaches 0.702, ImageNet-P 0.650.",
    minutes=4,
    after=("fig2", "table1"),
    needs=(*runs.OVERLAP_NEEDS, *runs.NATURAL_NEEDS),
    cost="after fig2 and table1: 21 models over 75 × 50,000 images, ten sequences of each image, and five natural sets",
)
def table2(setting: Setting) -> Outcome:
    """Correlate the drops on a thousand benchmarks of each (n, k) with those on natural shifts (Algorithm 2)."""
    from brittle.plots import plot_correlation

    overlap, found = _categories(setting)
    synthetic, natural, groups = _paired(setting, _all_groups(setting, found, overlap))
    columns = natural.columns()
    wide = correlation_table(synthetic.values, synthetic.names, groups, columns)
    rows = correlation_rows(synthetic.values, synthetic.names, groups, columns)
    means = group_means(synthetic.values, synthetic.names, groups, columns, seed=setting.seed)
    summary = [summary_row(means, group, groups, PUBLISHED_GROUPS, "syn2nat-table2") for group in groups]
    order = sorted(summary, key=lambda row: -row["mean r"])
    best = max((row for row in summary if row["benchmarks"] > 1), key=lambda row: row["mean r"])
    worst = rows.row(int(rows["mean_p"].arg_max() or 0), named=True)
    verdict = (
        f"best predictor of {len(columns)} natural sets: {order[0]['group']} ({order[0]['mean r']:.3f}); of the drawn "
        f"groups {best['group']} ({best['mean r']:.3f}); ImageNet-C {means.estimate(C).value:.3f}, ImageNet-P "
        f"{means.estimate(P).value:.3f}, the picked benchmark {means.estimate(PICKED).value:.3f}; largest mean p-value "
        f"{worst['mean_p']:.2g} ({worst['group']}, {worst['natural']})"
    )
    return Outcome(
        verdict,
        {"table2": beside_published(wide.to_dicts(), PUBLISHED_GROUPS, "syn2nat-table2", setting), "means": summary},
        agreement=agreements(summary, setting),
        differs=_differs(setting, *fewer_categories(found)),
        figures={"table2": plot_correlation(wide)},
    )


def _paired(setting: Setting, groups: Groups) -> tuple[Drops, Drops, Groups]:
    """Synthetic and natural drops of the same models in the same order."""
    synthetic, natural = _synthetic(setting), runs.natural_drops(setting)
    models = [model for model in synthetic.models if model in natural.models]
    return synthetic.of(models), natural.of(models), groups


@experiment(
    "table3",
    "does it hurt to represent some categories more than others?",
    claim="Substituting corruptions of (6,2) benchmarks so that they get less balanced lowers the correlation from "
    "0.740 to 0.680; the same for (5,3) and (6,3). Each group has more than 200 benchmarks.",
    minutes=0.5,
    after=("table2",),
    needs=(*runs.OVERLAP_NEEDS, *runs.NATURAL_NEEDS),
    cost="after table2, seconds",
)
def table3(setting: Setting) -> Outcome:
    """Correlate groups of benchmarks with growing standard deviation of the numbers of representatives."""
    from brittle.plots import plot_correlation

    _, found = _categories(setting)
    n = min(6, len(found))
    groups = imbalance_groups(found, n, 2, setting.seed)
    synthetic, natural, _ = _paired(setting, {})
    columns = natural.columns()
    printed = {title: title.replace("std ", "std_") for title in groups}
    wide = correlation_table(synthetic.values, synthetic.names, groups, columns)
    means = group_means(synthetic.values, synthetic.names, groups, columns, seed=setting.seed)
    summary = [summary_row(means, group, groups, printed, "syn2nat-table3") for group in groups]
    titles = list(groups)
    gain = means.difference(titles[-1], titles[0])
    others = []
    for n_other, k in ((n - 1, 3), (n, 3)):
        further = imbalance_groups(found, n_other, k, setting.seed)
        shifted = group_means(synthetic.values, synthetic.names, further, columns, seed=setting.seed)
        ends = list(further)
        change = shifted.difference(ends[0], ends[-1])
        others.append(
            {
                "from": title_of(n_other, k),
                "to": ends[-1],
                "change of mean r": change.value,
                "low": change.low,
                "high": change.high,
            }
        )
    sizes = plausible_sizes(setting.seed)
    least, most = (choose(row["std 2.2"] for row in sizes) for choose in (min, max))
    verdict = (
        f"from {titles[-1]} to {titles[0]} the mean correlation changes by {gain.value:+.3f} "
        f"[{gain.low:+.3f}, {gain.high:+.3f}] (the paper: +0.060 from 2.2 to 0.0), balance {says(gain)}; twelve "
        f"corruptions of six categories can have {len(group_sizes()) - 1} values of std above 0, as printed, but the "
        f"group of 2.2 has {least} to {most} benchmarks for plausible sizes of the categories, not more than 200"
    )
    return Outcome(
        verdict,
        {
            "table3": beside_published(wide.to_dicts(), printed, "syn2nat-table3", setting),
            "means": summary,
            "other_sizes": others,
            "group_sizes": sizes,
        },
        agreement=agreements(summary, setting),
        differs=_differs(setting, *fewer_categories(found), f"groups with fewer than {GROUP} benchmarks are left out"),
        figures={"table3": plot_correlation(wide)},
    )


@experiment(
    "picking",
    "picking one benchmark, ImageNet-Syn2Nat",
    claim="Of the (6,3) benchmarks the one whose same-category corruptions overlap least predicts as well as the mean "
    "of them, 0.748.",
    minutes=0.3,
    after=("table2",),
    needs=(*runs.OVERLAP_NEEDS, *runs.NATURAL_NEEDS),
    cost="after table2, seconds",
)
def picking(setting: Setting) -> Outcome:
    """Pick the least overlapping benchmark, and place it among all that were drawn."""
    overlap, found = _categories(setting)
    n = min(6, len(found))
    drawn = drawn_groups(found, setting.seed)[title_of(n, LEAST)]
    picked = picked_benchmark(found, overlap, setting.seed)
    synthetic, natural, _ = _paired(setting, {})
    groups: Groups = {"drawn": drawn, PICKED: [picked], **{str(number): [one] for number, one in enumerate(drawn)}}
    means = group_means(synthetic.values, synthetic.names, groups, natural.columns(), resamples=1)
    mean, ours, single = means.values[0], means.values[1], means.values[2:]
    overlaps = same_category_overlaps([picked, *drawn], overlap, found)
    rank = float((single < ours).mean())
    published = published_categories()
    printed = {name for group in published.members.values() for name in group[:LEAST]}
    rows = [
        {"category": found.of(name), "corruption": name, "published in ImageNet-Syn2Nat": name in printed}
        for name in sorted(picked, key=lambda one: (found.of(one), one))
    ]
    verdict = (
        f"{len(picked)} corruptions, {LEAST} of each of {n} categories, with a mean same-category overlap of "
        f"{overlaps[0]:.2f} (all drawn: {np.nanmean(overlaps[1:]):.2f}); it correlates with the natural sets by "
        f"{ours:.3f} (the mean of all drawn: {mean:.3f}; published 0.748 and 0.748) and is better "
        f"than {rank:.0%} of them; {sum(name in printed for name in picked)} of its corruptions are in ImageNet-Syn2Nat"
    )
    return Outcome(verdict, {"picked": rows}, differs=_differs(setting, *fewer_categories(found)))


@experiment(
    "findings",
    "the three findings, put to the test",
    claim="A benchmark predicts natural shifts better (1) the more categories it represents, (2) the more balanced "
    "they are, (3) the more corruptions it has; and so better than ImageNet-C and ImageNet-P.",
    minutes=0.3,
    after=("table2",),
    needs=(*runs.OVERLAP_NEEDS, *runs.NATURAL_NEEDS),
    cost="after table2, seconds",
)
def findings(setting: Setting) -> Outcome:
    """Compare groups of benchmarks that differ in one of the three parameters, over resampled models."""
    overlap, found = _categories(setting)
    n = min(6, len(found))
    groups = {**_all_groups(setting, found, overlap), **imbalance_groups(found, n, 2, setting.seed)}
    synthetic, natural, groups = _paired(setting, groups)
    means = group_means(synthetic.values, synthetic.names, groups, natural.columns(), seed=setting.seed)
    stds = [title for title in groups if title.startswith("std ")]
    tests = [("1 categories", a, b) for a, b in same_size(couples(len(found)))]
    tests += [("2 balance", stds[number + 1], stds[0]) for number in range(len(stds) - 1)]
    tests += [("3 size", title_of(n, a), title_of(n, b)) for a, b in ((1, 2), (2, 3), (1, 3))]
    tests += [(f"better than {other}", other, title_of(n, LEAST)) for other in (C, P)]
    rows, decisive = [], {}
    for finding, worse, better in tests:
        change = means.difference(worse, better)
        rows.append(
            {
                "finding": finding,
                "from": worse,
                "to": better,
                "change of mean r": change.value,
                "low": change.low,
                "high": change.high,
                "the paper's finding": says(change),
                "published change": published_change(worse, better),
            }
        )
        decisive[finding] = (rows[-1], change)  # the last of a finding is its widest contrast
    parts = [
        f"({finding}) {says(change)}: {row['from']} → {row['to']} {change.value:+.3f} "
        f"[{change.low:+.3f}, {change.high:+.3f}]"
        for finding, (row, change) in decisive.items()
    ]
    verdict = f"over {means.models} models and {len(natural.names)} natural sets: " + "; ".join(parts)
    differs = _differs(setting, *fewer_categories(found), "intervals resample the models; the paper gives none")
    return Outcome(verdict, {"contrasts": rows, "drops_on_natural_sets": _drop_rows(natural)}, differs=differs)


def _drop_rows(natural: Drops) -> list[dict[str, Any]]:
    return [
        {"model": model, **dict(zip(natural.names, values.tolist(), strict=True))}
        for model, values in zip(natural.models, natural.values, strict=True)
    ]
