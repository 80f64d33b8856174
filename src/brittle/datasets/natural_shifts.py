"""Natural shifts of ImageNet: other photographs, drawings and renditions of its classes."""

from __future__ import annotations

from pathlib import Path

from brittle.datasets.class_folders import check_folders, find_classes, folder_of, some
from brittle.datasets.class_table import imagenet_classes, imagenet_index, imagenet_names
from brittle.datasets.dataset import Dataset
from brittle.datasets.files import Files
from brittle.datasets.image_folder import wnid_folders


def imagenet(path: str | Path, *, partial: bool = False) -> Dataset:
    """The validation set of ImageNet, or any set of its layout: 1000 folders named by WordNet id."""
    return _wnids(path, "imagenet", "ImageNet", None, partial=partial)


def imagenet_sketch(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-Sketch: black and white drawings of all 1000 classes."""
    return _wnids(path, "imagenet-sketch", "ImageNet-Sketch", None, partial=partial)


def imagenet_a(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-A: photographs of 200 classes that fooled a ResNet-50; only these 200 outputs of a model count."""
    subset = [row.number for row in imagenet_classes() if row.in_a]
    return _wnids(path, "imagenet-a", "ImageNet-A", subset, partial=partial)


def imagenet_r(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-R: renditions of 200 classes in art, toys and the like; only these 200 outputs of a model count."""
    subset = [row.number for row in imagenet_classes() if row.in_r]
    return _wnids(path, "imagenet-r", "ImageNet-R", subset, partial=partial)


def imagenet_v2(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-V2: 1000 folders named by class number, which is read as a number ("10" is 10 and comes after "2")."""
    found = find_classes(path)
    where = repr(str(found.path))
    strange = [folder for folder in found.folders if not (folder.isascii() and folder.isdecimal())]
    if strange or not found.folders:
        raise ValueError(
            f"{where} has {f'folders such as {some(strange)}' if strange else 'no class folders'}; those of "
            "ImageNet-V2 are class numbers, 0 to 999: give the folder that holds them"
        )
    numbers = {folder: int(folder) for folder in found.folders}
    if len(set(numbers.values())) != len(numbers) or max(numbers.values()) > 999:
        raise ValueError(f"{where} has folders that are the same number, or one above 999; ImageNet-V2 has 0 to 999")
    if len(numbers) != 1000 and not partial:
        raise ValueError(
            f"{where} has {len(numbers)} class folders; ImageNet-V2 has 1000: complete the copy, or read a part of it "
            "with --partial (partial=True in Python)"
        )
    files = Files(found.path, found.images)
    return Dataset(
        "imagenet-v2",
        files,
        found.images,
        content=files.content,
        labels=[numbers[folder_of(image)] for image in found.images],
        classes=imagenet_names(),
        notes=found.notes,
    )


def _wnids(path: str | Path, name: str, what: str, subset: list[int] | None, *, partial: bool) -> Dataset:
    classes = imagenet_classes()
    wanted = imagenet_index() if subset is None else {classes[index].wnid: index for index in subset}
    found = find_classes(path)
    check_folders(found, wanted, what, partial=partial)
    return wnid_folders(found, name=name, class_subset=subset)
