"""The bundled class tables: ImageNet's 1000 classes, and the folders of ObjectNet."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
def objectnet_folders() -> dict[str, tuple[int, ...]]:
    """Each of the 313 folders of ObjectNet with the ImageNet indices that mean the same: none, or up to three."""
    rows = _rows("objectnet_folders.csv")
    return {row["folder"]: tuple(map(int, row["imagenet_indices"].split())) for row in rows}


def _yes(row: dict[str, str], which: str) -> bool:
    return row[f"in_imagenet_{which}"] == "1"


def _rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
