"""The bundled models are what their card says."""

import re

import numpy as np
import pytest

from brittle.datasets import load_dataset
from brittle.models import DEMO_MODELS, demo_model
from brittle.models.networks import DEMO_WEIGHTS

CARD = (DEMO_WEIGHTS / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("which", DEMO_MODELS)
def test_weights_are_small_and_right_as_often_as_the_card_says(which: str) -> None:
    assert (DEMO_WEIGHTS / f"{which}.safetensors").stat().st_size < 2_000_000
    data = load_dataset("demo")
    images = np.stack(list(data.images()))
    right = (demo_model(which).scores(images).argmax(1) == data.labels).mean()
    row = next(line for line in CARD.splitlines() if "1,000 bundled ones" in line)
    printed = [float(number) / 100 for number in re.findall(r"(\d+\.\d) %", row)]
    assert right == pytest.approx(printed[DEMO_MODELS.index(which)], abs=0.002)
    assert right > 0.9
