"""The experiments of the MSD paper, on data so small that both scales take seconds."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import brittle
from brittle.papers import find_experiments, msd_figures, msd_steps, reproduce
from brittle.papers.experiments import Setting
from brittle.training.augmentation import BASES
from tests.errors import naming

COLOURS = np.random.default_rng(0).integers(30, 226, (10, 3))
TINY = replace(
    msd_steps.SCALES["small"],
    network="small:4",
    tuning_images=64,
    test_images=20,
    severities=(5.0,),
    schemes=14,
    samples=10,
    corruption_samples=2,
    feature_images=4,
    shares=(1.0, 0.5, 0.0),
    choices=(2, 4),
    second="small:4",
    second_images=64,
    second_training={"epochs": 1, "batch_size": 32},
    scanned_images=20,
    scan_samples=1,
    table_images=10,
    epochs=1,
    batch_size=32,
)


@pytest.fixture(scope="module")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CIFAR-10 of 320 training and 40 test images, in the authors' layout: noise around a colour for each class."""
    folder = tmp_path_factory.mktemp("cifar10")
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        labels = np.arange(64 if number < 5 else 40) % 10
        noise = np.random.default_rng(number).normal(0, 40, (len(labels), 32, 32, 3))
        images = np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)
        rows = {b"data": images.transpose(0, 3, 1, 2).reshape(len(images), -1), b"labels": labels.tolist()}
        (folder / name).write_bytes(pickle.dumps(rows))
    return folder


@pytest.fixture(scope="module")
def weights(cifar: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that knows these classes a little, in the place of demo:standard."""
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("start") / "start.safetensors"
    config = brittle.training.training_config(epochs=3, batch_size=32)
    brittle.training.train_network(brittle.load_dataset(f"cifar10:{cifar}", train=True), path, config, network="small:4")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all experiments, which share their work as a user's do."""
    return tmp_path_factory.mktemp("found")


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch, weights: Path) -> None:
    torch.set_num_threads(1)
    small = replace(TINY, start=str(weights))
    paper = replace(
        small, network="wide-resnet-10-1", preset="msd-cifar", start=None, second="wide-resnet-10-1", schemes=15, runs=1
    )
    monkeypatch.setattr(msd_steps, "SCALES", {"small": small, "paper": paper})


def found(name: str, folder: Path, cifar: Path, **options: object) -> object:
    [finding] = reproduce("msd", [name], folder, paths={"cifar10": cifar}, device="cpu", **options)
    return finding


STUDY = ["fig1", "fig3", "fig4", "fig5", "mmd", "batchnorm"]
OTHERS = ["fig2a", "fig2b", "fig6", "closest", "extractor", "table1", "table1-imagenet", "table2", "leak"]


@pytest.mark.parametrize("name", [*STUDY, *OTHERS])
def test_every_experiment_runs_at_small_scale(name: str, folder: Path, cifar: Path) -> None:
    finding = found(name, folder, cifar)
    assert finding.verdict.endswith(".")
    assert finding.claim
    assert all(rows for rows in finding.tables.values())
    for file in finding.figures:
        assert (folder / "msd" / name / file).stat().st_size > 1000
    assert name in (folder / "findings.md").read_text()
    clock = finding.seconds
    assert found(name, folder, cifar).seconds == clock  # it is not done again


def test_all_of_the_paper_is_listed() -> None:
    names = [one.name for one in find_experiments("msd")]
    assert names[:6] == ["fig1", "fig2a", "fig2b", "fig3", "fig4", "fig5"]
    assert {*STUDY, *OTHERS, "c-bar"} == set(names)
