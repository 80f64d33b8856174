"""Running the command line as a user would, and a folder of photographs to run it on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from PIL import Image as Pil
from typer.testing import CliRunner, Result

from brittle.cli import app
from brittle.datasets import photo
from tests.cli.design_cases import design_files
from tests.cli.distance_cases import distance_files

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call `brittle` with these arguments in a terminal of that width."""

    def call(*arguments: object, columns: int = 80) -> Result:
        monkeypatch.setenv("COLUMNS", str(columns))
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes of two photographs, and three files that are none."""
    folder = tmp_path / "photos"
    for name in ("cat", "coffee"):
        (folder / name).mkdir(parents=True)
        for size in (32, 48):
            Pil.fromarray(photo(name, size)).save(folder / name / f"{size} px.jpg")
    whole = (folder / "cat" / "48 px.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.jpg").touch()
    (folder / "text.jpg").write_text("not a picture")
    return folder


@pytest.fixture
def design_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with what the verbs that design a test need."""
    monkeypatch.chdir(tmp_path)
    design_files()
    return tmp_path


@pytest.fixture
def distance_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with what the verbs that measure distances need."""
    monkeypatch.chdir(tmp_path)
    distance_files()
    return tmp_path


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Tiny networks are slowed down by more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
