"""Small results of every shape that a report must cope with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from brittle import load_benchmark
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import UnreadableImage
from brittle.datasets.dataset import Dataset
from brittle.evaluation import Results, evaluate, load_results, search_failure_points
from brittle.models import from_callable

NASTY = '<b>ü & "co" \'</script>'
STEPS = Benchmark(
    "steps",
    (
        Entry("fog", (1, 3, 5)),
        Entry("imagenet-c/contrast", (1, 3, 5)),
        Entry("imagenet-c/brightness", (1, 3, 5)),
    ),
    "Steps: three corruptions at three severities",
)
OWN_LEVELS = Benchmark(
    "own levels", (Entry("imagenet-c/contrast", (0.5, 1.25, 4.75)), Entry("c-bar/lines", (2, 6, 10)))
)
MIXED = Benchmark(
    "mixed",
    (
        Entry("imagenet-c/contrast", (1, 2, 5)),
        Entry("saturate", (5, 1)),
        Entry("gaussian_noise", (4,)),
        Entry("noc/brightness", ((1, 5),)),
    ),
)
RANGES = Benchmark(
    "ranges", tuple(Entry(entry.id, entry.levels) for entry in load_benchmark("imagenet-noc").entries[:3])
)
COLOURS = np.array([[150, 100, 100], [100, 100, 150], [100, 150, 100], [150, 150, 60]])


def dataset(
    count: int = 40, *, name: str = "squares", classes=("red", "blue", NASTY, "d"), broken=(), seed=1
) -> Dataset:
    """Coloured squares with a gradient; the class is the colour."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, count)
    slope = np.linspace(-40, 40, 16)[:, None, None]
    tints = COLOURS[labels] + rng.normal(0, 18, (count, 3))
    images = np.clip(tints[:, None, None] + slope + rng.normal(0, 25, (count, 16, 16, 3)), 0, 255)

    def read(index: int) -> np.ndarray:
        if index in broken:
            raise UnreadableImage(f"cut off at <{index}>")
        return images[index].astype(np.uint8)

    ids = list(range(count)) if name == "squares" else [f"{name}/{i}.png" for i in range(count)]
    return Dataset(name, read, ids, content=lambda: f"{name} {seed}", labels=labels, classes=classes)


def scores_of(shift: float) -> Callable[[np.ndarray], np.ndarray]:
    """A model that takes the nearest colour, after a shift that makes it worse."""
    return lambda images: -0.05 * np.abs(images[:, ::2].mean((1, 2))[:, None] - COLOURS - shift).sum(-1)


def models(*names: str) -> list:
    return [from_callable(scores_of(14.0 * i), name=name) for i, name in enumerate(names)]


def wide(images: np.ndarray) -> np.ndarray:
    return np.pad(scores_of(0)(images), ((0, 0), (0, 996)), constant_values=-1e3)


def several_runs(folder: Path) -> Results:
    """Two runs on the same images that share a model, and one on others, whose sample ids are the same."""
    evaluate(models("a", "b"), dataset(), STEPS, folder / "one")
    evaluate(models("a"), dataset(), MIXED, folder / "two")
    evaluate(models("a", "b"), dataset(seed=2), None, folder / "shift")
    return load_results(folder / "one", folder / "two", folder / "shift")


def no_clean(folder: Path) -> Results:
    results = evaluate(models("a", "b"), dataset(), STEPS, folder)
    return replace(results, rows=results.rows.filter(pl.col("corruption") != "clean"))


def no_runs(folder: Path) -> Results:
    return Results(evaluate(models("a"), dataset(), STEPS, folder).rows)


def two_recipes(folder: Path) -> Results:
    evaluate(models("plain", NASTY), dataset(broken=(3, 10)), STEPS, folder)
    return evaluate(models("plain", NASTY), dataset(broken=(3, 10)), OWN_LEVELS, folder)


SCALES = (0.0, 0.5, 1.0, 2.5)


def slides(models: tuple[str, ...] = ("alexnet", "vit", NASTY), shifts=("heavy_fog", "heavy_snow")) -> Results:
    """Each model is right below a limit of its own, and each trajectory shifts it."""
    rows = []
    rng = np.random.default_rng(0)
    for place, model in enumerate(models):
        for shift in shifts:
            for seed in range(12):
                limit = 0.3 + 0.5 * place + rng.random()
                for scale in SCALES:
                    sample = f"{shift}/000_tench/seed_{seed:04}_scale_{round(1000 * scale):04}.jpg"
                    right = scale < limit and seed > place
                    rows.append((model, f"cns/{shift}", scale, sample, 0, 0 if right else 1, 0.9, right))
    names = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
    return Results(pl.LazyFrame(rows, schema=names, orient="row"))


def searched(folder: Path) -> Results:
    results = evaluate(models("a", "b"), dataset(), STEPS, folder)
    search_failure_points(models("a", "b"), dataset(), STEPS, folder, tolerance=0.25)
    return results


CASES: dict[str, Callable[[Path], Results]] = {
    "two recipes": two_recipes,
    "one model": lambda folder: evaluate(models("only"), dataset(), STEPS, folder),
    "forty models": lambda folder: evaluate(models(*(f"model-{i:02}" for i in range(40))), dataset(), STEPS, folder),
    "clean only": lambda folder: evaluate(models("a", "b"), dataset(name="shift"), None, folder),
    "mixed levels": lambda folder: evaluate(models("a", "b", "c"), dataset(), MIXED, folder),
    "ranges": lambda folder: evaluate(models("a", "b"), dataset(), RANGES, folder),
    "a thousand classes": lambda folder: evaluate(
        from_callable(wide, name="wide"), dataset(classes=[f"class number {i}" for i in range(1000)]), STEPS, folder
    ),
    "no class names": lambda folder: evaluate(models("a"), dataset(classes=()), STEPS, folder),
    "never right": lambda folder: evaluate(
        [*models("a"), from_callable(lambda x: -scores_of(0)(x), name="wrong")], dataset(), STEPS, folder
    ),
    "several runs": several_runs,
    "no clean images": no_clean,
    "rows without a run": no_runs,
    "slides": lambda _: slides(),
    "searched": searched,
}
