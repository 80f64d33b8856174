"""How the numbers came about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from brittle.evaluation import Call, Run
from brittle.report.data import RESAMPLES, Measure, Part
from brittle.report.html import Html, concat, count, tag

STORED = {"none": "pixels as drawn", "jpeg85": "stored as JPEG of quality 85"}
SKIPPED = 5
"""So many unreadable images are named."""


def methods(several: list[Part], measured: dict[int, list[Measure]]) -> Html:
    """Definitions, recipes, and each run."""
    runs = [run for group in dict.fromkeys(part.results for part in several) for run in group.runs]
    return concat(
        tag("h3", "Definitions"),
        definitions(
            RESAMPLES,
            corrupted=any(part.benchmark for part in several),
            slid=any(part.slides for part in several),
        ),
        tag("h3", "Recipes"),
        _recipes(several, measured),
        tag("h3", "Runs") if runs else None,
        [run_facts(run) for run in runs],
    )


def _recipes(several: list[Part], measured: dict[int, list[Measure]]) -> Html:
    rows = []
    for part in several:
        recipe = part.benchmark
        if recipe is None:
            continue
        what = f"{count(len(recipe.entries), 'corruption')}, {count(len(recipe), 'cell')}"
        how = f"seed {recipe.seed}, version {recipe.version}, {STORED[recipe.storage]}"
        cells = (
            recipe.name,
            tag("code", recipe.hash),
            what,
            how,
            next((m.scores.reference for m in measured[part.number] if m.scores and m.scores.mce), None) or "none",
            recipe.source or "–",
        )
        rows.append(tag("tr", tag("th", cells[0], scope="row"), *(tag("td", cell) for cell in cells[1:])))
    if not rows:
        return tag("p", "No recipe: the images were shown as they are.")
    names = ("recipe", "hash", "what", "how", "reference of mCE", "source")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="words")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="recipes")


def run_facts(run: Run) -> Html:
    """What is known of a run: its images, models, calls and versions."""
    calls = run.calls
    key, skipped = run.data_key, run.skipped
    models = [concat(model.name, " ", tag("code", model.key)) for model in run.models]
    facts: list[tuple[str, Any]] = [
        ("folder", run.folder.name),
        ("images", concat(f"{run.data}, {count(run.images, 'image')} ", tag("code", key) if key else None)),
        ("classes", f"{len(run.classes):,}" if run.classes else "not named"),
        ("models", tag("ul", *(tag("li", model) for model in models))),
        ("not readable", _skipped(skipped) if skipped else "none"),
        ("run", tag("ul", *(tag("li", _call(call)) for call in calls)) if calls else "not recorded"),
        ("versions", _versions(calls)),
        ("notes", listed_once(note for call in calls for note in call.notes)),
    ]
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value]
    return tag("dl", *rows, class_="facts")


def _skipped(skipped: dict[str, str]) -> Html:
    named = [tag("li", f"{sample}: {reason}") for sample, reason in list(skipped.items())[:SKIPPED]]
    more = len(skipped) - len(named)
    last = tag("li", f"and {more:,} more") if more else None
    return concat(f"{count(len(skipped), 'image')}, left out of every cell", tag("ul", *named, last))


def _call(call: Call) -> str:
    when = str(call.started).replace("T", " ").replace("+00:00", " UTC")
    machine = call.machine
    how = [f"engine {call.engine}" if call.engine else ""]
    how.append(f"batches of {call.batch_size}" if call.batch_size else "")
    where = f"{machine.get('system', '?')} {machine.get('processor', '')}, {machine.get('cores', '?')} cores"
    facts = ", ".join(filter(None, (call.title, *how, where)))
    return f"{when}: {facts}; {call.state}"


def _versions(calls: Sequence[Call]) -> str:
    return listed_once(", ".join(f"{name} {number}" for name, number in call.versions.items()) for call in calls)


def listed_once(texts: Iterable[str]) -> str:
    """Different sentences, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text))


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
    return [concat(first), *(concat(tag("sub", "ref"), piece) for piece in rest)]


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
