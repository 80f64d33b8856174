"""`brittle augment study`, as a user calls it."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

import brittle
from brittle.models.networks import build_network, save_trained
from brittle.training import TrainingConfig
from tests.cli.distance_cases import TRAIN
from tests.cli.verb_checks import good, refused, words_of

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("distance_folder", "one_thread")

LOOK = ["--feature-images", 5, "--samples", 20, "--corruption-samples", 2]


def test_a_study_of_distance_and_error_in_one_command(run: Run) -> None:
    how = ["augment", "study", "distance", *TRAIN, "-b", "three.toml", "-s", "3,5", "--schemes", 5, *LOOK, "-o", "out"]
    printed = good(run(*how, "--train-limit", 64))
    assert "of 3 above 0.6" in printed
    assert "(the paper: 12 of 15)" in " ".join(printed.split())
    points, found = pl.read_csv("out/points.csv"), pl.read_csv("out/correlations.csv")
    assert len(points) == 5 * 3
    assert found["schemes"].to_list() == [5, 5, 5]
    assert words_of("out/study.svg").count("ρ =") + words_of("out/study.svg").count("no correlation") == 3
    assert len(brittle.load_results("out/run").models) == 5
    assert good(run(*how, "--train-limit", 64)) == printed
    refused(run(*how, "--train-limit", 96, columns=400), "choose another folder")


def test_a_study_of_mixtures_in_one_command(run: Run) -> None:
    look = ["--feature-images", 5, "--samples", 20, "--corruption-samples", 40]
    mix = [
        "augment",
        "study",
        "mixing",
        *TRAIN,
        "-b",
        "three.toml",
        "--near",
        "gaussian_noise",
        *look,
        "--train-limit",
        64,
    ]
    printed = good(run(*mix, "--far", "contrast", "--shares", "1,0.5,0", "-o", "out"))
    table = pl.read_csv("out/mixing.csv")
    assert table.columns == ["share", "msd", "mmd", "picked", "error"]
    assert table["picked"].to_list()[::2] == [20, 0]
    assert table["mmd"][0] < 0.5 * table["mmd"][2]
    assert "error" in printed
    assert "share of the right augmentation" in words_of("out/mixing.svg")
    refused(
        run(*mix, "--far", "none", "-o", "out", columns=400), "holds mixtures with far contrast, and this asks for none"
    )
    good(run(*mix, "--far", "none", "--shares", "1,0", "--no-errors", "-o", "plain"))
    assert "error" not in pl.read_csv("plain/mixing.csv").columns


def test_other_weights_of_the_same_name_are_another_start(run: Run) -> None:
    how = [one for one in TRAIN if one not in ("--standard-epochs", 2)]
    mix = [
        "augment",
        "study",
        "mixing",
        *how,
        "-b",
        "three.toml",
        "--near",
        "contrast",
        "--far",
        "none",
        "--no-errors",
        *LOOK,
    ]
    for folder, seed in (("a", 0), ("b", 1)):
        Path(folder).mkdir()
        network, about = (
            build_network("small:4", 4, seed=seed),
            ("small:4", "abcd", TrainingConfig().mean, TrainingConfig().std),
        )
        save_trained(network, f"{folder}/net.safetensors", *about)
    good(run(*mix, "--start", "a/net.safetensors", "-o", "out"))
    good(run(*mix, "--start", "a/net.safetensors", "-o", "out"))
    refused(
        run(*mix, "--start", "b/net.safetensors", "-o", "out", columns=400), "holds models with start net.safetensors"
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("augment study distance -d test.npz --train-data train.npz --schemes 3 -o out", "take 4 to 512 schemes"),
        ("augment study distance -d bare.npz -o out", "bare.npz"),
        ("augment study mixing -d test.npz --train-data train.npz --shares 0.5 -o out", "two --shares or more"),
        (
            "augment study mixing -d test.npz --train-data train.npz --shares 0.5,2 -o out",
            "a share lies between 0 and 1",
        ),
        (
            "augment study mixing -d test.npz --train-data train.npz --far blurr -o out",
            "there is no augmentation 'blurr'",
        ),
        (
            "augment study distance -d test.npz --train-data train.npz --feature-images 9 --samples 0 -o out",
            "(--samples) must be at least 1",
        ),
        (
            "augment study distance -d test.npz --train-data train.npz --train-limit 8 -o out",
            "--train-limit 8 does not fill a batch of 128",
        ),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, line: str, sentence: str) -> None:
    refused(run(*line.split(), columns=400), sentence)
