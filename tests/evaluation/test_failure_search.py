"""Failure points by halving are those of a fine grid, for fewer looks."""

from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import load_dataset
from brittle.evaluation import search_failure_points
from brittle.evaluation.cell import Drawn
from brittle.evaluation.failures.search import bisect
from brittle.metrics import failure_points
from brittle.models import from_callable
from tests.errors import naming

RECIPE = Benchmark("two", (Entry("imagenet-c/brightness", (1,)), Entry("c-bar/sparkles", (1,))))
DATA = load_dataset("demo").subset(range(0, 1000, 25))
IMAGES = np.stack([DATA.image(i) for i in range(len(DATA))])
SOURCE = Drawn(IMAGES, DATA.ids, RECIPE)
TONES = np.array([0.0, 160.0])


def dark(images: np.ndarray) -> np.ndarray:
    """Two classes, dark and bright: a picture that starts dark turns bright at some brightness, and stays so."""
    return -np.abs(images.mean((1, 2, 3))[:, None] - TONES)


MODEL = from_callable(dark, name="dark")


def grid(corruption: str, resolution: float, highest: float) -> np.ndarray:
    severities = np.arange(round(highest / resolution) + 1) * resolution
    right = [
        dark(
            np.stack([RECIPE.apply(x, corruption, s, i) if s else x for x, i in zip(IMAGES, DATA.ids, strict=True)])
        ).argmax(1)
        == 0
        for s in severities
    ]
    return failure_points(np.stack(right, 1), severities).points


@pytest.mark.parametrize(("corruption", "highest"), [("imagenet-c/brightness", 5), ("c-bar/sparkles", 10)])
@pytest.mark.parametrize("step", [1.0, 5.0])
def test_halving_finds_what_a_fine_grid_finds(corruption: str, highest: float, step: float) -> None:
    bisected = bisect(MODEL, SOURCE, np.zeros(40, int), corruption, step=step, tolerance=step / 32, batch_size=16)
    assert bisected.resolution == step / 32
    np.testing.assert_array_equal(bisected.failed, grid(corruption, step / 32, highest))
    assert 0 < np.isfinite(bisected.failed).sum() - (bisected.failed == 0).sum() < 40
    assert bisected.shown < bisected.shown_by_a_grid / 10
    inside = np.isfinite(bisected.failed) & (bisected.failed > 0)
    np.testing.assert_allclose(bisected.failed[inside] - bisected.held[inside], step / 32)
    survival = bisected.points.survival()
    assert survival[0] == (bisected.failed > 0).mean()
    assert survival[-1] == np.isinf(bisected.failed).mean()


def test_a_search_is_made_once_and_kept(tmp_path: Path) -> None:
    calls = []

    def counting(images: np.ndarray) -> np.ndarray:
        calls.append(len(images))
        return np.repeat(dark(images), 5, axis=1)

    model = from_callable(counting, name="m")
    first = search_failure_points(model, DATA, RECIPE, tmp_path / "run", tolerance=0.25)
    assert sum(calls) == first["evaluations"].sum()
    seen = len(calls)
    again = search_failure_points(model, DATA, RECIPE, tmp_path / "run", tolerance=0.25)
    assert len(calls) == seen
    assert again.equals(first)
    search_failure_points(model, DATA, RECIPE, tmp_path / "run", tolerance=0.5)
    assert len(calls) > seen


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({"tolerance": 0}, ("0 < tolerance ≤ step ≤ 5", "0 and 1")),
        ({"tolerance": 2.0}, ("0 < tolerance ≤ step ≤ 5", "2 and 1")),
        ({"step": 6.0}, ("0 < tolerance ≤ step ≤ 5", "0.05 and 6")),
        ({"step": 3.0}, ("step 3", 5)),
    ],
)
def test_bad_steps_are_named(how: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        bisect(MODEL, SOURCE, np.zeros(40, int), "imagenet-c/brightness", **how)
