"""Every kind of file of a run's folder, damaged in every way: what a report and the next run make of it."""

import io
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle._io import DamagedFile
from brittle._types import Image
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import registry
from brittle.corruptions.images import Draws
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels
from brittle.evaluation import check_run, evaluate, load_failure_points, load_results, search_failure_points
from brittle.models import from_callable
from brittle.report import write_report
from tests.errors import naming
from tests.evaluation.test_run_folders import by_mean, rows, squares


@pytest.fixture(scope="module", autouse=True)
def brighter() -> Iterator[None]:
    """A corruption of one's own, whose code a run's folder describes; known in this module only."""

    @corruption(family="noise", source="damage-test", step=levels(10, 20, clean=0))
    def brighter(image: Image, rng: Draws, *, step: float) -> Image:  # noqa: ARG001
        """Brighter."""
        return np.minimum(image.astype(np.int64) + int(step), 255).astype(np.uint8)

    yield
    del registry._by_id["damage-test/brighter"]


def run(folder: Path) -> pl.DataFrame:
    model = from_callable(by_mean, name="mean")
    recipe = Benchmark("damage", (Entry("imagenet-c/contrast", (1,)), Entry("damage-test/brighter", (2,))))
    evaluate(model, squares(), recipe, folder, batch_size=32, threads=1)
    return search_failure_points(model, squares(), recipe, folder, tolerance=1, batch_size=32, threads=1)


def report(folder: Path, page: Path) -> None:
    write_report(load_results(folder), page)
    load_failure_points(folder)


