"""Files that several write at once, and what is left of those that did not end well."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import load_dataset, write_arrays
from brittle.datasets.atomic import replacing, sweep
from brittle.datasets.dataset import Dataset
from brittle.evaluation.decode import decode

WRITER = """
import sys, time
from pathlib import Path
from brittle.datasets.atomic import replacing

place, ready = Path(sys.argv[1]), Path(sys.argv[3])
(ready / sys.argv[2]).touch()
while len(list(ready.iterdir())) < 2:
    time.sleep(0.01)
for turn in range(40):
    with replacing(place) as part:
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
    with replacing(tmp_path / "a") as outer:
        outer.write_text("outer")
        with replacing(tmp_path / "a") as inner:
            inner.write_text("inner")
        assert (tmp_path / "a").read_text() == "inner"
    assert (tmp_path / "a").read_text() == "outer"


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with replacing(tmp_path / "a") as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not list(tmp_path.iterdir())


def test_parts_of_the_dead_are_swept_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    place = tmp_path / "images [1].npy"
    dead, living, other = (tmp_path / f".{name}.part" for name in ("images [1].npy.00", "images [1].npy.11", "b.00"))
    for file in (dead, living, other):
        file.touch()
    for file in (dead, other):
        os.utime(file, (1, 1))
    sweep(place)
    assert sorted(tmp_path.iterdir()) == sorted((living, other))


@pytest.mark.parametrize("large", ["decoded", "arrays"])
def test_large_files_are_swept_before_they_are_written(tmp_path: Path, large: str) -> None:
    data = load_dataset("demo").subset(range(3))
    name = "images.npy" if large == "decoded" else "fog.npy"
    left = tmp_path / f".{name}.0.part"
    left.touch()
    os.utime(left, (1, 1))
    if large == "decoded":
        decode(data, tmp_path)
    else:
        images = np.stack([data.image(i) for i in range(3)])
        recipe = Benchmark("one", (Entry("fog", (1,)),))
        write_arrays(images, tmp_path, recipe, jobs=1)
    assert not list(tmp_path.glob(".*"))
    assert (tmp_path / name).is_file()


def test_images_of_different_sizes_leave_no_half_array(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = [rng.integers(0, 255, (side, side, 3), dtype=np.uint8) for side in (8, 9)]
    data = Dataset("odd", sizes.__getitem__, range(2), content=str, labels=[0, 1], classes="ab")
    with pytest.raises(ValueError, match="bring all images to one size"):
        decode(data, tmp_path)
    assert not list(tmp_path.iterdir())
