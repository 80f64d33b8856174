"""Photographs of many sizes through the verbs that train, as a user calls them for the first time."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image as Pil
from typer.testing import Result

from brittle.datasets.classes import imagenet_classes
from brittle.models import load_model

Run = Callable[..., Result]
COLOURS = {"red": (200, 60, 60), "green": (60, 200, 60), "blue": (60, 60, 200)}
TINY = ["--network", "small:4", "--batch-size", 16]


def write(folder: Path, names: list[str], count: int) -> None:
    rng = np.random.default_rng(count)
    for name, colour in zip(names, COLOURS.values(), strict=True):
        (folder / name).mkdir(parents=True)
        for index in range(count):
            height, width = rng.integers(24, 80, 2)
            pixels = np.clip(np.array(colour) + rng.normal(0, 30, (height, width, 3)), 0, 255).astype(np.uint8)
            Pil.fromarray(pixels).save(folder / name / f"{index:02}.jpg", quality=92)


@pytest.fixture(autouse=True)
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three classes of JPEG files of many sizes, one of them cut off; one thread, since the networks are tiny."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "photos", list(COLOURS), 20)
    cut = tmp_path / "photos" / "red" / "19.jpg"
    cut.write_bytes(cut.read_bytes()[:200])
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path / "photos"
    torch.set_num_threads(before)


def good(result: Result) -> str:
    assert result.exit_code == 0, result.stderr or result.exception
    return " ".join(result.stdout.split())


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.stdout
    return " ".join(result.stderr.split())


def test_a_folder_of_photographs_is_trained_on_and_tested_at_the_first_try(run: Run) -> None:
    result = run("augment", "train", "-d", "photos", "--prepare", "32,32", "--epochs", 4, *TINY, "-o", "n.safetensors")
    printed = good(result)
    assert "all images are trained on" in printed
    assert "epochs 4 (not 24)" in printed
    assert "1 of 60 training images" in " ".join(result.stderr.split())
    assert "red/19.jpg" in result.stderr
    model = load_model("n.safetensors")
    assert model.classes == ("blue", "green", "red")
    assert model.prepare.square == 32
    good(run("run", "-m", "n.safetensors", "-d", "photos", "-c", "fog", "-s", 3, "-o", "r"))


def test_overlap_of_a_folder_of_photographs_tests_a_fifth_of_it(run: Run, tmp_path: Path) -> None:
    arguments = ["design", "overlap", "-d", "photos", "--mode", "finetune", "--candidates", "noc/brightness,noc/hue"]
    how = [*TINY, "--prepare", "24x24", "--standard-epochs", 3, "--workers", 2, "-o", "overlap"]
    printed = good(run(*arguments, *how))
    assert "of each class a fifth is tested" in printed
    for deviation in ("nesterov True (not False)", "weight_decay 0.0005 (not 0.0001)", "crop_kind padding (not none)"):
        assert deviation in printed
    assert "clean accuracy of all models" in printed
    assert (tmp_path / "overlap" / "overlap.csv").is_file()
    again = good(run(*arguments, *how))  # everything is there already
    assert "clean accuracy of all models" in again
    refusal = refused(run(*arguments, *how, "--preset", "noc"))
    assert "plan" in refusal


def test_presets_bring_their_settings_sizes_and_augmentation(run: Run) -> None:
    noc = good(
        run(
            "augment",
            "train",
            "-d",
            "photos",
            "--preset",
            "noc",
            "--epochs",
            1,
            "--train-limit",
            32,
            *TINY,
            "-o",
            "noc.safetensors",
        )
    )
    assert "resized to 224×224" in noc
    assert "trained as noc, but: epochs 1 (not 40), batch_size 16 (not 256)" in noc
    assert load_model("noc.safetensors").prepare.mean == (0, 0, 0)
    how = ["--set", "side=24", "--set", "nesterov=false", "--epochs", 1, "--train-limit", 32, *TINY]
    mixed = good(run("augment", "train", "-d", "photos", "--preset", "augmix-imagenet", *how, "-o", "mix.safetensors"))
    assert "8 to 100 %" in mixed
    assert "nesterov False (not True)" in mixed
    model = load_model("mix.safetensors")
    assert (model.prepare.size, model.prepare.crop) == (27, 24)
    wrong_options = {"nocc": "--preset", "epoch=3": "--set", "x": "--set"}
    named = {"nocc": "noc", "epoch=3": "epochs", "x": "NAME=VALUE"}
    for value, name in wrong_options.items():
        assert named[value] in refused(run("augment", "train", "-d", "photos", name, value, "-o", "x.safetensors"))


def test_folders_of_some_imagenet_classes_and_parts(run: Run, tmp_path: Path) -> None:
    wnids = [imagenet_classes()[index].wnid for index in (0, 10, 20)]
    write(tmp_path / "imagenet" / "train", wnids, 8)
    write(tmp_path / "imagenet" / "val", wnids, 4)
    how = ["--prepare", "24x24", "--epochs", 1, *TINY]
    good(run("augment", "train", "-d", "imagenet", *how, "-o", "three.safetensors"))
    assert load_model("three.safetensors").classes == tuple(wnids)
    good(run("augment", "train", "-d", "imagenet", "--all-classes", *how, "-o", "thousand.safetensors"))
    assert len(load_model("thousand.safetensors").classes) == 1000
    assert "100" in refused(run("augment", "train", "-d", "imagenet-100:imagenet", *how, "-o", "x.safetensors"))
    good(run("augment", "train", "-d", "imagenet-100:imagenet", "--partial", *how, "-o", "hundred.safetensors"))
    assert len(load_model("hundred.safetensors").classes) == 100
    good(run("run", "-m", "three.safetensors", "-d", "imagenet", "-c", "fog", "-s", 1, "--prepare", "24x24", "-o", "r"))


def test_a_users_network_is_trained_and_overlapped(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "from torch import nn\n\ndef make(classes):\n"
        "    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), "
        "nn.Flatten(), nn.Linear(8, classes))\n"
    )
    how = ["--prepare", "24x24", "--network", "nets.py:make", "--batch-size", 16]
    good(run("augment", "train", "-d", "photos", *how, "--epochs", 1, "-o", "n.safetensors"))
    assert "network=nets.py:make" in refused(run("run", "-m", "n.safetensors", "-d", "photos", "-c", "fog", "-o", "r"))
    good(run("run", "-m", "n.safetensors,network=nets.py:make", "-d", "photos", "-c", "fog", "-s", 1, "-o", "r"))
    overlap = ["design", "overlap", "-d", "photos", "--mode", "batchnorm", "--candidates", "noc/brightness,noc/hue"]
    good(run(*overlap, *how, "--standard-epochs", 1, "-o", "o"))
