"""Does drawing corruptions keep a training waiting?

    python perf/training.py [--images 5120] [--network small]

Trains the small network on bundled images with several augmentations, and writes the seconds of each, how long the
trainer waited for batches, and what drawing alone takes, into docs/how-to/training.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from brittle.datasets import load_dataset
from brittle.training import TrainingConfig, build_network, train
from brittle.training.augmentation import scheme_by_name

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "how-to" / "training.md"
AUGMENTATIONS = ("none", "corruptions:cifar10-noc-candidates", "corruptions:cifar10-c", "augmix")
TURNS = 3


class Waiting:
    """Stands in for the trainer's batches and counts the seconds until each is there."""

    def __init__(self, batches: Any) -> None:
        self.batches, self.seconds = batches, 0.0

    def __call__(self, *given: Any, **options: Any) -> Iterator[Any]:
        """The same batches."""
        there = self.batches(*given, **options)
        while True:
            start = time.perf_counter()
            batch = next(there, None)
            self.seconds += time.perf_counter() - start
            if batch is None:
                return
            yield batch


def measure(augmentation: str, images: Any, labels: Any, network: str) -> dict[str, float]:
    """The best of some turns: training with the augmentation, the wait in it, and drawing alone."""
    module = sys.modules["brittle.training.trainer"]
    scheme, recipe, plain = scheme_by_name(augmentation), TrainingConfig(epochs=1), module.batches
    turns = []
    for _ in range(TURNS):
        module.batches = waiting = Waiting(plain)
        start = time.perf_counter()
        train(build_network(network, 10), images, labels, recipe, augment=scheme)
        whole = time.perf_counter() - start
        start = time.perf_counter()
        for _ in plain(images, recipe, scheme, 0):
            pass
        turns.append((whole, waiting.seconds, time.perf_counter() - start))
    module.batches = plain
    return dict(zip(("training", "waiting", "drawing"), min(turns), strict=True))


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5120)
    parser.add_argument("--network", default="small")
    chosen = parser.parse_args()
    data = load_dataset("demo")
    images = np.stack(list(data.images()))[np.arange(chosen.images) % len(data)]
    labels = np.asarray(data.labels)[np.arange(chosen.images) % len(data)]
    train(build_network("small:4", 10), images[:128], labels[:128], TrainingConfig(epochs=1))  # compile and warm up
    for augmentation in AUGMENTATIONS:
        scheme_by_name(augmentation)
        measure(augmentation, images[:256], labels[:256], "small:4")
    found = {one: measure(one, images, labels, chosen.network) for one in AUGMENTATIONS}
    (HERE / "training.json").write_text(json.dumps({"images": chosen.images, **found}, indent=1))
    rows = [
        f"| `{name}` | {one['drawing']:.1f} s | {one['training']:.1f} s | {one['waiting']:.2f} s |"
        for name, one in found.items()
    ]
    table = "\n".join(
        ["| augmentation | drawing alone | training with it | of that, waiting |", "|---|---|---|---|", *rows]
    )
    print(table)
    words = f"<!-- measured -->\n\nOne epoch over {chosen.images:,} images:\n\n{table}\n\n<!-- end -->"
    if PAGE.is_file():
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub(r"<!-- measured -->.*<!-- end -->", lambda _: words, page, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
