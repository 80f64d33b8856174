"""NOC: the overlapping score, and a benchmark of corruptions that do not overlap, table by table."""

from __future__ import annotations

import numpy as np

from brittle.benchmarks import load_benchmark
from brittle.datasets import photo
from brittle.design import (
    coverage,
    non_overlapping,
    published_overlap,
    published_single_scores,
    single_scores,
    without_masked,
)
from brittle.metrics import Estimate, balance, published_table
from brittle.papers.experiments import Outcome, Setting, experiment, plain_name
from brittle.papers.noc_setup import (
    IMAGES,
    LONGER,
    NEEDS,
    SHARED,
    SMALL_NEEDS,
    agreement_of,
    differences,
    imagenet_c,
    imagenet_noc,
    known_mean,
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
    printed,
    published_number,
    relative_ce,
    run_errors,
    run_models,
    to_standard,
    trained_with,
)
from brittle.plots import plot_balance, plot_coverage, plot_overlap

ONE_WEEK = "39 trainings, 1.5 weeks"
THRESHOLD = 0.1
COVERED = 0.3


@experiment(
    "fig1",
    "Six steps to an overlapping score",
    claim="The score is 1 for a corruption and itself, and 0 where neither augmentation helps with the other.",
    minutes=5,
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=ONE_WEEK,
)
def fig1(setting: Setting) -> Outcome:
    """Steps (4) to (6) with their numbers: accuracies of three models on three test sets, R, and the score."""
    measured = overlaps(setting)
    first, second = "imagenet-c/defocus_blur", "noc/blur"
    a, b = plain_name(first), plain_name(second)
    places = [0, *(1 + measured.names.index(name) for name in (first, second))]
    accuracy = 1 - measured.errors[np.ix_(places, places)]
    robustness = accuracy[:, 1:] / accuracy[:, :1]
    rows = [
        {
            "model": model,
            "accuracy, clean": 100 * right[0],
            f"accuracy, {a}": 100 * right[1],
            f"accuracy, {b}": 100 * right[2],
            f"R, {a}": share[0],
            f"R, {b}": share[1],
        }
        for model, right, share in zip(
            ("standard", f"trained with {a}", f"trained with {b}"), accuracy, robustness, strict=True
        )
    ]
    gains = robustness[1:] - robustness[0]
    score = measured.matrix[first, second]
    verdict = (
        f"Training with {a} adds {gains[0, 0]:+.2f} to the robustness to {a}, and training with {b} "
        f"{gains[1, 0]:+.2f}; to that to {b} they add {gains[0, 1]:+.2f} and {gains[1, 1]:+.2f}. "
    )
    verdict += (
        f"The mean of the two ratios is the overlap, {score:.2f}."
        if np.isfinite(score)
        else "One of them gains too little on its own corruption, so that the overlap is masked."
    )
    return Outcome(verdict, {"steps": rows}, differs=differences(setting, "the paper shows no numbers here"))


@experiment("fig2", "The candidates, illustrated", claim="Two dozen corruptions are candidates.", minutes=0.1)
def fig2(_setting: Setting) -> Outcome:
    """Each candidate at both ends of its range."""
    from brittle.report import contact_sheet

    recipe = load_benchmark("noc-candidates")
    sheet = contact_sheet(photo("cat"), recipe.entries, severities=(1, 3, 5))
    families: dict[str, int] = {}
    for entry in recipe.entries:
        families[entry.corruption.family] = families.get(entry.corruption.family, 0) + 1
    kinds = ", ".join(f"{count} of {family}" for family, count in families.items())
    verdict = f"{len(recipe.entries)} candidates are drawn, not two dozen: {kinds}."
    differs = ["another photograph; the axes of Fig. 4 and the authors' code have 23 corruptions, the text says 24"]
    return Outcome(verdict, differs=differs, figures={"candidates": sheet})


