"""The bundled demo set: 1,000 test images of CIFAR-10."""

from __future__ import annotations

import csv
from pathlib import Path

from brittle.datasets.cifar_names import CIFAR10
from brittle.datasets.dataset import Dataset
from brittle.datasets.folder import read_image
from brittle.datasets.rows import Rows

FOLDER = Path(__file__).parent / "demo_images"
PER_CLASS = 100
ACROSS = 40
"""Images in each row of the sheet."""


def demo() -> Dataset:
    """The first 100 test images of each class of CIFAR-10, in test order; the sample ids are their test indices."""
    with (FOLDER / "samples.csv").open(encoding="utf-8", newline="") as file:
        samples = [(int(row["test_index"]), int(row["label"])) for row in csv.DictReader(file)]
    sheet = read_image(FOLDER / "images.png")
    tiles = sheet.reshape(-1, 32, ACROSS, 32, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 32, 32, 3)
    rows = Rows(tiles)
    ids, labels = zip(*samples, strict=True)
    return Dataset("demo", rows, ids, content=rows.content, labels=labels, classes=CIFAR10)
