"""Global random numbers, seeded for a moment and then put back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np

_alone = RLock()
"""There is one global state, so one thread at a time may seed it."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of Python, NumPy and (if it is loaded) torch, and restore their states at the end.

    Other threads that draw from them meanwhile would see it; those that use this wait for each other.
    """
    with _alone:
        torch = sys.modules.get("torch")
        python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # it is the one that others use
        tensors = None if torch is None else torch.random.get_rng_state()
        try:
            random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002
            if torch is not None:
                torch.random.default_generator.manual_seed(seed)
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002
            if torch is not None:
                torch.random.set_rng_state(tensors)
