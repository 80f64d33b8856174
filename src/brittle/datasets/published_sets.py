"""A published corrupted set as a whole: which corruptions at which levels lie on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, BrittleTypeError
from brittle.benchmarks import Benchmark
from brittle.corruptions import list_corruptions
from brittle.datasets.cifar import array_corruptions, cifar_c
from brittle.datasets.cns import cns_bench
from brittle.datasets.dataset import Dataset
from brittle.datasets.export import RECIPE
from brittle.datasets.imagenet_sets import folder_corruptions, imagenet_c, severities, tiny_imagenet_c

Cells = Mapping[tuple[str, float], Callable[[], Dataset]]

RECIPES = {
    "imagenet-c": ("imagenet-c", "imagenet-c-extra", "imagenet-c-bar"),
    "tiny-imagenet-c": ("tiny-imagenet-c",),
    "cifar-c": ("cifar10-c", "cifar10-c-bar"),
    "cns-bench": (),
}
"""The recipes that a stored set may hold the pictures of."""

OPTIONS = {
    "imagenet-c": ("partial",),
    "tiny-imagenet-c": ("partial",),
    "cifar-c": (),
    "cns-bench": ("classes", "keep"),
}
"""What each reader may be told."""


@dataclass(frozen=True, eq=False)
class StoredSet:
    """Corrupted images as somebody published them; each cell's dataset is opened when it is asked for.

    `folder` is where they lie, for those who want to look at them later.
    """

    name: str
    scheme: str
    cells: Cells
    folder: str = ""

    @property
    def recipes(self) -> tuple[str, ...]:
        """The bundled recipes it may be compared with."""
        return RECIPES[self.scheme]

    @property
    def written_by(self) -> Benchmark | None:
        """The recipe by which `brittle corrupt` wrote the pictures; None if they are somebody else's."""
        file = Path(self.folder) / RECIPE
        return Benchmark.load(file) if self.folder and file.is_file() else None


def stored_set(spec: str | Path, **options: Any) -> StoredSet | None:
    """The set that a text such as "imagenet-c:PATH" or "cifar-c:PATH" names as a whole, or None if it names none.

    Corruptions get the ids of ours, gaussian_noise becoming imagenet-c/gaussian_noise, so that scores, families and
    published numbers find them. `options` are those of the reader, such as partial=True.
    """
    scheme, colon, rest = str(spec).partition(":")
    path = Path(rest).expanduser()
    if not colon or scheme not in RECIPES:
        return None
    if not path.is_dir():
        if path.parent.parent.is_dir() and len(path.parts) > 2:
            return None  # one cell, path/<corruption>/<severity>, of arrays
        raise FileNotFoundError(f"there is no folder {str(path)!r} of {scheme}")
    for option in options:
        if option not in OPTIONS[scheme]:
            known = ", ".join(OPTIONS[scheme]) or "none"
            raise BrittleTypeError(f"{scheme} has no option {option!r}; it has: {known}")
    cells = _READERS[scheme](path, **options)
    whole = path.resolve()
    return StoredSet(whole.name, scheme, cells, str(whole)) if cells else None


def _folders(reader: Callable[..., Dataset], path: Path, **options: Any) -> Cells:
    return {
        (_identity(name), float(number)): partial(reader, path, name, level, **options)
        for name, folder in sorted(folder_corruptions(path).items())
        for number, level in enumerate(severities(folder), 1)
    }


def _arrays(path: Path) -> Cells:
    return {
        (_identity(name), float(s)): partial(cifar_c, path, name, s)
        for name in array_corruptions(path)
        for s in range(1, 6)
    }


def shift_cells(path: Path, *, classes: Sequence[str] | None = None, keep: Collection[str] | None = None) -> Cells:
    """The cells "cns/<shift>", scale of a CNS-Bench folder; `keep` are the samples to keep, by default all."""
    everything = cns_bench(path, classes=classes)
    chosen = np.arange(len(everything))
    if keep is not None:
        wanted = set(keep)
        chosen = np.array([i for i, sample in enumerate(everything.ids) if sample in wanted], dtype=np.int64)
        if not len(chosen):
            raise BrittleError(f"none of the {len(wanted)} samples to keep is among the images of {str(path)!r}")
    shifts, scales = everything.columns["shift"][chosen], everything.columns["scale"][chosen]
    cells: dict[tuple[str, float], Callable[[], Dataset]] = {}
    for shift, scale in sorted(set(zip(shifts.tolist(), scales.tolist(), strict=True))):
        those = chosen[(shifts == shift) & (scales == scale)]
        cells[f"cns/{shift}", float(scale)] = partial(everything.subset, those)
    return cells


_READERS: dict[str, Callable[..., Cells]] = {
    "imagenet-c": partial(_folders, imagenet_c),
    "tiny-imagenet-c": partial(_folders, tiny_imagenet_c),
    "cifar-c": _arrays,
    "cns-bench": shift_cells,
}


def _identity(name: str) -> str:
    """Our id for a published name, else the name as it is."""
    for source in ("imagenet-c", "c-bar"):
        for corruption in list_corruptions(source=source):
            if corruption.name == name:
                return corruption.id
    return name
