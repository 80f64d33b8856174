"""The batch size has a floor, follows processor time and memory, and does not follow noise."""

import time
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.evaluation import best_batch_size
from brittle.evaluation.cell import common_batch_size, least_batch_size
from brittle.models import from_callable, from_onnx, from_torch
from tests.errors import naming
from tests.models.graphs import write
from tests.models.networks import small_net

SHAPE = (4, 4, 3)


class Clock:
    """A clock that only batches move; `noise` says how much longer than its processor time a batch takes."""

    def __init__(self) -> None:
        self.now = self.busy = 0.0
        self.noise = lambda: 1.0

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.busy

    def spend(self, seconds: float) -> None:
        self.busy += seconds
        self.now += seconds * self.noise()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("brittle.evaluation.cell.time", clock)
    return clock


COSTS = [
    (lambda _: 0.02, 256, 256),  # a batch costs the same however large
    (lambda _: 0.02, 100, 64),
    (lambda _: 0.02, 5, 5),
    (lambda n: 0.004 * n, 256, 64),  # each image costs the same
    (lambda n: 0.02 * max(1, n / 128), 256, 128),  # 128 fit at once
    (lambda _: 0.4, 256, 64),  # a batch takes long enough
]


@pytest.mark.parametrize(("seconds", "limit", "expected"), COSTS)
def test_sizes_double_while_they_help(clock: Clock, seconds, limit: int, expected: int) -> None:
    def scores(images: np.ndarray) -> np.ndarray:
        clock.spend(seconds(len(images)))
        return images.mean((1, 2))

    assert best_batch_size(from_callable(scores, name="timed"), SHAPE, limit=limit) == expected


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_noise_does_not_decide(clock: Clock, device: str) -> None:
    """Each image costs the same; other programs take the processor for up to ten times as long, now and then."""
    draws = np.random.default_rng(0)

    class Model:
        name, key = "noisy", "0"

        def __init__(self) -> None:
            self.device = device

        def scores(self, images: np.ndarray) -> np.ndarray:
            clock.spend(1e-4 * len(images) * draws.uniform(0.95, 1.05))
            return images.mean((1, 2))

    often = 0.2 if device == "cuda" else 0.7  # the clock on the wall is all that a GPU has
    clock.noise = lambda: draws.uniform(1, 10) if draws.random() < often else 1.0
    answers = [best_batch_size(Model(), SHAPE) for _ in range(50)]
    assert set(answers) == {64} if device == "cpu" else answers.count(64) >= 45


def test_a_busy_machine_gives_the_same_answer() -> None:
    """Real time, with a model that is interrupted as on a machine with other work."""
    draws = np.random.default_rng(0)

    def scores(images: np.ndarray) -> np.ndarray:
        end = time.process_time() + 1e-4 * len(images)
        while time.process_time() < end:
            pass
        time.sleep(draws.uniform(0, 0.03))
        return images.mean((1, 2))

    assert {best_batch_size(from_callable(scores, name="busy"), SHAPE) for _ in range(5)} == {64}


@pytest.mark.parametrize(("side", "least"), [(4, 64), (64, 64), (65, 32), (256, 32), (257, 8)])
def test_larger_images_come_fewer_at_once_and_little_work_is_not_timed(side: int, least: int) -> None:
    def scores(images: np.ndarray) -> np.ndarray:
        raise AssertionError(f"{len(images)} images are shown for nothing")

    assert least_batch_size((side, 3, 3)) == least
    assert common_batch_size([from_callable(scores, name="idle")], (3, side, 3), 8 * least) == least


def test_several_models_have_the_smallest_size_that_suits_one(clock: Clock) -> None:
    def timed(seconds):
        def scores(images: np.ndarray) -> np.ndarray:
            clock.spend(seconds(len(images)))
            return images.mean((1, 2))

        return scores

    alike = from_callable(timed(lambda _: 0.02), name="alike")
    linear = from_callable(timed(lambda n: 0.0004 * n), name="linear")
    assert common_batch_size([alike], SHAPE, 10_000) == 256
    assert common_batch_size([alike, linear], SHAPE, 10_000) == 64


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 20 MiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("Failed to allocate memory for requested buffer of size 1"),
    ],
    ids=["python", "cuda", "torch", "onnxruntime"],
)
@pytest.mark.parametrize("most", [150, 40, 8, 3, 1])
def test_memory_ends_the_growth(clock: Clock, error: Exception, most: int) -> None:
    def scores(images: np.ndarray) -> np.ndarray:
        if len(images) > most:
            raise error
        clock.spend(0.005)
        return images.mean((1, 2))

    expected = {150: 128, 40: 32, 8: 8, 3: 2, 1: 1}[most]
    assert best_batch_size(from_callable(scores, name="large"), SHAPE) == expected


def test_a_model_too_large_for_one_image_is_named() -> None:
    def scores(_: np.ndarray) -> np.ndarray:
        raise MemoryError

    with pytest.raises(MemoryError, match=naming("huge", 4, 3)):
        best_batch_size(from_callable(scores, name="huge"), SHAPE)


def test_other_errors_are_not_taken_for_memory() -> None:
    def scores(_: np.ndarray) -> np.ndarray:
        raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match=naming("'odd'", 64, "RuntimeError")):
        best_batch_size(from_callable(scores, name="odd"), SHAPE)
    with pytest.raises(BrittleError, match=naming(1, 0)):
        best_batch_size(from_callable(scores, name="odd"), SHAPE, limit=0)


def test_real_models(tmp_path: Path) -> None:
    assert best_batch_size(from_torch(small_net(), name="a"), (32, 32, 3), limit=32) == 32
    write(tmp_path / "fixed.onnx", (6, 3, 32, 32))
    assert best_batch_size(from_onnx(tmp_path / "fixed.onnx"), (32, 32, 3)) == 6
