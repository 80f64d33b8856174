"""Which published numbers are comparable with a run's: those of the same test on the same images, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.benchmarks import Benchmark, Cell, load_benchmark
from brittle.datasets.cifar import CIFAR10
from brittle.datasets.classes import imagenet_names
from brittle.evaluation.results import Results, load_results
from brittle.metrics import BASELINES, Baseline, PublishedScore, baseline, published_scores


@dataclass(frozen=True)
class ReferenceData:
    """The images on which published numbers were measured: every one of them counts."""

    name: str
    classes: tuple[str, ...]
    images: int
    side: int
    option: str

    def __str__(self) -> str:
        return f"{self.name} ({len(self.classes):,} classes, {self.images:,} images)"


IMAGENET = ReferenceData("the ImageNet validation set", imagenet_names(), 50_000, 224, "-d imagenet:FOLDER")
CIFAR10_TEST = ReferenceData("the CIFAR-10 test set", CIFAR10, 10_000, 32, "-d cifar10:FOLDER")

READABLE = 0.999
"""Of the images at least so many must have been evaluated: a file or two that cannot be read change nothing."""


@dataclass(frozen=True)
class Reference:
    """What is published on a bundled recipe: on which images, the baseline of its mCE, and under which name scores."""

    data: ReferenceData
    baseline: str | None = None
    scores: str = ""


REFERENCES = {
    "imagenet-c": Reference(IMAGENET, "alexnet-imagenet-c", "imagenet-c"),
    "imagenet-c-released": Reference(IMAGENET, "alexnet-imagenet-c", "imagenet-c"),
    "imagenet-c-bar": Reference(IMAGENET, scores="imagenet-c-bar"),
    "imagenet-noc": Reference(IMAGENET, "alexnet-imagenet-noc", "imagenet-noc"),
    "noc-candidates": Reference(IMAGENET, "alexnet-imagenet-noc"),
    "cifar10-c": Reference(CIFAR10_TEST, "reference-cifar10-c", "cifar10-c"),
    "cifar10-c-bar": Reference(CIFAR10_TEST, scores="cifar10-c-bar"),
}
"""The bundled recipes that have published numbers. A run is held against one if it draws the same test."""

MOVED = {
    "imagenet-c": "On 70 ImageNet pictures (EfficientNet-Lite0) both together move the mean error by +0.6 points "
    "[−1.5, +2.6] and that of frost by −3.4 [−9.4, +2.4].",
    "cifar-c": "On 1,000 test images the photographs move the mean error by −0.1 points and that of frost by −1.1 "
    "(two small ResNets, both).",
}
"""How far the released files are from memory, by `perf/released_set.py` (docs/explanation/fidelity.md)."""

BUNDLED_TEXTURES = (
    "Frost is drawn with the bundled textures, not with the published photographs; --textures FOLDER takes those."
)


@dataclass(frozen=True)
class Comparable:
    """What is comparable with a run: the bundled recipe whose published numbers hold, or why none do.

    `like` is the bundled recipe that the run's is, or is named after; `remedy` what would make them comparable. `notes`
    are footnotes: how the run's pictures differ from those of the published numbers.
    """

    recipe: str | None = None
    like: str | None = None
    why_not: str = ""
    remedy: str = ""
    notes: tuple[str, ...] = ()

    @property
    def baseline(self) -> Baseline | None:
        """The published reference model of mCE."""
        name = None if self.recipe is None else REFERENCES[self.recipe].baseline
        return None if name is None else baseline(name)

    @property
    def published(self) -> list[PublishedScore]:
        """What others published."""
        return published_scores(self.published_name)

    @property
    def published_name(self) -> str:
        """The name under which scores are published; empty if none may be shown."""
        return "" if self.recipe is None else REFERENCES[self.recipe].scores

    def refusal(self, *, has_reference: bool = False) -> str:
        """One sentence on the numbers that are not shown, and what to do; empty if nothing is missing."""
        if self.like is None or not self.why_not:
            return ""
        known = REFERENCES[self.like]
        missing = [] if known.baseline is None or has_reference else ["mCE"]
        missing += ["published rows"] if known.scores else []
        if not missing:
            return ""
        alternative = "" if has_reference else ", or choose a reference for mCE: brittle compare RUN --reference MODEL"
        return f"No {', no '.join(missing)}: {self.why_not}. {self.remedy}{alternative}."


def comparable(results: Results, recipe: Benchmark) -> Comparable:
    """Whether published numbers are comparable with these results on a recipe.

    The recipe must draw what a bundled one draws, whatever it is called, and the images must be all of those that the
    numbers were published on: known by their classes, how many there are, how many of each class, and their size.
    """
    twin = next((name for name in REFERENCES if recipe.draws_like(_bundled(name))), None)
    if twin is None:
        like = recipe.name.removesuffix("-custom")
        if like not in REFERENCES:
            return Comparable()
        why_not = f"{recipe.name!r} is not the bundled {like} (other corruptions, levels, options or storage)"
        return Comparable(None, like, why_not, f"Run -b {like} as it is")
    data = REFERENCES[twin].data
    differs = _differs(results, recipe, data)
    if differs:
        return Comparable(None, twin, f"they hold for {data}, and {differs}", f"Run all of it ({data.option})")
    return Comparable(twin, twin, notes=_notes(results, recipe, twin))


@cache
def _bundled(name: str) -> Benchmark:
    return load_benchmark(name)


def bundled_textures(recipe: Benchmark) -> bool:
    """Whether frost, or whatever else has textures, is drawn with those that come with brittle."""
    return any("textures" in e.corruption.options and "textures" not in e.options for e in recipe.entries)


def _notes(results: Results, recipe: Benchmark, twin: str) -> tuple[str, ...]:
    """How the pictures of a run differ from the published ones."""
    stored = [run for run in results.runs if run.stored]
    written = any(call.written_by_brittle for run in stored for call in run.calls)
    if stored and not written:
        return ()  # the published files themselves
    if twin not in ("imagenet-c", "imagenet-c-released", "cifar10-c"):
        return ("Published numbers are of the authors' own draws; this run draws its own by the same steps.",)
    what, option = ("arrays", "cifar-c") if twin == "cifar10-c" else ("files", "imagenet-c")
    differences = []
    if twin == "imagenet-c" and not stored:
        differences.append(f"without the JPEG pass of quality 85 that the {what} went through")
    if bundled_textures(recipe):
        differences.append("with bundled frost textures instead of the published photographs")
    made = " and ".join(differences) or "by the same steps"
    note = f"Published numbers are of the released {what}; these pictures are drawn by brittle, {made}."
    if len(differences) == (2 if twin == "imagenet-c" else 1) and not stored:
        note += f" {MOVED[option]}"
    if differences:
        closer = "cifar10-c" if twin == "cifar10-c" else "imagenet-c-released"
        note += f" -b {closer} --textures FOLDER comes closer."
    return (f"{note} -d {option}:FOLDER runs the released {what}.",)


def _differs(results: Results, recipe: Benchmark, data: ReferenceData) -> str:
    """How the images of a run differ from those of the published numbers; nothing if they are the same."""
    if not results.runs:
        return "these rows do not name their images"
    for run in results.runs:
        if run.classes != data.classes:
            return f"this run has {run.images:,} images of {len(run.classes) or 'unnamed'} other classes"
    counts = _counts(results, recipe)
    evaluated = int(counts.sum())
    if evaluated > data.images or evaluated < READABLE * data.images:
        present = int((counts > 0).sum())
        return f"this run has {evaluated:,} images" + f" of {present:,} classes" * (present < len(data.classes))
    each = data.images // len(data.classes)
    if counts.max() > each:
        return f"this run has up to {counts.max():,} images of a class, not {each:,}"
    for run in results.runs:
        for call in run.calls:
            if call.size is not None and call.size != (data.side, data.side):
                return f"this run has images of {'×'.join(map(str, call.size))} px, not {data.side}×{data.side}"
    return ""


def _counts(results: Results, recipe: Benchmark) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How many images of each class every model was shown in the first cell; the fewest where models differ."""
    corruption, severity = recipe.cells()[0].place
    in_cell = (pl.col("corruption") == corruption) & (pl.col("level") == severity)
    rows = results.rows.filter(in_cell).group_by("model", "label").len().collect()
    tables = []
    for model in rows["model"].unique():
        of_model = rows.filter(pl.col("model") == model)
        tables.append(np.bincount(of_model["label"].to_numpy(), of_model["len"].to_numpy()).astype(np.int64))
    return min(tables, key=lambda table: table.sum(), default=np.zeros(1, np.int64))


