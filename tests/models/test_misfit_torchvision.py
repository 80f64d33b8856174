"""A torchvision that does not fit torch is survived, or named: a package of that name which fails at its import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

IMPORT = {
    "no nms": """
import torch

@torch.library.register_fake("torchvision::nms")  # as torchvision does; raises where the operation is not compiled
def meta_nms(dets, scores, iou_threshold):
    raise NotImplementedError
""",
    "other CUDA": """
raise RuntimeError("Detected that PyTorch and torchvision were compiled with different CUDA major versions.")
""",
    "other symbols": """
raise ImportError("_C.so: undefined symbol: _ZN3c106detail14torchCheckFail")
""",
}

ANY_NAME = """
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return name
"""
"""A module from which any name can be imported, for names that transformers imports and does not use here."""


@pytest.fixture
def beside(tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment of a process that finds such a torchvision first, with what transformers asks of it."""
    package, about = tmp_path / "torchvision", tmp_path / "torchvision-0.99.0.dist-info"
    (package / "transforms" / "v2").mkdir(parents=True)
    (package / "__init__.py").write_text(IMPORT[request.param])
    modes = ("NEAREST", "NEAREST_EXACT", "BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS")
    (package / "transforms" / "__init__.py").write_text(
        f"from enum import Enum\n\nInterpolationMode = Enum('InterpolationMode', {modes})\n"
    )
    for module in ("transforms/functional", "transforms/v2/__init__", "transforms/v2/functional", "io"):
        (package / f"{module}.py").write_text(ANY_NAME)
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\nVersion: 0.99.0\n")
    (about / "RECORD").write_text("torchvision/__init__.py,,\n")
    paths = [str(tmp_path), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}


def slide(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    call = ("slide", "train", "tiny", "--class", "bag", "--shift", "heavy_fog", "--steps", "1", "-o", "sliders")
    command = [sys.executable, "-m", "brittle", *call]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("beside", ["no nms"], indirect=True)
def test_a_build_without_its_operations_is_survived_by_slides(beside: dict[str, str], tmp_path: Path) -> None:
    plain = subprocess.run([sys.executable, "-c", "import torchvision"], env=beside, capture_output=True, text=True)
    assert "operator torchvision::nms does not exist" in plain.stderr  # it is broken as the real one is
    done = slide(tmp_path, beside)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "sliders").rglob("*.safetensors"))


OTHERS = [("other CUDA", "different CUDA major versions"), ("other symbols", "undefined symbol")]


@pytest.mark.parametrize(("beside", "reason"), OTHERS, indirect=["beside"])
def test_slides_do_without_any_other_misfit(beside: dict[str, str], reason: str, tmp_path: Path) -> None:
    plain = subprocess.run([sys.executable, "-c", "import torchvision"], env=beside, capture_output=True, text=True)
    assert reason in plain.stderr
    done = slide(tmp_path, beside)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "sliders").rglob("*.safetensors"))


@pytest.mark.parametrize(("beside", "reason"), OTHERS, indirect=["beside"])
@pytest.mark.parametrize("before", ["", "require('transformers');"])
def test_what_needs_torchvision_names_the_misfit_with_what_to_do(
    beside: dict[str, str], reason: str, before: str, tmp_path: Path
) -> None:
    """Also after transformers was told that there is none."""
    code = f"from brittle._optional import require; {before} require('torchvision')"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=beside, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    for named in ("ImportError", "torchvision 0.99.0", "torch 2", reason, "pip uninstall torchvision"):
        assert named in last
