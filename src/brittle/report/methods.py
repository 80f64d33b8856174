"""How the numbers came about: definitions, recipes, commands, and what is known of each run."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brittle._io import COMMAND, toml_text
from brittle.benchmarks import Benchmark
from brittle.evaluation import Call, Run
from brittle.report.data import RESAMPLES, Measured, Part
from brittle.report.theme import count

STORED = {"none": "pixels as drawn", "jpeg85": "stored as JPEG of quality 85"}
SKIPPED = 5
"""So many unreadable images are named."""


def methods(parts: Sequence[Part], measured: Mapping[int, Measured], runs: Sequence[Run]) -> dict[str, Any]:
    """Definitions, recipes, commands, and each run."""
    corrupted, slides = any(part.benchmark for part in parts), any(part.slides for part in parts)
    known = DEFINITIONS if corrupted else {name: DEFINITIONS[name] for name in ("accuracy A(c, s)", "difference")}
    if slides:
        known = {**(DEFINITIONS if corrupted else {}), **SLIDE_DEFINITIONS}
    recipes = [_recipe(part.benchmark, measured[part.number]) for part in parts if part.benchmark is not None]
    return {
        "failure_points": "",
        "definitions": [(name, formula.split("_ref"), text) for name, (formula, text) in known.items()],
        "intervals": INTERVALS.format(resamples=RESAMPLES),
        "recipes": recipes,
        "runs": [run_facts(run) for run in runs],
    }


def failure_methods(runs: Sequence[Run]) -> dict[str, Any]:
    """The same for a page of failure points alone."""
    facts = [run_facts(run) for run in runs]
    return {"failure_points": FAILURE_METHOD, "definitions": [], "intervals": "", "recipes": [], "runs": facts}


def _recipe(recipe: Benchmark, measured: Measured) -> dict[str, str]:
    references = [one.scores.reference for one in measured.models if one.scores and one.scores.mce]
    return {
        "name": recipe.name,
        "hash": recipe.hash,
        "what": f"{count(len(recipe.entries), 'corruption')}, {count(len(recipe), 'cell')}",
        "how": f"seed {recipe.seed}, version {recipe.version}, {STORED[recipe.storage]}",
        "reference": (references[0] if references else None) or "none",
        "source": recipe.source or "–",
        "text": toml_text(recipe.to_dict()),
    }


def run_facts(run: Run) -> dict[str, Any]:
    """What is known of a run: its images, models, command, calls and versions."""
    unread = [f"{sample}: {reason}" for sample, reason in list(run.skipped.items())[:SKIPPED]]
    if len(run.skipped) > len(unread):
        unread.append(f"and {len(run.skipped) - len(unread):,} more")
    return {
        "folder": run.folder.name,
        "data": f"{run.data}, {count(run.images, 'image')}",
        "data_key": run.data_key or "",
        "classes": f"{len(run.classes):,}" if run.classes else "not named",
        "models": run.models,
        "skipped": count(len(run.skipped), "image") if run.skipped else "",
        "unread": unread,
        "calls": [_call(call) for call in run.calls],
        "versions": _once(", ".join(f"{name} {text}" for name, text in call.versions.items()) for call in run.calls),
        "notes": _once(note for call in run.calls for note in call.notes),
        "command": command_line(run),
    }


def command_line(run: Run) -> str:
    """What was typed to make a folder, as its command.toml has it; empty if it was not made on a command line."""
    try:
        known = tomllib.loads((run.folder / COMMAND).read_text(encoding="utf-8"))
        options = [piece for name, value in known.get("options", {}).items() for piece in _option(name, value)]
        imports = [piece for name in known.get("import", []) for piece in ("--import", str(name))]
        words = [*imports, *known["command"].split(), *map(str, known.get("arguments", [])), *options]
    except (OSError, ValueError, KeyError):
        return ""
    return shlex.join(["brittle", *words])


def _option(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    flag = f"--{name}"
    return [piece for one in values if one is not False for piece in ((flag,) if one is True else (flag, str(one)))]


def _call(call: Call) -> str:
    when = str(call.started).replace("T", " ").replace("+00:00", " UTC")
    machine = call.machine
    how = [f"engine {call.engine}" if call.engine else ""]
    how.append(f"batches of {call.batch_size}" if call.batch_size else "")
    where = f"{machine.get('system', '?')} {machine.get('processor', '')}, {machine.get('cores', '?')} cores"
    facts = ", ".join(filter(None, (call.title, *how, where)))
    return f"{when}: {facts}; {call.state}"


def _once(texts: Iterable[str]) -> str:
    """Different sentences, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text))


FAILURE_METHOD = (
    "The failure point of an image is the smallest severity at which the model is wrong about it, as far as it was "
    "searched. Full steps are tried upwards until the first failure; the step below it is then halved. An image that "
    "is wrong when clean has the failure point 0. The draw of an image is the same at every severity. Intervals of "
    "shares are Wilson's, those of quantiles are made of the order statistics."
)

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
    "CE and relative CE": (
        "(1 − A(c)) / (1 − A_ref(c)) and (A(clean) − A(c)) / (A_ref(clean) − A_ref(c))",
        "The terms of mCE and of relative mCE, one for each corruption. Both need a reference.",
    ),
    "loss of a class": (
        "A(clean) − A(c), of the images of one class",
        "In percentage points, paired by image. The intervals hold for all pairs of corruption and class at once: each "
        "is at 1 − 5 % / pairs (Bonferroni).",
    ),
    "ECE": (
        "mean over predictions of |accuracy − confidence| of their bin",
        "The expected calibration error with 15 bins of equal width (Guo et al., 2017). The confidence is that of the "
        "predicted class.",
    ),
    "difference": (
        "A of a model − A of the best, on the same images",
        "Both are drawn together in each resample, so images that are hard for both do not widen the interval. With "
        "three models or more the intervals are as wide as the largest |t| of all pairs of models, so that they hold "
        "together (Tukey's way), and p-values are adjusted by Holm's method (1979).",
    ),
}

SLIDE_DEFINITIONS = {
    "accuracy A(s)": (
        "right images / all images of a shift at scale s",
        "Only trajectories, the images of one class and seed, that all models have in full count. The interval of one "
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
"""Those of slides."""

INTERVALS = (
    "All intervals are at 95 %. Those of single cells and of clean accuracy are Wilson's. All others are "
    "bootstraps over images: whole images are drawn again, with all their corrupted copies, {resamples:,} times, from "
    "a fixed seed; with few images, or close to 0 or 100 %, they are widened to what so few images can "
    "tell. They tell how far the numbers would move on other images of the same kind, not on other "
    "trainings of the same model."
)
