"""Minimal Sample Distance (MSD) and MMD, their intervals, and sampling up to a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_level, check_seed
from brittle.distance.features import Extractor, FeatureImages, Rows, TransformFeatures, blocks, mean_row, take
from brittle.distance.transforms import BATCH, CorruptionFeatures, fill, scheme_store
from brittle.metrics import resampled_means
from brittle.training.augmentation import Scheme, fixed


def msd(augmentations: Rows | ArrayLike, corruptions: Rows | ArrayLike) -> float:
    """min over a of ‖f(a) − mean of f(c)‖₂, from features samples × dimensions (Mintun et al. 2021, equation 1).

    Not symmetric: the nearest single augmentation to the mean corruption. It falls with the number of augmentations,
    so compare schemes at equal numbers.
    """
    return float(msd_to(augmentations, mean_row(corruptions)[np.newaxis])[0])


def msd_to(augmentations: Rows | ArrayLike, means: ArrayLike) -> FloatArray:
    """The MSD to each of several mean corruptions, means × dimensions."""
    return np.asarray(sample_distances(augmentations, means).min(0), np.float64)


def sample_distances(augmentations: Rows | ArrayLike, means: ArrayLike) -> NDArray[np.float32]:
    """‖f(a) − m‖₂ of every augmentation to every mean m, samples × means; features are read block by block."""
    targets = np.asarray(means, np.float64)
    distance_blocks = []
    for block in blocks(augmentations):
        rows = np.asarray(block, np.float64)
        if targets.ndim != 2 or rows.shape[1] != targets.shape[1]:
            raise BrittleError(
                f"features of {rows.shape[1]} dimensions cannot be compared with means of shape {targets.shape}; both "
                "must come from the same model"
            )
        distance_blocks.append(np.stack([_lengths(rows - target) for target in targets], 1).astype(np.float32))
    return np.concatenate(distance_blocks)


def _lengths(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def mmd(augmentations: Rows | ArrayLike, corruptions: Rows | ArrayLike) -> float:
    """‖mean of f(a) − mean of f(c)‖₂, from features samples × dimensions: what the MSD paper calls MMD.

    It is the maximum mean discrepancy with a linear kernel. An augmentation that matches the corruption in one sample
    of ten has a large MMD and a small MSD. Like any distance of two noisy means it is biased upwards, most where it is
    small: two samples of one scheme never have a distance of 0.
    """
    return float(mmd_to(augmentations, mean_row(corruptions)[np.newaxis])[0])


def mmd_to(augmentations: Rows | ArrayLike, means: ArrayLike) -> FloatArray:
    """The MMD to each of several mean corruptions, means × dimensions."""
    mean, targets = mean_row(augmentations), np.asarray(means, np.float64)
    if targets.ndim != 2 or targets.shape[1] != mean.size:
        raise BrittleError(
            f"features of {mean.size} dimensions cannot be compared with means of shape {targets.shape}; both must "
            "come from the same model"
        )
    return np.asarray(np.linalg.norm(mean - targets, axis=1))


def covered(distance: ArrayLike, clean: ArrayLike) -> FloatArray:
    """1 − distance / ‖E f(c)‖: about 0 if the augmentation does nothing towards the corruption, 1 if it contains it.

    `clean` is ‖E f(c)‖, the distance of the clean images. 0 for a corruption that does not change the features.
    """
    distance, clean = np.asarray(distance, np.float64), np.asarray(clean, np.float64)
    return np.asarray(np.where(clean > 0, 1 - distance / np.where(clean > 0, clean, 1), 0.0))


def expected_minimum(distances: ArrayLike, sizes: Sequence[int]) -> NDArray[np.float64]:
    """The mean, over all subsets of a size, of the smallest distance in the subset; sizes × columns.

    Exact, from the sorted distances d₁ ≤ d₂ ≤ …: the k-th is the smallest of a subset of m out of n with probability
    C(n−k, m−1) / C(n, m). At m = n it is the minimum itself, at m = 1 the mean. `distances` are samples, or
    samples × columns.
    """
    table = np.sort(np.asarray(distances, np.float64), axis=0)
    if np.isnan(table).any():
        raise BrittleError(
            f"distances must be numbers, and {np.isnan(table).sum()} of {table.size} are NaN; check the features"
        )
    n = len(table)
    minima = []
    for size in sizes:
        if not 1 <= size <= n:
            raise BrittleError(f"a subset of {n} samples has 1 to {n} of them, got {size}")
        k = np.arange(1, n - size + 1)
        weights = size / n * np.concatenate([[1.0], np.cumprod((n - k - size + 1) / (n - k))])
        minima.append(weights @ table[: len(weights)])
    return np.array(minima)


def sizes_up_to(count: int, *, per_decade: int = 3) -> list[int]:
    """1, 2, 5, 10 … and `count`: sizes evenly spaced on a logarithmic scale."""
    steps = int(np.ceil(np.log10(max(count, 1)) * per_decade))
    return sorted({min(count, round(10 ** (i / per_decade))) for i in range(steps)} | {count})


@dataclass(frozen=True, eq=False)
class Distances:
    """The distances of an augmentation to the cells of a benchmark, one entry per cell on the last axis of every array.

    `nearest` is the index of the nearest augmentation sample. `clean` is the distance of the clean images, ‖E f(c)‖:
    an MSD near that means that the augmentation does nothing towards this corruption. `curve` is the expected MSD for
    smaller numbers of augmentations, `sizes`. `resampled_*` are the bootstrap values, resamples × cells.
    """

    augmentation: str
    samples: int
    corruptions: CorruptionFeatures
    msd: FloatArray
    mmd: FloatArray
    nearest: NDArray[np.int64]
    clean: FloatArray
    sizes: tuple[int, ...]
    curve: FloatArray
    resampled_msd: FloatArray
    resampled_mmd: FloatArray
    level: float = 0.95

    def table(self) -> pl.DataFrame:
        """One row per cell: corruption, level, MSD and MMD with their intervals, the nearest augmentation."""
        cells = self.corruptions.cells
        names = {"corruption": [cell.corruption for cell in cells], "level": [cell.severity for cell in cells]}
        columns = self._columns(lambda values: values)
        return pl.DataFrame({"augmentation": self.augmentation, **names, **columns, "nearest": self.nearest})

    def by_corruption(self) -> pl.DataFrame:
        """One row per corruption: the means over its levels, as the paper reports."""
        names = {"corruption": self.corruptions.corruptions}
        columns = self._columns(self.corruptions.over_levels)
        return pl.DataFrame({"augmentation": self.augmentation, **names, **columns})

    def mean(self) -> pl.DataFrame:
        """One row: the means over all corruptions of the means over their levels."""
        columns = self._columns(lambda values: self.corruptions.over_levels(values).mean(-1, keepdims=True))
        return pl.DataFrame({"augmentation": self.augmentation, **columns})

    def _columns(self, reduce: Callable[[FloatArray], FloatArray]) -> dict[str, FloatArray]:
        columns: dict[str, FloatArray] = {}
        for name, values, drawn in (("msd", self.msd, self.resampled_msd), ("mmd", self.mmd, self.resampled_mmd)):
            low, high = mirrored_interval(reduce(values), reduce(drawn), self.level)
            columns |= {name: reduce(values), f"{name}_low": low, f"{name}_high": high}
        return {**columns, "clean": reduce(self.clean)}


def distances(
    augmentations: Rows | ArrayLike,
    corruptions: CorruptionFeatures,
    *,
    augmentation: str = "augmentation",
    sizes: Sequence[int] | None = None,
    resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> Distances:
    """MSD and MMD of an augmentation to every cell, with bootstrap intervals and the curve over smaller sizes.

    Corruption samples and augmentations are both resampled (see `resampled_distances`). The resampled values are biased
    upwards: the minimum over a resample is never below that of the sample, and a resampled mean is noisier than the
    mean. So only their deviations from their own mean are used, mirrored about the measured value (a basic bootstrap
    without its bias), and clipped at 0. On fresh data (perf/leak_check.py, 100 augmentations), 95 % intervals of MSD
    covered the expected value in 97.5 % of the cases, and in 86 % for the worst of ten corruptions; those of MMD in
    92 % and 89 %.

    Intervals are for other samples *of the same number*. The curve shows how MSD falls with more samples. The measured
    values are biased upwards by the noise of the mean corruption, and MMD by that of the mean augmentation too; as in
    the paper, this is not corrected.
    """
    check_level(level)
    all_distances = sample_distances(augmentations, corruptions.means)
    curve_sizes = list(sizes) if sizes is not None else sizes_up_to(len(all_distances))
    minimal, mean = resampled_distances(augmentations, corruptions, all_distances, resamples=resamples, seed=seed)
    return Distances(
        augmentation,
        len(all_distances),
        corruptions,
        all_distances.min(0).astype(np.float64),
        mmd_to(augmentations, corruptions.means),
        all_distances.argmin(0),
        np.linalg.norm(corruptions.means, axis=1),
        tuple(curve_sizes),
        expected_minimum(all_distances, curve_sizes),
        minimal,
        mean,
        level,
    )


def mirrored_interval(value: FloatArray, drawn: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The measured value minus the quantiles of the centred resampled values, and not below 0."""
    tail = (1 - level) / 2
    high, low = value - np.quantile(drawn - drawn.mean(0), [tail, 1 - tail], axis=0)
    return np.maximum(low, 0), np.maximum(high, 0)


