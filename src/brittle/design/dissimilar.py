"""The corruptions that are farthest from a benchmark, equally hard: how C-bar was built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.design.sampled_datasets import MOST, Halves, disjoint_pairs, sampled_halves
from brittle.design.scan import Scan
from brittle.design.severity_sets import SeveritySet, severity_sets
from brittle.metrics.fraction import Floats


@dataclass(frozen=True, eq=False)
class Dissimilar:
    """The farthest corruptions with five severities each, and the shift of every candidate.

    `shifts` are runs × candidates: the mean distance of sampled data sets with a candidate minus that of all, in
    standard deviations of all; NaN for one that no data set with the target error has, which cannot be picked. `error`
    is the mean error of the data set that was chosen.
    """

    candidates: tuple[str, ...]
    shifts: Floats
    picked: dict[str, tuple[float, ...]]
    error: float
    target: float
    datasets: int

    def table(self) -> pl.DataFrame:
        """A row a candidate, the farthest first: mean shift, its standard error over runs, whether it was picked."""
        known = (~np.isnan(self.shifts)).sum(0)
        error = [
            mine[~np.isnan(mine)].std(ddof=1) / np.sqrt(count) if count > 1 else None
            for mine, count in zip(self.shifts.T, known, strict=True)
        ]
        levels = [self.picked.get(name) for name in self.candidates]
        return pl.DataFrame(
            {
                "candidate": self.candidates,
                "shift": _mean(self.shifts),
                "standard_error": pl.Series(error, dtype=pl.Float64),
                "picked": [name in self.picked for name in self.candidates],
                "levels": [None if mine is None else " ".join(f"{level:g}" for level in mine) for mine in levels],
            }
        ).sort("shift", descending=True, nulls_last=True)

    @property
    def unfit(self) -> list[str]:
        """The candidates that no data set with the target error has."""
        return [name for name, mine in zip(self.candidates, self.shifts.T, strict=True) if np.isnan(mine).all()]


def dissimilar(
    runs: Sequence[Sequence[Scan]],
    target_error: float,
    *,
    spread: float,
    k: int = 10,
    datasets: int = 100_000,
    tolerance: float = 0.01,
    seed: int = 0,
) -> Dissimilar:
    """The k candidates that take a data set farthest from a benchmark at the same error (Mintun et al., section 5).

    Every candidate gets sets of five levels spread as the benchmark's are. Data sets of k candidates whose mean error
    is the target are sampled, as two halves without a common member; the shift of a candidate is how much farther
    data sets with it are. The k with the largest mean shift over runs are picked, with the severities of that sampled
    data set of them whose error is nearest to the target.

    Args:
        runs: scans of all candidates by one model each, or by one model on other images; the paper has 10 runs.
        target_error: the mean error of the benchmark, and `spread` its spread, see `error_target`.
        k: how many are picked: an even number up to 10.
        datasets: that are sampled in each run.
        tolerance: how near a half must come to the target, relatively.
        seed: of the sampling.
    """
    names = _names(runs)
    check_k(k, len(names))
    shifts, drawn = [], []
    for number, scans in enumerate(runs):
        sets = [severity_sets(scan.errors, spread) for scan in scans]
        halves = sampled_halves(
            [[one.error for one in mine] for mine in sets],
            target_error,
            k // 2,
            tolerance=tolerance,
            seed=seed + number,
        )
        pairs = disjoint_pairs(halves.members, datasets, seed=seed + number)
        shifts.append(_shifts(halves, pairs, _set_distances(scans, sets), len(names)))
        drawn.append((halves, sets))
    mean = np.array([-np.inf if one is None else one for one in _mean(np.array(shifts))])
    best = np.sort(np.argsort(-mean, kind="stable")[:k])
    picked, error = _levels(runs, drawn, best, target_error)
    chosen = {names[i]: picked[int(i)] for i in best}
    return Dissimilar(names, np.array(shifts), chosen, error, target_error, datasets)


def check_k(k: int, candidates: int) -> None:
    """Raise unless data sets of k of so many candidates can be sampled in two halves."""
    most = min(2 * MOST, candidates) // 2 * 2
    if most < 2:
        raise ValueError(f"a data set has two halves, so there must be two candidates or more; got {candidates}")
    if k % 2 or not 2 <= k <= most:
        raise ValueError(
            f"k is an even number from 2 to {most}, since data sets of {candidates} candidates are sampled in halves "
            f"of up to {MOST}; got {k}"
        )


def _mean(shifts: Floats) -> list[float | None]:
    """The mean over the runs that know a candidate."""
    return [None if np.isnan(mine).all() else float(np.nanmean(mine)) for mine in shifts.T]


def _names(runs: Sequence[Sequence[Scan]]) -> tuple[str, ...]:
    if not runs or not runs[0]:
        raise ValueError("give the scans of at least one run, of at least two candidates")
    names = tuple(scan.candidate for scan in runs[0])
    for scans in runs:
        if tuple(scan.candidate for scan in scans) != names:
            raise ValueError("all runs must scan the same candidates in the same order")
    return names


def _set_distances(scans: Sequence[Scan], sets: Sequence[Sequence[SeveritySet]]) -> Floats:
    """The mean distance of each severity set, candidates × sets, NaN where a candidate has fewer."""
    table = np.full((len(sets), max(map(len, sets))), np.nan)
    for row, scan, mine in zip(table, scans, sets, strict=True):
        row[: len(mine)] = [scan.distances[list(one.places)].mean() for one in mine]
    return table


def _shifts(halves: Halves, pairs: NDArray[np.int64], distances: Floats, candidates: int) -> Floats:
    """How many standard deviations farther the data sets with each candidate are (step 6)."""
    far = distances[halves.members, halves.sets].mean(1)
    mean = far[pairs].mean(1)
    within = np.zeros((len(halves), candidates))
    np.put_along_axis(within, halves.members, 1.0, axis=1)
    total, count = np.zeros(candidates), np.zeros(candidates)
    for side in pairs.T:
        weight = np.bincount(side, minlength=len(halves)).astype(np.float64)
        count += weight @ within
        total += np.bincount(side, mean, minlength=len(halves)) @ within
    with np.errstate(invalid="ignore"):  # 0 / 0 of a candidate that is in none
        farther = total / count - mean.mean()
    spread = mean.std()
    if spread <= 1e-9 * mean.mean():  # all are equally far, so none moves them
        return np.asarray(0 * farther)
    return np.asarray(farther / spread)


def _levels(
    runs: Sequence[Sequence[Scan]],
    drawn: Sequence[tuple[Halves, Sequence[Sequence[SeveritySet]]]],
    best: NDArray[np.int64],
    target: float,
) -> tuple[dict[int, tuple[float, ...]], float]:
    """The severities of the sampled data set of exactly these candidates whose error is nearest to the target."""
    choices: dict[tuple[int, ...], list[tuple[float, int, int]]] = {}
    for run, (halves, _) in enumerate(drawn):
        for place in map(int, np.flatnonzero(np.isin(halves.members, best).all(1))):
            mine = tuple(int(i) for i in halves.members[place])
            choices.setdefault(mine, []).append((float(halves.errors[place]), run, place))
    nearest: tuple[float, tuple[int, int], tuple[int, int], float] | None = None
    for mine, first in choices.items():
        rest = tuple(int(i) for i in best if i not in mine)
        if mine[0] != best[0]:
            continue  # its partner has been or will be looked at with it
        for error, run, place in first:
            for other, other_run, other_place in choices.get(rest, ()):
                off = abs((error + other) / 2 - target)
                if nearest is None or off < nearest[0]:
                    nearest = (off, (run, place), (other_run, other_place), (error + other) / 2)
    if nearest is None:
        raise ValueError(
            "the farthest corruptions cannot have the target error together, since no two halves of them do; widen the "
            "tolerance"
        )
    found: dict[int, tuple[float, ...]] = {}
    for run, place in nearest[1:3]:
        halves, sets = drawn[run]
        for member, one in zip(halves.members[place], halves.sets[place], strict=True):
            scan = runs[run][int(member)]
            found[int(member)] = tuple(scan.severities[i] for i in sets[int(member)][int(one)].places)
    return found, nearest[3]
