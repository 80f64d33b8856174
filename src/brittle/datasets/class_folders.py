"""The class folders of a folder of images, and the images in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from brittle.datasets.folder import find_images


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
        raise ValueError(
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
        raise ValueError(f"{where} has no class folders; {number}: give the folder that holds them")
    if strange:
        raise ValueError(
            f"{where} has {len(found.folders)} class folders, {len(strange)} of them unknown ({some(strange)}); "
            f"{number} such as {next(iter(wanted))!r}: give the folder that holds them"
        )
    missing = [folder for folder in wanted if folder not in set(found.folders)]
    if missing and not partial:
        raise ValueError(
            f"{where} has {len(found.folders)} class folders and lacks {some(missing)}; {number}: complete the copy, "
            "or read a part of it with --partial (partial=True in Python)"
        )


def some(names: Sequence[str], most: int = 3) -> str:
    """The first few of many names."""
    listed = ", ".join(map(repr, names[:most]))
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"
