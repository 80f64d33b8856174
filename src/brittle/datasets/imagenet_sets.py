"""ImageNet, its published corrupted sets, and the natural shifts away from it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from brittle._errors import BrittleError, did_you_mean
from brittle.datasets.cifar import check_complete
from brittle.datasets.classes import imagenet_classes, imagenet_index, imagenet_names, objectnet_folders
from brittle.datasets.dataset import Dataset, Files, dataset_source
from brittle.datasets.folders import (
    ClassFolders,
    check_folders,
    check_part,
    find_classes,
    first_few,
    folder_of,
    image_folder,
    wnid_folders,
)
from brittle.datasets.images import find_images

MAGNITUDE = re.compile(r"\d+\.\d\d")
"""Folder names of the released ImageNet-C-bar, before they are renamed 1 to 5."""


def imagenet_c(path: str | Path, corruption: str, severity: int | str, *, partial: bool = False) -> Dataset:
    """One corruption at one severity of ImageNet-C or ImageNet-C-bar: `path/<corruption>/<severity>/<wnid>/*.JPEG`.

    A severity is 1 to 5; folders named by magnitude (2.35, 3.20 …) are numbered from the weakest. A string is the name
    of the folder. The family folders of the archives (`noise/gaussian_noise`) are optional. The sample ids are those
    of the clean images. `partial=True` allows fewer than 1000 classes.
    """
    folder = severity_folder(path, corruption, severity)
    layout = find_classes(folder)
    check_folders(layout, imagenet_index(), "ImageNet-C", partial=partial)
    return wnid_folders(layout, name=_name(path, corruption, folder))


def tiny_imagenet_c(path: str | Path, corruption: str, severity: int | str, *, partial: bool = False) -> Dataset:
    """One corruption at one severity of Tiny-ImageNet-C: 200 classes, numbered by their sorted folders."""
    folder = severity_folder(path, corruption, severity)
    dataset = image_folder(folder, imagenet=False, name=_name(path, corruption, folder))
    if len(dataset.classes) != 200 and not partial:
        raise BrittleError(
            f"{str(folder)!r} has {len(dataset.classes)} class folders; Tiny-ImageNet-C has 200: complete the copy, or "
            "number the existing folders with partial=True"
        )
    return dataset


def severity_folder(path: str | Path, corruption: str, severity: int | str) -> Path:
    """The folder of one corruption at one severity."""
    corruptions = folder_corruptions(path)
    if corruption not in corruptions:
        raise FileNotFoundError(
            f"{str(path)!r} has no corruption {corruption!r}; {did_you_mean(corruption, corruptions)}"
        )
    folder = corruptions[corruption]
    names = severities(folder)
    if isinstance(severity, str):
        if severity not in names:
            raise BrittleError(f"{str(folder)!r} has no severity {severity!r}; there are: {', '.join(names)}")
        return folder / severity
    check_complete(severity, 5)
    if str(severity) in names:
        return folder / str(severity)
    if len(names) == 5 and all(MAGNITUDE.fullmatch(name) for name in names):
        return folder / names[severity - 1]
    raise BrittleError(
        f"{str(folder)!r} has no severity {severity}; there are: {', '.join(names)}: give one of these as a string"
    )


def folder_corruptions(path: str | Path) -> dict[str, Path]:
    """The corruptions below a folder, directly or inside family folders, each with its path."""
    path = Path(path)
    if not path.is_dir():
        raise FileNotFoundError(f"{str(path)!r} is not a folder; give the one that holds the corruptions")
    corruptions: dict[str, Path] = {}
    for folder in _folders(path):
        corruption_folders = (
            [folder] if severities(folder) else [inner for inner in _folders(folder) if severities(inner)]
        )
        for corruption_folder in corruption_folders:
            if corruption_folder.name in corruptions:
                both = first_few([str(corruptions[corruption_folder.name]), str(corruption_folder)])
                raise BrittleError(f"the corruption {corruption_folder.name!r} exists twice: {both}; remove one")
            corruptions[corruption_folder.name] = corruption_folder
    return corruptions


def severities(folder: Path) -> list[str]:
    """The severity folders of a corruption, from the weakest; empty if any folder is not a number."""
    names = [item.name for item in _folders(folder)]
    return sorted(names, key=float) if names and all(_is_number(name) for name in names) else []


def _folders(path: Path) -> list[Path]:
    return sorted(item for item in path.iterdir() if item.is_dir() and not item.name.startswith("."))


def _is_number(name: str) -> bool:
    integer, _, decimals = name.partition(".")
    return name.isascii() and integer.isdecimal() and (decimals.isdecimal() or decimals == "")


def _name(path: str | Path, corruption: str, folder: Path) -> str:
    return f"{Path(path).resolve().name}/{corruption}/{folder.name}"


@dataset_source("imagenet")
def imagenet(path: str | Path, *, train: bool | None = None, partial: bool = False) -> Dataset:
    """The validation set of ImageNet, or any set of its layout: 1000 folders named by WordNet id.

    `path` may also hold train/ and val/; then it is val/, or with `train=True` train/.
    """
    return _wnids(check_part(path, train=train), "imagenet", "ImageNet", None, partial=partial)


@dataset_source("imagenet-100")
def imagenet_100(path: str | Path, *, train: bool | None = None, partial: bool = False) -> Dataset:
    """Every tenth class of ImageNet in the order of WordNet ids, which NOC and Syn2Nat train on, numbered 0 to 99.

    `path` holds the folders of all 1000 classes or just these 100, or train/ and val/ with them: then it is val/, or
    with `train=True` train/. For a model with 1000 outputs `for_outputs(1000)` gives ImageNet's numbers, as `evaluate`
    does.
    """
    folder = check_part(path, train=train)
    rows = [row for row in imagenet_classes() if row.in_100]
    layout = _chosen(folder, [row.wnid for row in rows], "ImageNet-100", partial=partial)
    number = {row.wnid: index for index, row in enumerate(rows)}
    files = Files(layout.path, layout.images)
    return Dataset(
        "imagenet-100",
        files,
        layout.images,
        content=files.content,
        labels=[number[folder_of(image)] for image in layout.images],
        classes=[row.name for row in rows],
        notes=layout.notes,
        other_numbering=(imagenet_names(), {index: row.number for index, row in enumerate(rows)}),
    )


@dataset_source("imagenet-a-clean")
def imagenet_a_clean(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet's validation images of the 200 classes of ImageNet-A: the clean side of its accuracy drop.

    As for ImageNet-A, only these 200 outputs of a model count. `path` is that of ImageNet's validation set.
    """
    return _clean_side(path, "imagenet-a-clean", [row.number for row in imagenet_classes() if row.in_a], partial)


