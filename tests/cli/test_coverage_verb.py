"""`brittle design coverage`, as a user calls it."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

from brittle.design import coverage, published_overlap
from tests.cli.verb_checks import good, refused

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder")


def test_coverage_says_what_is_missed(run: Run, design_folder: Path) -> None:
    printed = good(run("design", "coverage", "noc-table7", "-b", "fog,snow", "-o", "c.csv"))
    found = coverage(published_overlap("noc-table7"), ["fog", "snow"], of=published_overlap("noc-table7").names)
    assert str(found) in printed
    assert re.search(r"contrast +0\.49 +imagenet-c/fog", printed)
    assert re.search(r"glass_blur +– +nothing", printed)
    rows = pl.read_csv("c.csv")
    assert len(rows) == 15 * 2
    assert rows.filter(pl.col("covers"))["corruption"].n_unique() == len(found.covered)
    assert (design_folder / "c.svg").is_file()
    both = good(run("design", "coverage", "noc-table8", "-b", "imagenet-noc", "--of", "noc/hue,border", "-t", 0.5))
    assert "2 of 2 covered (overlap > 0.5), 2 of them as members" in both


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["design", "coverage", "noc-table7", "-b", "fogg"], ("fogg", "fog")),
        (
            ["design", "coverage", "noc-table7", "-b", "imagenet-noc"],
            ("noc/rain", "imagenet-c/brightness", "imagenet-c/contrast", "imagenet-c/defocus_blur"),
        ),
        (["design", "coverage", "noc-table7", "-b", "fog", "-o", "c.toml"], (".csv", "c.toml")),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], values: tuple) -> None:
    refused(run(*arguments, columns=400), *values)
