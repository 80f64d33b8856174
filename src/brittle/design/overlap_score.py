"""The overlapping score: how much learning one corruption helps with another (NOC, Eq. 2)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from brittle.benchmarks import Benchmark
from brittle.design.overlap_matrix import OverlapMatrix, names_and_recipe
from brittle.metrics.fraction import Floats, fractions
from brittle.metrics.robustness import robustness_score

Form = Literal["ratio", "accuracy"]

FLOOR = 0.02
"""With 10,000 test images a gain is known to about 0.007, so a ratio to less than three times that is mostly noise."""


class VanishingGain(UserWarning):
    """A model learned so little from its own corruption that no overlap with it can be measured."""


def overlap_matrix(
    accuracy: ArrayLike, names: Sequence[str] | Benchmark, *, form: Form = "ratio", floor: float = FLOOR
) -> OverlapMatrix:
    """The overlapping score of every pair of k corruptions, from a (k+1) × (k+1) table of accuracies.

    Row i is the model trained with corruption i, column j the test set under corruption j; row 0 is the standard
    model, column 0 the clean test set. With R(m, c) = A(m, c) / A(m) and gain(m, c) = R(m, c) − R(standard, c),

        O(a, b) = max(0, ½ [gain(m_a, b) / gain(m_b, b) + gain(m_b, a) / gain(m_a, a)])

    as in NOC's Eq. 2: a foreign model's gain over the native model's gain on the same corruption, the sum clipped at 0.
    `form="accuracy"` takes A(m, c) itself for R(m, c), as the code of Syn2Nat does. If a native gain is not above
    `floor` the score is undefined: that corruption is named in a `VanishingGain` warning and its entries are NaN.

    `names` are those of the corruptions, or the recipe they were measured with, which the matrix then carries.
    """
    named, candidates = names_and_recipe(names)
    table = check_table(accuracy, named)
    gains, native = gains_of(table, form)
    return from_gains(gains, native, named, floor, candidates)


def check_table(accuracy: ArrayLike, names: tuple[str, ...]) -> Floats:
    """Accuracies as fractions, (k+1) × (k+1) for k names."""
    table, side = np.asarray(accuracy, dtype=np.float64), len(names) + 1
    if table.shape != (side, side):
        raise ValueError(
            f"{len(names)} corruptions need {side} × {side} accuracies, the standard model and the clean test set "
            f"first, got shape {table.shape}"
        )
    return fractions(table, "the accuracy")


def gains_of(table: Floats, form: Form) -> tuple[Floats, Floats]:
    """Gains over the standard model, k trained × k tested on the last two axes, and the native ones among them."""
    if form not in ("ratio", "accuracy"):
        raise ValueError(f"the form is 'ratio' (the papers) or 'accuracy' (the code of Syn2Nat), got {form!r}")
    corrupted = table[..., 1:]
    score = robustness_score(corrupted, table[..., :1]) if form == "ratio" else corrupted
    gains = score[..., 1:, :] - score[..., :1, :]
    return gains, np.diagonal(gains, axis1=-2, axis2=-1)


def from_gains(
    gains: Floats, native: Floats, names: tuple[str, ...], floor: float, candidates: Benchmark | None = None
) -> OverlapMatrix:
    """The matrix, with a warning for every corruption that its own model did not learn."""
    unlearned = tuple(name for name, gain in zip(names, native, strict=True) if not gain > floor)
    for name, gain in zip(names, native, strict=True):
        if not gain > floor:
            message = (
                f"the model trained with {name} is only {gain:+.3f} better on {name} than the standard model (the "
                f"floor is {floor:g}), so its overlaps are masked; train longer, make it more severe or leave it out"
            )
            warnings.warn(VanishingGain(message), stacklevel=3)
    scores = scores_of(gains, native, floor)
    return OverlapMatrix(names, scores, candidates=candidates, unlearned=unlearned)


def scores_of(gains: Floats, native: Floats, floor: float) -> Floats:
    """Overlapping scores on the last two axes, NaN in the rows and columns of a vanishing native gain."""
    if not (np.isfinite(floor) and floor >= 0):
        raise ValueError(f"the floor of a native gain is 0 or a little more, such as {FLOOR}, got {floor!r}")
    share = gains / np.where(native > floor, native, np.nan)[..., np.newaxis, :]
    scores = np.maximum((share + np.swapaxes(share, -1, -2)) / 2, 0)
    each = np.arange(scores.shape[-1])
    scores[..., each, each] = 1
    return np.asarray(scores)
