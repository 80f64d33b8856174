"""MSD and C-bar: how near augmentations come to corruptions, and benchmarks far from them, table by table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from brittle import design, evaluation, metrics, plots
from brittle.metrics import Estimate
from brittle.papers.experiments import Outcome, Setting, experiment, plain_name

STRONG = 0.6
"""The rank correlation above which the paper calls it strong; 12 of its 15 corruptions are."""

CIFAR = ("cifar10",)

# Figures 1, 3, 4, 5 and MMD share the networks of one study, whose minutes are listed with the first of them.


@experiment(
    "fig1",
    "A toy experiment: geometric and colour augmentations against motion blur",
    claim="None of the schemes contains a blur, and yet geometric ones beat the baseline under motion blur by far, "
    "while colour ones gain nothing: overlaid shifted copies look like a blur.",
    minutes=13,
    needs=CIFAR,
    cost="the 514 networks of fig3",
)
def figure_1(setting: Setting) -> Outcome:
    """The errors under motion blur of networks trained with each base alone, and with all of a kind."""
    from brittle.papers import msd_figures as drawing
    from brittle.papers import msd_steps as steps
    from brittle.training.augmentation import COLOUR, GEOMETRIC

    study = steps.powerset_study(setting)
    results = evaluation.load_results(study.folder / "run")
    blur = steps.corruptions_of(setting).cut(["motion_blur"])
    right = {name: results.matrix(name, blur.cells()).values for name in ["none", *steps.figure_1_schemes()]}
    kinds = {**dict.fromkeys(GEOMETRIC, "geometric"), **dict.fromkeys(COLOUR, "colour")}
    kinds |= {"+".join(GEOMETRIC): "geometric", "+".join(COLOUR): "colour"}
    rows = []
    for name, correct in right.items():
        gain = metrics.difference(correct, right["none"], name="gain")
        row = {"scheme": name, "kind": kinds.get(name, "baseline"), "error": 100 * (1 - correct.mean())}
        rows.append(row | {"gain": 100 * gain.value, "low": 100 * (gain.low or 0), "high": 100 * (gain.high or 0)})
    better = {kind: [row for row in rows if row["kind"] == kind and row["low"] > 0] for kind in ("geometric", "colour")}
    both = [row["gain"] for row in rows if row["scheme"] in ("+".join(GEOMETRIC), "+".join(COLOUR))]
    holds = len(better["geometric"]) > len(better["colour"]) and both[0] > both[1]
    return Outcome(
        f"{'It holds' if holds else 'It does not hold'}: {len(better['geometric'])} of 6 geometric schemes and "
        f"{len(better['colour'])} of 5 colour schemes are better than the baseline beyond the 95 % interval; all "
        f"geometric bases together gain {both[0]:.1f} points, all colour bases {both[1]:+.1f}.",
        {"errors": rows},
        differs=steps.differs_at(setting, "the figure's numbers are not printed, so the claim alone can be compared"),
        figures={"errors": drawing.draw_bars(rows, "scheme", "error", "kind", "error under motion blur (%)")},
    )


@experiment(
    "fig2a",
    "MMD and MSD of a narrow and of a broad augmentation, schematically",
    claim="MMD is small only where an augmentation coincides with one corruption; MSD is small for broad augmentations "
    "that come near to several.",
    minutes=0.1,
)
def figure_2a(setting: Setting) -> Outcome:
    """Two corruptions as clouds in a plane; a scheme on one of them, and one that reaches both."""
    from brittle.distance import mmd, msd
    from brittle.papers import msd_figures as drawing

    rng = np.random.default_rng(setting.seed)
    clouds = {"corruption A": rng.normal((0, 0), 0.3, (100, 2)), "corruption B": rng.normal((4, 0), 0.3, (100, 2))}
    schemes = {"narrow, on A": rng.normal((0, 0), 0.3, (400, 2)), "broad": rng.normal((2, 0), 1.5, (400, 2))}
    rows: list[dict[str, Any]] = [
        {"scheme": scheme, "corruption": corruption, "MSD": msd(points, cloud), "MMD": mmd(points, cloud)}
        for scheme, points in schemes.items()
        for corruption, cloud in clouds.items()
    ]
    broad, narrow = [row for row in rows if row["scheme"] == "broad"], rows[1]
    holds = max(row["MSD"] for row in broad) < 0.5 < min(row["MMD"] for row in broad) and narrow["MSD"] > 1
    return Outcome(
        f"{'As drawn' if holds else 'Not as drawn'}: the broad scheme has MSD {broad[0]['MSD']:.2f} and "
        f"{broad[1]['MSD']:.2f} to the two corruptions at MMD {broad[0]['MMD']:.2f} and {broad[1]['MMD']:.2f}; the "
        f"narrow one, exact on A, has MSD {narrow['MSD']:.2f} to B.",
        {"distances": rows},
        differs=["the paper's figure is a drawing; here the two measures are computed on sampled points"],
        figures={"plane": drawing.draw_clouds({**clouds, **schemes})},
    )


@experiment(
    "fig2b",
    "A mixture of impulse noise and motion blur, tested on impulse noise",
    claim="As the share of impulse noise falls, MMD grows linearly, while MSD and error stay low until nearly 0 %.",
    minutes=0.7,
    after=("fig1",),
    needs=CIFAR,
    cost="9 networks",
)
def figure_2b(setting: Setting) -> Outcome:
    """Networks trained with less and less impulse noise among motion blur; severity 3, as in the authors' notebook."""
    from brittle.papers import msd_steps as steps
    from brittle.papers import msd_tables as tables

    scale = steps.scale_of(setting)
    points = design.mixing_study(
        "impulse_noise",
        "motion_blur",
        scale.shares,
        setting.data("cifar10", train=True),
        setting.data("cifar10", limit=scale.test_images),
        setting.work("mixing"),
        steps.plan_of(setting),
        start=steps.standard_weights(setting),
        images=steps.images_of(setting),
        samples=scale.samples,
        corruption_samples=max(scale.corruption_samples, 20),
        seed=setting.seed,
        **tables.places(setting),
    )
    linear = metrics.pearson(1 - points["share"].to_numpy(), points["mmd"].to_numpy())
    risen = {name: _risen(points, name) for name in ("msd", "mmd", "error")}
    few = points.filter(pl.col("picked") > 0)["share"].to_list()[-1]
    holds = linear.value > 0.98 and risen["msd"] < 0.25 < risen["mmd"]
    follows = "the error stays low too" if risen["error"] < 0.5 else "but the error does not stay low"
    return Outcome(
        f"{'The distances behave as printed' if holds else 'The distances do not behave as printed'}: MMD is linear in "
        f"the share (Pearson {linear.value:.3f}); with {100 * few:g} % of impulse noise left MSD has risen by "
        f"{100 * risen['msd']:.0f} % of its way, MMD by {100 * risen['mmd']:.0f} %, and the error by "
        f"{100 * risen['error']:.0f} %: {follows}.",
        {"mixtures": points.with_columns(error=100 * pl.col("error")).to_dicts()},
        [Estimate("Pearson of MMD and share", linear.value, linear.low, linear.high, n=len(points), percent=False)],
        steps.differs_at(setting, f"{len(points)} shares and {scale.samples:,} samples"),
        {"mixtures": plots.plot_mixing(points)},
    )


