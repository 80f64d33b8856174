"""`brittle design calibrate`, as a user calls it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

import brittle
from tests.cli.verb_checks import good, refused

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("design_folder")


def test_calibration_goes_on_where_it_was(run: Run, design_folder: Path) -> None:
    Path("two.toml").write_text(
        Path("two.toml").read_text().replace("contrast", "brightness").replace("gray_scale", "border")
    )
    how = ["-d", "demo", "--limit", 100, "--candidates", "two.toml", "--tolerance", 0.2, "-o", "ours.toml"]
    Path("stop.txt").write_text("18")
    torn = run("design", "calibrate", "-m", "nets.py:by_heart", *how)
    assert torn.exit_code == 130
    assert "the same command resumes" in torn.stderr
    first = json.loads(Path("ours.calibration.json").read_text())["found"]
    assert list(first) == ["noc/brightness"]
    assert not Path("ours.toml").exists()
    Path("stop.txt").write_text("-1")
    printed = good(run("design", "calibrate", "-m", "nets.py:by_heart", *how))
    both = json.loads(Path("ours.calibration.json").read_text())["found"]
    assert both["noc/brightness"] == first["noc/brightness"]
    recipe = brittle.load_benchmark("ours.toml")
    assert recipe.image_size == 32
    for entry in recipe.entries:
        low, high = both[entry.id]["severities"]
        np.testing.assert_allclose(entry.levels[0], (low, high), atol=0.006)
        assert f"{low:.2f}" in printed
    assert (design_folder / "ours.svg").is_file()
    other = run("design", "calibrate", "-m", "nets.py:by_heart", *how, "--robustness", "0.9,0.5", columns=400)
    refused(other, "ours.calibration.json", "0.9", "0.95")


CALIBRATE = ["design", "calibrate", "-m", "nets.py:by_heart", "-d", "demo", "--candidates", "two.toml"]


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([*CALIBRATE, "-o", "r.csv"], (".toml", "r.csv")),
        ([*CALIBRATE, "--robustness", "0.9", "-o", "r.toml"], ("--robustness", "0.95,0.5", "0.9")),
        ([*CALIBRATE, "--robustness", "95,50", "-o", "r.toml"], ("robustness", 0, 1, "[95.0, 50.0]")),
        ([*CALIBRATE, "--figure", "f.eps", "-o", "r.toml"], (".pdf", ".png", ".svg", "f.eps")),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[object], values: tuple) -> None:
    refused(run(*arguments, columns=400), *values)
