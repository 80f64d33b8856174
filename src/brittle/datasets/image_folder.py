"""Images in class folders, or flat in one."""

from __future__ import annotations

from pathlib import Path

from brittle.datasets.class_folders import ClassFolders, find_classes, folder_of, some
from brittle.datasets.class_table import imagenet_index, imagenet_names
from brittle.datasets.dataset import Dataset
from brittle.datasets.files import Files


def image_folder(path: str | Path, *, imagenet: bool | None = None, name: str | None = None) -> Dataset:
    """The images of `path/<class>/…`, labelled by the sorted class folders; a flat folder has no labels.

    Class folders that are WordNet ids of ImageNet (n01440764) get ImageNet's class numbers and names, also when
    only some of the 1000 are there. `imagenet=False` counts them like any other, for a model with just these
    classes. The sample ids are the relative paths. An empty class folder keeps its number and is noted.
    """
    found = find_classes(path)
    name = name or found.path.resolve().name
    if imagenet or (imagenet is None and _is_imagenet(found)):
        return wnid_folders(found, name=name)
    files = Files(found.path, found.images)
    number = {folder: index for index, folder in enumerate(found.folders)}
    labels = [number[folder_of(image)] for image in found.images] if number else None
    return Dataset(
        name, files, found.images, content=files.content, labels=labels, classes=found.folders, notes=found.notes
    )


def wnid_folders(found: ClassFolders, *, name: str, class_subset: list[int] | None = None) -> Dataset:
    """Images in folders named by WordNet id, with ImageNet's class numbers."""
    known = imagenet_index()
    strange = [folder for folder in found.folders if folder not in known]
    if strange or not found.folders:
        raise ValueError(
            f"{str(found.path)!r} is not a folder of ImageNet classes such as 'n01440764': "
            f"{some(strange) if strange else 'it has no class folders'}"
        )
    files = Files(found.path, found.images)
    return Dataset(
        name,
        files,
        found.images,
        content=files.content,
        labels=[known[folder_of(image)] for image in found.images],
        classes=imagenet_names(),
        class_subset=class_subset,
        notes=found.notes,
    )


def _is_imagenet(found: ClassFolders) -> bool:
    known = imagenet_index()
    strange = [folder for folder in found.folders if folder not in known]
    if strange and len(strange) < len(found.folders):
        raise ValueError(
            f"{str(found.path)!r} has {len(found.folders) - len(strange)} folders named like ImageNet classes and "
            f"{len(strange)} others ({some(strange)}); take the others away, or number all folders in sorted order "
            "with imagenet=False"
        )
    return bool(found.folders) and not strange
