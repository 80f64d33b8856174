"""`brittle design build dissimilar`, as a user calls it."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

import brittle
from tests.cli.verb_checks import good, options, refused, words_of

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("distance_folder", "one_thread")


def test_build_dissimilar_writes_a_recipe_that_runs(run: Run) -> None:
    line = "augment train -d test.npz --train-data train.npz --network small:4 --epochs 4 --batch-size 32"
    assert run(*line.split(), "-o", "net.safetensors").exit_code == 0
    how = [
        "design",
        "build",
        "dissimilar",
        "--candidates",
        "far.toml",
        "--away-from",
        "three.toml",
        "-m",
        "net.safetensors",
        "-d",
        "test.npz",
    ]
    few = ["--feature-images", 4, "--corruption-samples", 2, "--datasets", 500, "--error-tolerance", 0.3]
    result = run(*how, *few, "--members", 2, "--repeats", 2, "-o", "sub/mine.toml")
    printed = good(result)
    assert "2 of 5 candidates" in printed
    recipe = brittle.load_benchmark("sub/mine.toml")
    assert [len(entry.levels) for entry in recipe.entries] == [5, 5]
    table = pl.read_csv("sub/mine.csv")
    assert set(table.filter(pl.col("picked"))["candidate"]) == {entry.id for entry in recipe.entries}
    assert "shift of the mean distance (SD)" in words_of("sub/mine.svg")
    assert good(run(*how, *few, "--members", 2, "--repeats", 2, "-o", "sub/mine.toml")) == printed
    two = ["--feature-model", "own.py:net", "--draw-per-image", "--train-data", "train.npz", "--members", 2]
    other = good(run(*how, *few, *two, "-o", "two.toml"))
    assert "test images" in " ".join(printed.split())  # test.npz has no training part
    assert "test images" not in " ".join(other.split())
    assert [len(entry.levels) for entry in brittle.load_benchmark("two.toml").entries] == [5, 5]
    refused(run(*how, *few, *two, "-m", "own.py:bare", "-o", "three.toml", columns=400), 2, 1)


USUAL = {
    "--candidates": "far.toml",
    "--away-from": "three.toml",
    "-m": "own.py:net",
    "-d": "test.npz",
    "--members": 2,
    "--feature-images": 4,
    "-o": "o.toml",
}


@pytest.mark.parametrize(
    ("changed", "values"),
    [
        ({"-o": "out.svg"}, (".toml", "out.svg")),
        ({"-m": "own.py:blind"}, ("blind", "CallableModel")),
        ({"-m": "own.py:bare"}, ("'bare'", "torch.nn.Linear")),
        ({"--repeats": 0}, ("--repeats", 1, 0)),
        ({"--datasets": 0}, ("--datasets", 1, 0)),
        ({"--members": 12}, ("far", 5, 12)),
        ({"--members": 3}, ("k", 2, 4, 5, 3)),
        ({"--error-tolerance": 5}, ("--error-tolerance", 0, 1, "0.01", "5.0")),
        ({"--feature-images": 65}, ("test", 64, "count=65")),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_measured(run: Run, changed: dict, values: tuple) -> None:
    given = {**USUAL, "-o": "o.toml", **changed}
    refused(run("design", "build", "dissimilar", *options(given), columns=400), *values)
    assert not Path("o.scan").exists()


def test_two_models_of_one_name_would_be_mixed_up(run: Run) -> None:
    how = ["design", "build", "dissimilar", *options(USUAL), "-m", "./own.py:net", "-o", "o.toml"]
    refused(run(*how, columns=400), "'net'")