def as_baseline(results: Results, recipe: Benchmark, model: str) -> Baseline:
    """A model's own errors as the reference of other models' mCE."""
    cells = recipe.cells()
    has_clean = model in results.models_with([Cell()])
    accuracy = results.matrix(model, [Cell(), *cells] if has_clean else cells).values.mean(axis=0)
    errors: dict[str, float] = {}
    start = int(has_clean)
    for entry in recipe.entries:
        errors[entry.id] = float(1 - accuracy[start : start + len(entry.levels)].mean())
        start += len(entry.levels)
    return Baseline(model, float(1 - accuracy[0]) if has_clean else float("nan"), errors, "a model run on these images")


def find_reference(results: Results, recipe: Benchmark, text: str | Path) -> Baseline:
    """The reference that a user names: a model of the results, another run's folder, or a published baseline.

    A run on the same images gives its only model, or one that is named after a colon: `runs/first:resnet`. A published
    baseline must be one of this test, and the classes must be those it was measured on.
    """
    name = str(text)
    folder, colon, model = name.rpartition(":")
    if name in results.models:
        reference = as_baseline(results, recipe, name)
    elif name in BASELINES:
        reference = _published_reference(results, recipe, name)
    elif Path(name).is_dir() or (colon and Path(folder).is_dir()):
        place = Path(name) if Path(name).is_dir() else Path(folder)
        reference = _of_run(results, recipe, place, "" if Path(name).is_dir() else model)
    else:
        raise BrittleError(
            f"there is no reference {name!r}; give a model of these runs ({', '.join(results.models)}), the folder of "
            f"another run on the same images, or a published baseline ({', '.join(BASELINES)})"
        )
    zero = [corruption for corruption, error in reference.errors.items() if error == 0]
    if zero:
        raise BrittleError(
            f"the reference {reference.name!r} makes no error on {', '.join(zero)}, so nothing can be divided by it; "
            "take a weaker reference or more images"
        )
    return reference


