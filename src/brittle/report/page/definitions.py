"""What every number of the page means, in symbols and in words."""

from __future__ import annotations

from brittle.report.page.markup import Html, tag, together

DEFINITIONS = {
    "accuracy A(c, s)": (
        "right images / all images, under corruption c at severity s",
        "A(clean) is that of the clean images. The interval of one cell is Wilson's (1927).",
    ),
    "mean accuracy": (
        "A = mean over c of A(c), where A(c) = mean over s of A(c, s)",
        "Every corruption counts the same, however many levels it has. Clean images are no part of it.",
    ),
    "unnormalised error": ("1 − A", "The plain mean error, with no reference model. Lower is better."),
    "mean accuracy drop": ("A(clean) − A", "In percentage points. Lower is better."),
    "robustness R": (
        "R = A / A(clean)",
        "The share of its clean accuracy that a model keeps (Laugros et al., 2021). It says little about a model "
        "that is poor on clean images.",
    ),
    "mCE": (
        "mean over c of (1 − A(c)) / (1 − A_ref(c))",
        "The mean corruption error of Hendrycks & Dietterich (2019): 100 % is as bad as the reference model. "
        "The reference is named beside it: a published one where the test and the images are those that it was "
        "measured on, or one that was asked for; else there is no mCE.",
    ),
    "relative mCE": (
        "mean over c of (A(clean) − A(c)) / (A_ref(clean) − A_ref(c))",
        "How much accuracy corruptions take, compared with what they take from the reference model.",
    ),
    "failure point": (
        "the smallest severity s at which an image is wrong",
        "For images that are right when clean, under one corruption. What is right again at a higher severity has "
        "failed all the same. Images that never fail count as the last severity in the mean, and lie beyond it in "
        "the median.",
    ),
    "still right (survival)": (
        "the share of failure points above s",
        "Only of images that are right when clean. Where corruptions have severities of their own, s is the rank of "
        "the level.",
    ),
    "difference": (
        "A of a model − A of the best, on the same images",
        "Both are drawn together in each resample, so images that are hard for both do not widen the interval. With "
        "three models or more the intervals are as wide as the largest |t| of all pairs of models, so that they hold "
        "together (Tukey's way), and p-values are adjusted by Holm's method (1979).",
    ),
}

SLID = {
    "accuracy A(s)": (
        "right images / all images of a shift at scale s",
        "Only trajectories, the images of one class and seed, that are whole for all models count. The interval of one "
        "scale is Wilson's (1927).",
    ),
    "accuracy drop": (
        "A(0) − A(s), of the same shift",
        "In percentage points. The mean over shifts gives every shift the same weight.",
    ),
    "failure point of a trajectory": (
        "the smallest scale s at which it is wrong",
        "Shares are of all trajectories. What is right again at a higher scale has failed all the same.",
    ),
    "mean margin": (
        "mean over trajectories of 3 − failure point",
        "Those that never fail count as 3, as in the published code. Lower is better.",
    ),
    "ID/OOD slope": (
        "slope of the least-squares line of A(s) on accuracy without the shift, over models",
        "It needs at least three models.",
    ),
    "rCE": (
        "mean over shifts of Σ (E(s) − E(0)) / Σ (E_ref(s) − E_ref(0))",
        "The relative corruption error of CNS-Bench, with E = 1 − A and sums over the scales above 0. Not in percent.",
    ),
}
"""What is said of slides."""

INTERVALS = (
    "All intervals are at 95 %. Those of single cells and of clean accuracy are Wilson's. All others are "
    "bootstraps over images: whole images are drawn again, with all their corrupted copies, {resamples:,} times, from "
    "a fixed seed; with few images, or close to 0 or 100 %, they are widened to what so few images can "
    "tell. They tell how far the numbers would move on other images of the same kind, not on other "
    "trainings of the same model."
)


def _symbols(formula: str) -> list[Html]:
    first, *rest = formula.split("_ref")
    return [together(first), *(together(tag("sub", "ref"), piece) for piece in rest)]


def definitions(resamples: int, *, corrupted: bool, slid: bool = False) -> Html:
    """The list; without any corruption only what is left of it."""
    known = DEFINITIONS if corrupted else {name: DEFINITIONS[name] for name in ("accuracy A(c, s)", "difference")}
    if slid:
        known = {**(DEFINITIONS if corrupted else {}), **SLID}
    items = [
        tag("div", tag("dt", name), tag("dd", tag("span", _symbols(formula), class_="formula"), " ", words))
        for name, (formula, words) in known.items()
    ]
    intervals = tag("div", tag("dt", "intervals"), tag("dd", INTERVALS.format(resamples=resamples)))
    return tag("dl", *items, intervals, class_="definitions")
