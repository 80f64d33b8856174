"""A verb that needs what is not installed says how to get it. `make light` runs this where there is no torch."""

import subprocess
import sys
from pathlib import Path

import pytest

HIDE = """
import sys, types

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
if MISSING != "matplotlib":
    sys.modules.setdefault("matplotlib", types.ModuleType("matplotlib"))
"""
"""As if one package were not installed, also where it is, and as if matplotlib were, also where it is not."""

CALL = "from brittle.cli import app; app(sys.argv[1:])"


def call(missing: str, code: str, *words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    whole = f"MISSING = {missing!r}\n{HIDE}\n{code}"
    return subprocess.run([sys.executable, "-c", whole, *words], cwd=folder, capture_output=True, text=True)


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
    done = call("torch", CALL, *verb.split(), folder=tmp_path)
    assert done.returncode == 2
    assert "needs torch, which is not installed: pip install torch " in done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "verb",
    [
        "compare nowhere --figure a.pdf",
        "design categories noc-table7 -o x.toml",
        "design build non-overlapping noc-table7 -o x.toml",
        "design overlap --from-table noc-table7 -o x",
        "augment distance -a augmix -b cifar10-c -d nowhere -m small -o x",
        "slide measure nowhere -o x",
        "slide demo -o x",
    ],
)
def test_what_draws_a_figure_asks_for_matplotlib_before_it_works(verb: str, tmp_path: Path) -> None:
    done = call("matplotlib", CALL, *verb.split(), folder=tmp_path)
    assert done.returncode == 2
    assert "needs matplotlib, which is not installed: pip install matplotlib " in done.stderr
    assert "pip install '.[plots]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_explorer_without_its_extra_says_how_to_get_it(tmp_path: Path) -> None:
    done = call("starlette", CALL, "explore", "--no-browser", folder=tmp_path)
    assert done.returncode == 2
    assert "needs starlette, which is not installed: pip install starlette uvicorn" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["torch", "matplotlib"])
def test_the_core_and_its_figures_load_without(missing: str, tmp_path: Path) -> None:
    rooms = "brittle.design, brittle.evaluation, brittle.models, brittle.plots, brittle.sliders, brittle.cli"
    done = call(missing, f"import {rooms}; from brittle.plots import plot_accuracy", folder=tmp_path)
    assert done.returncode == 0, done.stderr
