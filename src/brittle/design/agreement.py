"""Do categories hold what they promise? Correlations within and across them (Syn2Nat, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.design.categories import Categories
from brittle.design.drops import check_drops
from brittle.metrics.fraction import Floats


@dataclass(frozen=True)
class Agreement:
    """Mean Pearson correlation of two corruptions of the same category (`scc`) and of different ones (`dcc`)."""

    scc: float
    dcc: float
    models: int

    def __str__(self) -> str:
        return f"same category {self.scc:.2f}, different categories {self.dcc:.2f} (mean Pearson, {self.models} models)"


def agreement(categories: Categories, robustness: ArrayLike, names: Sequence[str]) -> Agreement:
    """The correlation of the residual robustness of real models within and across categories.

    `robustness` is models × corruptions, the accuracy drop of each model under each corruption; `names` names its
    columns, which must hold every corruption of the categories. Syn2Nat reports 0.67 within and 0.10 across, for 21
    models.
    """
    table, where = check_drops(robustness, names)
    columns = [where(name) for name in categories.names]
    of = {one: label for label, group in enumerate(categories.members.values()) for one in group}
    labels = np.array([of[name] for name in categories.names])
    correlations = vector_correlations(table[:, columns].T, categories.names)
    return Agreement(*mean_correlations(correlations, labels), len(table))


def vector_correlations(vectors: Floats, names: Sequence[str]) -> Floats:
    """Pearson's correlation of every two rows."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1))
    flat = np.flatnonzero(length <= 1e-12 * np.abs(vectors).max(axis=1))
    if flat.size:
        raise ValueError(f"all values of {names[flat[0]]} are equal, so nothing correlates with it; leave it out")
    unit = centred / length[:, np.newaxis]
    return np.asarray(np.clip(unit @ unit.T, -1, 1))


def mean_correlations(correlations: Floats, labels: NDArray[np.int64]) -> tuple[float, float]:
    """The mean over same-category pairs and over different-category pairs, NaN where there are none."""
    same = labels[:, np.newaxis] == labels
    return _mean(correlations[same & ~np.eye(len(labels), dtype=bool)]), _mean(correlations[~same])


def _mean(pairs: Floats) -> float:
    return float(pairs.mean()) if pairs.size else float("nan")
