"""A cut of what `brittle demo` wrote: the predictions of its two models for some of its images, as a run of its own."""

from pathlib import Path

import numpy as np

from brittle import load_benchmark
from brittle.benchmarks import Cell
from brittle.datasets import load_dataset
from brittle.evaluation import Results, load_results
from brittle.evaluation.cell import CellRows, plan
from brittle.evaluation.store import Store
from brittle.models import from_callable

FILE = Path(__file__).with_name("demo_cut.npz")
BENCHMARKS = ("cifar10-c", "cifar10-c-bar")
IMAGES = 100


def cut(folder: Path, path: Path = FILE) -> None:
    """Make the file from a finished demo; confidences are kept to half a percent."""
    rows = load_results(folder).rows.collect()
    chosen, kept = [str(sample) for sample in load_dataset("demo").limited(IMAGES).ids], {}
    for (model, corruption, level), cell in rows.group_by("model", "corruption", "level"):
        by_sample = {row["sample"]: row for row in cell.iter_rows(named=True)}
        values = [[by_sample[sample]["prediction"], round(200 * by_sample[sample]["confidence"])] for sample in chosen]
        kept[f"{model}|{corruption}|{level:g}"] = values
    keys = sorted(kept)
    np.savez_compressed(path, keys=keys, rows=np.array([kept[key] for key in keys], np.uint8))


def demo_cut(folder: Path) -> Results:
    """The run: no pictures, since the images are not a part of it."""
    data = load_dataset("demo").limited(IMAGES)
    recipes = [load_benchmark(name) for name in BENCHMARKS]
    cells = {cell.place: cell for recipe in recipes for cell in plan(recipe)} | {Cell().place: Cell()}
    store = Store(folder)
    store.claim_for(data)
    for recipe in recipes:
        store.keep_recipe(recipe)
    with np.load(FILE) as arrays:
        for key, rows in zip(arrays["keys"].tolist(), arrays["rows"], strict=True):
            name, corruption, level = key.split("|")
            model = from_callable(lambda images: images, name=name, version="1")
            store.keep_model(model, None)
            place = next(place for place in cells if place[0] == corruption and f"{place[1]:g}" == level)
            predictions, confidences = rows.T
            samples = [str(sample) for sample in data.ids]
            store.write(model, cells[place], CellRows(samples, data.labels, predictions, confidences / 200))
    return load_results(folder)
