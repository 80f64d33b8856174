"""The bundled class tables: ImageNet's 1000 classes, and the folders of ObjectNet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from brittle._errors import BrittleError
from brittle._texts import read_lines

TABLES = Path(__file__).parent / "tables"


class ImageNetClass(NamedTuple):
    """One row of the table."""

    number: int
    wnid: str
    name: str
    in_a: bool
    in_r: bool
    in_100: bool


@cache
def imagenet_classes() -> tuple[ImageNetClass, ...]:
    """The 1000 classes in the order of a model's outputs."""
    rows = _rows("imagenet_classes.csv")
    return tuple(
        ImageNetClass(int(row["index"]), row["wnid"], row["name"], *(_in_set(row, name) for name in ("a", "r", "100")))
        for row in rows
    )


@cache
def imagenet_names() -> tuple[str, ...]:
    """The names alone. Two of them, crane and maillot, occur twice."""
    return tuple(row.name for row in imagenet_classes())


@cache
def imagenet_index() -> dict[str, int]:
    """WordNet id to index: n01440764 is 0."""
    return {row.wnid: row.number for row in imagenet_classes()}


@cache
def imagenet_by_name() -> dict[str, int]:
    """Plain name to index: "great white shark" is 2. Crane and maillot, which occur twice, are left out."""
    names = [plain_name(row.name) for row in imagenet_classes()]
    return {name: index for index, name in enumerate(names) if names.count(name) == 1}


def imagenet_number(name: str) -> int | None:
    """The ImageNet class of a WordNet id or a name; None if there is none, or two."""
    number = imagenet_index().get(name)
    return imagenet_by_name().get(plain_name(name)) if number is None else number


def plain_name(name: str) -> str:
    """A class name in one normal form: lower case, words separated by single blanks."""
    return " ".join(name.replace("_", " ").replace("-", " ").lower().split())


def class_places(classes: Sequence[str], order: Sequence[str], where: str) -> list[int]:
    """The position of each class in a list of names: by exact name, else plain name, else the same ImageNet class.

    Raises a BrittleError that names the classes that are missing from it, or occur twice.
    """
    if not order:
        raise BrittleError("the list of classes is empty; give one name for each output of the model, in their order")
    exact = {name: position for position, name in enumerate(order)}
    if len(exact) < len(order):
        duplicates = sorted({name for name in order if order.count(name) > 1})
        raise BrittleError(f"the list of classes has {', '.join(map(repr, duplicates[:3]))} more than once")
    by_plain_name: dict[str | int | None, int | None] = {}
    by_number: dict[str | int | None, int | None] = {}
    for position, name in enumerate(order):
        for table, key in ((by_plain_name, plain_name(name)), (by_number, imagenet_number(name))):
            table[key] = position if key not in table else None  # None: ambiguous
    positions: list[int] = []
    unknown: list[str] = []
    for name in classes:
        number = imagenet_number(name)
        candidates = (
            exact.get(name),
            by_plain_name.get(plain_name(name)),
            None if number is None else by_number.get(number),
        )
        matches = [position for position in candidates if position is not None]
        positions.append(matches[0] if matches else -1)
        unknown += [] if matches else [name]
    if unknown:
        shown = ", ".join(map(repr, unknown[:3])) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
        listed = ", ".join(map(repr, order[:3])) + (" …" if len(order) > 3 else "")
        raise BrittleError(f"{where!r} has the classes {shown}, which are not in the list of {len(order)}: {listed}")
    if len(set(positions)) < len(positions):
        raise BrittleError(f"two classes of {where!r} match the same name in the list; make its names exact")
    return positions


def read_class_names(path: str | Path) -> list[str]:
    """The class names or WordNet ids of a text file, one a line, in the order of a model's outputs."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of class names {str(path)!r}; it has one name a line")
    return [line for line in read_lines(path, "class names") if line]


def class_words(names: Sequence[str]) -> list[str]:
    """Class names as words for prompts: a WordNet id of ImageNet becomes its name, underscores become blanks."""
    index, classes = imagenet_index(), imagenet_classes()
    words = (classes[index[name]].name if name in index else name for name in names)
    return [" ".join(word.replace("_", " ").split()) for word in words]


@cache
def objectnet_folders() -> dict[str, tuple[int, ...]]:
    """Each of the 313 folders of ObjectNet with the matching ImageNet indices: none, or up to three."""
    rows = _rows("objectnet_folders.csv")
    return {row["folder"]: tuple(map(int, row["imagenet_indices"].split())) for row in rows}


def _in_set(row: dict[str, str], name: str) -> bool:
    return row[f"in_imagenet_{name}"] == "1"


def _rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