@experiment(
    "fig3",
    "Overlaps of ImageNet-C and ImageNet-NOC",
    claim="Blurs, noises, pixelate and JPEG overlap, fog with contrast, snow with frost; ImageNet-NOC far less.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=ONE_WEEK,
)
def fig3(setting: Setting) -> Outcome:
    """The joint matrix, beside the parts of it that the paper's Tables 7 and 8 imply."""
    measured, first, second = measured_sets(setting)
    matrix = measured.matrix.subset([*first, *second])
    parts = {"ImageNet-C": (first, "noc-table7"), "ImageNet-NOC": (second, "noc-table8")}
    sets, agreement, pairs = [], [], []
    for title, (members, table) in parts.items():
        ours, published = matrix.subset(members), published_overlap(table)
        sets.append(
            {
                "benchmark": title,
                "corruptions": len(members),
                "mean overlap": known_mean(ours),
                "published mean, from its CE": published.mean_pair(),
                "masked": len(ours.unlearned or ()),
            }
        )
        agreement += matrix_agreement(ours, published, title)
        pairs += pair_rows(ours, {"published, from its CE": published})
    pairs.sort(key=lambda row: -row["overlap"] if row["overlap"] is not None else 1.0)
    texture = known_mean(matrix.subset([name for name in first if plain_name(name) in TEXTURE]))
    within = [number(known_mean(matrix.subset(members))) for members, _ in parts.values()]
    verdict = (
        f"The mean overlap within ImageNet-C is {within[0]} and within ImageNet-NOC "
        f"{within[1]}; the paper's tables give {sets[0]['published mean, from its CE']:.2f} and "
        f"{sets[1]['published mean, from its CE']:.2f}. Corruptions of texture overlap by "
        f"{number(texture)} on average, fog with contrast by {number(matrix['fog', 'contrast'])}"
        f" and snow with frost by {number(matrix['snow', 'frost'])}."
    )
    differs = differences(
        setting, masked_note(matrix), "the figure itself is lost; its numbers come from Tables 7 and 8"
    )
    return Outcome(
        verdict,
        {"sets": sets, "pairs": pairs},
        agreement,
        [one for one in differs if one],
        {"overlap": plot_overlap(matrix, order=[*first, *second])},
    )


TEXTURE = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    *("pixelate", "jpeg_compression"),
)
"""ImageNet-C's corruptions that damage textures, as section 5.1 lists them."""


@experiment(
    "algorithm1",
    "The benchmark built from 23 candidates",
    claim="Under a threshold of 0.1 it gives eight corruptions with ResNet-18, which make ImageNet-NOC.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=SHARED,
)
def algorithm1(setting: Setting) -> Outcome:
    """The largest sets under the threshold, from our overlaps and from those that Tables 7 and 8 imply."""
    ours = without_masked(overlaps(setting).matrix.subset(names_of(noc_candidates(setting))))
    published = {plain_name(entry.id) for entry in load_benchmark("imagenet-noc").entries}
    matrices = {"ours, 23 candidates": ours}
    matrices |= {
        "published Table 8": published_overlap("noc-table8"),
        "published Table 7": published_overlap("noc-table7"),
    }
    rows = []
    for title, matrix in matrices.items():
        found = non_overlapping(matrix, THRESHOLD)
        members = [plain_name(name) for name in found.members]
        rows.append(
            {
                "overlaps": title,
                "candidates": len(matrix),
                "size": found.size,
                "sets of that size": found.count,
                "mean overlap": found.mean_overlap,
                "members": ", ".join(members),
                "of ImageNet-NOC": len(published & {*members}),
            }
        )
    largest = max(matrices["published Table 8"].scores[np.triu_indices(8, 1)])
    verdict = (
        f"Under {THRESHOLD:g} our overlaps allow {rows[0]['size']} corruptions ({rows[0]['members']}), "
        f"{rows[0]['of ImageNet-NOC']} of them in ImageNet-NOC. The paper's own Table 8 allows {rows[1]['size']} of "
        f"its eight: the largest overlap that its printed CE imply is {largest:.2f}. Of ImageNet-C's fifteen "
        f"{rows[2]['size']} are left."
    )
    differs = differences(setting, masked_note(ours), "Table 8 was printed for other runs than the lost Fig. 3")
    return Outcome(verdict, {"sets": rows}, differs=[one for one in differs if one])


