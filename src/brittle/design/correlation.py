"""Correlation of accuracy drops on synthetic corruptions with those on natural shifts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle._errors import BrittleError, did_you_mean
from brittle._random import generator
from brittle._texts import read_csv
from brittle._types import FloatArray, check_level
from brittle.benchmarks import CLEAN
from brittle.design.covering import members_in
from brittle.design.matrix import check_names, numbers_of
from brittle.evaluation import steadiness
from brittle.evaluation.results import Results, load_results
from brittle.metrics import Estimate
from brittle.metrics.correlation import correlate as pearson_along


@dataclass(frozen=True, eq=False)
class Drops:
    """A(clean) − A(shifted) of each model (rows) under each shift (columns). Lower is better."""

    models: tuple[str, ...]
    names: tuple[str, ...]
    values: FloatArray

    def __post_init__(self) -> None:
        models, names = check_names(self.models), check_names(self.names)
        values = np.array(self.values, dtype=np.float64)
        if values.shape != (len(models), len(names)):
            raise BrittleError(f"{len(models)} models under {len(names)} shifts cannot have drops of {values.shape}")
        for field, value in (("models", models), ("names", names), ("values", values)):
            object.__setattr__(self, field, value)

    def of(self, models: Sequence[str]) -> Drops:
        """The same drops for these models, in this order."""
        for model in models:
            if model not in self.models:
                raise BrittleError(
                    f"there are no drops of the model {model!r}; {did_you_mean(str(model), self.models)}"
                )
        return Drops(tuple(models), self.names, self.values[[self.models.index(model) for model in models]])

    def columns(self) -> dict[str, FloatArray]:
        """The drops of all models under each shift, by its name."""
        return dict(zip(self.names, self.values.T, strict=True))


def drops_of(
    results: Results, *, models: Sequence[str] | None = None, corruptions: Sequence[str] | None = None
) -> Drops:
    """The clean accuracy minus the mean over levels of the accuracy, for models run through all the corruptions."""
    table = results.accuracy()
    rows = tuple(models or results.models)
    names = tuple(corruptions or sorted(set(table["corruption"]) - {CLEAN}))
    accuracy = {(m, c, x): a for m, c, x, a in table.select("model", "corruption", "level", "accuracy").rows()}
    levels = {name: sorted(set(table.filter(pl.col("corruption") == name)["level"])) for name in (CLEAN, *names)}
    for name, levels_of_name in levels.items():
        if not levels_of_name:
            raise BrittleError(
                f"there are no results on {name!r}; {did_you_mean(name, list(set(table['corruption'])))}"
            )
        for model in rows:
            missing = [level for level in levels_of_name if (model, name, level) not in accuracy]
            if missing:
                raise BrittleError(
                    f"there are no results of {model!r} on {name} {missing[0]:g}; run it again to fill them or leave "
                    "the model out"
                )
    mean = np.array([[np.mean([accuracy[m, c, x] for x in levels[c]]) for c in (CLEAN, *names)] for m in rows])
    return Drops(rows, names, mean[:, :1] - mean[:, 1:])


def shift_drops(
    clean: Results | Mapping[str, Results], shifts: Mapping[str, Results], *, models: Sequence[str] | None = None
) -> Drops:
    """The accuracy on the standard test set minus that on each natural shift, without corruptions.

    By default the models are those with results on all of them. A shift with fewer classes, such as ImageNet-A, is
    compared with clean images of those classes: `clean` may have results for each shift by its name, such as those of a
    run on imagenet-a-clean:PATH.
    """
    by_shift = clean if isinstance(clean, Mapping) else dict.fromkeys(shifts, clean)
    missing = [name for name in shifts if name not in by_shift]
    if missing:
        raise BrittleError(f"there are no clean results for {', '.join(missing)}; clean has {', '.join(by_shift)}")
    sides = [by_shift[name] for name in shifts]
    runs = [*sides, *shifts.values()]
    shared = models or [model for model in runs[0].models if all(model in run.models for run in runs)]
    if not shared:
        tested = {**{f"the test set of {name}": by_shift[name] for name in shifts}, **shifts}
        models_of = "; ".join(f"{name} has {', '.join(run.models)}" for name, run in tested.items())
        raise BrittleError(f"no model has results on all of these: {models_of}; run the same models on all of them")
    accuracy = np.array([[run.clean_accuracy(model) for run in runs] for model in shared])
    return Drops(tuple(shared), tuple(shifts), accuracy[:, : len(sides)] - accuracy[:, len(sides) :])


def read_drops(path: str | Path) -> Drops:
    """Drops from a CSV file: a column of model names, then one column for each corruption or shift."""
    table = read_csv(path)
    if table.is_empty() or table.width < 2:
        raise BrittleError(f"{path} needs a first row model,<corruption>,… and one row for each model")
    try:
        values = numbers_of(table)
    except BrittleError as error:
        raise BrittleError(f"{path}: {error}; every cell must be an accuracy drop") from error
    models = tuple(table.to_series(0))
    if np.isnan(values).any():
        row, column = np.argwhere(np.isnan(values))[0]
        raise BrittleError(
            f"{path}: the model {models[row]!r} has no number under {table.columns[column + 1]!r}; every cell must be "
            "an accuracy drop"
        )
    return Drops(models, tuple(table.columns[1:]), values)


def check_drops(drops: ArrayLike, names: Sequence[str]) -> tuple[FloatArray, Callable[[str], int]]:
    """Validated drops of three or more models, and a function from a corruption to its column."""
    named, table = check_names(names), np.asarray(drops, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(named):
        raise BrittleError(f"drops are models × {len(named)} corruptions, one column per name, got shape {table.shape}")
    if len(table) < 3:
        raise BrittleError(f"a correlation over models needs three or more models, got {len(table)}")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise BrittleError(
            f"the drop of model {row} on {named[column]} is {table[row, column]}; leave out models or corruptions with "
            "missing numbers"
        )
    positions = {name: i for i, name in enumerate(named)}

    def column_of(name: str) -> int:
        plain = name.rpartition("/")[2]  # a table may omit the set: rain for noc/rain
        if name not in positions and plain not in positions:
            raise BrittleError(f"there are no drops on {name!r}; {did_you_mean(str(name), named)}")
        return positions[name if name in positions else plain]

    return table, column_of


Benchmarks = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class BenchmarkCorrelations:
    """Pearson's r and its two-sided p-value for each benchmark of a group, over models."""

    r: FloatArray
    p: FloatArray
    models: int

    @property
    def mean_r(self) -> float:
        """The mean of r, as in Syn2Nat's tables."""
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
    The drop on a benchmark is the mean over its corruptions. It needs three or more models; with three to five
    a correlation is hardly ever significant, see its p-value.
    """
    on_benchmarks = benchmark_drops(drops, names, benchmarks)
    return _correlate(on_benchmarks, _check_natural(natural, on_benchmarks.shape[1], "the natural benchmark"))


def benchmark_drops(drops: ArrayLike, names: Sequence[str], benchmarks: Benchmarks) -> FloatArray:
    """The mean drop over the corruptions of each benchmark: benchmarks × models."""
    table, column_of = check_drops(drops, names)
    if not len(benchmarks):
        raise BrittleError("give at least one benchmark, a list of corruption names")
    weights = np.zeros((len(benchmarks), table.shape[1]))
    for row, benchmark in zip(weights, benchmarks, strict=True):
        row[[column_of(name) for name in check_names(benchmark)]] = 1 / len(benchmark)
    means = weights @ table.T
    flat = np.flatnonzero(np.ptp(means, axis=1) <= 1e-12)
    if flat.size:
        flat_benchmark = ", ".join(benchmarks[int(flat[0])])
        drop = means[flat[0], 0]
        raise BrittleError(f"all models drop by {drop:g} on the benchmark {flat_benchmark}, so there is no correlation")
    return np.asarray(means)


def correlation_rows(
    drops: ArrayLike,
    names: Sequence[str],
    groups: Mapping[str, Benchmarks],
    natural: Mapping[str, ArrayLike],
) -> pl.DataFrame:
    """One row for each group of benchmarks and natural shift: benchmarks, models, mean_r, std_r, mean_p."""
    if not groups or not natural:
        raise BrittleError(
            f"give a group of benchmarks and a natural shift or more, got {len(groups)} and {len(natural)}"
        )
    rows = []
    for label, benchmarks in groups.items():
        on_group = benchmark_drops(drops, names, benchmarks)
        for shift, values in natural.items():
            correlations = _correlate(on_group, _check_natural(values, on_group.shape[1], shift))
            statistics = (correlations.models, correlations.mean_r, correlations.std, correlations.mean_p)
            rows.append((label, shift, len(correlations.r), *statistics))
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


@dataclass(frozen=True, eq=False)
class GroupMeans:
    """The mean correlation of groups of benchmarks, over benchmarks and natural shifts: what Syn2Nat compares.

    `drawn` has the same means for resampled models, resamples × groups. Intervals are percentiles of these: they cover
    the choice of models, which matters most, and not that of images or benchmarks.
    """

    groups: tuple[str, ...]
    values: FloatArray
    drawn: FloatArray
    models: int

    def estimate(self, group: str, *, level: float = 0.95) -> Estimate:
        """The mean of one group."""
        place = self._place(group)
        return self._estimate(f"mean r of {group}", self.values[place], self.drawn[:, place], level)

    def difference(self, first: str, second: str, *, level: float = 0.95) -> Estimate:
        """How much better the second group predicts the natural shifts than the first, for the same models."""
        a, b = self._place(first), self._place(second)
        drawn = self.drawn[:, b] - self.drawn[:, a]
        return self._estimate(f"{second} − {first}", self.values[b] - self.values[a], drawn, level)

    def _place(self, group: str) -> int:
        if group not in self.groups:
            raise BrittleError(f"there is no group {group!r}; {did_you_mean(str(group), self.groups)}")
        return self.groups.index(group)

    def _estimate(self, name: str, value: float, drawn: FloatArray, level: float) -> Estimate:
        tail = (1 - check_level(level)) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail])
        ends = (float(low), float(high))
        return Estimate(name, float(value), *ends, level, self.models, "bootstrap over models", percent=False)


def group_means(
    drops: ArrayLike,
    names: Sequence[str],
    groups: Mapping[str, Benchmarks],
    natural: Mapping[str, ArrayLike],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> GroupMeans:
    """The last row of Syn2Nat's Tables 2 and 3, and how it varies if the models are drawn anew, with replacement."""
    if not groups or not natural:
        raise BrittleError(
            f"give a group of benchmarks and a natural shift or more, got {len(groups)} and {len(natural)}"
        )
    means = [benchmark_drops(drops, names, benchmarks) for benchmarks in groups.values()]
    models = means[0].shape[1]
    shifts = np.array([_check_natural(values, models, name) for name, values in natural.items()])
    rng = generator(seed)
    drawn = np.empty((resamples, len(means)))
    done = 0
    while done < resamples:
        chosen = rng.integers(models, size=models)
        values = [_mean_correlation(group[:, chosen], shifts[:, chosen]) for group in means]
        if not np.isnan(values).any():  # hardly any model twice or more, so that there is a correlation
            drawn[done] = values
            done += 1
    measured = np.array([_mean_correlation(group, shifts) for group in means])
    return GroupMeans(tuple(groups), measured, drawn, models)