SHARE = 0.1
"""The share of the augmentations in a resample of MSD."""

GROUPS = 1000
"""The number of groups of augmentations whose means are resampled for MMD."""

RESAMPLES_AT_ONCE = 16
"""Resamples computed at once, to bound the memory."""


def resampled_distances(
    augmentations: Rows | ArrayLike,
    corruptions: CorruptionFeatures,
    distances: NDArray[np.float32],
    *,
    resamples: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """MSD and MMD of each resample, resamples × cells.

    A resample draws as many corruption samples as there are, with replacement, the same sample numbers in every cell
    (levels of a corruption share their draws). For MMD it draws as many augmentations, with replacement. For MSD it
    takes a random tenth of them, the same in every cell: a minimum does not vary enough between resamples of
    full size, 63 % of which contain the nearest augmentation. `distances` are those of the augmentations to the
    mean corruptions.
    """
    if resamples < 1:
        raise BrittleError(f"intervals need at least one resample, got {resamples}")
    # another seed for the groups: with as many groups as corruption samples the draws would be the same
    groups = resampled_means(_group_means(augmentations, len(distances)), seed=seed + 1, resamples=resamples)
    present = _present(len(distances), resamples, seed)
    minimal, mean = np.empty((2, resamples, len(corruptions.cells)))
    for cell, samples in enumerate(corruptions.values):
        moved = resampled_means(samples, seed=seed, resamples=resamples)
        mean[:, cell] = np.linalg.norm(groups - moved, axis=1)
        steps = moved - corruptions.means[cell]
        nearest_candidates = _can_be_nearest(distances[:, cell], present, np.linalg.norm(steps, axis=1))
        rows = take(augmentations, nearest_candidates) - corruptions.means[cell]
        minimal[:, cell] = _nearest(rows, steps, present[:, nearest_candidates])
    return minimal, mean


def _can_be_nearest(distances: NDArray[np.float32], present: NDArray[np.bool_], moves: FloatArray) -> NDArray[np.int64]:
    """The augmentations that can be the nearest one in any resample; only these are computed again.

    A mean that moves by r changes a distance by at most r, so an augmentation that is 2 r farther than the nearest one
    present cannot become the nearest.
    """
    order = distances.argsort()
    first = distances[order[present[:, order].argmax(1)]]
    return np.flatnonzero(distances <= (first + 2 * moves).max() * (1 + 1e-6))


def _nearest(rows: FloatArray, targets: FloatArray, present: NDArray[np.bool_]) -> FloatArray:
    """The distance of each target to the nearest row that is present for it."""
    squares = np.einsum("ij,ij->i", rows, rows)
    smallest = np.empty(len(targets))
    for start in range(0, len(targets), RESAMPLES_AT_ONCE):
        group = targets[start : start + RESAMPLES_AT_ONCE]
        squared = np.einsum("ij,ij->i", group, group)[:, None] + squares - 2 * group @ rows.T
        squared[~present[start : start + RESAMPLES_AT_ONCE]] = np.inf
        smallest[start : start + RESAMPLES_AT_ONCE] = squared.min(1)
    return np.sqrt(np.maximum(smallest, 0))


def _present(count: int, resamples: int, seed: int) -> NDArray[np.bool_]:
    """Which augmentations are in which resample of MSD, resamples × samples."""
    rng = np.random.Generator(np.random.Philox(key=(check_seed(seed) + 2) % 2**128))
    present = np.empty((resamples, count), bool)
    for row in present:
        drawn = rng.random(count)
        row[:] = drawn < SHARE
        row[drawn.argmin()] = True  # a resample is never empty
    return present


def _group_means(rows: Rows | ArrayLike, count: int) -> FloatArray:
    """Means of consecutive groups of rows, of sizes as equal as possible."""
    dimensions = next(blocks(rows)).shape[1]
    sums, sizes = np.zeros((min(count, GROUPS), dimensions)), np.zeros(min(count, GROUPS))
    start = 0
    for block in blocks(rows):
        group = np.arange(start, start + len(block)) * len(sums) // count
        np.add.at(sums, group, block)
        np.add.at(sizes, group, 1)
        start += len(block)
    return np.asarray(sums / sizes[:, None])


FEWEST = 200
"""The number of augmentations at which the tolerance is first checked."""


class SchemeDistances(NamedTuple):
    """The distances of a scheme, the number of newly computed augmentations, and their images per second."""

    distances: Distances
    computed: int
    images_per_second: float


def distances_until(
    model: Extractor,
    images: FeatureImages,
    schemes: Mapping[str, Scheme],
    corruptions: CorruptionFeatures,
    *,
    samples: int,
    tolerance: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    batch_size: int = BATCH,
    threads: int | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> dict[str, SchemeDistances]:
    """MSD and MMD of schemes by their names, from `samples` augmentations of each, or fewer if enough.

    With a tolerance, the number of augmentations is doubled from 200 on until, for every scheme, half the interval of
    the mean MSD over all corruptions is at most that share of it. The number is the same for all schemes, because MSD
    falls with it. `progress` is called with (scheme, transforms done, `samples`, images per second); the other options
    are those of `transform_features`.
    """
    check_tolerance(tolerance)
    if not schemes:
        raise BrittleError("give at least one augmentation whose distances are measured, got none")
    stores = {name: scheme_store(model, images, scheme, seed, folder) for name, scheme in schemes.items()}
    parts: dict[str, list[TransformFeatures]] = {name: [] for name in schemes}
    count = samples if tolerance is None else min(FEWEST, samples)
    while True:
        results = {}
        for name, scheme in schemes.items():

            def on_progress(done: int, _count: int, speed: float, name: str = name) -> None:
                if progress is not None:
                    progress(name, done, samples, speed)

            rows = fill(
                stores[name],
                model,
                images,
                lambda i, scheme=scheme: fixed(scheme, seed, i),  # type: ignore[misc]
                title=repr(scheme),
                samples=count,
                batch_size=batch_size,
                threads=threads,
                progress=on_progress,
            )
            parts[name].append(rows)
            results[name] = distances(rows, corruptions, augmentation=name, seed=seed)
        if count >= samples or (tolerance is not None and max(map(relative_width, results.values())) <= tolerance):
            return {name: SchemeDistances(result, *_speed(parts[name])) for name, result in results.items()}
        count = min(2 * count, samples)


def check_tolerance(tolerance: float | None) -> None:
    """Raise unless the tolerance is None or a share between 0 and 1."""
    if tolerance is not None and not 0 < tolerance < 1:
        raise BrittleError(f"tolerance is a share of the MSD between 0 and 1, such as 0.05; got {tolerance}")


def relative_width(result: Distances) -> float:
    """Half the interval of the mean MSD over all corruptions, as a share of it; 0 for an MSD of 0."""
    row = result.mean().row(0, named=True)
    half = (row["msd_high"] - row["msd_low"]) / 2
    return float(half / row["msd"]) if row["msd"] else 0.0


def _speed(parts: list[TransformFeatures]) -> tuple[int, float]:
    """The number of newly computed augmentations over all calls, and their images per second."""
    new = [part for part in parts if part.computed]
    computed = sum(part.computed for part in new)
    return computed, computed / sum(part.computed / part.images_per_second for part in new) if new else 0.0
