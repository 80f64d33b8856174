"""The batch size follows how long batches take and how much memory there is."""

from pathlib import Path

import numpy as np
import pytest
from graphs import write
from networks import small_net

from brittle.models import best_batch_size, from_callable, from_onnx, from_torch

SHAPE = (4, 4, 3)


class Clock:
    """A clock that only batches move, so that a busy machine changes nothing."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("brittle.models.batch_size.time", clock)
    return clock


@pytest.mark.parametrize(
    ("seconds", "limit", "expected"),
    [
        (lambda _: 0.02, 256, 256),  # a batch costs the same however large
        (lambda _: 0.02, 100, 64),
        (lambda _: 0.02, 5, 5),
        (lambda n: 0.004 * n, 256, 8),  # each image costs the same
        (lambda n: 0.05 * max(1, n / 32), 256, 32),  # 32 fit at once
        (lambda n: 2.1 if n == 16 else 0.02, 256, 8),  # a batch of 16 takes too long
    ],
)
def test_sizes_double_while_they_help(clock: Clock, seconds, limit: int, expected: int) -> None:
    def scores(images: np.ndarray) -> np.ndarray:
        clock.now += seconds(len(images))
        return images.mean((1, 2))

    assert best_batch_size(from_callable(scores, name="timed"), SHAPE, limit=limit) == expected


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
@pytest.mark.parametrize("most", [40, 8, 3, 1])
def test_memory_ends_the_growth(clock: Clock, error: Exception, most: int) -> None:
    def scores(images: np.ndarray) -> np.ndarray:
        if len(images) > most:
            raise error
        clock.now += 0.005
        return images.mean((1, 2))

    assert best_batch_size(from_callable(scores, name="large"), SHAPE) == {40: 32, 8: 8, 3: 2, 1: 1}[most]


def test_a_model_too_large_for_one_image_is_named() -> None:
    def scores(_: np.ndarray) -> np.ndarray:
        raise MemoryError

    with pytest.raises(MemoryError, match=r"the model 'huge' runs out of memory on one image of shape \(4, 4, 3\)"):
        best_batch_size(from_callable(scores, name="huge"), SHAPE)


def test_other_errors_are_not_taken_for_memory() -> None:
    def scores(_: np.ndarray) -> np.ndarray:
        raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes do not fit"):
        best_batch_size(from_callable(scores, name="odd"), SHAPE)
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        best_batch_size(from_callable(scores, name="odd"), SHAPE, limit=0)


def test_real_models(tmp_path: Path) -> None:
    assert best_batch_size(from_torch(small_net(), name="a"), (32, 32, 3), limit=32) in (8, 16, 32)
    write(tmp_path / "fixed.onnx", (6, 3, 32, 32))
    assert best_batch_size(from_onnx(tmp_path / "fixed.onnx"), (32, 32, 3)) == 6