def _risen(points: pl.DataFrame, column: str) -> float:
    """How far a column has risen at the smallest share that was picked at all, between all and nothing of it."""
    table = points.sort("share", descending=True)
    values = table[column].to_numpy()
    last = int(np.flatnonzero(table["picked"].to_numpy() > 0)[-1])
    span = values[-1] - values[0]
    return float((values[last] - values[0]) / span) if span else 0.0


@experiment(
    "fig3",
    "MSD against corruption error over the augmentation powerset",
    claim="For 12 of 15 corruptions of CIFAR-10-C the rank correlation of MSD and error is above 0.6; brightness is "
    "the negative example.",
    minutes=0.3,
    after=("fig1",),
    needs=CIFAR,
    cost="514 WideResNets of 100 epochs, 51 million augmentations of 100 images",
)
def figure_3(setting: Setting) -> Outcome:
    """A network for each scheme, its error on each corruption, and the scheme's MSD to it."""
    from brittle.papers import msd_steps as steps

    study = steps.powerset_study(setting)
    return _correlated(setting, study, "msd", "12 of 15, brightness not among them")


def _correlated(setting: Setting, study: Any, measure: str, published: str) -> Outcome:
    """The outcome of a study by one measure: correlations, how many are strong, and the figure."""
    from brittle.papers import msd_steps as steps

    table = study.correlations
    strong = [plain_name(row["corruption"]) for row in table.to_dicts() if (row[measure] or 0) > STRONG]
    rows = [
        {
            "corruption": plain_name(row["corruption"]),
            "Spearman": row[measure],
            "low": row[f"{measure}_low"],
            "high": row[f"{measure}_high"],
            "above 0.6": "yes" if (row[measure] or 0) > STRONG else "no",
            "published": {"brightness": "poor"}.get(plain_name(row["corruption"])) if measure == "msd" else None,
        }
        for row in table.to_dicts()
    ]
    values = [row["Spearman"] for row in rows if row["Spearman"] is not None]
    weakest = min((row for row in rows if row["Spearman"] is not None), key=lambda row: row["Spearman"])
    return Outcome(
        f"{len(strong)} of {len(rows)} corruptions are above 0.6 (published: {published}); the median is "
        f"{np.median(values):.2f}, the weakest {weakest['corruption']} at {weakest['Spearman']:.2f}.",
        {"correlations": rows, "points": study.cloud.with_columns(error=100 * pl.col("error")).to_dicts()},
        [
            Estimate("corruptions above 0.6", len(strong), n=len(rows), percent=False),
            Estimate("median Spearman", float(np.median(values)), n=len(values), percent=False),
        ],
        steps.differs_at(setting, *steps.study_differs(setting)),
        {"study": plots.plot_study(study.cloud, table, distance=measure)},
    )


