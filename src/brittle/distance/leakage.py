"""Leak check: which corruptions of a benchmark an augmentation anticipates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._types import FloatArray, check_seed
from brittle.benchmarks import Benchmark
from brittle.distance.features import Rows
from brittle.distance.measures import covered, sample_distances
from brittle.distance.transforms import CorruptionFeatures
from brittle.evaluation.results import Results
from brittle.evaluation.score import scores
from brittle.metrics import holm
from brittle.training.augmentation import FlipCrop, RandomAffine, Scheme


def rank_test(first: ArrayLike, second: ArrayLike, *, permutations: int = 9999, seed: int = 0) -> float:
    """The one-sided p-value that `first` is smaller, from the sum of its ranks among both (Wilcoxon, Mann–Whitney).

    The share of random permutations with a rank sum at least as small, including the measured one, so never below
    1 / (permutations + 1). Ties share their ranks.
    """
    from scipy.stats import permutation_test, rankdata

    a, b = (np.asarray(values, np.float64).ravel() for values in (first, second))
    if not a.size or not b.size:
        raise BrittleError(f"a rank test needs two samples, got {a.size} and {b.size} numbers")
    if permutations < 1:
        raise BrittleError(f"permutations must be at least 1, got {permutations}")
    ranks = rankdata(np.concatenate([a, b]))
    test = permutation_test(
        (ranks[: a.size], ranks[a.size :]),
        lambda x, _, axis: x.sum(axis=axis),
        alternative="less",
        n_resamples=permutations,
        vectorized=True,
        rng=np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128)),
    )
    return float(test.pvalue)


NEUTRAL: dict[str, Scheme] = {"flip-crop": FlipCrop(), "affine": RandomAffine()}
"""The reference augmentations of the leak check: flips and crops, with which the baselines of published
benchmarks are trained, and small rotations, shears and shifts.

Neither changes colours, adds noise, or blurs more than bilinear sampling does, so neither targets a corruption of
ImageNet-C. For a benchmark with geometric corruptions, such as NOC's rotation, leave out "affine": it would hide such
a leak.
"""


BLOCKS = 10
"""The default number of blocks into which the samples of a scheme are split."""


@dataclass(frozen=True)
class Leak:
    """One corruption: the MSD of the augmentation and of the nearest reference, both means over levels.

    `covered` is the share of the distance from the clean images to the corruption that the augmentation covers.
    `p_nearer` and `p_leaked` are the p-values of being nearer at all and of being nearer by the margin, corrected for
    the number of corruptions.
    """

    corruption: str
    msd: float
    reference: str
    reference_msd: float
    covered: float
    reference_covered: float
    p_nearer: float
    p_leaked: float
    nearer: bool
    leaked: bool


@dataclass(frozen=True)
class LeakCheck:
    """The leak of every corruption of a benchmark, in its order, and the number of samples per scheme."""

    leaks: tuple[Leak, ...]
    samples: int
    margin: float
    alpha: float

    @property
    def nearer(self) -> list[str]:
        """The corruptions to which the augmentation is significantly nearer than every reference, by any amount."""
        return [leak.corruption for leak in self.leaks if leak.nearer]

    @property
    def leaked(self) -> list[str]:
        """The corruptions that the augmentation leaks."""
        return [leak.corruption for leak in self.leaks if leak.leaked]

    def table(self) -> pl.DataFrame:
        """One row per corruption."""
        return pl.DataFrame([vars(leak) for leak in self.leaks])


def leak_check(
    augmentation: Rows | ArrayLike,
    references: Mapping[str, Rows | ArrayLike],
    corruptions: CorruptionFeatures,
    *,
    margin: float = 0.5,
    alpha: float = 0.05,
    blocks: int = BLOCKS,
    permutations: int = 9999,
    seed: int = 0,
) -> LeakCheck:
    """For each corruption, whether an augmentation comes nearer, and much nearer, to it than every reference does.

    The samples of each scheme, equally many, are split into blocks in their order, and the smallest distance in each
    block is averaged over the levels of the corruption. A rank test asks whether these block minima are smaller than
    those of a reference (nearer), and than `margin` times those (leaked); its largest p-value over the references
    counts. Holm's method corrects the p-values for the number of corruptions; those below `alpha` are nearer, or
    leaked.

    Args:
        augmentation: features of the scheme in question, from `transform_features`.
        references: features of reference schemes by name, such as `NEUTRAL`, with the same model and images.
        corruptions: features of the benchmark.
        margin: how much nearer counts as a leak, by default half as far. With many samples any difference is
            significant, and whatever changes colours is nearer to most corruptions than flips and crops are.
        alpha: the family-wise false-positive rate, over the whole benchmark.
        blocks: the number of blocks; more blocks give a sharper test of minima over fewer samples. A block should
            contain some samples of every operation, so take thousands of samples of a scheme like AutoAugment.
        permutations: the number of permutations of the rank test.
        seed: the seed of the permutations.
    """
    if not references:
        raise BrittleError("the leak check needs at least one reference augmentation, got none")
    augmentation_distances = sample_distances(augmentation, corruptions.means)
    reference_distances = {name: sample_distances(rows, corruptions.means) for name, rows in references.items()}
    samples = min(len(augmentation_distances), *map(len, reference_distances.values()))
    check_leak_options(samples, margin=margin, alpha=alpha, blocks=blocks)
    clean = corruptions.over_levels(np.linalg.norm(corruptions.means, axis=1))
    msd = _minima(augmentation_distances, samples, corruptions)
    covered_share = covered(msd, clean)
    reference_msd = {name: _minima(rows, samples, corruptions) for name, rows in reference_distances.items()}
    block_minima = _block_minima(augmentation_distances, samples, blocks, corruptions)
    reference_block_minima = [
        _block_minima(rows, samples, blocks, corruptions) for rows in reference_distances.values()
    ]

    def p_values(scale: float) -> FloatArray:
        """For each corruption, the largest p-value over the references, corrected by Holm's method."""
        tests = [
            [
                rank_test(a, scale * b, permutations=permutations, seed=seed)
                for a, b in zip(block_minima.T, reference.T, strict=True)
            ]
            for reference in reference_block_minima
        ]
        return np.array(holm(np.max(tests, axis=0).tolist()))

    p_nearer, p_leaked = p_values(1.0), p_values(margin)
    leaks = []
    for i, corruption in enumerate(corruptions.corruptions):
        name, distance = min(
            ((name, float(values[i])) for name, values in reference_msd.items()), key=lambda pair: pair[1]
        )
        leaks.append(
            Leak(
                corruption,
                msd=float(msd[i]),
                reference=name,
                reference_msd=distance,
                covered=float(covered_share[i]),
                reference_covered=float(covered(distance, clean[i])),
                p_nearer=float(p_nearer[i]),
                p_leaked=float(p_leaked[i]),
                nearer=bool(p_nearer[i] < alpha),
                leaked=bool(p_leaked[i] < alpha),
            )
        )
    return LeakCheck(tuple(leaks), samples, margin, alpha)


