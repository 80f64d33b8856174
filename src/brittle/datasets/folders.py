"""Datasets in folders, one for each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from brittle._errors import BrittleError
from brittle.datasets.classes import class_places, imagenet_index, imagenet_names, imagenet_number
from brittle.datasets.dataset import Dataset, Files, Numbering, dataset_source
from brittle.datasets.images import find_images


@dataclass(frozen=True)
class ClassFolders:
    """What lies below a folder: its class folders in sorted order, and its images as sorted relative paths."""

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
        """A sentence on empty class folders, if there are any."""
        if not self.empty:
            return ()
        count = "1 class folder has" if len(self.empty) == 1 else f"{len(self.empty)} class folders have"
        return (f"{count} no images: {some(self.empty)}",)


def find_classes(path: str | Path) -> ClassFolders:
    """The class folders and their images. Images beside class folders have no label, so they are a mistake.

    A folder without class folders is flat: `folders` is empty then.
    """
    path = Path(path)
    images = tuple(find_images(path))
    beside = [name for name in images if "/" not in name]
    if len(beside) == len(images):
        return ClassFolders(path, (), images)
    folders = tuple(sorted(item.name for item in path.iterdir() if item.is_dir() and not item.name.startswith(".")))
    if beside:
        raise BrittleError(
            f"{str(path)!r} has {len(folders)} class folders and {len(beside)} images beside them ({some(beside)}), "
            "which class are those? Move them into a class folder or away"
        )
    return ClassFolders(path, folders, images)


def folder_of(name: str) -> str:
    """The class folder of an image: the first part of its relative path."""
    return name.partition("/")[0]


def check_folders(found: ClassFolders, wanted: Collection[str], what: str, *, partial: bool) -> None:
    """Raise unless the class folders are exactly the wanted ones, or with `partial` some of them."""
    strange = [folder for folder in found.folders if folder not in wanted]
    where, number = repr(str(found.path)), f"{what} has {len(wanted)} class folders"
    if not found.folders:
        raise BrittleError(f"{where} has no class folders; {number}: give the folder that holds them")
    if strange:
        raise BrittleError(
            f"{where} has {len(found.folders)} class folders, {len(strange)} of them unknown ({some(strange)}); "
            f"{number} such as {next(iter(wanted))!r}: give the folder that holds them"
        )
    missing = [folder for folder in wanted if folder not in set(found.folders)]
    if missing and not partial:
        raise BrittleError(
            f"{where} has {len(found.folders)} class folders and lacks {some(missing)}; {number}: complete the copy, "
            "or read a part of it with --partial (partial=True in Python)"
        )


def some(names: Sequence[str], most: int = 3) -> str:
    """The first few of many names."""
    listed = ", ".join(map(repr, names[:most]))
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"


@dataset_source("folder")
def image_folder(
    path: str | Path,
    *,
    imagenet: bool | None = None,
    classes: Sequence[str] | None = None,
    name: str | None = None,
) -> Dataset:
    """The images of `path/<class>/…`, labelled by the sorted class folders; a flat folder has no labels.

    Class folders that are WordNet ids of ImageNet (n01440764) get ImageNet's class numbers and names, also when
    only some of the 1000 are there. `imagenet=False` counts them like any other, for a model with just these
    classes. Folders whose names are those of ImageNet classes are counted in sorted order too, and `for_outputs(1000)`
    gives them ImageNet's numbers, as `evaluate` does for a model with 1000 outputs. `classes` are the names or WordNet
    ids in the order of a model's outputs, if that is another one; every folder must be among them. The sample ids are
    the relative paths. An empty class folder keeps its number and is noted.
    """
    found = find_classes(path)
    name = name or found.path.resolve().name
    if classes is not None:
        return _in_order(found, tuple(map(str, classes)), name)
    if imagenet or (imagenet is None and _is_imagenet(found)):
        return wnid_folders(found, name=name)
    files = Files(found.path, found.images)
    number = {folder: index for index, folder in enumerate(found.folders)}
    labels = [number[folder_of(image)] for image in found.images] if number else None
    return Dataset(
        name,
        files,
        found.images,
        content=files.content,
        labels=labels,
        classes=found.folders,
        notes=found.notes,
        other_numbering=_numbers_of_imagenet(found.folders) if imagenet is None else None,
    )


def wnid_folders(found: ClassFolders, *, name: str, class_subset: list[int] | None = None) -> Dataset:
    """Images in folders named by WordNet id, with ImageNet's class numbers."""
    known = imagenet_index()
    strange = [folder for folder in found.folders if folder not in known]
    if strange or not found.folders:
        raise BrittleError(
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
        other_numbering=None if class_subset is not None else _sorted_folders(found.folders),
    )


def _in_order(found: ClassFolders, classes: tuple[str, ...], name: str) -> Dataset:
    """Images labelled by the places of their folders in a list of classes."""
    if not found.folders:
        raise BrittleError(f"{str(found.path)!r} has no class folders that could be put in the order of the classes")
    number = dict(zip(found.folders, class_places(found.folders, classes, name), strict=True))
    files = Files(found.path, found.images)
    labels = [number[folder_of(image)] for image in found.images]
    return Dataset(name, files, found.images, content=files.content, labels=labels, classes=classes, notes=found.notes)


def _numbers_of_imagenet(folders: Sequence[str]) -> Numbering | None:
    """ImageNet's numbers of folders that are called as its classes are, if all of them are."""
    numbers = [imagenet_number(folder) for folder in folders]
    known = [number for number in numbers if number is not None]
    if not folders or len(set(known)) < len(folders):
        return None
    return imagenet_names(), dict(enumerate(known))


def _sorted_folders(folders: Sequence[str]) -> Numbering:
    """The sorted order of folders that are WordNet ids, for a model with just these classes."""
    known = imagenet_index()
    return tuple(folders), {known[folder]: place for place, folder in enumerate(folders)}


def _is_imagenet(found: ClassFolders) -> bool:
    known = imagenet_index()
    strange = [folder for folder in found.folders if folder not in known]
    if strange and len(strange) < len(found.folders):
        raise BrittleError(
            f"{str(found.path)!r} has {len(found.folders) - len(strange)} folders named like ImageNet classes and "
            f"{len(strange)} others ({some(strange)}); take the others away, or say the order of all "
            "by listing them in a file: --classes FILE (imagenet=False in Python)"
        )
    return bool(found.folders) and not strange
