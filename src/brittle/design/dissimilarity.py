"""Benchmarks that are dissimilar to another one at the same error (C-bar)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_counts, check_fractions, check_seed
from brittle.benchmarks import Benchmark
from brittle.corruptions.kernels.arithmetic import compiled
from brittle.design.scanning import Scan


@dataclass(frozen=True)
class SeveritySet:
    """Indices of five levels in a list, and the mean error over them."""

    places: tuple[int, int, int, int, int]
    error: float


def severity_sets(errors: ArrayLike, spread: float) -> list[SeveritySet]:
    """One set of five levels around each possible centre, the smallest mean error first.

    `errors` are those at ascending severities, at least five. Around centre i the first level is the one below i − 1
    whose error is nearest to 1 − spread times the centre's, the second the one between the two nearest to
    1 − spread / 2; the fourth and the fifth likewise above. Of ties the later is taken, as in the authors' code.
    """
    table = check_fractions(errors, "the error")
    if table.ndim != 1 or len(table) < 5:
        raise BrittleError(f"sets of five need the errors at five levels or more, got shape {table.shape}")
    if not spread > 0:
        raise BrittleError(f"spread must be above 0, as error_spread gives it, got {spread!r}")
    sets = []
    for centre in range(2, len(table) - 2):
        if not table[centre] > 0:
            continue
        relative = table / table[centre] - 1
        first = _nearest(relative, range(centre - 1), -spread)
        second = _nearest(relative, range(first + 1, centre), -spread / 2)
        fifth = _nearest(relative, range(centre + 2, len(table)), spread)
        fourth = _nearest(relative, range(centre + 1, fifth), spread / 2)
        places = (first, second, centre, fourth, fifth)
        sets.append(SeveritySet(places, float(table[list(places)].mean())))
    if not sets:
        raise BrittleError("the error is 0 at every centre, so no levels can be chosen around it; use harder levels")
    return sorted(sets, key=lambda severity_set: severity_set.error)


def _nearest(relative: np.ndarray, places: Sequence[int], target: float) -> int:
    return min(reversed(places), key=lambda place: abs(relative[place] - target))


MOST = 5
"""The largest half of a data set: 5 of 30 candidates have 142,506 combinations of 7,776 choices each."""


@dataclass(frozen=True, eq=False)
class Halves:
    """Combinations of candidates that reach the target error, and one choice of severity sets for each."""

    members: NDArray[np.int64]
    sets: NDArray[np.int64]
    errors: FloatArray

    def __len__(self) -> int:
        return len(self.members)


def sampled_halves(
    errors: Sequence[Sequence[float]], target: float, size: int, *, tolerance: float = 0.01, seed: int = 0
) -> Halves:
    """For each combination of `size` candidates, one random choice of severity sets with about the target error.

    `errors` are the mean errors of each candidate's severity sets. A choice fits if its mean error is within a relative
    `tolerance` of the target. Combinations without a fitting choice are left out.
    """
    if not 1 <= size <= min(MOST, len(errors)):
        raise BrittleError(
            f"half a data set has 1 to {min(MOST, len(errors))} of {len(errors)} corruptions, got {size}"
        )
    if not (0 < target < 1 and 0 < tolerance < 1):
        raise BrittleError(f"target and tolerance are fractions between 0 and 1, got {target!r} and {tolerance!r}")
    most = max(map(len, errors))
    table = np.full((len(errors), most), np.nan)
    for row, set_errors in zip(table, errors, strict=True):
        row[: len(set_errors)] = set_errors
    counts = np.array([len(set_errors) for set_errors in errors], np.int64)
    members = np.array(list(combinations(range(len(errors)), size)), np.int64)
    rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
    sets, mean_errors = _choices(
        table, counts, members, target * (1 - tolerance), target * (1 + tolerance), rng.random(len(members))
    )
    fits = ~np.isnan(mean_errors)
    if not fits.any():
        raise BrittleError(
            f"no {size} of {len(errors)} corruptions have a mean error within {100 * tolerance:g} % of {target:.3f}; "
            f"the errors of their severity sets are {np.nanmin(table):.3f} to {np.nanmax(table):.3f}: take other "
            "levels or a wider tolerance"
        )
    return Halves(members[fits], sets[fits], mean_errors[fits])


@compiled
def _choices(table: Any, counts: Any, members: Any, low: float, high: float, uniform: Any) -> Any:
    """For each combination, one of the choices strictly between low and high, picked by its uniform; NaN if none."""
    number, size = members.shape
    sets = np.zeros((number, size), np.int64)
    errors = np.full(number, np.nan)
    sums = np.zeros(counts.max() ** size)
    for i in range(number):
        total = 1  # the number of sums over all choices of the first members, one member more at a time
        sums[0] = 0.0
        for j in range(size):
            set_errors = table[members[i, j]]
            count = counts[members[i, j]]
            for k in range(total - 1, -1, -1):  # from the end, so that nothing is overwritten before it is read
                for c in range(count - 1, -1, -1):
                    sums[k * count + c] = sums[k] + set_errors[c]
            total *= count
        fitting = 0
        for k in range(total):
            if low * size < sums[k] < high * size:
                fitting += 1
        skip = int(uniform[i] * fitting)
        for k in range(total):
            if low * size < sums[k] < high * size:
                if skip == 0:
                    errors[i] = sums[k] / size
                    code = k
                    for j in range(size - 1, -1, -1):
                        sets[i, j] = code % counts[members[i, j]]
                        code //= counts[members[i, j]]
                    break
                skip -= 1
    return sets, errors


def disjoint_pairs(members: NDArray[np.int64], count: int, *, seed: int = 0) -> NDArray[np.int64]:
    """`count` random pairs of combinations without a common member, pairs × 2; pairs may repeat."""
    if count < 1:
        raise BrittleError(f"count must be at least 1, got {count}")
    rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
    accepted: list[NDArray[np.int64]] = []
    total, tried = 0, 0
    while total < count:
        drawn = (rng.random((2 * count, 2)) * len(members)).astype(np.int64)
        first, second = members[drawn[:, 0]], members[drawn[:, 1]]
        disjoint = drawn[~(first[:, :, np.newaxis] == second[:, np.newaxis]).any((1, 2))]
        accepted.append(disjoint)
        total, tried = total + len(disjoint), tried + 1
        if tried == 50 and not total:
            raise BrittleError(
                f"no two of {len(members)} halves of {members.shape[1]} corruptions have none in common; give more "
                "candidates, ask for fewer corruptions or widen the tolerance"
            )
    return np.concatenate(accepted)[:count]


@dataclass(frozen=True, eq=False)
class Dissimilar:
    """The farthest corruptions with five severities each, and the shift of every candidate.

    `shifts` are runs × candidates: the mean distance of sampled data sets with a candidate minus that of all, in
    standard deviations of all; NaN for a candidate that is in no data set with the target error, which cannot be
    picked. `error` is the mean error of the chosen data set.
    """

    candidates: tuple[str, ...]
    shifts: FloatArray
    picked: dict[str, tuple[float, ...]]
    error: float
    target: float
    datasets: int

    def table(self) -> pl.DataFrame:
        """One row per candidate, the farthest first: mean shift, its standard error over runs, whether it is picked."""
        counts = (~np.isnan(self.shifts)).sum(0)
        error = [
            shifts[~np.isnan(shifts)].std(ddof=1) / np.sqrt(count) if count > 1 else None
            for shifts, count in zip(self.shifts.T, counts, strict=True)
        ]
        levels = [self.picked.get(name) for name in self.candidates]
        return pl.DataFrame(
            {
                "candidate": self.candidates,
                "shift": _mean(self.shifts),
                "standard_error": pl.Series(error, dtype=pl.Float64),
                "picked": [name in self.picked for name in self.candidates],
                "levels": [None if picked is None else " ".join(f"{x:g}" for x in picked) for picked in levels],
            }
        ).sort("shift", descending=True, nulls_last=True)

    @property
    def unfit(self) -> list[str]:
        """The candidates that are in no data set with the target error."""
        return [name for name, shifts in zip(self.candidates, self.shifts.T, strict=True) if np.isnan(shifts).all()]


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

    Every candidate gets sets of five levels with the benchmark's spread. Data sets of k candidates whose mean error is
    the target are sampled, as two halves without a common member; the shift of a candidate is how much farther
    data sets with it are. The k with the largest mean shift over runs are picked, with the severities of the
    sampled data set of exactly these whose error is nearest to the target.

    Args:
        runs: scans of all candidates, each run by another model or on other images; the paper has 10 runs.
        target_error: the mean error of the benchmark, and `spread` its spread, see `error_target`.
        k: the number of candidates to pick, an even number up to 10.
        datasets: the number of data sets sampled in each run.
        tolerance: the largest relative difference of a half's error from the target.
        seed: the seed of the sampling.
    """
    names = _names(runs)
    check_k(k, len(names))
    shifts, drawn = [], []
    for number, scans in enumerate(runs):
        sets = [severity_sets(scan.errors, spread) for scan in scans]
        halves = sampled_halves(
            [[severity_set.error for severity_set in candidate_sets] for candidate_sets in sets],
            target_error,
            k // 2,
            tolerance=tolerance,
            seed=seed + number,
        )
        pairs = disjoint_pairs(halves.members, datasets, seed=seed + number)
        shifts.append(_shifts(halves, pairs, _set_distances(scans, sets), len(names)))
        drawn.append((halves, sets))
    mean = np.array([-np.inf if shift is None else shift for shift in _mean(np.array(shifts))])
    best = np.sort(np.argsort(-mean, kind="stable")[:k])
    picked, error = _levels(runs, drawn, best, target_error)
    chosen = {names[i]: picked[int(i)] for i in best}
    return Dissimilar(names, np.array(shifts), chosen, error, target_error, datasets)


