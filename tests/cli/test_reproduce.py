"""`brittle reproduce`: the list, one table, and what is refused."""

import json
from pathlib import Path

import pytest

from brittle.papers import list_experiments
from tests.cli.conftest import Run
from tests.cli.verb_checks import good, refused


def test_the_list_fits_a_terminal_and_names_every_experiment(run: Run, tmp_path: Path) -> None:
    printed = good(run("reproduce", "--list", "-o", tmp_path / "new"))
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    for one in list_experiments():
        assert any(line.split()[:1] == [one.name] for line in lines)


def test_the_list_as_data(run: Run) -> None:
    listed = json.loads(run("reproduce", "--list", "noc", "--json").stdout)
    assert [one["experiment"] for one in listed] == [one.id for one in list_experiments("noc")]
    assert {"title", "claim", "minutes", "needs", "cost", "state", "verdict"} <= {*listed[0]}


def test_one_figure_from_the_command_line(run: Run, tmp_path: Path) -> None:
    printed = good(run("reproduce", "noc", "fig2", "-o", tmp_path / "found"))
    assert "noc/fig2" in printed
    assert (tmp_path / "found" / "noc" / "fig2" / "candidates.png").is_file()
    assert (tmp_path / "found" / "index.html").is_file()
    again = json.loads(run("reproduce", "noc", "fig2", "-o", tmp_path / "found", "--json").stdout)
    assert again[0]["experiment"] == "noc/fig2"
    listed = json.loads(run("reproduce", "--list", "--json", "-o", tmp_path / "found").stdout)
    done = {one["experiment"]: one for one in listed}
    assert done["noc/fig2"]["state"] == "small"
    assert done["noc/fig3"]["state"] is None


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([], ("noc", "--list")),
        (["nok"], ("'nok'", "noc")),
        (["noc", "table9"], ("'table9'", "table8")),
        (["noc", "fig2", "--path", "imagenet"], ("--path", "NAME=PATH", "'imagenet'")),
        (["noc", "fig2", "--path", "cifar10=nowhere"], ("cifar10", "nowhere")),
        (["noc", "fig3", "--scale", "paper"], ("noc/fig3", "paper", "imagenet-100")),
        (
            ["noc", "table4", "--scale", "paper", "--path", "imagenet=."],
            ("noc/table4", "checkpoints", "--path checkpoints="),
        ),
        (["noc", "fig2", "--set", "epochs"], ("--set", "NAME=VALUE", "'epochs'")),
        (["noc", "fig2", "--set", "epochs=many"], ("epochs", "'many'")),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, tmp_path: Path, arguments: list[str], values: tuple) -> None:
    refused(run("reproduce", *arguments, "-o", tmp_path / "new", columns=400), *values)
    assert not (tmp_path / "new").exists()