def _of_run(results: Results, recipe: Benchmark, folder: Path, model: str) -> Baseline:
    other = load_results(folder)
    keys = [{run.images_key for run in some.runs} for some in (results, other)]
    if keys[0] != keys[1]:
        names = [", ".join(sorted({str(run.data) for run in some.runs})) for some in (results, other)]
        raise BrittleError(
            f"the reference {str(folder)!r} was run on other images ({names[1]}) than these results ({names[0]}); a "
            "reference must have seen the same ones"
        )
    able = other.models_with(recipe.cells())
    if not able:
        raise BrittleError(f"{str(folder)!r} has no model that was run on every cell of {recipe.name!r}")
    if model and model not in able:
        raise BrittleError(f"{str(folder)!r} has no model {model!r} on {recipe.name!r}; it has: {', '.join(able)}")
    if not model and len(able) > 1:
        raise BrittleError(f"{str(folder)!r} has {len(able)} models; name the reference: {folder}:{able[0]}")
    reference = as_baseline(other, recipe, model or able[0])
    return Baseline(
        reference.name, reference.clean_error, reference.errors, f"a model run on these images, in {folder}"
    )


def _published_reference(results: Results, recipe: Benchmark, name: str) -> Baseline:
    """A published baseline that was asked for by its name: of a part of the data too, but of no other test."""
    benchmarks = [key for key, reference in REFERENCES.items() if reference.baseline == name]
    if not any(recipe.draws_like(_bundled(key)) for key in benchmarks):
        raise BrittleError(
            f"the baseline {name!r} was measured on {' and '.join(benchmarks)}, and {recipe.name!r} draws another "
            f"test; run -b {benchmarks[0]}, or take a model of these runs as the reference: {', '.join(results.models)}"
        )
    data = REFERENCES[benchmarks[0]].data
    if any(run.classes != data.classes for run in results.runs) or not results.runs:
        raise BrittleError(
            f"the baseline {name!r} was measured on {data}, and these results are of other classes; take a model of "
            f"these runs as the reference: {', '.join(results.models)}"
        )
    published = baseline(name)
    return Baseline(
        published.name, published.clean_error, published.errors, f"{published.about}, on all of {data.name}"
    )


def published_rows(scores: Sequence[PublishedScore]) -> dict[str, list[PublishedScore]]:
    """Published scores by whose they are, in the order in which they are listed."""
    rows: dict[str, list[PublishedScore]] = {}
    for score in scores:
        rows.setdefault(score.who, []).append(score)
    return rows
