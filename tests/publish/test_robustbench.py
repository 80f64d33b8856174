"""Entries of RobustBench: its fields, its rounding, its table of cells; what it does not list is refused."""

import csv
import json
from pathlib import Path

import pytest

from brittle._errors import BrittleError
from brittle.evaluation import Results
from brittle.publish import PaperEntry, load_paper_entry, write_robustbench
from tests.errors import naming

FIELDS = [
    *("link", "name", "authors", "additional_data", "number_forward_passes", "dataset", "venue", "architecture"),
    *("eps", "clean_acc", "reported", "corruptions_acc", "footnote"),
]
"""Those of model_info/cifar10/corruptions/*.json in RobustBench, in their order, and its optional footnote."""


def test_an_entry_has_the_fields_of_robustbench_and_the_mean_over_all_cells(whole: Results, tmp_path: Path) -> None:
    paper = PaperEntry(name="A paper", link="https://example.org", additional_data=False)
    entry, cells = write_robustbench(whole, tmp_path, "Me2026Net", paper=paper)
    assert entry == tmp_path / "cifar10" / "corruptions" / "Me2026Net.json"
    info = json.loads(entry.read_text("utf-8"))
    assert list(info) == FIELDS
    corrupted = whole.accuracy().filter(pl_corrupted())["accuracy"]
    assert info["corruptions_acc"] == str(round(100 * corrupted.mean(), 2))
    assert info["clean_acc"] == str(round(100 * whole.clean_accuracy("one"), 2))
    assert (info["dataset"], info["eps"], info["name"]) == ("cifar10", None, "A paper")
    assert "6 images" in info["footnote"]
    assert "10,000" in info["footnote"]
    with cells.open(newline="") as file:
        heads, severities, values = csv.reader(file)
    assert values[0] == "Me2026Net"
    assert severities[1:] == ["1", "2", "3", "4", "5"] * 15
    assert heads[1:6] == ["gaussian_noise"] * 5
    assert sum(map(float, values[1:])) / 75 == pytest.approx(corrupted.mean())


def pl_corrupted():
    import polars as pl

    return pl.col("corruption") != "clean"


def test_what_robustbench_does_not_list_is_one_sentence(whole: Results, two: Results, tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming("cifar10-c-custom", "-b cifar10-c")):
        write_robustbench(two, tmp_path, "Me2026Net", model_name="one")
    with pytest.raises(BrittleError, match=naming("'a/b'", "Hendrycks2020AugMix")):
        write_robustbench(whole, tmp_path, "a/b")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("titel = 'x'", ("'titel'",)),
        ("additional_data = 'no'", ("additional_data", "true or false", "'no'")),
        ("number_forward_passes = true", ("number_forward_passes", "True")),
        ("link = 'javascript:x'", ("link", "'javascript:x'")),
        ("link = [", ("not a TOML file",)),
    ],
)
def test_a_bad_file_of_a_paper_is_one_sentence(tmp_path: Path, text: str, named: tuple[str, ...]) -> None:
    (tmp_path / "paper.toml").write_text(text)
    with pytest.raises(BrittleError, match=naming(*named)):
        load_paper_entry(tmp_path / "paper.toml")
