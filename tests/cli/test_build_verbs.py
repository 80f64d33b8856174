"""`brittle build non-overlapping` and `balanced`, as a user calls them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result
from verb_checks import good, refused

import brittle
from brittle.design import non_overlapping, published_overlap

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder")

ROOT = Path(__file__).parents[2]


def test_the_largest_set_becomes_a_recipe(run: Run, design_folder: Path) -> None:
    printed = good(
        run("build", "non-overlapping", "noc-table8", "-t", 0.1, "-b", "noc-candidates", "-o", "sub/noc.toml")
    )
    recipe = brittle.benchmark(design_folder / "sub" / "noc.toml")
    assert {entry.id for entry in recipe.entries} == {e.id for e in brittle.benchmark("imagenet-noc").entries}
    assert {entry.levels for entry in recipe.entries} == {((1.0, 5.0),)}
    assert recipe.name == "noc"
    assert re.search(r"0\.1 +8 ", printed)
    assert (design_folder / "sub" / "noc.svg").is_file()
    how = ["--sweep", "s.svg", "--thresholds", "0.1,0.2,0.6", "-b", "imagenet-c", "--name", "mine", "-o", "six.toml"]
    printed = good(run("build", "non-overlapping", "noc-table7", "-t", 0.3, *how))
    best = non_overlapping(published_overlap("noc-table7"), 0.3)
    assert [entry.corruption.name for entry in brittle.benchmark("six.toml").entries] == list(best.members)
    assert brittle.benchmark("six.toml").name == "mine"
    assert len(re.findall(r"^ +0\.\d+ +\d+ ", printed, re.M)) == 4
    assert (design_folder / "s.svg").is_file()


def test_a_verb_of_build_shows_where_an_error_arose_if_asked(run: Run) -> None:
    result = run("--traceback", "build", "non-overlapping", "no.csv", "-o", "r.toml")
    assert isinstance(result.exception, FileNotFoundError)


def test_what_pages_show_of_build_is_there(run: Run) -> None:
    """`brittle build` has verbs of its own, so each option is looked for in the help of the right one."""
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    lines = {line for page in pages for line in re.findall(r"^\$? ?brittle build (.*)$", page.read_text(), re.M)}
    assert lines
    for line in lines:
        verb, *rest = line.split("#")[0].split()
        described = run("build", verb, "--help", columns=200)
        assert described.exit_code == 0, line
        for word in rest:
            assert not word.startswith("-") or word in described.stdout, line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["build", "non-overlapping", "no.csv", "-o", "r.toml"],
            "there is no overlap matrix 'no.csv'; `brittle overlap`",
        ),
        (["build", "non-overlapping", "odd.csv", "-o", "r.toml"], "must be symmetric, but a with b is 0.2"),
        (["build", "non-overlapping", "noc-table7", "-o", "r.csv"], "a recipe is a .toml file, got 'r.csv'"),
        (["build", "non-overlapping", "noc-table7", "--sweep", "s.png", "-o", "r.toml"], "a figure is an .svg file"),
        (["build", "non-overlapping", "noc-table7", "-t", "nan", "-o", "r.toml"], "the threshold is a finite overlap"),
        (
            ["build", "non-overlapping", "noc-table8", "-o", "r.toml"],
            "say which: noc/blur, syn2nat/blur; or give the recipe",
        ),
        (
            ["build", "balanced", "-c", "groups.csv", "-n", 3, "-k", 1, "-o", "r.toml"],
            "there are 2 categories, so n lies",
        ),
        (
            ["build", "balanced", "-c", "groups.csv", "-n", 2, "-k", 3, "-o", "r.toml"],
            "has 2 members, so k lies between",
        ),
        (
            ["build", "balanced", "-c", "groups.csv", "-n", 2, "-k", 1, "--count", 9, "-o", "r.csv"],
            "there are 4 different",
        ),
        (["build", "balanced", "-c", "no.toml", "-n", 2, "-k", 1, "-o", "r.csv"], "there is no file of categories"),
        (
            ["build", "balanced", "-c", "noc", "-n", 2, "-k", 1, "-o", "r.csv"],
            "there are no published categories 'noc'",
        ),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], sentence: str) -> None:
    refused(run(*arguments, columns=400), sentence)
