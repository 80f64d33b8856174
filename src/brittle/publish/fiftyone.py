"""A dataset folder that FiftyOne imports: pictures as the models saw them, labels, predictions and confidences."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._io import file_name, make_folder
from brittle._types import Progress
from brittle.benchmarks import CLEAN, Benchmark, Cell, level_name
from brittle.datasets import class_name
from brittle.evaluation import Results, Run, decoded_ids, decoded_images
from brittle.publish.scored import find_recipe, folder_for, versions, write_text
from brittle.report import Pictures

MOST = 100_000
"""More pictures than these are not written unless they are chosen."""

TAKEN = {"id", "filepath", "tags", "metadata", "created_at", "last_modified_at", "ground_truth"} | {
    *("corruption", "family", "severity", "sample")
}


@dataclass(frozen=True)
class Choice:
    """Which pictures are written: of some models, corruptions and severities, and so many images."""

    models: Sequence[str] = ()
    corruptions: Sequence[str] = ()
    severities: Sequence[float] = ()
    limit: int | None = None


def write_fiftyone(
    results: Results,
    folder: str | Path,
    benchmark: str | Benchmark | None = None,
    *,
    model_names: Sequence[str] = (),
    corruptions: Sequence[str] = (),
    severities: Sequence[float] = (),
    limit: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write pictures and predictions as a folder that FiftyOne imports, and give its path.

    In Python with FiftyOne: `fo.Dataset.from_dir(FOLDER, dataset_type=fo.types.FiftyOneDataset)`. Every sample is an
    image under a corruption, drawn again by the recipe, with the fields `ground_truth`, `corruption`, `family`,
    `severity`, `sample`, and for each model its prediction with its confidence, and whether it is right.

    Args:
        results: of one or more runs on the same images, whose folders still hold the decoded images.
        folder: a new folder, or one that this wrote before.
        benchmark: whose corruptions are drawn; needed if the results hold more than one.
        model_names: of these models alone; by default of all that were run through the benchmark.
        corruptions: these alone, by name; the clean images always come with them.
        severities: these levels alone.
        limit: so many of the images, evenly over the data.
        progress: called with (what, done, total) pictures.
    """
    place = folder_for(folder)
    if place.is_dir() and any(place.iterdir()) and not (place / "samples.json").is_file():
        raise BrittleError(f"{str(place)!r} is not empty and holds no dataset of FiftyOne; choose a new folder")
    recipe = find_recipe(results, benchmark)
    album, run = _album(results, recipe)
    choice = Choice(model_names, corruptions, severities, limit)
    cells = _cells(recipe, choice, clean=Cell() in results.cells)
    names = _models(results, recipe, choice)
    samples = _samples(album, choice)
    if len(cells) * len(samples) > MOST and choice == Choice(models=choice.models):
        raise BrittleError(
            f"all of {recipe.name!r} would be {len(cells) * len(samples):,} pictures; choose some: a limit of images, "
            "corruptions, or severities"
        )
    keys = _fields(names)
    made: list[dict[str, Any]] = []
    for number, cell in enumerate(cells):
        rows = _rows(results, names, cell, samples)
        subfolder = "clean" if cell.is_clean else f"{file_name(cell.corruption)}@{level_name(cell.level)}"
        make_folder(place / "data" / subfolder)
        for done, sample in enumerate(samples):
            predictions = [rows.get((name, sample)) for name in names]
            known = next((row for row in predictions if row is not None), None)
            if known is None:  # an image that could not be read under this corruption
                continue
            path = Path("data") / subfolder / f"{file_name(sample)}.png"
            image = album.clean(sample) if cell.is_clean else album.corrupted(sample, cell.corruption, cell.level)
            Pil.fromarray(np.ascontiguousarray(image[..., 0] if image.shape[-1] == 1 else image)).save(place / path)
            entry = _entry(path, sample, cell, recipe, class_name(known["label"], run.classes))
            for key, row in zip(keys, predictions, strict=True):
                entry |= _prediction(key, row, run)
            made.append(entry)
            if progress is not None:
                progress("pictures", number * len(samples) + done + 1, len(cells) * len(samples))
    about = {
        "made_with": f"brittle {versions(results.runs)}".strip(),
        "benchmark": recipe.name,
        "recipe": recipe.hash,
        "data": run.data,
        "classes": list(run.classes),
        "models": dict(zip(keys, names, strict=True)),
    }
    write_text(place / "metadata.json", json.dumps({"media_type": "image", "info": about}, indent=1) + "\n")
    write_text(place / "samples.json", json.dumps({"samples": made}, indent=None, separators=(",", ":")) + "\n")
    return place


