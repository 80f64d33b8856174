"""Datasets in folders, one for each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from brittle._errors import BrittleError
from brittle.datasets.classes import class_places, imagenet_index, imagenet_names, imagenet_number
from brittle.datasets.dataset import Dataset, Files, Numbering, dataset_source, no_labels
from brittle.datasets.images import find_images


@dataclass(frozen=True)
class ClassFolders:
    """The contents of a folder: its class folders in sorted order, and its images as sorted relative paths."""

    path: Path
    folders: tuple[str, ...]
    images: tuple[str, ...]

    @property
    def empty(self) -> tuple[str, ...]:
        """The class folders that have no images."""
        counts = Counter(map(folder_of, self.images))
        return tuple(folder for folder in self.folders if not counts[folder])

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning about empty class folders, if there are any."""
        if not self.empty:
            return ()
        count = "1 class folder has" if len(self.empty) == 1 else f"{len(self.empty)} class folders have"
        return (f"{count} no images: {first_few(self.empty)}",)


def find_classes(path: str | Path) -> ClassFolders:
    """The class folders and their images. Images beside class folders have no label and raise.

    A folder without class folders is flat: `folders` is empty then.
    """
    path = Path(path)
    images = tuple(find_images(path))
    unlabelled = [name for name in images if "/" not in name]
    if len(unlabelled) == len(images):
        return ClassFolders(path, (), images)
    folders = tuple(sorted(item.name for item in path.iterdir() if item.is_dir() and not item.name.startswith(".")))
    if unlabelled:
        raise BrittleError(
            f"{str(path)!r} has {len(folders)} class folders and {len(unlabelled)} images beside them "
            f"({first_few(unlabelled)}), which have no class; move them into a class folder, or remove them"
        )
    return ClassFolders(path, folders, images)


TRAINING_FOLDERS, TEST_FOLDERS = ("train", "training"), ("val", "validation", "valid", "test")


def part_folder(path: str | Path, *, train: bool) -> Path | None:
    """The training or the test part of a folder that holds train/ and val/ (or test/); None if it has no parts."""
    path = Path(path)
    names = {item.name.lower(): item for item in path.iterdir() if item.is_dir()} if path.is_dir() else {}
    training, test = (
        next((names[name] for name in part if name in names), None) for part in (TRAINING_FOLDERS, TEST_FOLDERS)
    )
    if training is None or test is None:
        return None
    return training if train else test


def check_part(path: str | Path, *, train: bool | None) -> Path:
    """The part of a folder that is asked for, by default the test part if it has one; raises if it has no parts."""
    part = part_folder(path, train=bool(train))
    if part is None and train is not None and Path(path).is_dir():
        raise BrittleError(
            f"{str(path)!r} has no folders train and val, so it has no training part of its own; give the folder that "
            "holds them, or name the training images by `train_data`"
        )
    return part or Path(path)


TEST_SHARE = 0.2
"""The share of each class that is tested where a folder has no test part."""


def split(dataset: Dataset, test_share: float = TEST_SHARE) -> tuple[Dataset, Dataset]:
    """A training and a test part of a dataset: of each class the same share, by a digest of the sample ids.

    The parts are the same on every machine and in every order of the files.
    """
    if dataset.labels is None:
        raise no_labels(dataset, "and each class is split")
    if not 0 < test_share < 1:
        raise BrittleError(f"the share of test images lies between 0 and 1, got {test_share}")
    ranks = [sha256(str(sample).encode("utf-8", "surrogateescape")).digest() for sample in dataset.ids]
    tested: list[int] = []
    for label in sorted(set(dataset.labels.tolist())):
        members = sorted(np.flatnonzero(dataset.labels == label).tolist(), key=ranks.__getitem__)
        if len(members) < 2:
            raise BrittleError(
                f"class {dataset.classes[label] if dataset.classes else label!r} of {dataset.name!r} has one image, "
                "which cannot be trained on and tested; add images, or name the training images by `train_data`"
            )
        tested += members[: min(max(1, round(test_share * len(members))), len(members) - 1)]
    test = np.sort(np.array(tested))
    return dataset.subset(np.setdiff1d(np.arange(len(dataset)), test)), dataset.subset(test)


def folder_of(name: str) -> str:
    """The class folder of an image: the first part of its relative path."""
    return name.partition("/")[0]


def check_folders(layout: ClassFolders, expected: Collection[str], set_name: str, *, partial: bool) -> None:
    """Raise unless the class folders are exactly the expected ones, or with `partial` a subset of them."""
    unknown = [folder for folder in layout.folders if folder not in expected]
    where, requirement = repr(str(layout.path)), f"{set_name} has {len(expected)} class folders"
    if not layout.folders:
        raise BrittleError(f"{where} has no class folders; {requirement}: give the folder that holds them")
    if unknown:
        raise BrittleError(
            f"{where} has {len(layout.folders)} class folders, {len(unknown)} of them unknown ({first_few(unknown)}); "
            f"{requirement} such as {next(iter(expected))!r}: give the folder that holds them"
        )
    missing = [folder for folder in expected if folder not in set(layout.folders)]
    if missing and not partial:
        raise BrittleError(
            f"{where} has {len(layout.folders)} of the {len(expected)} class folders of {set_name} and lacks "
            f"{first_few(missing)}: complete the copy, or read a part of it with `partial=True`"
        )


