"""`brittle design correlate`, as a user calls it."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

import brittle
from brittle.design import correlation_table, read_drops
from tests.cli.verb_checks import good, refused

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder")


def test_correlations_from_tables_and_from_runs(run: Run, design_folder: Path) -> None:
    how = ["--categories", "groups.csv", "--nk", "2,1", "--nk", "1,2"]
    printed = good(run("design", "correlate", "drops.csv", "--natural-csv", "natural.csv", *how, "-o", "t.csv"))
    mine, world = read_drops("drops.csv"), read_drops("natural.csv")
    groups = {"(2,1)": [(h, c) for h in ("fog", "contrast") for c in ("snow", "frost")]}
    wanted = correlation_table(mine.values, mine.names, groups, world.columns())
    assert f"{wanted['(2,1)'][-1]:.3f}" in printed
    rows = pl.read_csv("t.csv")
    assert rows["benchmarks"].to_list() == [4, 4, 2, 2]
    assert rows["mean_r"][0] == pytest.approx(wanted["(2,1)"][0])
    assert (design_folder / "t.svg").is_file()
    for net in ("red", "green", "blue"):
        cells = ["-b", "cifar10-c", "-c", "fog,snow,frost,contrast", "-s", "2"]
        assert run("run", "-m", f"nets.py:{net}", "-d", "demo", "--limit", 60, *cells, "-o", "syn").exit_code == 0
        assert run("run", "-m", f"nets.py:{net}", "-d", "demo", "--limit", 37, "-o", "nat").exit_code == 0
    recipe = brittle.Benchmark("pair", tuple(brittle.load_benchmark("imagenet-c").entry(c) for c in ("fog", "snow")))
    recipe.save("pair.toml")
    printed = good(run("design", "correlate", "syn", "--natural", "odd=nat", *how, "-b", "pair.toml", "-o", "r.csv"))
    assert "over 3 models" in printed
    assert pl.read_csv("r.csv")["group"].to_list() == ["(2,1)", "(1,2)", "pair"]


CORRELATE = ["design", "correlate", "drops.csv", "-o", "t.csv"]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([*CORRELATE, "-b", "imagenet-c"], ("--natural", "NAME=RUN", "--natural-csv")),
        ([*CORRELATE, "--natural", "a=run", "-b", "imagenet-c"], (".csv", "--natural-csv")),
        (
            [*CORRELATE, "--natural-csv", "few.csv", "-b", "imagenet-c"],
            (2,),
        ),
        ([*CORRELATE, "--natural-csv", "natural.csv"], ("--categories", "--nk", "6,3", "--benchmark")),
        ([*CORRELATE, "--natural-csv", "natural.csv", "--nk", "2,1"], ("--nk", "--categories")),
        (
            [*CORRELATE, "--natural-csv", "natural.csv", "--categories", "groups.csv", "--nk", "2"],
            ("--nk", "6,3", 2),
        ),
        (
            [*CORRELATE, "--natural-csv", "natural.csv", "-b", "imagenet-c"],
            ("imagenet-c/gaussian_noise", "contrast", "fog", "frost", "snow"),
        ),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], values: tuple) -> None:
    refused(run(*arguments, columns=400), *values)


def test_benchmarks_of_a_file_and_less_balanced_ones(run: Run) -> None:
    good(run("design", "build", "balanced", "groups.csv", "-n", 2, "-k", 1, "--count", 3, "-o", "drawn.csv"))
    how = ["drops.csv", "--natural-csv", "natural.csv", "-b", "drawn.csv"]
    good(run("design", "correlate", *how, "-o", "t.csv"))
    rows = pl.read_csv("t.csv")
    assert rows["group"].unique().to_list() == ["drawn"]
    assert rows["benchmarks"].to_list() == [3, 3]
    mine, world = read_drops("drops.csv"), read_drops("natural.csv")
    drawn = [tuple(line.split(",")) for line in Path("drawn.csv").read_text().split()]
    wanted = correlation_table(mine.values, mine.names, {"drawn": drawn}, world.columns())
    assert rows["mean_r"][0] == pytest.approx(wanted["drawn"][0])
    Path("empty.csv").write_text("\n")
    refused(run("design", "correlate", *how, "-b", "empty.csv", "-o", "t.csv"), "empty.csv")
    refused(run("design", "correlate", *how, "-b", "no.csv", "-o", "t.csv"), "no.csv", "design build balanced")
    refused(run("design", "correlate", *how, "--substitutions", 2, "-o", "t.csv"), "--substitutions", "--nk", 2)
