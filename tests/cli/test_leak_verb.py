"""`brittle augment leak`, as a user calls it."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

from brittle._io import file_name
from tests.cli.distance_cases import SMALL
from tests.cli.verb_checks import good, refused, words_of

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("distance_folder", "one_thread")


def test_leak_finds_what_is_trained_on_and_scores_without_it(run: Run) -> None:
    cheat = "corruptions:three.toml:brightness"
    good(run("run", "-m", "own.py:net", "-d", "test.npz", "-b", "three.toml", "-o", "run"))
    how = ["augment", "leak", "-a", cheat, "-b", "three.toml", *SMALL, "--samples", 200, "-o", "out"]
    printed = good(run(*how, "--results", "run"))
    assert "leaks 1 of 3 corruptions: brightness" in " ".join(printed.split())
    table = pl.read_csv(f"out/leak-{file_name(cheat)}.csv")
    assert table.filter(pl.col("leaked"))["corruption"].to_list() == ["imagenet-c/brightness"]
    scores = pl.read_csv(f"out/scores-{file_name(cheat)}.csv")
    assert scores["corruptions"].to_list() == ["all", "kept", "leaked"]
    assert scores["count"].to_list() == [3, 2, 1]
    assert "share of the way to the corruption" in words_of(f"out/leak-{file_name(cheat)}.svg")


@pytest.mark.parametrize(
    ("changed", "values"),
    [
        ({"-a": "flip-crop"}, ("flip-crop", "--neutral")),
        ({"-a": "none,augmix"}, ("none, augmix",)),
        ({"-a": ","}, ("augmix", "got none")),
        ({"--neutral": ""}, ("augmix", "got none")),
        ({"--results": "nothing"}, ("'nothing'", "run.toml")),
        ({"--margin": 5}, ("margin", 0, 1, "5.0")),
        ({"--alpha": 0}, ("alpha", 0, 1)),
        ({"--samples": 9}, (2, 9, 10)),
        ({"--corruption-samples": 0}, ("--corruption-samples", 1, 0)),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_measured(run: Run, changed: dict, values: tuple) -> None:
    given = {
        "-a": "none",
        "-b": "three.toml",
        "-m": "own.py:net",
        "-d": "test.npz",
        "--feature-images": 4,
        "-o": "out",
        **changed,
    }
    refused(run("augment", "leak", *(part for pair in given.items() for part in pair), columns=400), *values)
    assert not Path("out").exists()


def test_a_run_of_another_benchmark_cannot_be_scored(run: Run) -> None:
    good(run("run", "-m", "own.py:net", "-d", "test.npz", "-b", "three.toml", "-s", 2, "-o", "run"))
    how = ["augment", "leak", "-a", "none", "-b", "three.toml", *SMALL, "--results", "run", "-o", "out"]
    refused(run(*how, columns=400), "'three'")