def first_few(names: Sequence[str], limit: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    listed = ", ".join(map(repr, names[:limit]))
    return listed if len(names) <= limit else f"{listed} and {len(names) - limit} more"


@dataset_source("folder")
def image_folder(
    path: str | Path,
    *,
    imagenet: bool | None = None,
    classes: Sequence[str] | None = None,
    name: str | None = None,
    train: bool | None = None,
) -> Dataset:
    """The images of `path/<class>/…`, labelled by the sorted class folders; a flat folder has no labels.

    Class folders that are WordNet ids of ImageNet (n01440764) get ImageNet's class numbers and names, even if only some
    of the 1000 exist. `imagenet=False` numbers them like any other, for a model with just these classes. Folders named
    like ImageNet classes are numbered in sorted order too, and `for_outputs(1000)` gives them ImageNet's numbers, as
    `evaluate` does for a model with 1000 outputs. `classes` are the names or WordNet ids in the order of a model's
    outputs, if it is not the sorted order; every folder must be among them. The sample ids are the relative paths. An
    empty class folder keeps its number, with a note. If the folder holds train/ and val/ (or test/) instead of classes,
    the images are those of val/, or with `train=True` of train/.
    """
    layout = find_classes(check_part(path, train=train))
    name = name or Path(path).resolve().name
    if classes is not None:
        return _labelled_by(layout, tuple(map(str, classes)), name)
    if imagenet or (imagenet is None and _is_imagenet(layout)):
        return wnid_folders(layout, name=name)
    files = Files(layout.path, layout.images)
    number = {folder: index for index, folder in enumerate(layout.folders)}
    labels = [number[folder_of(image)] for image in layout.images] if number else None
    return Dataset(
        name,
        files,
        layout.images,
        content=files.content,
        labels=labels,
        classes=layout.folders,
        notes=layout.notes,
        other_numbering=_imagenet_numbering(layout.folders) if imagenet is None else None,
    )


def wnid_folders(layout: ClassFolders, *, name: str, class_subset: list[int] | None = None) -> Dataset:
    """Images in folders named by WordNet id, with ImageNet's class numbers."""
    numbers = imagenet_index()
    unknown = [folder for folder in layout.folders if folder not in numbers]
    if unknown or not layout.folders:
        raise BrittleError(
            f"{str(layout.path)!r} is not a folder of ImageNet classes such as 'n01440764': "
            f"{first_few(unknown) if unknown else 'it has no class folders'}"
        )
    files = Files(layout.path, layout.images)
    return Dataset(
        name,
        files,
        layout.images,
        content=files.content,
        labels=[numbers[folder_of(image)] for image in layout.images],
        classes=imagenet_names(),
        class_subset=class_subset,
        notes=layout.notes,
        other_numbering=None if class_subset is not None else _sorted_numbering(layout.folders),
    )


def _labelled_by(layout: ClassFolders, classes: tuple[str, ...], name: str) -> Dataset:
    """Images labelled by the position of their folder in a list of classes."""
    if not layout.folders:
        raise BrittleError(f"{str(layout.path)!r} has no class folders, so `classes` cannot be assigned to images")
    number = dict(zip(layout.folders, class_places(layout.folders, classes, name), strict=True))
    files = Files(layout.path, layout.images)
    labels = [number[folder_of(image)] for image in layout.images]
    return Dataset(
        name, files, layout.images, content=files.content, labels=labels, classes=classes, notes=layout.notes
    )


def _imagenet_numbering(folders: Sequence[str]) -> Numbering | None:
    """ImageNet's numbers of the folders, if all of them are named like ImageNet classes."""
    numbers = [imagenet_number(folder) for folder in folders]
    matched = [number for number in numbers if number is not None]
    if not folders or len(set(matched)) < len(folders):
        return None
    return imagenet_names(), dict(enumerate(matched))


def _sorted_numbering(folders: Sequence[str]) -> Numbering:
    """The sorted order of folders that are WordNet ids, for a model with just these classes."""
    numbers = imagenet_index()
    return tuple(folders), {numbers[folder]: position for position, folder in enumerate(folders)}


def _is_imagenet(layout: ClassFolders) -> bool:
    numbers = imagenet_index()
    others = [folder for folder in layout.folders if folder not in numbers]
    if others and len(others) < len(layout.folders):
        raise BrittleError(
            f"{str(layout.path)!r} has {len(layout.folders) - len(others)} folders named like ImageNet classes and "
            f"{len(others)} others ({first_few(others)}); remove the others, or list all classes in order "
            "in a file of `classes`, or read the folder with imagenet=False"
        )
    return bool(layout.folders) and not others
