"""Is a model no better than guessing, and would another order of the classes explain it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.evaluation.cell import CLEAN
from brittle.evaluation.results import Results

USEFUL = 0.1
"""An accuracy that a model of many classes has at least, if it is of any use."""

DOUBT, FIT_DOUBT = 0.01, 0.001
"""How likely a useful model may look like guessing, and guessing like another order of the classes."""


@dataclass(frozen=True)
class Guessing:
    """A model that is right no more often than guessing.

    `order` is the class that each of its outputs means, by number, if another order of the classes explains its
    predictions, and `fitted` its accuracy then, on images that the order was not found with.
    """

    right: int
    images: int
    chance: float
    order: tuple[int, ...] | None = None
    fitted: float | None = None


def guessing(labels: NDArray[np.integer], predictions: NDArray[np.integer], classes: int) -> Guessing | None:
    """Whether predictions are at or below chance; None if they are above it, or if there are too few to tell.

    They count as such only if a model that is twice as good as guessing (and right for at least one image in ten, or
    half-way to always) would look so in less than one of a hundred tests.
    """
    count, right = len(labels), int((labels == predictions).sum())
    if count == 0 or classes < 2:
        return None
    chance = 1 / classes
    useful = min(max(2 * chance, USEFUL), (1 + chance) / 2)
    if right > chance * count or _at_most(right, count, useful) >= DOUBT:
        return None
    order, fits = _order(labels, predictions, classes), _held_out(labels, predictions)
    clear = _at_most(count - fits, count, 1 - chance) < FIT_DOUBT  # so many would fit by chance hardly ever
    if order is None or not clear:
        return Guessing(right, count, chance)
    return Guessing(right, count, chance, order, fits / count)


def guessing_models(results: Results, models: Sequence[str] | None = None) -> dict[str, Guessing]:
    """The models that are no better than guessing on clean images, by name."""
    classes = max((len(run.get("classes", ())) for run in results.runs), default=0)
    rows = results.rows.filter(pl.col("corruption") == CLEAN).select("model", "label", "prediction").collect()
    found = {}
    for (name,), group in rows.group_by("model", maintain_order=True):
        labels, predictions = group["label"].to_numpy(), group["prediction"].to_numpy()
        if models is None or name in models:
            found[str(name)] = guessing(labels, predictions, classes or int(labels.max()) + 1)
    return {name: one for name, one in found.items() if one is not None}


def guessing_in_words(model: str, found: Guessing, classes: Sequence[str]) -> str:
    """A warning in one or two sentences, with the order of classes that fits if there is one."""
    words = (
        f"{model} is right about {found.right} of {found.images} clean images, no more than guessing "
        f"({found.chance:.1%})"
    )
    if found.order is None or found.fitted is None or not classes:
        return (
            f"{words}. Are its classes in another order than the data's (--classes), or its images prepared otherwise "
            "(--mean, --std, --size, --crop)?"
        )
    names = ", ".join(classes[number] for number in found.order[:30]) + (" …" if len(found.order) > 30 else "")
    return (
        f"{words}, but its predictions fit to {found.fitted:.1%} if its outputs are in this order: {names}. If so, "
        "write these names into a file, one a line, and give it as --classes FILE (classes=[…] in Python)."
    )


def _order(labels: NDArray[np.integer], predictions: NDArray[np.integer], classes: int) -> tuple[int, ...] | None:
    """The class of each output, if every class is mostly taken for another one; one output may be left over."""
    output = _mostly(labels, predictions)
    if len(set(output.values())) < len(output) or any(not 0 <= place < classes for place in output.values()):
        return None
    lacking = sorted(set(range(classes)) - set(output))
    left = sorted(set(range(classes)) - set(output.values()))
    if len(lacking) > 1:
        return None
    output.update(zip(lacking, left, strict=True))
    number = {place: label for label, place in output.items()}
    return tuple(number[place] for place in range(classes))


def _held_out(labels: NDArray[np.integer], predictions: NDArray[np.integer]) -> int:
    """How many images fit an order that was found with the other half of each class."""
    half = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        half[np.flatnonzero(labels == label)[::2]] = True
    fits = 0
    for part in (half, ~half):
        output = _mostly(labels[~part], predictions[~part])
        fits += sum(output.get(int(a)) == int(b) for a, b in zip(labels[part], predictions[part], strict=True))
    return fits


def _mostly(labels: NDArray[np.integer], predictions: NDArray[np.integer]) -> dict[int, int]:
    """The prediction that is most frequent for each label."""
    found = {}
    for label in np.unique(labels):
        values, counts = np.unique(predictions[labels == label], return_counts=True)
        found[int(label)] = int(values[counts.argmax()])
    return found


def _at_most(right: int, count: int, share: float) -> float:
    """The probability that at most so many of `count` are right if each is with probability `share`."""
    terms = (
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
        for k in range(right + 1)
    )
    return math.fsum(map(math.exp, terms))
