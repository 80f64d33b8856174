"""Files that several write at once, what is left of those that did not end well, and what names become files."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle._io import atomic_write, create, file_name, is_complete, set_aside
from brittle._parts import part, stale_parts, sweep
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import load_dataset, write_arrays
from brittle.datasets.dataset import Dataset
from brittle.evaluation.inputs import decode
from tests.errors import naming

REAL_FSYNC = os.fsync  # as the module is collected; during tests it does nothing

WRITER = """
import sys, time
from pathlib import Path
from brittle._io import atomic_write

place, ready = Path(sys.argv[1]), Path(sys.argv[3])
(ready / sys.argv[2]).touch()
while len(list(ready.iterdir())) < 2:
    time.sleep(0.01)
for turn in range(40):
    with atomic_write(place) as part:
        with part.open("w") as file:
            for _ in range(50):
                file.write(sys.argv[2] * 1000)
                file.flush()
"""


def test_two_processes_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    place, ready = tmp_path / "shared.txt", tmp_path / "ready"
    ready.mkdir()
    command = [sys.executable, "-c", WRITER, str(place)]
    writers = [subprocess.Popen([*command, letter, str(ready)], stderr=subprocess.PIPE, text=True) for letter in "ab"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if place.is_file():
            seen.add(place.read_text())
        time.sleep(0.01)
    assert [(writer.wait(), writer.communicate()[1]) for writer in writers] == [(0, ""), (0, "")]
    assert (seen | {place.read_text()}) <= {letter * 50_000 for letter in "ab"}
    assert sorted(tmp_path.iterdir()) == [ready, place]


def test_two_writers_of_one_process_have_places_of_their_own(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "a") as outer:
        outer.write_text("outer")
        with atomic_write(tmp_path / "a") as inner:
            inner.write_text("inner")
        assert (tmp_path / "a").read_text() == "inner"
    assert (tmp_path / "a").read_text() == "outer"


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_write(tmp_path / "a") as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not list(tmp_path.iterdir())


def dead_process() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_parts_of_the_dead_are_swept_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    living = part(tmp_path / "images [1].npy")
    dead = living.with_name(living.name.replace(f"-{os.getpid()}-", f"-{dead_process()}-"))
    elsewhere = [
        tmp_path / f".images.npy.{machine}-{os.getpid()}-00000000.part" for machine in ("00000000", "ffffffff")
    ]
    unnamed = [tmp_path / f".{name}.part" for name in ("a.00000000", "b.00000000")]
    others = [tmp_path / name for name in ("notes.part", ".cifar.tar.gz.part", ".film.part")]  # of downloads
    for file in (living, dead, *others, *elsewhere, *unnamed):
        file.touch()
    for file in (living, *others, elsewhere[0], unnamed[0]):
        os.utime(file, (1, 1))  # long ago, or the clock is far ahead
    assert sweep(tmp_path) == sorted((dead, elsewhere[0], unnamed[0]))
    assert sorted(tmp_path.iterdir()) == sorted((living, *others, elsewhere[1], unnamed[1]))


def test_a_folder_that_is_gone_or_cannot_be_listed_has_nothing_stale(tmp_path: Path) -> None:
    assert stale_parts(tmp_path / "gone") == []


def test_what_is_set_aside_keeps_its_content_under_a_new_name(tmp_path: Path) -> None:
    names = []
    for content in ("first", "second"):
        (tmp_path / "run.toml").write_text(content)
        names.append(set_aside(tmp_path / "run.toml").name)
    assert names == ["run.toml.damaged", "run.toml.2.damaged"]
    assert [(tmp_path / name).read_text() for name in names] == ["first", "second"]


@pytest.mark.parametrize("large", ["decoded", "arrays"])
def test_large_files_are_swept_before_they_are_written(tmp_path: Path, large: str) -> None:
    data = load_dataset("demo").subset(range(3))
    name = "images.npy" if large == "decoded" else "fog.npy"
    left = part(tmp_path / name)
    left = left.with_name(left.name.replace(f"-{os.getpid()}-", f"-{dead_process()}-"))
    left.touch()
    if large == "decoded":
        decode(data, tmp_path)
    else:
        images = np.stack([data.image(i) for i in range(3)])
        recipe = Benchmark("one", (Entry("fog", (1,)),))
        write_arrays(images, tmp_path, recipe, workers=1)
    assert not list(tmp_path.glob(".*"))
    assert (tmp_path / name).is_file()


def test_images_of_different_sizes_leave_no_half_array(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = [rng.integers(0, 255, (side, side, 3), dtype=np.uint8) for side in (8, 9)]
    data = Dataset("odd", sizes.__getitem__, range(2), content=str, labels=[0, 1], classes="ab")
    with pytest.raises(BrittleError, match=naming("'odd'", "(9, 9, 3)", "(8, 8, 3)", "prepare='imagenet'")):
        decode(data, tmp_path)
    assert not list(tmp_path.iterdir())


def record(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the system is asked to flush and rename, in order: ("fsync", a file's name) or ("replace", the new name)."""
    seen: list[tuple[str, str]] = []
    real_replace = os.replace

    def fsync(descriptor: int) -> None:
        seen.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        REAL_FSYNC(descriptor)

    def replace(source: str, target: str) -> None:
        if "brittle" not in Path(target).parts:  # where compiled loops are kept
            seen.append(("replace", Path(target).name))
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    return seen


