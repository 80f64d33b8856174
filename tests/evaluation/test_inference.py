"""Batches shown side by side give what they give one after the other."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
from typing import ClassVar

import numpy as np
import pytest

from brittle import BrittleError

torch = pytest.importorskip("torch")

from brittle._parallel import SIDE_BY_SIDE, side_by_side, use_threads  # noqa: E402
from brittle.evaluation.cell import Classes, infer, joined, replicas  # noqa: E402
from brittle.models import from_callable, from_torch  # noqa: E402
from tests.errors import naming  # noqa: E402


class Notes(torch.nn.Module):
    """A network that notes on itself what it saw, and reads it later: right only if no other thread writes between."""

    threads: ClassVar[set[int]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.nn.Linear(3, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.seen = images.mean((2, 3))
        self.threads.add(threading.get_ident())
        time.sleep(0.01)
        return self.last(self.seen)


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (48, 8, 8, 3), np.uint8)


def shown(model, images, threads, size=4):
    def draw(start: int) -> np.ndarray:
        return images[start : start + size]

    batches = infer([model], draw, range(0, len(images), size), Classes(), threads=threads)
    return joined([batch for [batch] in batches])


def test_a_network_that_notes_things_says_the_same_in_any_number_of_threads(images):
    torch.manual_seed(0)
    model = from_torch(Notes(), name="notes", device="cpu")
    classes, confidences = shown(model, images, 1)
    Notes.threads.clear()
    for threads in (2, 4, 16, None):
        again = shown(model, images, threads)
        assert (again[0] == classes).all()
        np.testing.assert_allclose(again[1], confidences, rtol=1e-5)
    assert len(Notes.threads) > 1, "nothing was shown side by side"


def test_replicas_share_their_weights_and_nothing_else():
    model = from_torch(Notes(), name="notes", device="cpu")
    twin = model.replica()
    assert twin.module is not model.module
    assert twin.key == model.key
    assert twin.module.last.weight is model.module.last.weight


def test_hooks_replaced_code_functions_and_other_devices_are_not_shown_side_by_side():
    hooked = from_torch(Notes(), name="hooked", device="cpu")
    hooked.module.last.register_forward_hook(lambda *_: None)
    patched = from_torch(Notes(), name="patched", device="cpu")
    patched.module.forward = patched.module.forward
    away = from_torch(Notes(), name="away", device="cpu")
    away.device = "cuda"
    for model in (hooked, patched, away):
        assert model.replica() is None
        assert replicas([model], 4) is None
    function = from_callable(lambda x: np.zeros((len(x), 2)), name="f")
    assert replicas([from_torch(Notes(), name="n", device="cpu"), function], 4) is None


def test_a_function_is_called_by_one_thread_in_order(images):
    seen: list[tuple[int, int]] = []

    def function(batch):
        seen.append((threading.get_ident(), int(batch[0, 0, 0, 0])))
        return np.eye(3)[batch[:, 0, 0, 0] % 3]

    shown(from_callable(function, name="f"), images, 4)
    assert [value for _, value in seen] == images[::4, 0, 0, 0].tolist()
    assert {thread for thread, _ in seen} == {threading.get_ident()}


def test_torch_computes_with_as_many_threads_after_as_before(images):
    before = torch.get_num_threads()
    shown(from_torch(Notes(), name="notes", device="cpu"), images, 4)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 12, 64])
def test_so_many_threads_are_used_as_were_asked_for(threads):
    batches, each = side_by_side(threads)
    assert 1 <= batches <= SIDE_BY_SIDE
    assert batches * each <= threads < batches * (each + 1)


def test_no_threads_is_refused():
    with pytest.raises(BrittleError, match=naming("threads", 1, 0)):
        side_by_side(0)
    with pytest.raises(BrittleError, match=naming("threads", 1, 0)):
        use_threads(0)


FAULTS = """
import resource, sys
import numpy as np
from brittle._parallel import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
np.ones(8_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(8_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone has these settings")
def test_freed_memory_is_used_again_instead_of_asked_for_again():
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}

    def faults(how: str, **more: str) -> int:
        command = [sys.executable, "-c", FAULTS, how]
        done = subprocess.run(command, env=clean | more, capture_output=True, text=True, check=True)
        return int(done.stdout)

    usual, left_alone = faults("as it is"), faults("keep", MALLOC_ARENA_MAX="4")
    assert faults("keep") < usual / 5
    assert left_alone > usual / 2
