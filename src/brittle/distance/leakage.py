"""Which corruptions an augmentation gives away."""

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

    The share of random exchanges between the two whose rank sum is as small, the one that was measured counted in, so
    never below 1 / (permutations + 1). Ties share their ranks.
    """
    from scipy.stats import permutation_test, rankdata

    a, b = (np.asarray(values, np.float64).ravel() for values in (first, second))
    if not a.size or not b.size:
        raise BrittleError(f"a rank test needs two samples, got {a.size} and {b.size} numbers")
    if permutations < 1:
        raise BrittleError(f"permutations must be at least 1, got {permutations}")
    ranks = rankdata(np.concatenate([a, b]))
    found = permutation_test(
        (ranks[: a.size], ranks[a.size :]),
        lambda x, _, axis: x.sum(axis=axis),
        alternative="less",
        n_resamples=permutations,
        vectorized=True,
        rng=np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128)),
    )
    return float(found.pvalue)


NEUTRAL: dict[str, Scheme] = {"flip-crop": FlipCrop(), "affine": RandomAffine()}
"""The reference of the leak check: what the baseline of every published benchmark was trained with, and small turns,
shears and shifts.

Neither changes colours or adds noise, and neither blurs beyond what bilinear sampling does, so neither aims at a
corruption of ImageNet-C. For a benchmark with geometric corruptions, such as NOC's rotation, leave out "affine": it
would hide such a leak.
"""


BLOCKS = 10
"""Into how many blocks the samples of a scheme are cut."""


@dataclass(frozen=True)
class Leak:
    """One corruption: the MSD of the augmentation and of the nearest reference, both means over levels.

    `covered` is the share of the way from the clean images to the corruption that the augmentation goes. `p_nearer` and
    `p_leaked` are those of being nearer at all and of being nearer by the margin, corrected for the number of
    corruptions.
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
    """Every corruption of a benchmark, in its order, and how many augmentations were looked at."""

    leaks: tuple[Leak, ...]
    samples: int
    margin: float
    alpha: float

    @property
    def nearer(self) -> list[str]:
        """The corruptions that the augmentation is nearer to than every reference, if only by a little."""
        return [leak.corruption for leak in self.leaks if leak.nearer]

    @property
    def leaked(self) -> list[str]:
        """The corruptions that the augmentation leaks."""
        return [leak.corruption for leak in self.leaks if leak.leaked]

    def table(self) -> pl.DataFrame:
        """A row a corruption."""
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

    The samples of each scheme, equally many, are cut into blocks in their order, and the smallest distance in each
    block is averaged over the levels of the corruption. A rank test asks whether these block minima are smaller than
    those of a reference (nearer), and than `margin` times those (leaked); its largest p-value over the references
    counts. The p-values are then corrected for the number of corruptions by Holm's method, and what is below `alpha` is
    called nearer, or leaked.

    Args:
        augmentation: features of the scheme in question, from `transform_features`.
        references: features of neutral schemes by name, as of `NEUTRAL`, with the same model and images.
        corruptions: features of the benchmark.
        margin: how much nearer counts as a leak, by default half as far. With many samples any difference is
            significant, and whatever changes colours is nearer to most corruptions than flips and crops are.
        alpha: the chance of blaming an augmentation that is no nearer, for the whole benchmark.
        blocks: more of them make a sharper test of minima over fewer samples. A block should hold some samples of
            everything that the scheme does, so take thousands of samples of one like AutoAugment.
        permutations: of the rank test.
        seed: of the permutations.
    """
    if not references:
        raise BrittleError("the leak check needs at least one reference augmentation, got none")
    mine = sample_distances(augmentation, corruptions.means)
    others = {name: sample_distances(rows, corruptions.means) for name, rows in references.items()}
    samples = min(len(mine), *map(len, others.values()))
    check_leak_options(samples, margin=margin, alpha=alpha, blocks=blocks)
    clean = corruptions.over_levels(np.linalg.norm(corruptions.means, axis=1))
    minimum = _minima(mine, samples, corruptions)
    share = covered(minimum, clean)
    reached = {name: _minima(rows, samples, corruptions) for name, rows in others.items()}
    smallest = _block_minima(mine, samples, blocks, corruptions)
    theirs = [_block_minima(rows, samples, blocks, corruptions) for rows in others.values()]

    def p_values(scale: float) -> FloatArray:
        """For each corruption, the largest p-value over the references."""
        tests = [
            [
                rank_test(a, scale * b, permutations=permutations, seed=seed)
                for a, b in zip(smallest.T, one.T, strict=True)
            ]
            for one in theirs
        ]
        return np.array(holm(np.max(tests, axis=0).tolist()))

    p_nearer, p_leaked = p_values(1.0), p_values(margin)
    leaks = []
    for i, corruption in enumerate(corruptions.corruptions):
        name, distance = min(((name, float(values[i])) for name, values in reached.items()), key=lambda pair: pair[1])
        leaks.append(
            Leak(
                corruption,
                msd=float(minimum[i]),
                reference=name,
                reference_msd=distance,
                covered=float(share[i]),
                reference_covered=float(covered(distance, clean[i])),
                p_nearer=float(p_nearer[i]),
                p_leaked=float(p_leaked[i]),
                nearer=bool(p_nearer[i] < alpha),
                leaked=bool(p_leaked[i] < alpha),
            )
        )
    return LeakCheck(tuple(leaks), samples, margin, alpha)


def check_leak_options(samples: int, *, margin: float = 0.5, alpha: float = 0.05, blocks: int = BLOCKS) -> None:
    """Raise if a leak check with so many samples of each scheme cannot be made."""
    if not 0 < margin <= 1 or not 0 < alpha < 1:
        raise BrittleError(f"margin must be above 0 and at most 1, alpha between 0 and 1; got {margin} and {alpha}")
    if not 2 <= blocks <= samples:
        raise BrittleError(
            f"the samples of each scheme are cut into blocks, at least 2 and at most as many as the {samples} samples; "
            f"got {blocks} blocks"
        )


def _minima(distances: NDArray[np.float32], samples: int, corruptions: CorruptionFeatures) -> FloatArray:
    """The MSD of each corruption, averaged over its levels."""
    return np.asarray(corruptions.over_levels(distances[:samples].min(0).astype(np.float64)))


def _block_minima(
    distances: NDArray[np.float32], samples: int, blocks: int, corruptions: CorruptionFeatures
) -> FloatArray:
    """The same within each block of samples, blocks × corruptions; what does not fill a block is left out."""
    size = samples // blocks
    cut = distances[: size * blocks].reshape(blocks, size, -1).min(1).astype(np.float64)
    return np.asarray(corruptions.over_levels(cut))


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
    left out. If a method's gain is in the leaked ones alone, it did not generalise.
    """
    known = [entry.id for entry in benchmark.entries]
    for name in leaked:
        if name not in known:
            raise BrittleError(f"{name!r} is not part of {benchmark.name!r}; {did_you_mean(name, known)}")
    parts = {
        "all": known,
        "kept": [name for name in known if name not in leaked],
        "leaked": [name for name in known if name in leaked],
    }
    rows = []
    for part, names in parts.items():
        if not names:
            continue
        chosen = replace(benchmark, entries=tuple(entry for entry in benchmark.entries if entry.id in names))
        for mine in scores(results, chosen, models=models, resamples=resamples):
            score = mine.mean_accuracy
            rows.append((mine.model, part, len(names), score.value, score.low, score.high))
    columns = ["model", "corruptions", "count", "mean_accuracy", "low", "high"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort("model", maintain_order=True)
