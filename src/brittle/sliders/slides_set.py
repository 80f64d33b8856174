"""A folder of slides as a set to run models on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from brittle.datasets.cns_bench import cns_bench
from brittle.datasets.dataset import Dataset
from brittle.datasets.stored_set import StoredSet


def slides_set(
    folder: str | Path, *, classes: Sequence[str] | None = None, keep: Collection[str] | None = None
) -> StoredSet:
    """The images of a CNS-Bench folder for `evaluate_stored`: corruption "cns/<shift>", level = scale.

    Args:
        classes: the names of the classes by number, where they are not ImageNet's 1000.
        keep: the samples to keep, such as those the out-of-class filter left.
    """
    everything = cns_bench(folder)
    if classes is not None:
        everything = _with_classes(everything, classes)
    chosen = np.arange(len(everything))
    if keep is not None:
        wanted = set(keep)
        chosen = np.array([i for i, sample in enumerate(everything.ids) if sample in wanted], dtype=np.int64)
        if not len(chosen):
            raise ValueError(f"none of the {len(wanted)} samples to keep is among the images of {str(folder)!r}")
    shifts, scales = everything.columns["shift"][chosen], everything.columns["scale"][chosen]
    cells: dict[tuple[str, float], Callable[[], Dataset]] = {}
    for shift, scale in sorted(set(zip(shifts.tolist(), scales.tolist(), strict=True))):
        those = chosen[(shifts == shift) & (scales == scale)]
        cells[f"cns/{shift}", float(scale)] = partial(everything.subset, those)
    return StoredSet(Path(folder).resolve().name, "cns-bench", cells)


def _with_classes(dataset: Dataset, classes: Sequence[str]) -> Dataset:
    return Dataset(
        dataset.name,
        dataset.image,
        dataset.ids,
        content=partial(getattr, dataset, "key"),
        labels=dataset.labels,
        classes=classes,
        columns=dataset.columns,
        notes=[note for note in dataset.notes if "class table" not in note],
    )