def check_leak_options(samples: int, *, margin: float = 0.5, alpha: float = 0.05, blocks: int = BLOCKS) -> None:
    """Raise if the options are invalid for this number of samples of each scheme."""
    if not 0 < margin <= 1 or not 0 < alpha < 1:
        raise BrittleError(f"margin must be above 0 and at most 1, alpha between 0 and 1; got {margin} and {alpha}")
    if not 2 <= blocks <= samples:
        raise BrittleError(
            f"the samples of each scheme are split into blocks, at least 2 and at most as many as the {samples} "
            f"samples; got {blocks} blocks"
        )


def _minima(distances: NDArray[np.float32], samples: int, corruptions: CorruptionFeatures) -> FloatArray:
    """The MSD of each corruption, averaged over its levels."""
    return np.asarray(corruptions.over_levels(distances[:samples].min(0).astype(np.float64)))


def _block_minima(
    distances: NDArray[np.float32], samples: int, blocks: int, corruptions: CorruptionFeatures
) -> FloatArray:
    """The same within each block of samples, blocks × corruptions; an incomplete last block is left out."""
    size = samples // blocks
    minima = distances[: size * blocks].reshape(blocks, size, -1).min(1).astype(np.float64)
    return np.asarray(corruptions.over_levels(minima))


def leak_scores(
    results: Results,
    benchmark: Benchmark,
    leaked: Sequence[str],
    *,
    models: Sequence[str] | None = None,
    resamples: int = 1000,
) -> pl.DataFrame:
    """The mean accuracy of each model over "all" corruptions, the "kept" ones, and the "leaked" ones, with intervals.

    Columns: model, corruptions (which of the three), count, mean_accuracy, low, high. A part without corruptions is
    left out. A gain in the leaked ones alone does not show robustness to unseen corruptions.
    """
    ids = [entry.id for entry in benchmark.entries]
    for name in leaked:
        if name not in ids:
            raise BrittleError(f"{name!r} is not part of {benchmark.name!r}; {did_you_mean(name, ids)}")
    parts = {
        "all": ids,
        "kept": [name for name in ids if name not in leaked],
        "leaked": [name for name in ids if name in leaked],
    }
    rows = []
    for part, names in parts.items():
        if not names:
            continue
        chosen = replace(benchmark, entries=tuple(entry for entry in benchmark.entries if entry.id in names))
        for scored in scores(results, chosen, models=models, resamples=resamples):
            accuracy = scored.mean_accuracy
            rows.append((scored.model, part, len(names), accuracy.value, accuracy.low, accuracy.high))
    columns = ["model", "corruptions", "count", "mean_accuracy", "low", "high"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort("model", maintain_order=True)
