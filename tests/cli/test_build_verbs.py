"""`brittle design build non-overlapping` and `balanced`, as a user calls them."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import Result

import brittle
from brittle.design import Categories, OverlapMatrix, non_overlapping, published_overlap
from tests.cli.verb_checks import good, refused

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder")

ROOT = Path(__file__).parents[2]
TIES = ["-t", 0.1, "-o", "ties.toml"]


@pytest.fixture(autouse=True)
def ties(design_folder: Path) -> None:
    """Three corruptions, of which fog goes with snow or with frost: a matrix that does not know its candidates."""
    rows = ["corruption,fog,snow,frost", "fog,1,0,0.05", "snow,0,1,0.9", "frost,0.05,0.9,1"]
    (design_folder / "ties.csv").write_text("\n".join(rows))


def test_recipes_have_the_levels_that_were_measured(run: Run) -> None:
    """Of a folder of `brittle design overlap`, of its categories, or of another recipe if that is asked for."""
    candidates = brittle.load_benchmark("cifar10-noc-candidates")
    names = tuple(entry.id for entry in candidates.entries)
    scores = np.full((23, 23), 0.05) + 0.95 * np.eye(23)
    half = np.ix_(range(12), range(12))
    scores[half] = np.maximum(scores[half], 0.8)
    matrix = OverlapMatrix(names, scores, candidates=candidates)
    matrix.save("overlap/overlap.parquet")
    good(run("design", "build", "non-overlapping", "overlap", "-o", "mine.toml"))
    built = brittle.load_benchmark("mine.toml")
    assert len(built.entries) == 12
    assert all(entry == candidates.entry(entry.id) for entry in built.entries)
    good(run("design", "build", "non-overlapping", "overlap", "--levels-from", "noc-candidates", "-o", "other.toml"))
    assert {entry.levels for entry in brittle.load_benchmark("other.toml").entries} == {((1.0, 5.0),)}
    groups = Categories({"a": names[:12], "b": names[12:]}, candidates=candidates)
    for file, extra in (("groups.toml", ()), ("groups2.csv", ("overlap",))):
        groups.save(file)
        good(run("design", "build", "balanced", file, "-n", 2, "-k", 2, *extra, "-o", "balanced.toml"))
        assert all(entry == candidates.entry(entry.id) for entry in brittle.load_benchmark("balanced.toml").entries)


def test_the_largest_set_becomes_a_recipe(run: Run, design_folder: Path) -> None:
    printed = good(
        run(
            "design",
            "build",
            "non-overlapping",
            "noc-table8",
            "-t",
            0.1,
            "--sweep-table",
            "sub/s.csv",
            "-o",
            "sub/noc.toml",
        )
    )
    recipe = brittle.load_benchmark(design_folder / "sub" / "noc.toml")
    assert {entry.id for entry in recipe.entries} == {e.id for e in brittle.load_benchmark("imagenet-noc").entries}
    assert {entry.levels for entry in recipe.entries} == {((1.0, 5.0),)}
    assert recipe.name == "noc"
    assert re.search(r"0\.1 +8 ", printed)
    table = pl.read_csv(design_folder / "sub" / "s.csv")
    chosen = table.filter(pl.col("threshold") == 0.1)
    assert chosen["members"].item().split() == [entry.id for entry in recipe.entries]
    assert "1 other set of that size" in good(
        run("design", "build", "non-overlapping", "ties.csv", "--levels-from", "imagenet-c", *TIES)
    )
    assert (design_folder / "sub" / "noc.svg").is_file()
    how = ["--figure", "s.svg", "--sweep", "0.1,0.2,0.6", "--name", "mine", "-o", "six.toml"]
    printed = good(run("design", "build", "non-overlapping", "noc-table7", "-t", 0.3, *how))
    best = non_overlapping(published_overlap("noc-table7"), 0.3)
    assert [entry.id for entry in brittle.load_benchmark("six.toml").entries] == list(best.members)
    assert brittle.load_benchmark("six.toml").name == "mine"
    assert len(re.findall(r"^ +0\.\d+ +\d+ ", printed, re.M)) == 4
    assert (design_folder / "s.svg").is_file()


def test_a_verb_of_build_shows_where_an_error_arose_if_asked(run: Run) -> None:
    result = run("--traceback", "design", "build", "non-overlapping", "no.csv", "-o", "r.toml")
    assert isinstance(result.exception, FileNotFoundError)


def test_what_pages_show_of_build_is_there(run: Run) -> None:
    """`brittle design build` has verbs of its own, so each option is looked for in the help of the right one."""
    pages = [*(ROOT / "docs").glob("*/*.md"), ROOT / "README.md"]
    lines = {line for page in pages for line in re.findall(r"^\$? ?brittle design build (.*)$", page.read_text(), re.M)}
    assert lines
    for line in lines:
        verb, *rest = line.split("#")[0].split()
        described = run("design", "build", verb, "--help", columns=200)
        assert described.exit_code == 0, line
        for word in rest:
            assert not word.startswith("-") or word in described.stdout, line


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (
            ["design", "build", "non-overlapping", "no.csv", "-o", "r.toml"],
            ("no.csv", "brittle design overlap"),
        ),
        (["design", "build", "non-overlapping", "odd.csv", "-o", "r.toml"], ("odd.csv", "a with b", "0.2", "0.3")),
        (["design", "build", "non-overlapping", "noc-table7", "-o", "r.csv"], (".toml", "r.csv")),
        (
            ["design", "build", "non-overlapping", "noc-table7", "--figure", "s.jpg", "-o", "r.toml"],
            (".pdf", ".png", ".svg", "s.jpg"),
        ),
        (
            ["design", "build", "non-overlapping", "noc-table7", "-t", "nan", "-o", "r.toml"],
            ("threshold", "0.1", "nan"),
        ),
        (
            ["design", "build", "non-overlapping", "ties.csv", "-o", "r.toml"],
            ("brittle design overlap", "--levels-from"),
        ),
        (
            ["design", "build", "non-overlapping", "noc-table7", "--sweep-table", "t.txt", "-o", "r.toml"],
            (".csv", "t.txt"),
        ),
        (
            ["design", "build", "balanced", "groups.csv", "-n", 2, "-k", 1, "-o", "r.toml"],
            ("brittle design overlap", "--levels-from"),
        ),
        (
            ["design", "build", "balanced", "groups.csv", "-n", 3, "-k", 1, "-o", "r.toml"],
            ("n", 1, 2, 3),
        ),
        (
            ["design", "build", "balanced", "groups.csv", "-n", 2, "-k", 3, "-o", "r.toml"],
            ("k", "haze", 1, 2, 3),
        ),
        (
            ["design", "build", "balanced", "groups.csv", "-n", 2, "-k", 1, "--count", 9, "-o", "r.csv"],
            (4, "count=9"),
        ),
        (
            ["design", "build", "balanced", "no.toml", "-n", 2, "-k", 1, "-o", "r.csv"],
            ("no.toml", "brittle design categories", "syn2nat"),
        ),
        (
            ["design", "build", "balanced", "noc", "-n", 2, "-k", 1, "-o", "r.csv"],
            ("noc",),
        ),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], values: tuple) -> None:
    refused(run(*arguments, columns=400), *values)
