"""Sequences on the command line: `run`, `compare` and `design correlate`."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

import brittle
from tests.cli.verb_checks import good, refused

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder")
ONE = ["run", "-m", "nets.py:red", "-d", "demo", "--limit", "6", "-b", "cifar10-p"]


def test_a_run_prints_and_keeps_how_steady_models_are(run: Run) -> None:
    printed = good(run(*ONE, "-c", "rotate,shot_noise", "--difficulty", "2", "-o", "steady"))
    results = brittle.load_results("steady")
    [score] = results.sequence_scores()
    assert f"{100 * score.flip_probability.value:.1f}" in printed
    assert "difficulty 2" in printed
    found = json.loads(good(run("compare", "steady", "--reference", score.model, "--json")))["sequences"]
    assert found[0]["flip_probability"]["value"] == score.flip_probability.value
    assert set(found[0]["flip_probabilities"]) == {"imagenet-p/rotate", "imagenet-p/shot_noise"}
    good(run("compare", "steady", "-o", "steady.csv"))
    table = pl.read_csv("steady-sequences.csv")
    assert table["flip probability"].item() == pytest.approx(score.flip_probability.value)


def test_flips_are_correlated_with_natural_shifts(run: Run, design_folder: Path) -> None:
    for net in ("red", "green", "blue"):
        data = ["-m", f"nets.py:{net}", "-d", "demo", "--limit", "6"]
        assert run("run", *data, "-b", "cifar10-p", "-o", "p").exit_code == 0
        assert run("run", "-m", f"nets.py:{net}", "-d", "demo", "--limit", "37", "-o", "nat").exit_code == 0
    printed = good(run("design", "correlate", "p", "--natural", "odd=nat", "-b", "imagenet-p", "-o", "t.csv"))
    assert "imagenet-p" in printed
    rows = pl.read_csv(design_folder / "t.csv")
    assert rows["group"].to_list() == ["imagenet-p"]
    assert -1 <= rows["mean_r"].item() <= 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([*ONE, "-s", "3", "-o", "x"], "--difficulty"),
        ([*ONE, "--difficulty", "5", "-o", "x"], "got 5"),
        ([*ONE, "-c", "rotat", "-o", "x"], "'rotate'"),
        (["run", "-m", "nets.py:red", "-d", "demo", "-b", "cifar10-c", "--difficulty", "2", "-o", "x"], "imagenet-p"),
        (["run", "-m", "nets.py:red", "-d", "imagenet-p:none", "-o", "x"], "'none'"),
    ],
)
def test_what_cannot_be_is_one_sentence(run: Run, arguments: list[str], named: str) -> None:
    refused(run(*arguments), named)
    assert not Path("x").exists()