@experiment(
    "coverage",
    "What each benchmark covers (5.2)",
    claim="ImageNet-NOC covers all of ImageNet-C (overlap > 0.3); ImageNet-C does not cover hue and border.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=SHARED,
)
def coverage_of_both(setting: Setting) -> Outcome:
    """The strongest overlap of each corruption with the other benchmark."""
    measured, first, second = measured_sets(setting)
    by_noc = coverage(measured.matrix, second, of=first, threshold=COVERED)
    by_c = coverage(measured.matrix, first, of=second, threshold=COVERED)
    paper_uncovered = {"hue", "border"}
    rows = []
    for found, title, members in ((by_noc, "ImageNet-NOC", second), (by_c, "ImageNet-C", first)):
        for name in found.covered_by:
            scores = {member: measured.matrix[name, member] for member in members}
            best = max(scores, key=lambda member: np.nan_to_num(scores[member], nan=-1.0))
            rows.append(
                {
                    "corruption": name,
                    "benchmark": title,
                    "nearest member": plain_name(best),
                    "overlap": scores[best],
                    "covered": name in found.covered,
                    "published covered": title == "ImageNet-NOC"
                    or (False if plain_name(name) in paper_uncovered else None),
                }
            )
    verdict = (
        f"ImageNet-NOC covers {len(by_noc.covered)} of ImageNet-C's {len(first)} corruptions by more than {COVERED:g} "
        f"(the paper: all); without cover: {listed(by_noc.uncovered)}. ImageNet-C covers {len(by_c.covered)} of "
        f"ImageNet-NOC's {len(second)}; without cover: {listed(by_c.uncovered)} (the paper names hue and border)."
    )
    known = [(row["covered"], row["published covered"]) for row in rows if row["published covered"] is not None]
    same = Estimate(
        "same side of the threshold as in the paper", float(np.mean([a == b for a, b in known])), n=len(known)
    )
    differs = differences(setting, masked_note(measured.matrix.subset([*first, *second])))
    drawn = plot_coverage(measured.matrix, second, of=first, threshold=COVERED)
    return Outcome(verdict, {"coverage": rows}, [same], [one for one in differs if one], {"coverage": drawn})


@experiment(
    "table1",
    "Trained with one benchmark, tested on the other",
    claim="mINOC beats the standard model on all 15 of ImageNet-C; mIC gets worse on hue and border.",
    minutes=0.5,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost="2 more trainings",
)
def table1(setting: Setting) -> Outcome:
    """Relative CE of mINOC on ImageNet-C, and of mIC on ImageNet-NOC."""
    measured, (_, test) = overlaps(setting), noc_data(setting)
    first, second = imagenet_c(setting), imagenet_noc(setting)
    standard = measured.folder / "models" / "standard.safetensors"
    tables, agreement, better = {}, [], {}
    for model, taught, tested in (("mINOC", second, first), ("mIC", first, second)):
        models = {"standard": standard, model: trained_with(setting, model, taught)}
        errors, clean = run_errors(run_models(setting, models, tested, test), models, tested)
        members = names_of(tested)
        reference = measured.reference(setting, members)
        scores = relative_ce(errors, clean, reference, members)
        published = published_table(f"noc-table1-{'imagenet-c' if model == 'mINOC' else 'imagenet-noc'}")
        compared = to_standard(published, members) if setting.small else published.numbers(*map(plain_name, members))
        rows = [{"corruption": "clean error", "standard": 100 * clean[0], model: 100 * clean[1]}]
        clean_errors = zip(published.text("model"), 100 * published.numbers("clean_error"), strict=True)
        rows[0] |= {f"published {name}": float(error) for name, error in clean_errors}
        for place, name in enumerate(members):
            row = {"corruption": plain_name(name), "standard": scores[0, place], model: scores[1, place]}
            row |= {f"published {one}": printed(published, one, members)[place] for one in ("standard", model)}
            rows.append(row | ({f"published {model}, standard = 100": compared[1, place]} if setting.small else {}))
        tables[f"{model}-on-{tested.name}"] = rows
        agreement += agreement_of(scores[1], compared[1], f"{model} on {len(members)} corruptions")
        better[model] = [plain_name(name) for name, one in zip(members, scores.T, strict=True) if not one[1] >= one[0]]
    worse = [plain_name(name) for name in names_of(second) if plain_name(name) not in better["mIC"]]
    verdict = (
        f"mINOC does better than the standard model on {len(better['mINOC'])} of {len(first.entries)} corruptions of "
        f"ImageNet-C (the paper: all 15). mIC does better on {len(better['mIC'])} of {len(second.entries)} of "
        f"ImageNet-NOC, and not on {listed(worse)} (the paper: hue and border)."
    )
    more = (
        f"mINOC and mIC are fine-tuned for {LONGER} passes over {IMAGES['longer']:,} images, and the standard model "
        "divides, not AlexNet"
    )
    return Outcome(verdict, tables, agreement, differences(setting, *([more] if setting.small else [])))


