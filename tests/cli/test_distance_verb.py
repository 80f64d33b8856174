"""`brittle augment distance`, as a user calls it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image as Pil
from typer.testing import Result

from tests.cli.distance_cases import SMALL
from tests.cli.verb_checks import good, options, refused, words_of

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("distance_folder", "one_thread")


USUAL = {"-a": "none", "-b": "three.toml", "-m": "own.py:net", "-d": "test.npz", "--feature-images": 4, "-o": "out"}


def test_distance_writes_tables_figures_and_pictures_and_goes_on(run: Run) -> None:
    how = [
        "augment",
        "distance",
        "-a",
        "augmix,patch-gaussian",
        "-b",
        "three.toml",
        "-s",
        "2,5",
        *SMALL,
        "--samples",
        12,
        "-o",
        "out",
    ]
    printed = good(run(*how))
    assert "24 augmentations of 6 images at" in printed
    table = pl.read_csv("out/distances.csv")
    assert table["augmentation"].unique(maintain_order=True).to_list() == ["augmix", "patch-gaussian"]
    assert len(table) == 6
    assert (table["msd_low"] <= table["msd"]).all()
    assert (table["msd"] <= table["msd_high"]).all()
    levels = pl.read_csv("out/levels.csv")
    means = levels.group_by("augmentation", "corruption", maintain_order=True).agg(pl.col("msd").mean())
    np.testing.assert_allclose(means["msd"], table["msd"])
    assert "patch-gaussian" in words_of("out/msd.svg")
    assert "sampled augmentations" in words_of("out/convergence.svg")
    with Pil.open("out/nearest.png") as picture:
        assert picture.width > 400
    assert "all features existed already" in good(run(*how))
    more = [20 if one == 12 else one for one in how]
    assert "16 augmentations of 6 images" in good(run(*more))


def test_an_interrupted_distance_says_that_nothing_is_lost(run: Run) -> None:
    how = ["augment", "distance", "-b", "three.toml", "-s", 3, *SMALL, "--samples", 12, "-o", "out", "--batch-size", 6]
    stopped = run(*how, "-a", "own.py:stops")
    assert stopped.exit_code == 130
    assert "the same command resumes" in stopped.stderr
    good(run(*how, "-a", "none"))


@pytest.mark.parametrize(
    ("changed", "values"),
    [
        ({"-m": "own.py:blind"}, ("blind", "CallableModel")),
        ({"-m": "own.py:bare"}, ("'bare'", "torch.nn.Linear")),
        ({"-a": "augmx"}, ("augmx", "augmix", "affine", "flip-crop", "none")),
        ({"-a": ","}, ("augmix", "got none")),
        ({"--feature-images": 65}, ("test", 64, "count=65")),
        ({"--samples": 0}, ("--samples", 1, 0)),
        ({"--msd-precision": 5}, ("tolerance", 0, 1, "0.05", "5.0")),
        ({"-c": "fogg"}, ("'fogg'", "'imagenet-c/fog'")),
        ({"-b": "cifar10c"}, ("cifar10c", "cifar10-c", ".toml")),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_measured(run: Run, changed: dict, values: tuple) -> None:
    given = {**USUAL, **changed}
    refused(run("augment", "distance", *options(given), columns=400), *values)
    assert not Path("out").exists()


def test_an_augmentation_that_changes_the_size_is_told(run: Run) -> None:
    given = {**USUAL, "-a": "own.py:smaller", "--corruption-samples": 1}
    refused(run("augment", "distance", *options(given), columns=400), "(16, 16, 3)", "(8, 8, 3)")