@pytest.fixture(scope="module")
def finished(brighter: None, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    folder = tmp_path_factory.mktemp("damage") / "run"
    run(folder)
    (folder / "command.toml").write_text('command = "run"\n')
    return folder


FILES = {
    "run.toml": "run.toml",
    "images.json": "images.json",
    "images.npy": "images.npy",
    "command.toml": "command.toml",
    "corruptions.json": "corruptions.json",
    "recipes": "recipes/*.toml",
    "models": "models/*.toml",
    "calls": "calls/*.json",
    "clean cell": "cells/*/clean.parquet",
    "corrupted cell": "cells/*/*contrast*.parquet",
    "failure points": "failure-points/*/*contrast*.parquet",
    "recipe of failure points": "failure-points/*.toml",
}


def garble(content: bytes) -> bytes:
    """A quarter in the middle is overwritten."""
    start, count = len(content) // 3, len(content) // 4
    return content[:start] + (bytes(range(1, 256)) * (count // 255 + 1))[:count] + content[start + count :]


def foreign(path: Path) -> bytes:
    """A good file of the same format that another program wrote."""
    if path.suffix == ".json":
        return b'[1, "x"]'
    if path.suffix == ".toml":
        return b'[tool]\nname = "x"\n'
    stream = io.BytesIO()
    if path.suffix == ".npy":
        np.save(stream, np.zeros((3, 2), np.float32))
    else:
        pl.DataFrame({"a": [1, 2]}).write_parquet(stream)
    return stream.getvalue()


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").touch()


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


WAYS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "garbled": lambda path: path.write_bytes(garble(path.read_bytes())),
    "foreign": lambda path: path.write_bytes(foreign(path)),
    "nested": lambda path: path.write_bytes(b"a = " * (path.suffix == ".toml") + b"[" * 5000),
    "missing": lambda path: path.unlink(),
    "folder": as_folder,
    "pipe": as_pipe,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", FILES)
def test_a_report_is_drawn_or_says_why_and_the_next_run_sets_it_right(
    finished: Path, tmp_path: Path, kind: str, way: str
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    path = sorted(folder.glob(FILES[kind]))[0]
    WAYS[way](path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if kind == "run.toml":
            with pytest.raises(FileNotFoundError, match=r"run\.toml"):
                report(folder, tmp_path / "first.html")
        else:
            report(folder, tmp_path / "first.html")
        if kind.startswith("images"):
            next(folder.glob("cells/*/clean.parquet")).unlink()  # so that they are needed
        found = run(folder)
    assert all(issubclass(one.category, DamagedFile) for one in told)
    if way != "missing" and kind != "command.toml":  # which only the command line writes
        assert any(path.name in str(one.message) for one in told)
    if kind == "calls":
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)  # a lost record is not made again
    assert rows(folder).equals(rows(finished))
    by = ["corruption", "sample"]
    assert found.sort(by).equals(load_failure_points(finished).sort(by))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedFile)
        report(folder, tmp_path / "second.html")
    assert load_results(folder).benchmarks() == load_results(finished).benchmarks()


def test_one_flipped_bit_of_a_cell_is_seen(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    path = next(folder.glob("cells/*/clean.parquet"))
    content = path.read_bytes()
    for place in range(0, len(content), 97):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.warns(DamagedFile, match="clean"):
            assert "clean" not in {cell.corruption for cell in load_results(folder).cells}


def test_pixels_that_changed_on_disk_are_read_again(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    content = bytearray((folder / "images.npy").read_bytes())
    content[-1] ^= 255
    (folder / "images.npy").write_bytes(content)
    shutil.rmtree(folder / "cells")
    with pytest.warns(DamagedFile, match=r"images\.npy"):
        run(folder)
    assert rows(folder).equals(rows(finished))


def test_a_folder_that_is_removed_midway_stops_the_run_at_the_next_cell(tmp_path: Path) -> None:
    folder, shown = tmp_path / "run", []

    def remove(images: np.ndarray) -> np.ndarray:
        shown.append(len(images))
        if len(shown) == 1:
            shutil.rmtree(folder)
        return by_mean(images)

    many = Benchmark("many", (Entry("imagenet-c/contrast", (1, 2, 3, 4, 5)),))
    with pytest.raises(FileNotFoundError, match=r"run\.toml.*run it again"):
        evaluate(from_callable(remove, name="remover", version="1"), squares(), many, folder, batch_size=32, threads=1)
    assert not folder.exists()
    assert len(shown) <= 4  # the first cell, and what was drawn ahead


def test_cells_that_are_removed_midway_stop_the_run_too(tmp_path: Path) -> None:
    folder, shown = tmp_path / "run", []

    def remove(images: np.ndarray) -> np.ndarray:
        shown.append(len(images))
        if len(shown) == 3:
            shutil.rmtree(folder / "cells")
        return by_mean(images)

    many = Benchmark("many", (Entry("imagenet-c/contrast", (1, 2, 3, 4, 5)),))
    with pytest.raises(FileNotFoundError, match=r"cells.*run it again"):
        evaluate(from_callable(remove, name="remover", version="1"), squares(), many, folder, batch_size=32, threads=1)


def test_a_record_that_cannot_be_written_at_the_end_is_lost_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def remove(images: np.ndarray) -> np.ndarray:
        shutil.rmtree(folder / "calls", ignore_errors=True)
        return by_mean(images)

    with pytest.warns(DamagedFile, match="cannot be written"):
        evaluate(from_callable(remove, name="remover"), squares(), folder=folder, batch_size=32)
    assert len(rows(folder)) == 20


def test_a_fork_that_a_model_makes_and_ends_leaves_the_run_alone(tmp_path: Path) -> None:
    command, root = [sys.executable, "-c", FORKS, str(tmp_path / "run")], Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.stdout.split() == ["child", "20"], done.stderr


FORKS = """
import os, sys
from brittle.evaluation import evaluate
from brittle.models import from_callable
from tests.evaluation.test_run_folders import by_mean, squares

def model(images):
    child = os.fork()
    if not child:
        raise SystemExit
    os.waitpid(child, 0)
    return by_mean(images)

try:
    results = evaluate(from_callable(model, name="forks"), squares(), folder=sys.argv[1], batch_size=32, threads=1)
except BaseException:
    print("child", flush=True)
    os._exit(0)
print(len(results.rows.collect()))
"""


@pytest.mark.parametrize("name", ["cells", "calls", "models", "recipes", "failure-points", "sequences", "streams"])
@pytest.mark.parametrize("way", ["file", "itself", "pipe"])
def test_what_stands_in_the_place_of_a_folder_is_told_and_set_aside(
    finished: Path, tmp_path: Path, name: str, way: str
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    shutil.rmtree(folder / name, ignore_errors=True)
    {
        "file": lambda: (folder / name).touch(),
        "itself": lambda: (folder / name).symlink_to(name),
        "pipe": lambda: os.mkfifo(folder / name),
    }[way]()
    assert [one.path for one in check_run(folder).findings if one.kind == "damage"] == [name]
    with pytest.warns(DamagedFile, match=naming(name)):
        run(folder)
    assert rows(folder).equals(rows(finished))
    assert check_run(folder).sound


@pytest.mark.parametrize("text", ["data = 1\n", "", "cells = 5\n", "itself"])
def test_a_record_of_a_run_that_is_no_text_of_ours_is_written_again(finished: Path, tmp_path: Path, text: str) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    path = folder / "run.toml"
    if text == "itself":
        path.unlink()
        path.symlink_to("run.toml")
    else:
        path.write_text(text + path.read_text().replace("data = ", "date = ") if text.startswith("data") else text)
    if text.startswith("cells"):
        path.write_text(text + (finished / "run.toml").read_text())
    assert not check_run(folder).sound
    with pytest.warns(DamagedFile, match=naming("run.toml")):
        run(folder)
    assert rows(folder).equals(rows(finished))


def test_a_record_with_a_wrong_time_is_lost_and_nothing_else(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    path = sorted((folder / "calls").glob("*.json"))[0]
    path.write_text(path.read_text().replace("20", "2>", 1))  # found by fuzzing: one bit of a digit
    with pytest.warns(DamagedFile, match=path.name):
        report(folder, tmp_path / "report.html")