@experiment(
    "table2",
    "Relative mCE of models trained with one corruption",
    claim="ImageNet-C's scores range over 40 points, with a standard deviation of 12.1; ImageNet-NOC's 11 and 3.7.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=SHARED,
)
def table2(setting: Setting) -> Outcome:
    """One score for each model on its own benchmark."""
    measured, *sets = measured_sets(setting)
    tables, agreement, spread, printed_spread = {}, [], {}, {}
    for title, members, name in zip(("ImageNet-C", "ImageNet-NOC"), sets, ("noc-table7", "noc-table8"), strict=True):
        scores = measured.relative(setting, members)
        ours = np.nanmean(scores[1:], axis=1)
        published = published_table(name)
        values = published.numbers(*map(plain_name, members))
        order = [published.text("trained_with").index(plain_name(member)) for member in members]
        compared = np.mean(to_standard(published, members)[order] if setting.small else values[order], axis=1)
        rows = []
        for place, member in enumerate(members):
            row = {"trained with": plain_name(member), "relative mCE": ours[place]}
            row |= {"published": float(published.numbers("relative_mCE")[order[place]])}
            rows.append(row | ({"published, standard = 100": compared[place]} if setting.small else {}))
        tables[title.lower()] = sorted(rows, key=lambda row: row["relative mCE"])
        agreement += agreement_of(ours, compared, title)
        low, high = (tables[title.lower()][end]["trained with"] for end in (0, -1))
        spread[title] = (balance(ours), f"from {low} to {high}")
        printed_spread[title] = balance([row["published"] for row in rows])
    (first, ends_of), (second, _) = spread["ImageNet-C"], spread["ImageNet-NOC"]
    ratio = printed_spread["ImageNet-C"].std / printed_spread["ImageNet-NOC"].std
    verdict = (
        f"On ImageNet-C the scores range over {first.range:.0f} points, {ends_of}, with a standard deviation of "
        f"{first.std:.1f}; on ImageNet-NOC over {second.range:.0f} with {second.std:.1f}. The ratio of the deviations "
        f"is {first.std / second.std:.1f} here and {ratio:.1f} in the paper."
    )
    more = ["errors are divided by the standard model's, not by AlexNet's"] if setting.small else []
    return Outcome(verdict, tables, agreement, differences(setting, *more))


@experiment(
    "balance",
    "Balance: the spread of these mCE (5.3)",
    claim="ImageNet-NOC is significantly more balanced than ImageNet-C.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=SMALL_NEEDS,
    cost=SHARED,
)
def balance_of_both(setting: Setting) -> Outcome:
    """The dispersion of Table 2, with intervals for ours, and recomputed from Tables 7 and 8."""
    measured, first, second = measured_sets(setting)
    rows, ours, names = [], {}, {"ImageNet-C": "2a", "ImageNet-NOC": "2b"}
    for title, members, name in (("ImageNet-C", first, "noc-table7"), ("ImageNet-NOC", second, "noc-table8")):
        reference = measured.reference(setting, members)
        ours[title] = single_scores(measured.correct, measured.names, members, reference=reference)
        published = published_single_scores(name)
        table = published_table(name)
        rebased = balance(to_standard(table, members)[1:].mean(axis=1))
        for measure in ("range", "std"):
            mine: Estimate = getattr(ours[title], measure)
            rows.append(
                {
                    "benchmark": title,
                    "measure": mine.name,
                    "ours": mine.value,
                    "low": mine.low,
                    "high": mine.high,
                    "published, in the text": published_number(f"table{names[title]}_mCE_{measure}"),
                    f"published, from Table {name[-1]}": getattr(published.balance, measure),
                    "published, standard = 100": getattr(rebased, measure),
                }
            )
    for row in rows:  # one column for both tables
        row["published, recomputed"] = row.pop("published, from Table 7", None) or row.pop(
            "published, from Table 8", None
        )
    std = {row["benchmark"]: row for row in rows if row["measure"] == "standard deviation"}
    c, noc = std["ImageNet-C"], std["ImageNet-NOC"]
    lower = "smaller" if noc["ours"] < c["ours"] else "not smaller"
    clear = (
        "; the intervals do not touch" if noc["high"] < c["low"] or c["high"] < noc["low"] else ", within the intervals"
    )
    verdict = (
        f"The standard deviation is {noc['ours']:.1f} [{noc['low']:.1f}, {noc['high']:.1f}] on ImageNet-NOC and "
        f"{c['ours']:.1f} [{c['low']:.1f}, {c['high']:.1f}] on ImageNet-C: {lower} on ImageNet-NOC{clear}. "
        f"The printed tables give {c['published, recomputed']:.1f} and {noc['published, recomputed']:.1f}, and with "
        f"the standard model in AlexNet's place {c['published, standard = 100']:.1f} and "
        f"{noc['published, standard = 100']:.1f}."
    )
    left = sorted({plain_name(name) for one in ours.values() for name in one.left_out})
    more = [f"{listed(left)} left out, which add less than two points of error"] if left else []
    return Outcome(
        verdict, {"balance": rows}, differs=differences(setting, *more), figures={"balance": plot_balance(ours)}
    )
