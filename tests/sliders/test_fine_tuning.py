"""Fine-tuning on generated images, and what it gains on real ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.datasets import Dataset, arrays
from brittle.sliders import fine_tuning_gain
from brittle.training import train_network, training_config
from tests.errors import naming

NAMES = ["red", "green", "blue"]
START = "start.safetensors"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One thread, since tiny networks are slowed down by more."""
    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def colours(count: int, seed: int, *, inverted: bool = False, names: list[str] = NAMES) -> Dataset:
    """Noisy squares of three colours; inverted ones are another world."""
    labels = np.arange(count) % 3
    noise = np.random.default_rng(seed).normal(0, 30, (count, 12, 12, 3))
    images = np.clip(60 + 140 * np.eye(3)[labels][:, None, None] + noise, 0, 255).astype(np.uint8)
    numbers = np.array([names.index(NAMES[label]) for label in labels])
    return arrays(255 - images if inverted else images, numbers, names, name=f"colours-{seed}-{inverted}")


def test_what_slides_teach_is_measured_on_real_images_in_pairs() -> None:
    real = colours(48, 0)
    quick = training_config(epochs=4, batch_size=16, normalisation="dataset")
    train_network(real, START, quick, network="small:4")
    tests = {
        "clean": colours(60, 1),
        "inverted": colours(60, 2, inverted=True),
        "more": colours(60, 3, inverted=True, names=["blue", "red", "green"]),  # numbered otherwise
    }
    config = training_config(start=START, epochs=6, batch_size=16, lr=0.05)
    seen: list[str] = []
    call = (START, colours(64, 4, inverted=True), real, tests, "tuned", config)
    table = fine_tuning_gain(*call, progress=lambda title, *_: seen.append(title))
    assert {"training the control network", "training the slides network"} == set(seen)
    rows = {(row["test"], row["against"]): row for row in table.iter_rows(named=True)}
    assert list(rows) == [
        (test, other) for test in ("clean", "inverted", "more", "all shifts") for other in ("start", "control")
    ]
    everything = rows["all shifts", "control"]
    assert everything["images"] == 120
    assert everything["gain"] == pytest.approx(everything["accuracy"] - everything["other"])
    assert everything["gain_low"] > 0.3
    assert rows["inverted", "start"]["other"] < 0.6 < rows["inverted", "start"]["accuracy"]
    assert rows["clean", "control"]["other"] > 0.9  # which saw nothing else
    again = fine_tuning_gain(*call, progress=lambda *_: pytest.fail("trained twice"))
    assert again.equals(table)


def test_a_gain_needs_test_images() -> None:
    with pytest.raises(BrittleError, match=naming("tests")):
        fine_tuning_gain("demo:standard", colours(8, 0), colours(8, 1), {}, "folder")