@experiment(
    "fig4",
    "Base augmentations and the corruptions they are similar to",
    claim="Including solarize lowers MSD to impulse noise, including x translation lowers MSD to motion blur; the "
    "dissimilar pairs change little.",
    minutes=0.3,
    after=("fig1",),
    needs=CIFAR,
    cost="the 514 networks of fig3",
)
def figure_4(setting: Setting) -> Outcome:
    """Schemes with and without a base: their mean MSD to the similar and to the dissimilar corruption."""
    from brittle.papers import msd_steps as steps

    study = steps.powerset_study(setting)
    published = {("solarize", "impulse_noise"): "lower", ("translate_x", "motion_blur"): "lower"}
    rows = []
    for base in ("solarize", "translate_x"):
        for corruption in ("impulse_noise", "motion_blur"):
            row = steps.with_and_without(study.cloud, base, corruption)
            rows.append(row | {"published": published.get((base, corruption), "little change")})
    lowered = {(row["base"], row["corruption"]): row["MSD lowered by (%)"] for row in rows}
    holds = all(
        lowered[base, near] > lowered[base, far] and lowered[base, near] > 0
        for base, near, far in (
            ("solarize", "impulse_noise", "motion_blur"),
            ("translate_x", "motion_blur", "impulse_noise"),
        )
    )
    few = study.cloud.filter(pl.col("corruption").str.ends_with("impulse_noise") | _ends("motion_blur"))
    panels = {
        base: plots.plot_study(
            few, design.scheme_correlations(few), groups={f"with {base}": steps.containing(study.powerset, base)}
        )
        for base in ("solarize", "translate_x")
    }
    return Outcome(
        f"{'It holds' if holds else 'It does not hold'}: solarize lowers the mean MSD to impulse noise by "
        f"{lowered['solarize', 'impulse_noise']:.0f} % and to motion blur by {lowered['solarize', 'motion_blur']:.0f} "
        f"%, x translation by {lowered['translate_x', 'impulse_noise']:.0f} % and "
        f"{lowered['translate_x', 'motion_blur']:.0f} %.".replace("-", "−"),
        {"bases": rows},
        differs=steps.differs_at(setting, *steps.study_differs(setting)),
        figures=panels,
    )


def _ends(name: str) -> pl.Expr:
    return pl.col("corruption").str.ends_with(name)


