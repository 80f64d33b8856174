"""`check_run`: what is wrong with a run's folder is found, and set right."""

import os
import shutil
from pathlib import Path

import pytest

from brittle._errors import BrittleError
from brittle._io import DamagedFile, Presence
from brittle.benchmarks import Benchmark, Entry
from brittle.evaluation import check_run, evaluate
from tests.evaluation.test_run_folders import RECIPE, model, rows, squares


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor") / "run"
    evaluate(model(), squares(), RECIPE, folder)
    return folder


def kinds(folder: Path) -> dict[str, str]:
    return {one.path: one.kind for one in check_run(folder).findings}


def test_a_finished_run_is_sound(finished: Path) -> None:
    health = check_run(finished)
    assert health.sound
    assert health.findings == ()
    assert (health.data, health.models, health.cells, health.rows) == ("squares", 1, 4, 80)


def test_a_folder_of_something_else_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.toml").touch()  # of another program, and not to be renamed
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(FileNotFoundError, match=folder.name):
            check_run(folder)


def test_damage_is_told_and_set_aside_and_the_next_run_makes_it_again(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    clean, first, second, noise = sorted(folder.glob("cells/*/*.parquet"))
    clean.write_bytes(b"")
    first.write_bytes(noise.read_bytes())  # whole, and of another cell
    (folder / "notes.txt").write_text("mine")
    left = second.with_name(f".{second.name}.00000000-1-00000000.part")
    left.touch()
    os.utime(left, (1, 1))
    found = kinds(folder)
    assert {path for path, kind in found.items() if kind == "damage"} == {
        path.relative_to(folder).as_posix() for path in (clean, first)
    }
    assert found[left.relative_to(folder).as_posix()] == "leftover"
    assert found["notes.txt"] == "note"
    assert clean.exists()
    assert left.exists()  # without fix nothing is changed
    fixed = check_run(folder, fix=True)
    assert fixed.sound
    assert not left.exists()
    assert clean.with_name("clean.parquet.damaged").exists()
    assert (folder / "notes.txt").read_text() == "mine"
    evaluate(model(), squares(), RECIPE, folder)
    assert rows(folder).equals(rows(finished))
    assert check_run(folder).sound


@pytest.mark.parametrize("name", ["run.toml", "images.json", "images.npy", "models/*.toml", "recipes/*.toml"])
def test_small_files_are_examined_too(finished: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    path = next(folder.glob(name))
    path.write_bytes(path.read_bytes()[:-2])
    assert kinds(folder)[path.relative_to(folder).as_posix()] == "damage"
    assert check_run(folder, fix=True).sound
    evaluate(model(), squares(), RECIPE, folder)
    assert rows(folder).equals(rows(finished))


def test_cells_of_other_data_and_cells_with_too_few_rows_are_damage(finished: Path, tmp_path: Path) -> None:
    folder, other = shutil.copytree(finished, tmp_path / "run"), tmp_path / "other"
    evaluate(model(), squares(2), RECIPE, other)
    stranger = next(other.glob("cells/*/clean.parquet"))
    shutil.copy(stranger, next(folder.glob("cells/*/clean.parquet")))
    assert "damage" in kinds(folder).values()
    fewer = tmp_path / "fewer"
    evaluate(model(), squares(count=10), RECIPE, fewer)
    (fewer / "images.json").unlink()
    for name in ("images.json", "images.npy"):
        shutil.copy(finished / name, fewer / name)
    assert kinds(fewer)["images.json"] == "damage"


def test_a_run_that_a_process_works_on_is_not_fixed(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    next(folder.glob("cells/*/clean.parquet")).write_bytes(b"")
    working = Presence(folder / "run.toml")
    with pytest.raises(BrittleError, match=str(folder)):
        check_run(folder, fix=True)
    working.close()
    assert check_run(folder, fix=True).sound


def test_missing_cells_are_a_note(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    next(folder.glob("cells/*/*noise*")).unlink()
    health = check_run(folder)
    assert health.sound
    assert [(one.kind, "1 of 4" in one.problem) for one in health.findings] == [("note", True)]


def test_a_damaged_file_that_is_read_only_warns(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    next(folder.glob("cells/*/*noise*")).write_bytes(b"PAR1PAR1PAR1")
    with pytest.warns(DamagedFile, match="noise"):
        rows(folder)
    assert not check_run(folder).sound


def test_cells_whose_severity_is_drawn_from_a_range_are_sound(tmp_path: Path) -> None:
    recipe = Benchmark("drawn", (Entry("noc/circle", ((0.66, 5),)), Entry("noc/rain", ((0.47, 3.91),))))
    evaluate(model(), squares(), recipe, tmp_path / "run")
    assert check_run(tmp_path / "run").sound
    circle, rain = sorted((tmp_path / "run").glob("cells/*/noc*.parquet"))
    circle.write_bytes(rain.read_bytes())
    assert [one.path for one in check_run(tmp_path / "run").findings if one.kind == "damage"] == [
        circle.relative_to(tmp_path / "run").as_posix()
    ]
