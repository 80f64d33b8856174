"""A folder of slides as a set to run models on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from brittle.datasets.stored_set import StoredSet, shift_cells


def slides_set(
    folder: str | Path, *, classes: Sequence[str] | None = None, keep: Collection[str] | None = None
) -> StoredSet:
    """The images of a CNS-Bench folder for `evaluate_stored`: corruption "cns/<shift>", level = scale.

    Args:
        classes: the names of the classes by number, where they are not ImageNet's 1000; by default those that
            `classes.txt` in the folder says, as `brittle slide sample` writes it.
        keep: the samples to keep, such as those the out-of-class filter left.
    """
    place = Path(folder).resolve()
    return StoredSet(place.name, "cns-bench", shift_cells(place, classes=classes, keep=keep), str(place))
