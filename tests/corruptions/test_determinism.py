"""The same pixels for any order, thread, process, Python and CPU."""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle.datasets import photo

ALL = [c.id for c in brittle.list_corruptions()]
GOLDEN = Path(__file__).parent / "golden.json"
SIDES = (32, 64, 224, 299)

PRINT_DIGESTS = "import tests.corruptions.test_determinism as t; t.print_digests()"
OLD_CPU = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "OPENCV_CPU_DISABLE": "SSE4.1,SSE4.2,POPCNT,AVX,FP16,AVX2,FMA3,AVX512-COMMON,AVX512-SKX,AVX512-CNL,AVX512-ICL",
    "OPENCV_IPP": "disabled",
}


@cache
def digest(name: str, side: int) -> str:
    """One digest over three severities; the severity between two levels is part of the promise too."""
    image = photo("cat", side)
    outs = [brittle.corrupt(image, name, severity, seed=1, sample="golden") for severity in (1, 3.5, 5)]
    return hashlib.sha256(np.stack(outs).tobytes()).hexdigest()[:16]


def digests() -> dict[str, str]:
    return {f"{name} {side}": digest(name, side) for name in ALL for side in SIDES}


def write_digests() -> None:
    """Draw the golden digests anew, after a deliberate change of pixels or with a new corruption."""
    GOLDEN.write_text(json.dumps(digests(), indent=0) + "\n")


def print_digests() -> None:
    print(json.dumps(digests(), indent=0))


def write_pixels(path: str) -> None:
    """Everything once, on a photograph of an unpublished size that is large enough for the wide blurs."""
    image = np.ascontiguousarray(photo("coffee", 500)[:440])
    np.savez(path, **{name.replace("/", "."): brittle.corrupt(image, name, 5, sample=3) for name in ALL})


def in_another_process(**environment: str) -> dict[str, str]:
    return json.loads(_run(PRINT_DIGESTS, **environment))


def _run(code: str, **environment: str) -> str:
    folder, everything = Path(__file__).parents[2], {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=everything, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("name", ALL)
def test_golden_digests(name: str) -> None:
    golden = json.loads(GOLDEN.read_text())
    for side in SIDES:
        assert digest(name, side) == golden[f"{name} {side}"], f"{name} draws other pixels at {side} px than it did"


def test_another_process_draws_the_same() -> None:
    assert in_another_process(PYTHONHASHSEED="12345") == digests()


def test_another_cpu_draws_the_same(tmp_path: Path) -> None:
    """An old CPU, imitated: Numba compiles for plain x86-64 and OpenCV leaves out its vector code.

    At sizes without a published table some go through OpenCV's resizing, and are at most one grey level apart.
    """
    old = tmp_path / "old.npz"
    code = f"import tests.corruptions.test_determinism as t; t.print_digests(); t.write_pixels({str(old)!r})"
    digests_there = json.loads(_run(code, **OLD_CPU, NUMBA_CACHE_DIR=str(tmp_path)))  # compiles all: once for both
    assert {key for key, value in digests().items() if digests_there[key] != value} == set()
    write_pixels(str(tmp_path / "new.npz"))
    before, now = np.load(old), np.load(tmp_path / "new.npz")
    worst = {name: int(np.abs(before[name].astype(int) - now[name]).max()) for name in now}
    assert {name: gap for name, gap in worst.items() if gap > 1} == {}


@pytest.mark.parametrize("name", ALL)
def test_threads_and_order_do_not_matter(name: str) -> None:
    images = [photo(each, 48) for each in ("cat", "coffee")] * 6
    jobs = [(image, sample, severity) for sample, image in enumerate(images) for severity in (1, 2.5, 5)]

    def work(job: tuple[np.ndarray, int, float]) -> bytes:
        image, sample, severity = job
        return brittle.corrupt(image, name, severity, sample=sample).tobytes()

    alone = [work(job) for job in jobs]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, jobs)) == alone
    assert [work(job) for job in reversed(jobs)] == alone[::-1]


@pytest.mark.parametrize("name", ALL)
def test_global_randomness_is_neither_read_nor_written(name: str) -> None:
    image = photo("cat", 32)
    np.random.seed(0)  # noqa: NPY002
    one, state = brittle.corrupt(image, name, 3), np.random.get_state()[1].tobytes()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    np.testing.assert_array_equal(brittle.corrupt(image, name, 3), one)
    np.random.seed(0)  # noqa: NPY002
    assert np.random.get_state()[1].tobytes() == state  # noqa: NPY002


@pytest.mark.parametrize("name", ALL)
def test_seed_and_sample_each_change_the_draw(name: str) -> None:
    """Either there are no draws, and neither matters, or both of them do."""
    image = photo("cat", 64)
    seeds = {brittle.corrupt(image, name, 5, seed=seed, sample=0).tobytes() for seed in range(12)}
    samples = {brittle.corrupt(image, name, 5, seed=0, sample=sample).tobytes() for sample in range(12)}
    assert (len(seeds) > 1) == (len(samples) > 1)