@experiment(
    "fig5",
    "Augmentations of the literature over the cloud of the powerset",
    claim="Patch Gaussian has low MSD to noise and to glass blur, AutoAugment to contrast and defocus blur; all "
    "follow the trend of the powerset, but for AutoAugment on fog.",
    minutes=0.3,
    after=("fig1",),
    needs=CIFAR,
    cost="the 514 networks of fig3",
)
def figure_5(setting: Setting) -> Outcome:
    """Where Patch Gaussian, AutoAugment and AugMix (without its loss) lie in the powerset's cloud."""
    from brittle.papers import msd_steps as steps

    study = steps.powerset_study(setting)
    rows = [
        steps.place_in_cloud(study, corruption) | {"published similar": steps.SIMILAR.get(plain_name(corruption))}
        for corruption in study.points["corruption"].unique(maintain_order=True)
    ]
    claims = [(row["corruption"], row["published similar"]) for row in rows if row["published similar"]]
    kept = [
        f"{name} to {corruption}"
        for corruption, name in claims
        for row in rows
        if row["corruption"] == corruption and row[f"{name}: nearer than"] > 50
    ]
    cloud, joint = (design.scheme_correlations(points) for points in (study.cloud, study.points))
    change = float(np.nanmedian(_numbers(joint) - _numbers(cloud)))
    return Outcome(
        f"{len(kept)} of the {len(claims)} similarities that the paper names come out nearer than half of the powerset "
        f"({', '.join(kept) or 'none'}); with the real augmentations the median correlation changes by {change:+.2f}, "
        f"so they {'follow' if change > -0.05 else 'do not follow'} the trend.".replace("+-", "−"),
        {"places": rows},
        [Estimate("named similarities that hold", len(kept), n=len(claims), percent=False)],
        steps.differs_at(setting, *steps.study_differs(setting)),
        {"cloud": plots.plot_study(study.points, cloud, groups={name: [one] for name, one in steps.REAL.items()})},
    )


def _numbers(correlations: pl.DataFrame) -> np.ndarray[Any, Any]:
    return correlations["msd"].cast(pl.Float64).fill_null(float("nan")).to_numpy()


@experiment(
    "mmd",
    "Appendix B: MMD against corruption error over the augmentation powerset",
    claim="MMD, the distance of the mean augmentation, correlates poorly with corruption error.",
    minutes=0.3,
    after=("fig1",),
    needs=CIFAR,
    cost="the 514 networks of fig3",
)
def appendix_b_mmd(setting: Setting) -> Outcome:
    """Figure 3 once more, with the other measure."""
    from brittle.papers import msd_steps as steps

    study = steps.powerset_study(setting)
    found = _correlated(setting, study, "mmd", "poor, without numbers")
    table = study.correlations
    nearest = int((table["msd"].fill_null(-1) > table["mmd"].fill_null(-1)).sum())
    by_msd = int((table["msd"].fill_null(-1) > STRONG).sum())
    more = f" MSD correlates better for {nearest} of {len(table)} corruptions, and is above 0.6 for {by_msd}."
    return Outcome(found.verdict + more, found.tables, found.agreement, found.differs, found.figures)


@experiment(
    "batchnorm",
    "Appendix B: adapting the batch normalisation alone",
    claim="If only the batch-norm statistics of a trained network are adapted to the augmentations, MSD still "
    "correlates strongly with error.",
    minutes=3,
    after=("fig1",),
    needs=CIFAR,
    cost="514 adaptations, and the features of fig3",
)
def appendix_b_batchnorm(setting: Setting) -> Outcome:
    """Figure 3 once more, without training on the augmentations."""
    from brittle.papers import msd_steps as steps

    found = _correlated(setting, steps.powerset_study(setting, "batchnorm"), "msd", "strong, without numbers")
    differs = [
        f"the statistics are those of one pass over {steps.scale_of(setting).tuning_images:,} images",
        *steps.study_differs(setting),
    ]
    return Outcome(found.verdict, found.tables, found.agreement, differs, found.figures)


