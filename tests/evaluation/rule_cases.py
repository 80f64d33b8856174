"""Runs whose accuracies are known, for rules to be checked on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import brittle
from brittle.benchmarks import Benchmark
from brittle.datasets import arrays
from brittle.datasets.cifar import CIFAR10
from brittle.evaluation.cell import CellRows, plan
from brittle.evaluation.store import Store

RECIPE = brittle.load_benchmark("cifar10-c").cut(["fog", "snow", "gaussian_noise"], severities=[1, 3, 5])
LOSS = {"clean": 0.0, "fog": 0.05, "snow": 0.1, "gaussian_noise": 0.2}
"""How much a level of 5 takes from the accuracy on clean images."""


@dataclass(frozen=True)
class Named:
    name: str
    key: str = "0" * 16


def accuracy(clean: float, corruption: str, level: float) -> float:
    return clean - LOSS[corruption.rpartition("/")[2]] * level / 5


def write_run(
    folder: Path,
    models: Mapping[str, float],
    *,
    images: int = 400,
    recipe: Benchmark = RECIPE,
    classes: tuple[str, ...] = CIFAR10,
    name: str = "made-up",
) -> Path:
    """A run of models that are right so often on clean images: the first of them, and fewer under corruptions.

    Images of the last class are wrong under fog.
    """
    labels = np.arange(images) % len(classes)
    order = np.random.default_rng(3).permutation(images)
    store = Store(folder)
    store.claim_for(arrays(np.zeros((images, 1, 1, 3), np.uint8), labels, classes, name=name))
    store.keep_recipe(recipe)
    for model, clean in models.items():
        store.keep_model(Named(model), 1)
        for cell in plan(recipe):
            right = order < round(images * accuracy(clean, cell.corruption, cell.severity))
            if cell.corruption.endswith("/fog"):
                right &= labels < len(classes) - 1
            store.write(
                Named(model),
                cell,
                CellRows(
                    [f"{i:05d}" for i in range(images)],
                    labels,
                    np.where(right, labels, (labels + 1) % len(classes)),
                    np.full(images, 0.5),
                ),
            )
    return folder
