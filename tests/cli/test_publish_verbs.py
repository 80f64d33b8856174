"""`brittle leaderboard` and `brittle export`: what they write and say, and one sentence where they cannot."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import brittle
from tests.cli.verb_checks import good
from tests.errors import unnamed
from tests.publish.conftest import SMALL, models

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two models on few images."""
    place = tmp_path_factory.mktemp("publish") / "run"
    brittle.evaluate(models("one", "two"), brittle.load_dataset("demo").limited(12), SMALL, place, progress=None)
    return place


def test_every_export_writes_what_it_says(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "site/index.html" in good(run("leaderboard", folder, "-o", "site"))
    assert {path.suffix for path in Path("site").iterdir()} == {".html", ".json", ".toml"}
    printed = good(run("export", "hf", folder, "--model-name", "one", "--dataset-id", "a/b", "-o", "hub"))
    assert [Path(line).is_file() for line in printed.split()] == [True, True]
    assert "4 pictures" in good(run("export", "fiftyone", folder, "-c", "fog", "-s", 5, "--limit", 2, "-o", "dataset"))
    fields = json.loads(Path("dataset/samples.json").read_text())["samples"][0]
    assert {"one", "two", "ground_truth"} <= set(fields)
    good(run("export", "evidence", folder, "-o", "evidence.md"))
    assert SMALL.hash in Path("evidence.md").read_text()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("export", "hf", "RUN", "-o", "x"), ("--dataset-id",)),
        (("export", "hf", "RUN", "--dataset-id", "a b", "-o", "x"), ("'a b'", "--dataset-id")),
        (("export", "hf", "RUN", "--dataset-id", "a/b", "-o", "x"), ("one", "two", "--model-name")),
        (("export", "robustbench", "RUN", "-o", "x"), ("--publish-as",)),
        (("export", "robustbench", "RUN", "--publish-as", "A2026B", "--model-name", "one", "-o", "x"), ("cifar10-c",)),
        (("export", "fiftyone", "RUN", "-b", "imagenet-c", "-o", "x"), ("'imagenet-c'", SMALL.name)),
        (("export", "fiftyone", "RUN", "-s", "hard", "-o", "x"), ("'hard'",)),
        (("export", "evidence", "RUN", "-o", "x.docx"), (".html", "x.docx")),
        (("leaderboard", "RUN", "-b", "imagenet-c", "-o", "x"), ("'imagenet-c'", SMALL.name)),
        (("leaderboard", "nowhere", "-o", "x"), ("'nowhere'",)),
    ],
)
def test_what_cannot_be_is_one_sentence_and_writes_nothing(
    run: Run,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    named: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(folder if word == "RUN" else word for word in words))
    assert result.exit_code == 2, result.output
    assert not unnamed(result.output, *named), result.output
    assert not list(tmp_path.iterdir())
