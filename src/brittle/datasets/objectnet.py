"""ObjectNet: household objects from odd sides and in odd places."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from brittle.datasets.class_folders import check_folders, find_classes, folder_of
from brittle.datasets.class_table import objectnet_folders
from brittle.datasets.dataset import Dataset
from brittle.datasets.files import Files

FRAME = 2
"""Pixels of red around every image, put there by the authors to tell their images from others."""


def objectnet(path: str | Path, *, partial: bool = False) -> Dataset:
    """The 113 classes of ObjectNet that ImageNet has too, without their red frame.

    `path` is the folder of the 313 class folders, or the one above (`images/`). Images of the other 200 classes are
    left out and counted in the notes. Labels count the 113; several ImageNet classes may be one of them (three
    kinds of chair), so `class_map` takes a model's output to it, and -1, always wrong, is any other output.
    """
    path = Path(path)
    found = find_classes(path / "images" if (path / "images").is_dir() else path)
    table = objectnet_folders()
    check_folders(found, table, "ObjectNet", partial=partial)
    classes = tuple(folder for folder, same in table.items() if same)
    number = {folder: index for index, folder in enumerate(classes)}
    kept = [image for image in found.images if folder_of(image) in number]
    if not kept:
        raise ValueError(f"{str(found.path)!r} has no images of the {len(classes)} classes that ImageNet has too")
    class_map = np.full(1000, -1)
    for folder in classes:
        class_map[list(table[folder])] = number[folder]
    dropped, folders = len(found.images) - len(kept), sum(folder not in number for folder in found.folders)
    note = f"{dropped:,} images in {folders} folders have no ImageNet class and were left out"
    files = Files(found.path, kept, crop=FRAME)
    return Dataset(
        "objectnet",
        files,
        kept,
        content=files.content,
        labels=[number[folder_of(image)] for image in kept],
        classes=classes,
        class_map=class_map,
        notes=(*found.notes, *([note] if dropped else [])),
    )
