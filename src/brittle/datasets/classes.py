"""The bundled class tables: ImageNet's 1000 classes, and the folders of ObjectNet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from brittle._errors import BrittleError

TABLES = Path(__file__).parent / "tables"


class ImageNetClass(NamedTuple):
    """One row of the table."""

    number: int
    wnid: str
    name: str
    in_a: bool
    in_r: bool


@cache
def imagenet_classes() -> tuple[ImageNetClass, ...]:
    """The 1000 classes in the order of a model's outputs."""
    rows = _rows("imagenet_classes.csv")
    return tuple(
        ImageNetClass(int(row["index"]), row["wnid"], row["name"], _yes(row, "a"), _yes(row, "r")) for row in rows
    )


@cache
def imagenet_names() -> tuple[str, ...]:
    """The names alone. Two of them, crane and maillot, are there twice."""
    return tuple(row.name for row in imagenet_classes())


@cache
def imagenet_index() -> dict[str, int]:
    """WordNet id to index: n01440764 is 0."""
    return {row.wnid: row.number for row in imagenet_classes()}


@cache
def imagenet_by_name() -> dict[str, int]:
    """Plain name to index: "great white shark" is 2. Crane and maillot, which are there twice, are not."""
    names = [plain_name(row.name) for row in imagenet_classes()]
    return {name: index for index, name in enumerate(names) if names.count(name) == 1}


def imagenet_number(name: str) -> int | None:
    """The ImageNet class that a WordNet id or a name means; None if it means none, or two."""
    number = imagenet_index().get(name)
    return imagenet_by_name().get(plain_name(name)) if number is None else number


def plain_name(name: str) -> str:
    """A class name as people write it in one way or the other: small letters, words between single blanks."""
    return " ".join(name.replace("_", " ").replace("-", " ").lower().split())


def class_places(classes: Sequence[str], order: Sequence[str], where: str) -> list[int]:
    """The place of each class in a list of names; the same name, else the same plain name, else ImageNet's same class.

    Raises a BrittleError that names the classes that are not in it, or that are in it twice.
    """
    if not order:
        raise BrittleError("the list of classes is empty; give one name for each output of the model, in their order")
    exact = {name: place for place, name in enumerate(order)}
    if len(exact) < len(order):
        twice = sorted({name for name in order if order.count(name) > 1})
        raise BrittleError(f"the list of classes has {', '.join(map(repr, twice[:3]))} more than once")
    plain: dict[str | int | None, int | None] = {}
    numbers: dict[str | int | None, int | None] = {}
    for place, name in enumerate(order):
        for known, key in ((plain, plain_name(name)), (numbers, imagenet_number(name))):
            known[key] = place if key not in known else None  # None: two of them
    found: list[int] = []
    unknown: list[str] = []
    for name in classes:
        number = imagenet_number(name)
        places = (exact.get(name), plain.get(plain_name(name)), None if number is None else numbers.get(number))
        known_places = [known for known in places if known is not None]
        found.append(known_places[0] if known_places else -1)
        unknown += [] if known_places else [name]
    if unknown:
        shown = ", ".join(map(repr, unknown[:3])) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
        listed = ", ".join(map(repr, order[:3])) + (" …" if len(order) > 3 else "")
        raise BrittleError(f"{where!r} has the classes {shown}, which are not in the list of {len(order)}: {listed}")
    if len(set(found)) < len(found):
        raise BrittleError(f"two classes of {where!r} mean the same one of the list; make its names exact")
    return found


def read_class_names(path: str | Path) -> list[str]:
    """The class names or WordNet ids of a text file, one a line, in the order of a model's outputs."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of class names {str(path)!r}; it has one name a line")
    return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]


@cache
def objectnet_folders() -> dict[str, tuple[int, ...]]:
    """Each of the 313 folders of ObjectNet with the ImageNet indices that mean the same: none, or up to three."""
    rows = _rows("objectnet_folders.csv")
    return {row["folder"]: tuple(map(int, row["imagenet_indices"].split())) for row in rows}


def _yes(row: dict[str, str], which: str) -> bool:
    return row[f"in_imagenet_{which}"] == "1"


def _rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
