"""The command line as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image as Pil
from typer.testing import CliRunner

from brittle import __version__
from brittle.cli import app
from brittle.datasets import photo
from tests.errors import unnamed


def _brittle(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "brittle", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_help_and_version_load_nothing_heavy() -> None:
    check = "import sys, brittle.cli; print({'numba', 'cv2', 'PIL', 'rich', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "set()\n"
    assert _brittle("--version").stdout == f"brittle {__version__}\n"


@pytest.mark.parametrize("verb", [(), ("list",), ("show",), ("corrupt",)])
def test_help_has_examples(verb: tuple[str, ...]) -> None:
    result = _brittle(*verb, "--help")
    assert result.returncode == 0
    assert "Examples" in result.stdout
    assert f"brittle {' '.join(verb)}".rstrip() in result.stdout.partition("Examples")[2]


def test_a_mistake_is_a_sentence_and_its_traceback_is_there_for_those_who_ask() -> None:
    result = _brittle("list", "fgo")
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert "Traceback" in _brittle("--traceback", "list", "fgo").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_leaves_only_complete_files_and_the_run_can_go_on(tmp_path: Path, workers: int) -> None:
    source, out = tmp_path / "src", tmp_path / "out"
    source.mkdir()
    for number in range(150):
        Pil.fromarray(photo(size=224)).save(source / f"{number}.jpg")
    arguments = ["corrupt", source, out, "-c", "fog,snow", "-s", "1,2", "-j", workers]
    command = [sys.executable, "-m", "brittle", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 90
    while len(list(out.rglob("*.JPEG"))) < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    left = [path for path in out.rglob("*") if path.is_file()]
    assert {path.suffix for path in left} <= {".JPEG", ".toml"}
    pictures = [path for path in left if path.suffix == ".JPEG"]
    assert 5 <= len(pictures) <= 600
    for path in pictures:
        with Pil.open(path) as picture:
            picture.load()
    again = _brittle(*arguments)
    assert again.returncode == 0, again.stderr
    assert f"{600 - len(pictures)}  pictures written" in again.stdout


def test_corruptions_of_ones_own_are_known_to_every_verb(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import numpy as np\n"
        "from brittle.corruptions import corruption, levels\n"
        '@corruption(family="colour", source="mine", amount=levels(10, 20, 30, 40, 50, clean=0))\n'
        "def redden(image, rng, *, amount):\n"
        '    """Add red."""\n'
        "    return np.clip(image + np.array([amount, 0, 0]), 0, 255).astype(np.uint8)\n"
    )
    listed = _brittle("--import", tmp_path / "own.py", "list", "redden")
    assert listed.returncode == 0, listed.stderr
    assert "Add red." in listed.stdout
    missing = _brittle("--import", "nowhere.py", "list")
    assert missing.returncode == 2
    assert unnamed(missing.stderr, "--import", "'nowhere.py'") == []


def test_our_own_mistakes_keep_their_traceback_and_say_how_to_report_them(monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("a slip of ours")

    monkeypatch.setattr("brittle.list_benchmarks", broken)
    done = CliRunner().invoke(app, ["list"])
    assert done.exit_code == 1
    assert "Traceback" in done.stderr
    assert "KeyError: 'a slip of ours'" in done.stderr
    assert "report" in done.stderr


def test_an_error_that_is_not_a_users_is_not_told_as_if_it_were(monkeypatch) -> None:
    """A ValueError of NumPy, say, is ours: nobody typed anything wrong."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError("operands could not be broadcast together")

    monkeypatch.setattr("brittle.list_benchmarks", broken)
    done = CliRunner().invoke(app, ["list"])
    assert done.exit_code == 1
    assert "Traceback" in done.stderr


def test_what_a_user_got_wrong_is_one_sentence_and_code_two() -> None:
    done = CliRunner().invoke(app, ["show", "-c", "fogg"])
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert "fogg" in done.stderr
    assert "fog" in done.stderr


def test_errors_have_one_class_which_is_a_value_error() -> None:
    import brittle

    with pytest.raises(brittle.BrittleError) as caught:
        brittle.get_corruption("fogg")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(brittle.BrittleError) as caught:
        brittle.corrupt("no image", "fog", 1)
    assert isinstance(caught.value, TypeError)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder that not even root can write to")
def test_a_folder_that_takes_no_files_is_named_and_not_the_file_that_was_tried_first() -> None:
    result = CliRunner().invoke(app, ["show", "--corruption", "contrast", "-o", "/proc/sheet.png"])
    assert result.exit_code == 2
    assert unnamed(result.stderr, "'/proc'", "choose another folder") == []
    assert ".part" not in result.stderr
