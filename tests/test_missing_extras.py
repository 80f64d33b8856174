"""A verb that needs what is not installed says how to get it. `make light` runs this where there is no torch."""

import subprocess
import sys
from pathlib import Path

import pytest

HIDE = """
import sys

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
"""As if torch were not installed, also where it is."""

CALL = f"{HIDE}from brittle.cli import app; app(sys.argv[1:])"


@pytest.mark.parametrize(
    ("verb", "extra"),
    [
        ("augment train -d demo -o x", "torch"),
        ("augment distance -a augmix -b cifar10-c -d demo -m small -o x", "torch"),
        ("design overlap -d demo -o x", "torch"),
        ("slide train tiny --class bag --shift heavy_fog -o x", "sliders"),
        ("slide demo -o x", "sliders"),
    ],
)
def test_a_missing_extra_is_named(verb: str, extra: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CALL, *verb.split()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "needs torch, which is not installed: pip install torch " in done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_explorer_without_its_extra_says_how_to_get_it(tmp_path: Path) -> None:
    call = CALL.replace('"torch"', '"starlette"')
    command = [sys.executable, "-c", call, "explore", "--no-browser"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "needs starlette, which is not installed: pip install starlette uvicorn" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_core_and_its_figures_load_without_torch(tmp_path: Path) -> None:
    rooms = "brittle.design, brittle.evaluation, brittle.models, brittle.report.figures, brittle.sliders, brittle.cli"
    subprocess.run([sys.executable, "-c", f"{HIDE}import {rooms}"], cwd=tmp_path, check=True)