def check_k(k: int, candidates: int) -> None:
    """Raise unless data sets of k candidates can be sampled in two halves."""
    most = min(2 * MOST, candidates) // 2 * 2
    if most < 2:
        raise BrittleError(f"a data set has two halves, so there must be two candidates or more; got {candidates}")
    if k % 2 or not 2 <= k <= most:
        raise BrittleError(
            f"k is an even number from 2 to {most}, since data sets of {candidates} candidates are sampled in halves "
            f"of up to {MOST}; got {k}"
        )


def _mean(shifts: FloatArray) -> list[float | None]:
    """The mean shift of each candidate over the runs that have one."""
    return [None if np.isnan(column).all() else float(np.nanmean(column)) for column in shifts.T]


def _names(runs: Sequence[Sequence[Scan]]) -> tuple[str, ...]:
    if not runs or not runs[0]:
        raise BrittleError("give the scans of at least one run, of at least two candidates")
    names = tuple(scan.candidate for scan in runs[0])
    for number, scans in enumerate(runs):
        scanned = tuple(scan.candidate for scan in scans)
        if scanned != names:
            raise BrittleError(
                f"all runs must scan the same candidates in the same order; run 0 has {', '.join(names)} and run "
                f"{number} has {', '.join(scanned)}"
            )
    return names


