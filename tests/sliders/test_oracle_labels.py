"""Labels by an oracle classifier."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.datasets import Dataset, arrays
from brittle.models import from_callable
from brittle.sliders import oracle_labels
from tests.errors import naming


def slides(labels: list[int]) -> Dataset:
    """One image for each label, of the shade of its place."""
    images = np.zeros((len(labels), 4, 4, 3), np.uint8) + np.arange(len(labels), dtype=np.uint8)[:, None, None, None]
    return arrays(images, labels, name="slides")


def test_sure_unsure_and_wrong() -> None:
    chances = np.array([[0.9, 0.06, 0.04], [0.5, 0.3, 0.2], [0.9, 0.06, 0.04], [0.2, 0.2, 0.6]])
    oracle = from_callable(lambda shown: np.log(chances[shown[:, 0, 0, 0].astype(int)]), name="judge")
    data = slides([0, 1, 2, 2])
    labelled = oracle_labels(data, oracle, batch_size=3)
    assert list(labelled) == [str(sample) for sample in data.ids]
    assert list(labelled.values()) == ["class", "partial", "not class", "class"]
    assert list(oracle_labels(data, oracle, unsure=0.35).values()) == ["class", "not class", "not class", "class"]


def test_images_without_labels_cannot_be_judged() -> None:
    data = arrays(np.zeros((1, 4, 4, 3), np.uint8), None, name="nameless")
    with pytest.raises(BrittleError, match=naming("nameless")):
        oracle_labels(data, from_callable(lambda shown: np.zeros((len(shown), 3)), name="judge"))