def _album(results: Results, recipe: Benchmark) -> tuple[Pictures, Run]:
    for run in results.runs:
        images = decoded_images(run.folder)
        if images is not None and recipe.hash in run.recipes:
            return Pictures(images, decoded_ids(run.folder), recipe), run
    folders = ", ".join(repr(str(run.folder)) for run in results.runs)
    raise BrittleError(
        f"the decoded images of {recipe.name!r} are not in {folders}, so its pictures cannot be drawn again; give the "
        "folder of a run that was made here from the images themselves"
    )


def _cells(recipe: Benchmark, choice: Choice, *, clean: bool) -> list[Cell]:
    known = [entry.id for entry in recipe.entries]
    wanted = []
    for name in choice.corruptions:
        fitting = [one for one in known if name in (one, one.rpartition("/")[2])]
        if len(fitting) != 1:
            which = "none" if not fitting else "more than one"
            raise BrittleError(f"{name!r} is {which} of the corruptions of {recipe.name!r}: {', '.join(known)}")
        wanted += fitting
    cells = [
        cell
        for cell in recipe.cells()
        if (not wanted or cell.corruption in wanted) and (not choice.severities or cell.severity in choice.severities)
    ]
    if not cells:
        levels = sorted({cell.severity for cell in recipe.cells() if not wanted or cell.corruption in wanted})
        raise BrittleError(
            f"{recipe.name!r} has none of the severities {', '.join(f'{s:g}' for s in choice.severities)}; it has "
            f"{', '.join(f'{s:g}' for s in levels)}"
        )
    for cell in cells:
        if not recipe.entry(cell.corruption).corruption.loaded:
            raise BrittleError(f"the code of {cell.corruption!r} is not loaded, so it cannot be drawn; import its file")
    return [*([Cell()] if clean else []), *cells]


def _models(results: Results, recipe: Benchmark, choice: Choice) -> list[str]:
    able = results.models_with(recipe.cells())
    for name in choice.models:
        if name not in able:
            raise BrittleError(f"{name!r} was not run through {recipe.name!r}; these models were: {', '.join(able)}")
    return list(choice.models) or able


def _samples(album: Pictures, choice: Choice) -> list[str]:
    names = [str(sample) for sample in album.ids]
    if choice.limit is None or choice.limit >= len(names):
        return names
    if choice.limit < 1:
        raise BrittleError(f"limit is at least 1 image, got {choice.limit}")
    return [names[i] for i in np.linspace(0, len(names) - 1, choice.limit).round().astype(int).tolist()]


def _rows(
    results: Results, models: Sequence[str], cell: Cell, samples: Sequence[str]
) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of a cell, by model and sample."""
    chosen = results.rows.filter(
        (pl.col("corruption") == cell.corruption)
        & (pl.col("level") == cell.severity)
        & pl.col("model").is_in(list(models))
    )
    wanted = set(samples)
    rows = chosen.select("model", "sample", "label", "prediction", "confidence", "correct").collect().to_dicts()
    return {(row["model"], row["sample"]): row for row in rows if row["sample"] in wanted}


def _fields(models: Sequence[str]) -> list[str]:
    """A name for the field of each model that FiftyOne takes: letters, digits and underscores."""
    keys: list[str] = []
    for name in models:
        key = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:60] or "model"
        key = f"model_{key}" if key[0].isdigit() or key in TAKEN else key
        number = 1
        while key in keys or key.removesuffix("_correct") in keys:
            number += 1
            key = f"{key}_{number}"
        keys.append(key)
    return keys


def _entry(path: Path, sample: str, cell: Cell, recipe: Benchmark, label: str) -> dict[str, Any]:
    family = "" if cell.is_clean else recipe.entry(cell.corruption).corruption.family
    return {
        "filepath": path.as_posix(),
        "tags": [CLEAN if cell.is_clean else cell.corruption.rpartition("/")[2]],
        "ground_truth": {"_cls": "Classification", "label": label},
        "corruption": cell.corruption,
        "family": family or CLEAN,
        "severity": float(cell.severity),
        "sample": sample,
    }


def _prediction(key: str, row: dict[str, Any] | None, run: Run) -> dict[str, Any]:
    if row is None:
        return {key: None, f"{key}_correct": None}
    label = class_name(row["prediction"], run.classes)
    confidence = row["confidence"]
    known = confidence is not None and np.isfinite(confidence)
    prediction = {"_cls": "Classification", "label": label, "confidence": float(confidence) if known else None}
    return {key: prediction, f"{key}_correct": bool(row["correct"])}
