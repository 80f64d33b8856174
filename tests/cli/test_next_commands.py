"""The command that a verb prints as the next one works when it is typed, in a process of its own."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

import brittle
from brittle.design import OverlapMatrix
from tests.cli.design_cases import TRAIN
from tests.cli.verb_checks import good

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder", "one_thread")

CLI = Path(__file__).parents[2] / "src" / "brittle" / "cli"
HERE = {"run", "import_", "design/overlap", "augment/train", "failure_points"}
SLIDES = {"slide/train", "slide/token", "slide/sample", "slide/measure", "slide/label", "slide/filter"}
"""Tried in slide/test_slide_next.py and, for tokens, in slide/test_slide_sample.py."""

OWN = """
import numpy as np
from brittle.corruptions import corruption, levels

@corruption(family="colour", source="mine", amount=levels(40, 80, 120, 160, 200, clean=0))
def redden(image, rng, *, amount):
    \"\"\"Add red.\"\"\"
    return np.clip(image + np.array([amount, 0, 0]), 0, 255).astype(np.uint8)
"""


def next_commands(printed: str) -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"next: (brittle .*)$", printed, re.M)]


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    """As in a shell: nothing is known but what is typed."""
    call = [sys.executable, "-c", "from brittle.cli import main; main()", *words]
    return subprocess.run(call, capture_output=True, text=True, check=False)


def works(printed: str) -> list[str]:
    """The one command that was printed, once it has been typed."""
    (command,) = next_commands(printed)
    done = typed(*command[1:])
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return command


def test_every_verb_that_prints_a_next_command_is_tried() -> None:
    sources = {path.relative_to(CLI).with_suffix("").as_posix(): path.read_text() for path in CLI.rglob("*.py")}
    assert {name for name, text in sources.items() if "say_next(" in text} == HERE | SLIDES | {"console"}
    assert {name for name, text in sources.items() if re.search(r"\bnext: ", text)} == {"console"}


def test_after_a_run_and_an_import(run: Run) -> None:
    clean = good(run("run", "-m", "nets.py:red", "-d", "demo", "--limit", 20, "-o", "a run"))
    assert works(clean) == ["brittle", "report", "a run"]  # the name of a folder may hold a space
    fogged = ["run", "-m", "nets.py:red", "-d", "demo", "--limit", 20, "-c", "fog", "-s", "1,3", "-o", "a run"]
    works(good(run(*fogged)))
    rows = pl.scan_parquet("a run/cells/*/*.parquet").collect()
    rows.select("sample", "corruption", "level", "prediction", "confidence").write_csv("made.csv")
    Path("fog.toml").write_text('name = "fog"\nlevels = [1, 3]\n[[corruption]]\nid = "imagenet-c/fog"\n')
    works(good(run("import", "made.csv", "-d", "demo", "--limit", 20, "-b", "fog.toml", "-o", "imported")))


def test_after_failure_points(run: Run) -> None:
    how = ["failure-points", "-m", "nets.py:red", "-d", "demo", "--limit", 10, "-c", "fog", "--tolerance", 1]
    assert works(good(run(*how, "-o", "fog points"))) == ["brittle", "report", "fog points"]


def test_after_an_overlap(run: Run) -> None:
    how = ["design", "overlap", *TRAIN, "--standard-epochs", 1, "--mode", "batchnorm", "--train-limit", 64]
    works(good(run(*how, "-o", "out")))
    assert {entry.levels for entry in brittle.load_benchmark("recipe.toml").entries} == {((3.0, 5.0),)}
    assert OverlapMatrix.load("out/overlap.parquet").candidates == brittle.load_benchmark("two.toml")


@pytest.mark.parametrize("table", ["noc-table7", "noc-table8"])
def test_after_a_published_overlap(run: Run, table: str) -> None:
    works(good(run("design", "overlap", "--from-table", table, "-o", "published")))
    known = {
        entry.id: entry.levels
        for name in ("imagenet-c", "imagenet-noc")
        for entry in brittle.load_benchmark(name).entries
    }
    recipe = brittle.load_benchmark("recipe.toml")
    assert len(recipe.entries) == {"noc-table7": 3, "noc-table8": 8}[table]
    assert all(entry.levels == known[entry.id] for entry in recipe.entries)


def test_after_a_training(run: Run) -> None:
    how = ["--network", "small:4", "--batch-size", 32, "--epochs", 1, "-o", "net.safetensors"]
    command = works(good(run("augment", "train", "-d", "test.npz", "--train-data", "train.npz", *how)))
    assert command[1:6] == ["run", "-m", "net.safetensors", "-d", "test.npz"]


def test_a_corruption_of_ones_own() -> None:
    Path("own.py").write_text(OWN)
    how = ["run", "-m", "nets.py:red", "-d", "demo", "--limit", "20", "-c", "mine/redden", "-s", "1,3", "-o", "own"]
    done = typed(*how, "--import", "own.py")
    assert done.returncode == 0, done.stderr
    command = works(done.stdout)
    assert command == ["brittle", "--import", "own.py", "report", "own"]
    drawn = Path("own/report.html").read_text()
    for verb in ("compare", "report"):
        bare = typed(verb, "own")
        assert bare.returncode == 0, bare.stderr
    plain = Path("own/report.html").read_text()
    assert "redden" in plain
    assert plain.count("<img") < drawn.count("<img")
    assert "--import" in plain
    again = typed(*how[:-1], "again")
    assert again.returncode == 2
    assert "'mine/redden'" in again.stderr
