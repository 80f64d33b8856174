"""Does robustness to a synthetic benchmark predict robustness to a natural shift? (Syn2Nat, Algorithm 2)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle.design.drops import check_drops
from brittle.design.overlap_matrix import check_names
from brittle.metrics.correlation import correlate as pearson_along
from brittle.metrics.fraction import Floats

Benchmarks = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class BenchmarkCorrelations:
    """Pearson's r and its two-sided p-value for each benchmark of a group, over models."""

    r: Floats
    p: Floats
    models: int

    @property
    def mean_r(self) -> float:
        """The group's number in Syn2Nat's tables."""
        return float(self.r.mean())

    @property
    def mean_p(self) -> float:
        """The mean of the p-values, as Syn2Nat reports it; not itself a p-value."""
        return float(self.p.mean())

    @property
    def std(self) -> float:
        """The population standard deviation of r over the group."""
        return float(self.r.std())

    def __str__(self) -> str:
        return (
            f"mean Pearson correlation {self.mean_r:.3f} (standard deviation {self.std:.3f}, mean p = "
            f"{self.mean_p:.3g}) of {len(self.r)} benchmarks over {self.models} models"
        )


def correlate(
    drops: ArrayLike, names: Sequence[str], benchmarks: Benchmarks, natural: ArrayLike
) -> BenchmarkCorrelations:
    """The correlation, over models, of the drop on each synthetic benchmark with the drop on a natural one.

    `drops` is models × corruptions with `names` for its columns, `natural` one drop for each model in the same order.
    The drop on a benchmark is the mean over its corruptions. Three or more models; with three to five a correlation
    says next to nothing, which its p-value shows.
    """
    on_benchmarks = benchmark_drops(drops, names, benchmarks)
    return _correlate(on_benchmarks, _check_natural(natural, on_benchmarks.shape[1], "the natural benchmark"))


def benchmark_drops(drops: ArrayLike, names: Sequence[str], benchmarks: Benchmarks) -> Floats:
    """The mean drop over the corruptions of each benchmark: benchmarks × models."""
    table, where = check_drops(drops, names)
    if not len(benchmarks):
        raise ValueError("give at least one benchmark, a list of corruption names")
    weights = np.zeros((len(benchmarks), table.shape[1]))
    for row, benchmark in zip(weights, benchmarks, strict=True):
        row[[where(name) for name in check_names(benchmark)]] = 1 / len(benchmark)
    means = weights @ table.T
    flat = np.flatnonzero(np.ptp(means, axis=1) <= 1e-12)
    if flat.size:
        which = ", ".join(benchmarks[int(flat[0])])
        raise ValueError(f"all models drop equally on the benchmark {which}, so there is no correlation")
    return np.asarray(means)


def correlation_rows(
    drops: ArrayLike,
    names: Sequence[str],
    groups: Mapping[str, Benchmarks],
    natural: Mapping[str, ArrayLike],
) -> pl.DataFrame:
    """One row for each group of benchmarks and natural shift: benchmarks, models, mean_r, std_r, mean_p."""
    if not groups or not natural:
        raise ValueError(
            f"give a group of benchmarks and a natural shift or more, got {len(groups)} and {len(natural)}"
        )
    rows = []
    for label, benchmarks in groups.items():
        on_group = benchmark_drops(drops, names, benchmarks)
        for shift, values in natural.items():
            found = _correlate(on_group, _check_natural(values, on_group.shape[1], shift))
            rows.append((label, shift, len(found.r), found.models, found.mean_r, found.std, found.mean_p))
    columns = ["group", "natural", "benchmarks", "models", "mean_r", "std_r", "mean_p"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def correlation_table(
    drops: ArrayLike,
    names: Sequence[str],
    groups: Mapping[str, Benchmarks],
    natural: Mapping[str, ArrayLike],
) -> pl.DataFrame:
    """Syn2Nat's Tables 2 and 3: a row for each natural shift and their mean, a column of mean r for each group."""
    rows = correlation_rows(drops, names, groups, natural)
    wide = rows.pivot("group", index="natural", values="mean_r", maintain_order=True)
    return pl.concat([wide, wide.select(pl.lit("mean").alias("natural"), pl.exclude("natural").mean())])


def _check_natural(natural: ArrayLike, models: int, what: str) -> Floats:
    values = np.asarray(natural, dtype=np.float64)
    if values.shape != (models,):
        raise ValueError(f"give {what} one drop for each of {models} models, in the same order, got {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"the drop of model {row} on {what} is {values[row]}; leave out models that lack a number")
    if np.ptp(values) <= 1e-12:
        raise ValueError(f"all models drop equally on {what}, so there is no correlation")
    return values


def _correlate(means: Floats, natural: Floats) -> BenchmarkCorrelations:
    """Student's t with n − 2 degrees has (n − 2) / (n − 2 + t²) = 1 − r², so its tail needs no t."""
    from scipy.special import betainc

    r = pearson_along(means, natural)
    return BenchmarkCorrelations(r, np.asarray(betainc((len(natural) - 2) / 2, 0.5, 1 - r * r)), len(natural))
