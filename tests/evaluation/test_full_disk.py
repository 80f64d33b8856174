"""A disk that is full is one sentence, and what was finished stays and is resumed; tried on a small file system."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

MOUNT = ["unshare", "--user", "--map-root-user", "--mount"]

SCRIPT = """
mount -t tmpfs -o size={size}k tmpfs {place} || exit 77
cd {place}
{brittle} {command}
echo "code $?"
find . -name '*.part' | sed 's/^/left /'
mount -o remount,size=64m {place}
{brittle} {command} > again.log 2>&1
echo "again $?"
"""

BRITTLE = f"{sys.executable} -m brittle -q"
COMMANDS = {
    "images of a run": (300, "run -m {model}:load -d {data} -c contrast -s 1 -o run"),
    "cells of a run": (508, "run -m {model}:load -d {data} -c contrast,fog -s 1,2,3,4,5 -o run"),
    "weights": (40, "augment train -d {photos} --network small:4 --epochs 1 -o small.safetensors"),
    "arrays": (500, "corrupt {data} out -c contrast -s 1,2 -j 1"),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_a_full_disk_is_one_sentence_and_the_command_is_resumed(tmp_path: Path, what: str) -> None:
    size, command = COMMANDS[what]
    place, model, data = tmp_path / "small", tmp_path / "model.py", tmp_path / "data.npz"
    place.mkdir()
    model.write_text("import numpy as np\ndef load():\n    return lambda x: np.eye(2)[[0] * len(x)]\n")
    rng = np.random.default_rng(0)
    np.savez(data, images=rng.integers(0, 256, (150, 32, 32, 3), np.uint8), labels=np.arange(150) % 2)
    for part, name, number in product(("train", "val"), ("cat", "dog"), range(4)):
        (tmp_path / "photos" / part / name).mkdir(parents=True, exist_ok=True)
        Pil.fromarray(rng.integers(0, 256, (32, 32, 3), np.uint8)).save(
            tmp_path / "photos" / part / name / f"{number}.png"
        )
    command = command.format(model=model, data=data, photos=tmp_path / "photos")
    script = SCRIPT.format(size=size, place=place, brittle=BRITTLE, command=command)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*MOUNT, "sh", "-c", script], capture_output=True, text=True, env=environment)
    if done.returncode in (1, 77) and "code" not in done.stdout:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
    assert "code 2" in done.stdout, done.stderr
    assert "again 0" in done.stdout, done.stdout
    assert "left" not in done.stdout
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr
