"""Five of a corruption's levels at a time, with errors spread as a benchmark's are (C-bar, step 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import fractions


@dataclass(frozen=True)
class SeveritySet:
    """Five places in a list of levels, and the mean error there."""

    places: tuple[int, int, int, int, int]
    error: float


def severity_sets(errors: ArrayLike, spread: float) -> list[SeveritySet]:
    """One set of five levels around each possible centre, the smallest mean error first.

    `errors` are those at growing severities, at least five. Around centre i the first level is the one below i − 1
    whose error is nearest to 1 − spread times the centre's, the second the one between the two nearest to
    1 − spread / 2; the fourth and the fifth likewise above. Of equally near ones the later is taken, as in the authors'
    code.
    """
    found = fractions(errors, "the error")
    if found.ndim != 1 or len(found) < 5:
        raise ValueError(f"sets of five need the errors at five levels or more, got shape {found.shape}")
    if not spread > 0:
        raise ValueError(f"spread must be above 0, as error_spread gives it, got {spread!r}")
    sets = []
    for centre in range(2, len(found) - 2):
        if not found[centre] > 0:
            continue
        relative = found / found[centre] - 1
        first = _nearest(relative, range(centre - 1), -spread)
        second = _nearest(relative, range(first + 1, centre), -spread / 2)
        fifth = _nearest(relative, range(centre + 2, len(found)), spread)
        fourth = _nearest(relative, range(centre + 1, fifth), spread / 2)
        places = (first, second, centre, fourth, fifth)
        sets.append(SeveritySet(places, float(found[list(places)].mean())))
    if not sets:
        raise ValueError("the error is 0 at every centre, so nothing can be spread about it; use harder levels")
    return sorted(sets, key=lambda one: one.error)


def _nearest(relative: np.ndarray, places: Sequence[int], wanted: float) -> int:
    return min(reversed(places), key=lambda place: abs(relative[place] - wanted))