def _mean_correlation(means: FloatArray, natural: FloatArray) -> float:
    """The mean of Pearson's r over all pairs of rows; NaN if a row is constant."""
    units = []
    for rows in (means, natural):
        centred = rows - rows.mean(axis=1, keepdims=True)
        length = np.sqrt((centred * centred).sum(axis=1, keepdims=True))
        if (length <= 1e-12).any():
            return float("nan")
        units.append((centred / length).mean(axis=0))
    return float(units[0] @ units[1])


def _check_natural(natural: ArrayLike, models: int, shift: str) -> FloatArray:
    values = np.asarray(natural, dtype=np.float64)
    if values.shape != (models,):
        raise BrittleError(f"give {shift} one drop for each of {models} models, in the same order, got {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise BrittleError(f"the drop of model {row} on {shift} is {values[row]}; leave out incomplete models")
    if np.ptp(values) <= 1e-12:
        raise BrittleError(f"all models drop by {values[0]:g} on {shift}, so there is no correlation")
    return values


def _correlate(means: FloatArray, natural: FloatArray) -> BenchmarkCorrelations:
    """Pearson's r and p: Student's t with n − 2 degrees of freedom has (n − 2) / (n − 2 + t²) = 1 − r²."""
    from scipy.special import betainc

    r = pearson_along(means, natural)
    return BenchmarkCorrelations(r, np.asarray(betainc((len(natural) - 2) / 2, 0.5, 1 - r * r)), len(natural))


def load_drops(runs: Sequence[str | Path], wanted: Sequence[str] | None = None) -> Drops:
    """The drops of models under corruptions, from one .csv file or from runs; only under `wanted`, if given.

    From runs, only models with complete results are taken.
    """
    if is_table(runs):
        table = read_drops(runs[0])
        names = table.names if wanted is None else members_in(wanted, table.names)
        columns = table.columns()
        values = [[columns[name][row] for name in names] for row in range(len(table.models))]
        return Drops(table.models, tuple(wanted or names), np.array(values))
    results = load_results(*runs)
    flips = None if results.sequences is None else flip_rates(results)
    if flips is not None and wanted is None and not {cell.corruption for cell in results.cells} - {CLEAN}:
        return flips
    available = tuple(sorted({cell.corruption for cell in results.cells} - {CLEAN}))
    if not available:
        named = ", ".join(map(str, runs))
        raise BrittleError(f"{named} holds clean results only; run the models through a benchmark first")
    names = available if wanted is None else members_in(wanted, available)
    models = results.models_with([cell for cell in results.cells if cell.corruption in {CLEAN, *names}])
    drops = drops_of(results, models=models or None, corruptions=names)
    drops = Drops(drops.models, tuple(wanted or names), drops.values)
    if flips is None or wanted is not None:
        return drops
    both = [model for model in drops.models if model in flips.models]
    return Drops(tuple(both), drops.names + flips.names, np.hstack([drops.of(both).values, flips.of(both).values]))


def flip_rates(results: Results) -> Drops:
    """The flip probability of each model under each perturbation of sequences, in the place of accuracy drops.

    Their mean is what Syn2Nat's Table 2 correlates in its column ImageNet-P: not divided by AlexNet's rates.
    """
    measured = steadiness(results)
    values = np.array([model.flips.mean(axis=0) for model in measured])
    return Drops(tuple(model.model for model in measured), measured[0].perturbations, values)


def load_shift_drops(
    shifts: Mapping[str, str | Path],
    synthetic: Sequence[str | Path],
    clean: Mapping[str, str | Path] | None = None,
) -> Drops:
    """The drops on natural shifts, one run each; the clean accuracy is that of the synthetic runs.

    `clean` has other runs for some of the shifts, such as one on imagenet-a-clean:PATH for ImageNet-A.
    """
    if is_table(synthetic):
        raise BrittleError(
            "a natural run needs clean results of the same models, which a .csv of drops does not have; give the "
            "synthetic runs, or the natural drops as a .csv too (`natural_csv`)"
        )
    usual, others = load_results(*synthetic), {name: load_results(run) for name, run in (clean or {}).items()}
    sides = {name: others.get(name, usual) for name in shifts}
    return shift_drops(sides, {name: load_results(run) for name, run in shifts.items()})


def is_table(paths: Sequence[str | Path]) -> bool:
    """Whether drops come from a CSV file; raises if there are other files beside it."""
    tables = [path for path in paths if Path(path).suffix == ".csv"]
    if tables and len(paths) > 1:
        raise BrittleError(f"give one .csv file of drops or several runs, got {', '.join(map(str, paths))}")
    return bool(tables)
