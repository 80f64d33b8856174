"""A world of untrained networks, and a slider with its images, made once by the command line."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from brittle.cli import app
from brittle.models.networks import build_network, save_trained
from brittle.sliders.demo_pipeline import CLASSIFIERS, DEMO_CLASSES, ORACLE
from brittle.sliders.filtering import write_thresholds
from tests.cli.slide.slide_cases import good, sample, train
from tests.sliders import tiny_world
from tests.sliders.cns_folder import NETS, cns_folder


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """The networks are too small to share."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world in the folders of the bundled one."""
    place = tmp_path_factory.mktemp("parts")
    tiny_world.pipeline().save_pretrained(place / "pipeline")
    tiny_world.save_clip(place / "clip")
    tiny_world.save_dino(place / "encoder")
    for seed, name in enumerate((*CLASSIFIERS, ORACLE)):
        network = build_network("small:4", 10, seed=seed)
        file = place / "classifiers" / f"{name}.safetensors"
        save_trained(network, file, "small:4", DEMO_CLASSES, (0.5,) * 3, (0.5,) * 3)
    write_thresholds({"CLIP_class": -100.0}, place / "thresholds.json", least=1)
    (place / "names.txt").write_text("".join(f"{name}\n" for name in DEMO_CLASSES))
    return place


@pytest.fixture(scope="session")
def made(parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slider and its images."""
    place = tmp_path_factory.mktemp("made")

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    good(train(run, parts, out=str(place / "sliders")))
    good(sample(run, parts, place / "sliders", out=str(place / "slides")))
    return place


@pytest.fixture
def slides(made: Path, folder: Path) -> Path:
    """A copy of them, in `sliders` and `slides`."""
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder / "slides"


@pytest.fixture
def cns(folder: Path) -> Path:
    """A folder of published slides, and models in `nets.py` that fail where they are told to."""
    (folder / "nets.py").write_text(NETS)
    return cns_folder(folder / "cns")
