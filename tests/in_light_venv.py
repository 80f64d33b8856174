"""The built wheel, installed without extras in an environment of its own: `make light` runs this there."""

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from packaging.requirements import Requirement

import brittle
from brittle._optional import EXTRAS

ROOT = Path(__file__).parent.parent
INSTALLED = Path(brittle.__file__).parent
DISTRIBUTION = distribution("brittle")

FILES = {
    "py.typed": 1,
    "benchmarks/recipes/*.toml": 15,
    "corruptions/imagenet_c/frost_textures/*.jpg": 5,
    "datasets/demo_images/images.png": 1,
    "datasets/demo_images/samples.csv": 1,
    "datasets/photos/*.jpg": 2,
    "datasets/tables/*.csv": 2,
    "design/published/*.toml": 1,
    "metrics/published/*.csv": 30,
    "metrics/published/index.toml": 1,
    "models/demo_weights/*.safetensors": 2,
    "report/report.css": 1,
    "report/report.js": 1,
    "sliders/labelling_page.html": 1,
    "sliders/tiny_world/classifiers/*.safetensors": 4,
    "sliders/tiny_world/clip/model.safetensors": 1,
    "sliders/tiny_world/encoder/model.safetensors": 1,
    "sliders/tiny_world/pipeline/model_index.json": 1,
    "sliders/tiny_world/pipeline/*/*.safetensors": 3,
    "sliders/tiny_world/thresholds.json": 1,
    "training/augmentation/policies/*.csv": 2,
}
"""Files that are not code, and at least how many of each there are."""


def files_of(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def wheel() -> Path:
    """The file that was installed, as the installer noted it."""
    origin = json.loads(DISTRIBUTION.read_text("direct_url.json") or "{}")
    assert "archive_info" in origin, f"brittle was not installed from a file: {origin}"
    return Path(unquote(urlsplit(origin["url"]).path))


def test_the_wheel_and_not_the_checkout_is_tested() -> None:
    assert "site-packages" in INSTALLED.parts
    assert wheel().suffix == ".whl"
    assert DISTRIBUTION.version == brittle.__version__


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    assert files_of(INSTALLED) == files_of(ROOT / "src" / "brittle")
    recorded = {file.parts[0] for file in DISTRIBUTION.files or () if file.parts[0] != ".."}
    assert recorded == {"brittle", f"brittle-{brittle.__version__}.dist-info"}


@pytest.mark.parametrize(("pattern", "least"), FILES.items())
def test_files_that_are_not_code_are_in_the_wheel(pattern: str, least: int) -> None:
    files = list(INSTALLED.glob(pattern))
    assert len(files) >= least
    assert pattern == "py.typed" or all(file.stat().st_size for file in files)


def test_the_licences_travel_with_the_wheel() -> None:
    assert DISTRIBUTION.metadata["License-Expression"] == "Apache-2.0"
    listed = DISTRIBUTION.metadata.get_all("License-File") or []
    assert len(listed) == 5
    for name in listed:
        text = DISTRIBUTION.read_text(f"licenses/{name}")
        assert text == (ROOT / name).read_text(encoding="utf-8")


def test_the_documented_size_is_the_size() -> None:
    page = (ROOT / "docs" / "explanation" / "packaging.md").read_text(encoding="utf-8")
    documented = re.search(r"The wheel has \*\*([\d.]+) MB\*\*", page)
    assert documented
    size = wheel().stat().st_size / 1e6
    assert float(documented[1]) == pytest.approx(size, abs=0.3), "`make wheel` measures it again"


def test_extras_are_what_errors_about_missing_packages_say() -> None:
    requirements = [Requirement(text) for text in DISTRIBUTION.requires or ()]

    def packages(extra: str) -> set[str]:
        chosen = [r for r in requirements if r.marker and r.marker.evaluate({"extra": extra})]
        inner = {name for r in chosen if r.name == "brittle" for one in r.extras for name in packages(one)}
        return inner | {r.name for r in chosen if r.name != "brittle"}

    assert {extra: packages(extra) for extra in EXTRAS} == {extra: set(text.split()) for extra, text in EXTRAS.items()}
    assert packages("all") == {name for text in EXTRAS.values() for name in text.split()}


@pytest.mark.parametrize("command", ["brittle", "-m brittle"])
def test_the_command_says_its_version(command: str, tmp_path: Path) -> None:
    scripts = Path(sys.executable).parent
    call = [scripts / "brittle"] if command == "brittle" else [sys.executable, *command.split()]
    done = subprocess.run([*call, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["brittle", brittle.__version__]


def test_a_function_is_evaluated_and_reported_without_extras(tmp_path: Path) -> None:
    def by_brightness(images: np.ndarray) -> np.ndarray:
        return -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10))

    data = brittle.load_dataset("demo").limited(20)
    fog = brittle.load_benchmark("cifar10-c").cut(["fog"], severities=[3, 5])
    results = brittle.evaluate({"brightness": by_brightness}, data, fog, tmp_path / "run")
    assert results.rows.collect().height == 20 * 3
    results.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for asset in ("report.css", "report.js"):
        assert (INSTALLED / "report" / asset).read_text(encoding="utf-8").strip()[:200] in page