@dataset_source("imagenet-r-clean")
def imagenet_r_clean(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet's validation images of the 200 classes of ImageNet-R, of whose outputs alone a model's count."""
    return _clean_side(path, "imagenet-r-clean", [row.number for row in imagenet_classes() if row.in_r], partial)


def _clean_side(path: str | Path, name: str, subset: list[int], partial: bool) -> Dataset:
    wnids = [imagenet_classes()[index].wnid for index in subset]
    layout = _chosen(check_part(path, train=None), wnids, "ImageNet", partial=partial)
    return wnid_folders(layout, name=name, class_subset=subset)


def _chosen(path: Path, wnids: list[str], set_name: str, *, partial: bool) -> ClassFolders:
    """Some of the class folders of ImageNet; the others are not looked into."""
    if not path.is_dir():
        raise FileNotFoundError(f"{str(path)!r} is not a folder; give the one that holds the class folders")
    folders = tuple(wnid for wnid in wnids if (path / wnid).is_dir())
    check_folders(ClassFolders(path, folders, ()), wnids, set_name, partial=partial)
    with_files = [folder for folder in folders if any((path / folder).iterdir())]
    images = [f"{folder}/{name}" for folder in with_files for name in find_images(path / folder)]
    return ClassFolders(path, folders, tuple(sorted(images)))


@dataset_source("imagenet-sketch")
def imagenet_sketch(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-Sketch: black and white drawings of all 1000 classes."""
    return _wnids(path, "imagenet-sketch", "ImageNet-Sketch", None, partial=partial)


@dataset_source("imagenet-a")
def imagenet_a(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-A: photographs of 200 classes that fooled a ResNet-50; only these 200 outputs of a model count."""
    subset = [row.number for row in imagenet_classes() if row.in_a]
    return _wnids(path, "imagenet-a", "ImageNet-A", subset, partial=partial)


@dataset_source("imagenet-r")
def imagenet_r(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-R: renditions of 200 classes in art, toys and the like; only these 200 outputs of a model count."""
    subset = [row.number for row in imagenet_classes() if row.in_r]
    return _wnids(path, "imagenet-r", "ImageNet-R", subset, partial=partial)


@dataset_source("imagenet-v2")
def imagenet_v2(path: str | Path, *, partial: bool = False) -> Dataset:
    """ImageNet-V2: 1000 folders named by class number, which is read as a number ("10" is 10 and comes after "2")."""
    layout = find_classes(path)
    where = repr(str(layout.path))
    unknown = [folder for folder in layout.folders if not (folder.isascii() and folder.isdecimal())]
    if unknown or not layout.folders:
        raise BrittleError(
            f"{where} has {f'folders such as {first_few(unknown)}' if unknown else 'no class folders'}; those of "
            "ImageNet-V2 are class numbers, 0 to 999: give the folder that holds them"
        )
    numbers = {folder: int(folder) for folder in layout.folders}
    count = Counter(numbers.values())
    named_twice = [folder for folder, number in numbers.items() if count[number] > 1]
    too_high = [folder for folder, number in numbers.items() if number > 999]
    if named_twice or too_high:
        what = f"folders of the same number, {first_few(named_twice)}" if named_twice else first_few(too_high)
        raise BrittleError(f"{where} has {what}; ImageNet-V2 has one folder for each number from 0 to 999")
    if len(numbers) != 1000 and not partial:
        raise BrittleError(
            f"{where} has {len(numbers)} class folders; ImageNet-V2 has 1000: complete the copy, or read a part of it "
            "with `partial=True`"
        )
    files = Files(layout.path, layout.images)
    return Dataset(
        "imagenet-v2",
        files,
        layout.images,
        content=files.content,
        labels=[numbers[folder_of(image)] for image in layout.images],
        classes=imagenet_names(),
        notes=layout.notes,
    )


def _wnids(path: str | Path, name: str, set_name: str, subset: list[int] | None, *, partial: bool) -> Dataset:
    classes = imagenet_classes()
    expected = imagenet_index() if subset is None else {classes[index].wnid: index for index in subset}
    layout = find_classes(path)
    check_folders(layout, expected, set_name, partial=partial)
    return wnid_folders(layout, name=name, class_subset=subset)


FRAME = 2
"""Width in pixels of the red frame that the authors put around every image."""


@dataset_source("objectnet")
def objectnet(path: str | Path, *, partial: bool = False) -> Dataset:
    """The 113 classes of ObjectNet that ImageNet has too, without their red frame.

    `path` is the folder of the 313 class folders, or the one above (`images/`). Images of the other 200 classes are
    left out and counted in the notes. Labels number the 113 classes; several ImageNet classes may map to one of them
    (three kinds of chair), so `class_map` maps a model's output to its class, or to -1, always wrong.
    """
    path = Path(path)
    layout = find_classes(path / "images" if (path / "images").is_dir() else path)
    table = objectnet_folders()
    check_folders(layout, table, "ObjectNet", partial=partial)
    classes = tuple(folder for folder, indices in table.items() if indices)
    number = {folder: index for index, folder in enumerate(classes)}
    images = [image for image in layout.images if folder_of(image) in number]
    if not images:
        raise BrittleError(f"{str(layout.path)!r} has no images of the {len(classes)} classes that ImageNet has too")
    class_map = np.full(1000, -1)
    for folder in classes:
        class_map[list(table[folder])] = number[folder]
    dropped, folders = len(layout.images) - len(images), sum(folder not in number for folder in layout.folders)
    note = f"{dropped:,} images in {folders} folders have no ImageNet class and were left out"
    files = Files(layout.path, images, crop=FRAME)
    return Dataset(
        "objectnet",
        files,
        images,
        content=files.content,
        labels=[number[folder_of(image)] for image in images],
        classes=classes,
        class_map=class_map,
        notes=(*layout.notes, *([note] if dropped else [])),
    )
