"""`brittle doctor`: exit codes, JSON, and names with brackets."""

import json
from pathlib import Path

import numpy as np
import pytest

from brittle.evaluation import evaluate
from tests.cli.conftest import Run
from tests.evaluation.test_run_folders import RECIPE, squares


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    evaluate({"[/red]": lambda images: np.eye(4)[[0] * len(images)]}, squares(), RECIPE, tmp_path / "run")
    return tmp_path / "run"


def test_the_exit_code_says_whether_something_is_damaged(folder: Path, run: Run) -> None:
    assert run("doctor", folder).exit_code == 0
    next(folder.glob("cells/*/clean.parquet")).write_bytes(b"")
    found = run("doctor", folder)
    assert found.exit_code == 1
    assert "1 damaged" in found.stdout
    told = run("doctor", folder, "--json")
    assert told.exit_code == 1
    assert [one["kind"] for one in json.loads(told.stdout)["findings"]][:1] == ["damage"]
    assert run("doctor", folder, "--fix").exit_code == 0
    assert run("doctor", folder).exit_code == 0
    assert run("doctor", folder / "cells" / "nothing").exit_code == 2


def test_a_model_with_brackets_in_its_name_has_scores_and_a_report(folder: Path, run: Run) -> None:
    for verb in (["compare", folder], ["report", folder]):
        shown = run(*verb)
        assert shown.exit_code == 0, shown.output
    assert "[/red]" in run("compare", folder).output
