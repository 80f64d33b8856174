from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle.evaluation import Results, evaluate
from brittle.models import from_callable

SMALL = brittle.load_benchmark("cifar10-c").cut(["fog", "contrast"], severities=[1, 5])


def by_brightness(shift: float, spread: float = 25.0):
    """Scores of ten classes by the mean of an image, and of the label that pixel (0, 0) does not tell."""

    def scores(images: np.ndarray) -> np.ndarray:
        return -np.abs(images.mean((1, 2, 3))[:, None] + shift - spread * np.arange(10))

    return scores


def models(*names: str):
    return [from_callable(by_brightness(12.0 * i), name=name, version=str(i)) for i, name in enumerate(names)]


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two models on a small recipe."""
    folder = tmp_path_factory.mktemp("publish") / "run"
    return evaluate(models("one", "two"), brittle.load_dataset("demo").limited(40), SMALL, folder, progress=None)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One model on all of cifar10-c, few images."""
    folder = tmp_path_factory.mktemp("publish") / "whole"
    data = brittle.load_dataset("demo").limited(6)
    return evaluate(models("one"), data, "cifar10-c", folder, progress=None)


@pytest.fixture
def other_images(tmp_path: Path) -> Results:
    """The same recipe on fewer images."""
    return evaluate(models("one"), brittle.load_dataset("demo").limited(20), SMALL, tmp_path / "other", progress=None)