@experiment(
    "closest",
    "Appendix A: training with the closest, the farthest or random augmentations",
    claim="Adding many dissimilar augmentations increases the error much less than adding a few similar ones decreases "
    "it.",
    minutes=2,
    after=("fig1",),
    needs=CIFAR,
    cost="18 networks",
)
def appendix_a(setting: Setting) -> Outcome:
    """Networks trained with N of AugMix's sampled transforms alone, chosen by their distance to CIFAR-10-C."""
    from brittle.distance import chosen_schemes
    from brittle.papers import msd_figures as drawing
    from brittle.papers import msd_steps as steps
    from brittle.papers import msd_tables as tables

    scale, benchmark = steps.scale_of(setting), steps.corruptions_of(setting)
    schemes = {steps.ALL_BASES: steps.powerset_schemes(setting)[steps.ALL_BASES], "none": steps.no_augmentation()}
    features, cells = steps.scheme_distances(setting, schemes, steps.standard_model(setting), benchmark)
    augmix = schemes[steps.ALL_BASES]
    chosen = chosen_schemes(augmix, features[steps.ALL_BASES], cells, scale.choices, seed=setting.seed)
    folder = setting.work("closest")
    models = design.scheme_models(
        {"none": schemes["none"], **chosen, "all": augmix},
        setting.data("cifar10", train=True),
        folder,
        steps.plan_of(setting),
        start=steps.standard_weights(setting),
        **tables.places(setting),
    )
    del models["standard"]
    test = setting.data("cifar10", limit=scale.test_images)
    how = {key: value for key, value in tables.places(setting).items() if key != "device"}
    results = design.evaluate_schemes(models, test, benchmark, folder / "run", **how)
    error = {
        name: float(np.mean(list(tables.errors_by_corruption(results, name, benchmark).values()))) for name in models
    }
    rows: list[dict[str, Any]] = [
        {"augmentations": choice, "number": count, "error": error[f"{choice} {count}"]}
        for choice in ("closest", "farthest", "random")
        for count in scale.choices
    ]
    rows += [{"augmentations": name, "number": None, "error": error[name]} for name in ("none", "all")]
    few, many = scale.choices[0], scale.choices[-1]
    gained = error[f"farthest {few}"] - error[f"closest {few}"]
    lost = error[f"random {many}"] - error[f"closest {many}"]
    holds = gained > 0 and gained > lost
    return Outcome(
        f"{'It holds' if holds else 'It does not hold'}: the {few} closest augmentations instead of the {few} farthest "
        f"lower the error by {gained:.1f} points, and {many} random ones instead of the {many} closest raise it by "
        f"{lost:.1f}; without any it is {error['none']:.1f} %, with all of AugMix {error['all']:.1f} %.".replace(
            "-", "−"
        ),
        {"errors": rows},
        differs=steps.differs_at(
            setting,
            "the appendix is not in the text at hand, so the claim is that of section 6",
            f"chosen from {scale.samples:,} sampled augmentations",
        ),
        figures={"errors": drawing.draw_lines(rows, "number", "error", "augmentations", "error on CIFAR-10-C (%)")},
    )


@experiment(
    "extractor",
    "Appendix C: distances through another network, and their noise",
    claim="VGG instead of WideResNet as the feature extractor gives similar results, and the distance of an "
    "augmentation to a mean corruption has a standard deviation of about five percent.",
    minutes=4,
    after=("fig1",),
    needs=CIFAR,
    cost="one network, and the features of fig3 again",
)
def appendix_c(setting: Setting) -> Outcome:
    """MSD of every scheme to every corruption through two networks, and over resampled corruption draws."""
    from brittle.papers import msd_steps as steps

    schemes, benchmark = steps.powerset_schemes(setting), steps.corruptions_of(setting)
    through = [
        steps.msd_table(setting, schemes, model, benchmark)
        for model in (steps.standard_model(setting), steps.other_extractor(setting))
    ]
    rows = []
    for column, name in enumerate(entry.id for entry in benchmark.entries):
        rho = metrics.spearman(through[0][:, column], through[1][:, column])
        rows.append({"corruption": plain_name(name), "Spearman": rho.value, "low": rho.low, "high": rho.high})
    middle = float(np.median([row["Spearman"] for row in rows]))
    noise = steps.distance_noise(setting, benchmark)
    return Outcome(
        f"{'Similar' if middle > STRONG else 'Not similar'}: over schemes the MSDs through both networks rank alike "
        f"with a median Spearman of {middle:.2f}; a distance to a mean corruption varies by {100 * noise:.1f} % "
        "(published: 5 %).",
        {"correlations": rows},
        [
            Estimate("median Spearman of both extractors", middle, n=len(rows), percent=False),
            Estimate("relative standard deviation of a distance", noise),
        ],
        [
            f"{steps.scale_of(setting).second} instead of VGG",
            "the noise is that of resampled corruption draws and images, from "
            f"{steps.scale_of(setting).corruption_samples} draws and {steps.scale_of(setting).feature_images} images",
        ],
    )


from brittle.papers import msd_c_bar  # noqa: E402, F401  # sections 5 and 6, whose experiments come last