def _set_distances(scans: Sequence[Scan], sets: Sequence[Sequence[SeveritySet]]) -> FloatArray:
    """The mean distance of each severity set, candidates × sets, NaN where a candidate has fewer."""
    table = np.full((len(sets), max(map(len, sets))), np.nan)
    for row, scan, candidate_sets in zip(table, scans, sets, strict=True):
        row[: len(candidate_sets)] = [scan.distances[list(chosen.places)].mean() for chosen in candidate_sets]
    return table


def _shifts(halves: Halves, pairs: NDArray[np.int64], distances: FloatArray, candidates: int) -> FloatArray:
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
    with np.errstate(invalid="ignore"):  # 0 / 0 for a candidate that is in no data set
        farther = total / count - mean.mean()
    deviation = mean.std()
    if deviation <= 1e-9 * mean.mean():  # all data sets are equally far
        return np.asarray(0 * farther)
    return np.asarray(farther / deviation)


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
            half = tuple(int(i) for i in halves.members[place])
            choices.setdefault(half, []).append((float(halves.errors[place]), run, place))
    nearest: tuple[float, tuple[int, int], tuple[int, int], float] | None = None
    for half, first in choices.items():
        complement = tuple(int(i) for i in best if i not in half)
        if half[0] != best[0]:
            continue  # each pair once, from the half with the first candidate
        for error, run, place in first:
            for other_error, other_run, other_place in choices.get(complement, ()):
                difference = abs((error + other_error) / 2 - target)
                if nearest is None or difference < nearest[0]:
                    nearest = (difference, (run, place), (other_run, other_place), (error + other_error) / 2)
    if nearest is None:
        raise BrittleError(
            "the farthest corruptions cannot have the target error together: no two sampled halves contain exactly "
            "these; widen the tolerance"
        )
    severities: dict[int, tuple[float, ...]] = {}
    for run, place in nearest[1:3]:
        halves, sets = drawn[run]
        for member, number in zip(halves.members[place], halves.sets[place], strict=True):
            scan = runs[run][int(member)]
            severities[int(member)] = tuple(scan.severities[i] for i in sets[int(member)][int(number)].places)
    return severities, nearest[3]


def dissimilar_benchmark(
    dissimilar: Dissimilar, candidates: Benchmark, *, name: str, away_from: str, image_size: int | None = None
) -> Benchmark:
    """The recipe of the picked corruptions at their severities; `away_from` is the benchmark that they are far from."""
    entries = tuple(replace(candidates.entry(each), levels=levels) for each, levels in dissimilar.picked.items())
    return replace(
        candidates,
        name=name,
        entries=entries,
        version=1,
        title=f"{len(entries)} corruptions far from {away_from}, {100 * dissimilar.error:.1f} % mean error",
        source="built by brittle: the construction of C-bar (Mintun, Kirillov & Xie, NeurIPS 2021)",
        image_size=image_size,
    )


def check_search(candidates: Benchmark, members: int, error_tolerance: float, **counts: int | None) -> None:
    """Raise if such data sets cannot be sampled, before anything is measured."""
    if members > len(candidates.entries):
        raise BrittleError(
            f"{candidates.name!r} has {len(candidates.entries)} candidates, so k is at most that; got {members}"
        )
    check_k(members, len(candidates.entries))
    check_counts(**counts)
    if not 0 < error_tolerance < 1:
        raise BrittleError(
            f"`error_tolerance` is a share of the target error between 0 and 1, such as 0.01; got {error_tolerance}"
        )
