"""Fashion-MNIST at 32 px, and the same clothes in shifts, drawn once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from brittle._types import Image
from brittle.datasets.array_files import fashion_mnist
from brittle.sliders.demo_pipeline import DEMO_SHIFTS, draw_demo_shift

EDGE = 2
"""Black pixels on each side, from 28 to 32."""


@dataclass(frozen=True, eq=False)
class Clothes:
    """Images without a shift, the same images each in one, and which: `shift` is a place in DEMO_SHIFTS."""

    plain: Image
    shifted: Image
    labels: NDArray[np.int64]
    shift: NDArray[np.int64]


def make_data(folder: str | Path, work: Path, *, train: bool) -> Clothes:
    """The training or the test part; test images are at the full amount of their shift, others at a random one."""
    file = work / f"data-{'train' if train else 'test'}.npz"
    if not file.is_file():
        clothes = fashion_mnist(folder, train=train)
        edge = ((EDGE, EDGE), (EDGE, EDGE), (0, 0))
        plain = np.stack([np.pad(image, edge) for image in clothes.images()])
        rng = np.random.default_rng(int(train))
        shift = rng.integers(0, len(DEMO_SHIFTS), len(plain))
        amount = rng.uniform(0, 1, len(plain)) if train else np.ones(len(plain))
        first = 0 if train else 1_000_000
        shifted = np.stack(
            [
                draw_demo_shift(image, DEMO_SHIFTS[which], much, first + i)
                for i, (image, which, much) in enumerate(zip(plain, shift, amount, strict=True))
            ]
        )
        work.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part.npz")
        np.savez(part, plain=plain, shifted=shifted, labels=np.asarray(clothes.labels, np.int64), shift=shift)
        part.rename(file)
    with np.load(file) as kept:
        return Clothes(kept["plain"], kept["shifted"], kept["labels"], kept["shift"])