def test_the_content_is_on_disk_before_the_name_and_the_name_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = record(monkeypatch)
    with atomic_write(tmp_path / "a.toml") as part:
        part.write_text("a = 1\n")
    assert seen == [("fsync", part.name), ("replace", "a.toml"), ("fsync", tmp_path.name)]


def test_every_file_of_a_run_is_flushed_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brittle.evaluation import evaluate
    from brittle.models import from_callable

    seen = record(monkeypatch)
    model = from_callable(lambda x: np.eye(10)[x.mean((1, 2, 3)).astype(int) // 26], name="mean")
    recipe = Benchmark("one", (Entry("imagenet-c/contrast", (1,)),))
    evaluate(model, load_dataset("demo").subset(range(3)), recipe, tmp_path / "run")
    named = {path.name for path in (tmp_path / "run").rglob("*") if path.is_file()}
    for place, (what, name) in enumerate(seen):
        if what == "replace":
            before, after = seen[place - 1], seen[place + 1]
            assert before[0] == after[0] == "fsync"
            assert before[1].startswith(f".{name}.")
            named.discard(name)
    assert named == {"run.toml"}  # which is linked to its name, not renamed
    assert any(what == "fsync" and name.startswith(".run.toml.") for what, name in seen)


def test_of_several_creators_one_wins(tmp_path: Path) -> None:
    assert create(tmp_path / "a", "first")
    assert not create(tmp_path / "a", "second")
    assert (tmp_path / "a").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_system_without_links_still_has_one_winner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert create(tmp_path / "a", "first")
    assert not create(tmp_path / "a", "second")
    assert (tmp_path / "a").read_text() == "first"


NAMES = [
    "fog",
    "Fog",
    "FOG",
    "a/b",
    "a.b",
    "a_b",
    "a-b",
    "a b",
    "a\x00b",
    "a\nb",
    "../../etc",
    "/etc/passwd",
    "..",
    ".",
    "",
]
NAMES += [
    "-rf",
    "ü",
    "u\u0308",
    "\ud800",
    "x" * 300,
    "x" * 301,
    "X" * 300,
    "a\\b",
    "con:",
    "a*?[b]",
    "~",
    "a~1",
    "a/b/c",
]


def test_every_name_is_a_harmless_file_and_no_two_the_same(tmp_path: Path) -> None:
    files = [file_name(name) for name in NAMES]
    assert len({file.lower() for file in files}) == len(NAMES)
    for file in files:
        assert file.isascii()
        assert "/" not in file
        assert file[0] not in ".-"
        assert len(file) <= 100
        with atomic_write(tmp_path / f"{file}.txt") as part:
            part.write_text(file)
    assert len(list(tmp_path.iterdir())) == len(NAMES)
    assert file_name("imagenet-c/fog") == "imagenet-c.fog"


def whole_files(folder: Path) -> list[Path]:
    """A good file of each format that is asked whether it is whole."""
    import polars as pl
    import torch
    from PIL import Image
    from safetensors.torch import save_file

    pixels = np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8)
    for name in ("a.JPEG", "a.jpg", "a.png"):
        Image.fromarray(pixels).save(folder / name)
    np.save(folder / "a.npy", pixels)
    pl.DataFrame({"a": range(1000)}).write_parquet(folder / "a.parquet")
    (folder / "a.json").write_text('{"a": [1, 2]}')
    (folder / "a.toml").write_text("a = 100\n")
    save_file({"a": torch.ones(50)}, folder / "a.safetensors", metadata={"b": "c"})
    torch.save({"a": torch.ones(50)}, folder / "a.pt")
    return sorted(folder.iterdir())


def test_empty_and_cut_files_are_not_whole(tmp_path: Path) -> None:
    files = whole_files(tmp_path)
    assert len(files) == 9
    for path in files:
        content = path.read_bytes()
        assert is_complete(path), path
        for size in (0, 1, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:size])
            assert not is_complete(path), (path, size)
        path.write_bytes(bytes(len(content)))
        assert not is_complete(path), f"{path} of zeros"
    assert not is_complete(tmp_path / "missing.toml")
