"""ImageNet-C and its kin as they lie on disk: a folder per corruption, severity and class."""

from __future__ import annotations

import re
from pathlib import Path

from brittle.datasets.cifar_c import check_whole
from brittle.datasets.class_folders import check_folders, find_classes, some
from brittle.datasets.class_table import imagenet_index
from brittle.datasets.dataset import Dataset
from brittle.datasets.image_folder import image_folder, wnid_folders
from brittle.datasets.near import nearest

MAGNITUDE = re.compile(r"\d+\.\d\d")
"""How ImageNet-C-bar names its folders before they are renamed 1 to 5."""


def imagenet_c(path: str | Path, corruption: str, severity: int | str, *, partial: bool = False) -> Dataset:
    """One corruption at one severity of ImageNet-C or ImageNet-C-bar: `path/<corruption>/<severity>/<wnid>/*.JPEG`.

    A severity is 1 to 5, also where folders are named by magnitude (2.35, 3.20 …): then it counts them from the
    weakest. A text is the folder's very name. The archives' family folders (`noise/gaussian_noise`) may be there
    or not. The sample ids are those of the clean images. `partial=True` allows for fewer than 1000 classes.
    """
    folder = severity_folder(path, corruption, severity)
    found = find_classes(folder)
    check_folders(found, imagenet_index(), "ImageNet-C", partial=partial)
    return wnid_folders(found, name=_name(path, corruption, folder))


def tiny_imagenet_c(path: str | Path, corruption: str, severity: int | str, *, partial: bool = False) -> Dataset:
    """One corruption at one severity of Tiny-ImageNet-C: 200 classes, numbered by their sorted folders."""
    folder = severity_folder(path, corruption, severity)
    dataset = image_folder(folder, imagenet=False, name=_name(path, corruption, folder))
    if len(dataset.classes) != 200 and not partial:
        raise ValueError(
            f"{str(folder)!r} has {len(dataset.classes)} class folders; Tiny-ImageNet-C has 200: complete the copy, or "
            "number the folders there are with partial=True"
        )
    return dataset


def severity_folder(path: str | Path, corruption: str, severity: int | str) -> Path:
    """The folder of one corruption at one severity."""
    corruptions = folder_corruptions(path)
    if corruption not in corruptions:
        raise FileNotFoundError(f"{str(path)!r} has no corruption {corruption!r}; {nearest(corruption, corruptions)}")
    folder = corruptions[corruption]
    names = severities(folder)
    if isinstance(severity, str):
        if severity not in names:
            raise ValueError(f"{str(folder)!r} has no severity {severity!r}; there are: {', '.join(names)}")
        return folder / severity
    check_whole(severity, 5)
    if str(severity) in names:
        return folder / str(severity)
    if len(names) == 5 and all(MAGNITUDE.fullmatch(name) for name in names):
        return folder / names[severity - 1]
    raise ValueError(
        f"{str(folder)!r} has no severity {severity}; there are: {', '.join(names)}: give one of these as a text"
    )


def folder_corruptions(path: str | Path) -> dict[str, Path]:
    """The corruptions below a folder, directly or inside family folders, each with its place."""
    path = Path(path)
    if not path.is_dir():
        raise FileNotFoundError(f"{str(path)!r} is not a folder; give the one that holds the corruptions")
    found: dict[str, Path] = {}
    for folder in _folders(path):
        places = [folder] if severities(folder) else [inner for inner in _folders(folder) if severities(inner)]
        for place in places:
            if place.name in found:
                twice = some([str(found[place.name]), str(place)])
                raise ValueError(f"the corruption {place.name!r} is there twice: {twice}; take one away")
            found[place.name] = place
    return found


def severities(folder: Path) -> list[str]:
    """The severity folders of a corruption, from the weakest; none if other folders lie between them."""
    names = [item.name for item in _folders(folder)]
    return sorted(names, key=float) if names and all(_is_number(name) for name in names) else []


def _folders(path: Path) -> list[Path]:
    return sorted(item for item in path.iterdir() if item.is_dir() and not item.name.startswith("."))


def _is_number(name: str) -> bool:
    whole, _, rest = name.partition(".")
    return name.isascii() and whole.isdecimal() and (rest.isdecimal() or rest == "")


def _name(path: str | Path, corruption: str, folder: Path) -> str:
    return f"{Path(path).resolve().name}/{corruption}/{folder.name}"
