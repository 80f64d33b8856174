"""`brittle list` shows every corruption, at any width."""

import json
from collections.abc import Callable

import pytest
from typer.testing import Result

import brittle
from tests.errors import unnamed

Run = Callable[..., Result]


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_no_id_or_parameter_is_cut(run: Run, columns: int) -> None:
    result = run("list", columns=columns)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= columns
    words = set(result.stdout.split())
    for corruption in brittle.list_corruptions():
        assert {corruption.id, corruption.source} & words
        assert {corruption.id, corruption.name} & words
        assert set(corruption.levels) <= words


@pytest.mark.parametrize(
    ("options", "there", "missing"),
    [
        (["--family", "noise"], "shot_noise", "fog"),
        (["--source", "imagenet-c"], "fog", "plasma_noise"),
        (["--benchmark", "imagenet-c-extra"], "saturate", "fog"),
        (["--benchmark", "imagenet-c", "--family", "weather"], "snow", "spatter"),
        (["--image-size", "32", "--family", "noise"], "500", "0.38"),
    ],
)
def test_a_part_of_the_list(run: Run, options: list[str], there: str, missing: str) -> None:
    result = run("list", *options)
    assert result.exit_code == 0
    assert there in result.stdout
    assert missing not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "identity"),
    [
        (["contrast"], "imagenet-c/contrast"),
        (["contrast", "--source", "noc"], "noc/contrast"),
        (["brightness", "--benchmark", "imagenet-noc"], "noc/brightness"),
    ],
)
def test_a_bare_name_means_imagenet_c_or_the_set_that_was_chosen(run: Run, arguments: list[str], identity: str) -> None:
    assert json.loads(run("list", *arguments, "--json").stdout)[0]["id"] == identity


def test_json_has_every_level(run: Run) -> None:
    found = json.loads(run("list", "--json", "--image-size", 64).stdout)
    assert [item["id"] for item in found] == [corruption.id for corruption in brittle.list_corruptions()]
    for item in found:
        assert item["parameters"]["4"] == brittle.get_corruption(item["id"]).parameters(4, 64)
        assert item["moves_pixels"] is brittle.get_corruption(item["id"]).moves_pixels


@pytest.mark.parametrize("columns", [80, 120])
def test_those_that_move_pixels_are_marked_and_the_mark_is_explained(run: Run, columns: int) -> None:
    lines = run("list", columns=columns).stdout.splitlines()
    for corruption in brittle.list_corruptions():
        rows = [line for line in lines if {corruption.id, corruption.name} & set(line.split()[:1])]
        marked = {"↔" in line for line in rows if corruption.family in line.split()}
        assert corruption.moves_pixels in marked, corruption.id
    assert any(line.startswith("↔ moves pixels") for line in lines)
    assert "↔" not in run("list", "--family", "noise", columns=columns).stdout


@pytest.mark.parametrize("corruption", brittle.list_corruptions(), ids=lambda corruption: corruption.id)
def test_one_in_detail(run: Run, corruption: brittle.Corruption) -> None:
    result = run("list", corruption.id, "--image-size", 100)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    flat = " ".join(result.stdout.split())
    assert " ".join(corruption.docs.split()) in flat
    assert f"Moves pixels {'yes' if corruption.moves_pixels else 'no'}" in flat
    if corruption.levels:
        assert set(corruption.levels) <= set(result.stdout.split())
        assert all(f"{side} px" in flat for side in (100, *corruption.table_sides))


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["fgo"], ("fgo", "imagenet-c/fog")),
        (["--family", "nois"], ("nois", "blur", "digital", "noise", "weather")),
        (["--source", "x"], ("x", "c-bar", "imagenet-c", "noc", "syn2nat")),
        (["--benchmark", "imagenet"], ("'imagenet'", "'imagenet-c'", ".toml")),
        (["--benchmark", "missing.toml"], ("missing.toml",)),
        (["--image-size", "0"], (1, "size=0")),
        (["--benchmark", "imagenet-c", "--family", "geometry"], ("source", "family", "benchmark")),
        (["fog", "--family", "noise"], ("imagenet-c/fog", "source", "family", "benchmark")),
    ],
)
def test_mistakes_are_one_sentence(run: Run, arguments: list[str], values: tuple) -> None:
    result = run("list", *arguments)
    assert result.exit_code == 2
    assert unnamed(result.stderr, *values) == []
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
