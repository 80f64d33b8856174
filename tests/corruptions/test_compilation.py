"""Loops are compiled once, for one kind of arguments each, and kept for every process that comes later."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import brittle
from brittle.corruptions import compile_corruptions, corruption, registry, uncompiled
from tests.errors import naming

SOME = ("frost", "contrast", "impulse_noise", "imagenet-c/jpeg_compression", "noc/translation")

COMPILE = """
import json, sys
from brittle.corruptions import compile_corruptions, get_corruption, uncompiled

if __name__ == "__main__":
    seen = []
    missing = [each.id for each in uncompiled(map(get_corruption, sys.argv[2:]))]
    count = compile_corruptions(sys.argv[2:], workers=int(sys.argv[1]), progress=lambda *now: seen.append(now))
    left = [each.id for each in uncompiled(map(get_corruption, sys.argv[2:]))]
    print(json.dumps({"missing": missing, "count": count, "seen": seen, "left": left}))
"""

USE = """
import json, sys
import brittle
from brittle.datasets import photo
from numba.core.dispatcher import Dispatcher

names = sys.argv[1:] or [each.id for each in brittle.list_corruptions()]
for side in (32, 224):
    for name in map(brittle.get_corruption, names):
        for severity in (0.02, 1, 3.5, name.max_severity):
            brittle.corrupt(photo("cat", side), name, severity)
loops = {
    f"{module}.{name}": loop
    for module, content in list(sys.modules.items()) if module.startswith("brittle.corruptions")
    for name, loop in vars(content).items()
    if isinstance(loop, Dispatcher) and loop.py_func.__module__ == module
}
print(json.dumps({
    "signatures": {name: len(loop.signatures) for name, loop in loops.items() if loop.signatures},
    "loaded": sum(sum(loop.stats.cache_hits.values()) for loop in loops.values()),
    "compiled": sum(sum(loop.stats.cache_misses.values()) for loop in loops.values()),
}))
"""

SEVERAL = {
    "brittle.corruptions.kernels.arithmetic.add_scaled": 3,  # rows of bytes, of whole numbers and of real ones
    "brittle.corruptions.kernels.arithmetic._mix": 2,  # with a picture or with a field
    "brittle.corruptions.kernels.blur._separable": 2,  # of a picture or of a field
}


def run(script: Path, code: str, *arguments: str, **environment: str) -> dict[str, Any]:
    script.write_text(code)
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_compiled_is_only_loaded_later(jobs: int, tmp_path: Path) -> None:
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    first = run(tmp_path / "first.py", COMPILE, str(jobs), *SOME, **kept)
    assert first["missing"] == [brittle.get_corruption(name).id for name in SOME[:4]]  # a translation has none
    assert (first["count"], first["left"]) == (4, [])
    assert first["seen"] == sorted(first["seen"])
    assert first["seen"][-1] == [4, 4]
    later = run(tmp_path / "later.py", USE, *SOME, **kept)
    assert later["compiled"] == 0
    assert later["loaded"] >= 4


def test_each_loop_is_compiled_for_one_kind_of_arguments(tmp_path: Path) -> None:
    signatures = run(tmp_path / "use.py", USE)["signatures"]
    assert len(signatures) > 70  # and those that others hold, if those are compiled now
    assert {name: count for name, count in signatures.items() if count > SEVERAL.get(name, 1)} == {}


def test_where_nothing_can_be_kept_nothing_is_compiled_ahead(tmp_path: Path) -> None:
    nowhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}  # only for packages inside a .zip file
    done = run(tmp_path / "first.py", COMPILE, "2", *SOME, **nowhere)
    assert (done["missing"], done["count"]) == ([], 0)


def test_somebody_elses_corruption_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))

    @corruption(family="colour", source="mine")
    def never_drawn(image, rng):  # noqa: ARG001
        raise AssertionError

    theirs = brittle.get_corruption("mine/never_drawn")
    assert uncompiled([theirs]) == []
    assert compile_corruptions([theirs]) == 0


def test_a_number_of_processes_is_at_least_one() -> None:
    with pytest.raises(brittle.BrittleError, match=naming(0)):
        compile_corruptions(["fog"], workers=0)
