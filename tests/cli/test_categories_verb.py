"""`brittle design categories`, and balanced benchmarks of them, as a user calls them."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

import brittle
from brittle.design import Categories, OverlapMatrix, agreement, published_overlap, read_drops
from tests.cli.verb_checks import good, refused

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder")


def test_categories_and_balanced_benchmarks_of_them(run: Run, design_folder: Path) -> None:
    printed = good(run("design", "categories", "noc-table7", "-o", "three.toml"))
    groups = Categories.load("three.toml")
    assert len(groups) == 3
    assert "0.60 / -0.23" in " ".join(printed.split())
    assert (design_folder / "three.svg").is_file()
    good(
        run(
            "design",
            "categories",
            "noc-table7",
            "--method",
            "hierarchical",
            "--clusters",
            4,
            "--figure",
            "f.svg",
            "-o",
            "4.csv",
        )
    )
    assert len(Categories.load("4.csv")) == 4
    how = ["design", "build", "balanced", "three.toml", "-n", 3, "-k", 2]
    good(run(*how, "noc-table7", "--levels-from", "imagenet-c", "-o", "best.toml"))
    best = brittle.load_benchmark("best.toml")
    matrix = published_overlap("noc-table7")
    chosen = [entry.corruption.name for entry in best.entries]
    pairs = [(a, b) for a in chosen for b in chosen if a < b and groups.of(a) == groups.of(b)]
    assert len(pairs) == 3
    for a, b in pairs:  # the smallest of each category, since all 900 benchmarks were looked at
        group = groups.members[groups.of(a)]
        assert matrix[a, b] == pytest.approx(min(matrix[x, y] for x in group for y in group if x != y))
    assert "20 of 900 benchmarks" in good(run(*how, "--count", 20, "-o", "many.csv"))
    rows = [tuple(line.split(",")) for line in Path("many.csv").read_text().split()]
    assert len(set(rows)) == 20
    assert {len(row) for row in rows} == {6}
    good(run("design", "build", "balanced", "syn2nat", "-n", 6, "-k", 3, "-o", "s.toml"))
    assert len(brittle.load_benchmark("s.toml").entries) == 18


def test_masked_corruptions_are_left_out_of_categories_and_named(run: Run) -> None:
    table = published_overlap("noc-table7")
    scores = np.array(table.scores)
    scores[3], scores[:, 3] = np.nan, np.nan
    scores[3, 3] = 1
    OverlapMatrix(table.names, scores).save("masked.csv")
    printed = good(run("design", "categories", "masked.csv", "-o", "c.toml"))
    assert f"left out, all their overlaps are masked: {table.names[3]}" in printed
    assert table.names[3] not in Categories.load("c.toml").names
    assert "masked pairs" in good(
        run("design", "build", "non-overlapping", "masked.csv", "--levels-from", "imagenet-c", "-o", "r.toml")
    )


def test_real_models_are_held_against_categories(run: Run) -> None:
    four = published_overlap("noc-table7").subset(["fog", "snow", "frost", "contrast"])
    four.save("four.parquet")
    good(run("design", "categories", "four.parquet", "--clusters", 2, "-o", "c.toml"))
    printed = good(run("design", "agree", "c.toml", "drops.csv"))
    drops = read_drops("drops.csv")
    assert str(agreement(Categories.load("c.toml"), drops.values, drops.names)) in " ".join(printed.split())


def test_overlap_matrices_are_compared(run: Run) -> None:
    whole = published_overlap("noc-table7")
    whole.subset(whole.names[:6]).save("some.parquet")
    printed = good(run("design", "agree", "noc-table7", "some.parquet"))
    assert "some.parquet" in printed
    assert "1.000" in printed
    found = json.loads(run("design", "agree", "noc-table7", "some.parquet", "--json").stdout)
    assert found["some.parquet"]["pairs"] == 15


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["design", "agree", "noc-table7", "noc-table8"], (0, "imagenet-c/gaussian_noise", "noc/quantization")),
        (["design", "agree", "noc-table7", "nothing"], ("nothing",)),
        (
            ["design", "categories", "noc-table7", "-o", "c.txt"],
            (".toml", ".csv", "c.txt"),
        ),
        (
            ["design", "categories", "noc-table7", "--method", "tree", "-o", "c.csv"],
            ("--method", "'tree'", "'k-means'", "'hierarchical'"),
        ),
        (["design", "categories", "noc-table7", "--clusters", 99, "-o", "c.csv"], (15, "(15 different)", 1, 99)),
        (
            ["design", "categories", "noc-table7", "--clusters", 3, "--min-correlation", 0.5, "-o", "c.csv"],
            ("--clusters", "--min-correlation", 3, "0.5"),
        ),
        (["design", "agree", "syn2nat", "few.csv"], ("syn2nat/solarize", "a")),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], values: tuple) -> None:
    refused(run(*arguments, columns=400), *values)
