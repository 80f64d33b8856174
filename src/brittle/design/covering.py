"""Coverage and balance of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle._errors import BrittleError, did_you_mean
from brittle._types import FloatArray, check_fractions
from brittle.benchmarks import Benchmark, Cell, load_benchmark
from brittle.datasets.classes import imagenet_names
from brittle.design.matrix import OverlapMatrix, check_names
from brittle.design.overlap import CANDIDATES, right_or_wrong_cells
from brittle.evaluation import Results
from brittle.evaluation.results import by_corruption
from brittle.metrics import Balance, Estimate, balance, baseline, means, published_table, relative_mce, resampled_means


def benchmark_of(
    members: Sequence[str], candidates: Benchmark | OverlapMatrix, *, name: str, title: str = "", source: str = ""
) -> Benchmark:
    """A recipe of these corruptions, with the levels, options, seed and table that they have among the candidates.

    The candidates are a recipe, or an overlap matrix with its `candidates`.
    """
    chosen = check_names(members)
    if isinstance(candidates, OverlapMatrix):
        if candidates.candidates is None:
            raise BrittleError(
                "this overlap matrix has no candidates, so the levels of its corruptions are unknown; give the recipe "
                "of its candidates"
            )
        candidates = candidates.candidates
    entries = tuple(candidates.entry(member) for member in chosen)
    return replace(
        candidates,
        name=name,
        entries=entries,
        version=1,
        title=title or f"{len(entries)} of the {len(candidates.entries)} corruptions of {candidates.name}",
        source=source or candidates.source,
    )


def members_in(wanted: Benchmark | Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The corruptions of a benchmark, or of a list, as a matrix or a table names them: "noc/rain", or just "rain".

    One side may omit the set of a corruption if the match is unique.
    """
    asked = [entry.id for entry in wanted.entries] if isinstance(wanted, Benchmark) else list(wanted)
    return tuple(_match(name, asked, names) for name in asked)


def _match(name: str, asked: Sequence[str], names: Sequence[str]) -> str:
    if name in names:
        return name
    family, _, plain = name.rpartition("/")
    matches = [entry for entry in names if entry.rpartition("/")[2] == plain and not (family and "/" in entry)]
    rivals = [query for query in asked if query.rpartition("/")[2] == plain]
    if len(matches) == 1 and len(rivals) == 1:
        return matches[0]
    if len(matches) > 1 or (matches and len(rivals) > 1):
        ambiguous = matches if len(matches) > 1 else rivals
        raise BrittleError(f"{name!r} could be any of {', '.join(ambiguous)}; name each with its set, such as noc/rain")
    available = names if family else [entry.rpartition("/")[2] for entry in names]
    raise BrittleError(f"{name!r} is not in the table; {did_you_mean(name, available)}")


@dataclass(frozen=True)
class Coverage:
    """For each corruption in question, the members of the benchmark that cover it with their overlaps, strongest first.

    `unknown` are corruptions without a covering member, but with a masked overlap with one.
    """

    covered_by: Mapping[str, Mapping[str, float]]
    threshold: float
    unknown: tuple[str, ...] = ()

    @property
    def covered(self) -> list[str]:
        """The corruptions that some member covers."""
        return [name for name, members in self.covered_by.items() if members]

    @property
    def uncovered(self) -> list[str]:
        """The corruptions that no member is known to cover."""
        return [name for name, members in self.covered_by.items() if not members]

    @property
    def share(self) -> float:
        """Covered corruptions as a fraction of those in question; NOC's coverage is their number."""
        return len(self.covered) / len(self.covered_by)

    def table(self, overlap: OverlapMatrix, members: Sequence[str]) -> pl.DataFrame:
        """One row per corruption and member of the benchmark: their overlap, and whether it covers."""
        rows = [
            (name, member, overlap[name, member], member in covering)
            for name, covering in self.covered_by.items()
            for member in members
        ]
        table = pl.DataFrame(rows, schema=["corruption", "member", "overlap", "covers"], orient="row")
        return table.with_columns(pl.col("overlap").fill_nan(None))

    def __str__(self) -> str:
        text = f"{len(self.covered)} of {len(self.covered_by)} covered (overlap > {self.threshold:g})"
        return f"{text}, {len(self.unknown)} unknown" if self.unknown else text


def coverage(
    overlap: OverlapMatrix, benchmark: Sequence[str], *, of: Sequence[str], threshold: float = 0.3
) -> Coverage:
    """Which of the corruptions `of` overlap by more than the threshold with at least one member of the benchmark.

    NOC finds that every corruption of ImageNet-C overlaps by more than 0.3 with one of ImageNet-NOC, while hue and
    border of the latter overlap with none of ImageNet-C. A member covers itself. A masked overlap covers nothing.
    """
    if not math.isfinite(threshold):
        raise BrittleError(f"the threshold is a finite overlap, such as 0.3, got {threshold!r}")
    members, asked = check_names(benchmark), check_names(of)
    scores = overlap.scores[np.ix_(overlap.positions(asked), overlap.positions(members))]
    covered_by: dict[str, dict[str, float]] = {}
    for name, row in zip(asked, scores, strict=True):
        order = np.argsort(-np.nan_to_num(row), kind="stable")
        covered_by[name] = {members[i]: float(row[i]) for i in order if row[i] > threshold}
    masked = [name for name, row in zip(asked, scores, strict=True) if np.isnan(row).any()]
    unknown = tuple(name for name in masked if not covered_by[name])
    return Coverage(covered_by, float(threshold), unknown)


LEAST = 0.02
"""A corruption that adds less than this to the reference's error has a relative CE that is mostly noise."""

ALEXNET = {"imagenet-c": ("imagenet-c", "alexnet-imagenet-c"), "noc": ("noc-candidates", "alexnet-imagenet-noc")}
"""The sets for which AlexNet's errors are published: the recipe with their levels, and the table of errors."""


@dataclass(frozen=True)
class Reference:
    """The model whose errors are the denominator of relative CE: on clean images, and under each corruption by id."""

    name: str
    clean_error: float
    errors: Mapping[str, float]

    def __post_init__(self) -> None:
        check_fractions([self.clean_error, *self.errors.values()], f"an error of {self.name}")

    def of(self, names: Sequence[str]) -> FloatArray:
        """The errors in the order of these corruptions."""
        missing = [name for name in names if name not in self.errors]
        if missing:
            raise BrittleError(f"{self.name} has no error under {', '.join(missing)}; choose another reference")
        return np.array([self.errors[name] for name in names])


@dataclass(frozen=True)
class SingleScores:
    """The relative mCE, in percent, over a benchmark, of each model trained with one of its corruptions.

    A low score means that the benchmark rewards training with this corruption. `balance` is the dispersion of the
    scores; `range` and `std` are the same with intervals. `reference` names the model in the denominator, and
    `left_out` the corruptions that add too little to its error to divide by.
    """

    scores: dict[str, Estimate]
    balance: Balance
    range: Estimate
    std: Estimate
    reference: str = ""
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.range}, {self.std} over {len(self.scores)} models"


def single_scores(
    correct: ArrayLike,
    names: Sequence[str],
    members: Sequence[str] | None = None,
    *,
    reference: Reference | None = None,
    resamples: int = 1000,
) -> SingleScores:
    """The balance of the benchmark `members`, from the run of an overlap matrix.

    `correct` is right or wrong for (k+1) models × (k+1) test sets × samples, the standard model and clean images
    first, as `correct_cube` gives it; `names` names the k corruptions. With E(m, c) the error of model m under c, and
    E(m) on clean images, the score of m is the mean over the members of

        100 (E(m, c) − E(m)) / (E_ref(c) − E_ref),

    the relative CE that NOC prints under the name CE. NOC's reference is AlexNet (`alexnet_reference`); by default it
    is the standard model of the same run, so that no second architecture is needed. Intervals resample images and keep
    the reference fixed. A member that adds less than two points to the reference's error is listed in `left_out`.
    """
    named = check_names(names)
    cells = right_or_wrong_cells(correct)
    if cells.ndim != 3 or cells.shape[:2] != (len(named) + 1,) * 2:
        side = len(named) + 1
        raise BrittleError(
            f"{len(named)} corruptions need {side} models × {side} test sets × samples, got shape {cells.shape}"
        )
    chosen = check_names(named if members is None else members)
    unknown = [name for name in chosen if name not in named]
    if unknown or len(chosen) < 2:
        raise BrittleError(
            f"the members of a benchmark are at least two of {', '.join(named)}; got {', '.join(unknown or chosen)}"
        )
    if reference is None:
        errors = 1 - means(cells[0].T)
        reference = Reference("the standard model", float(errors[0]), dict(zip(named, errors[1:], strict=True)))
    adds_error = reference.of(chosen) - reference.clean_error > LEAST
    left_out = tuple(name for name, adds in zip(chosen, adds_error, strict=True) if not adds)
    used = tuple(name for name in chosen if name not in left_out)
    if len(used) < 2:
        raise BrittleError(
            f"{', '.join(left_out)} add less than {100 * LEAST:g} points to the error of {reference.name}, too "
            "little to divide by; make them more severe or choose another reference"
        )
    indices = np.array([1 + named.index(name) for name in used])
    rows = cells[np.ix_(indices, np.concatenate([[0], indices]))].reshape(len(used) * (len(used) + 1), -1).T
    reference_errors, clean = reference.of(used), reference.clean_error

    def score(accuracies: FloatArray) -> FloatArray:
        error = 1 - accuracies.reshape(-1, len(used), len(used) + 1)
        return 100 * relative_mce(error[..., 1:], error[..., 0], reference_errors, clean)

    value, drawn = score(means(rows)), score(resampled_means(rows, resamples=resamples))

    def estimate(name: str, number: float, resampled: FloatArray) -> Estimate:
        low, high = np.quantile(resampled, [0.025, 0.975])
        method = f"bootstrap, {resamples} resamples, seed 0"
        return Estimate(name, number, float(low), float(high), n=len(rows), method=method, percent=False)

    scores = {name: estimate("relative mCE", float(value[0, i]), drawn[:, i]) for i, name in enumerate(used)}
    dispersion = balance(value[0])
    score_range = estimate("range", dispersion.range, np.ptp(drawn, axis=1))
    std = estimate("standard deviation", dispersion.std, drawn.std(axis=1))
    return SingleScores(scores, dispersion, score_range, std, reference.name, left_out)


def published_single_scores(name: str, members: Sequence[str] | None = None) -> SingleScores:
    """The balance behind a published cross-table: "noc-table7" (ImageNet-C) or "noc-table8" (ImageNet-NOC).

    NOC prints relative CE in whole percents, without intervals.
    """
    if name not in CANDIDATES:
        raise BrittleError(
            f"{name} is not a table of models trained with one corruption each; see {', '.join(CANDIDATES)}"
        )
    table, recipe = published_table(name), load_benchmark(CANDIDATES[name])
    chosen = (
        table.text("trained_with")[1:] if members is None else [recipe.entry(key).corruption.name for key in members]
    )
    rows = [table.text("trained_with").index(corruption) for corruption in chosen]
    values = table.numbers(*chosen)[rows].mean(axis=1)
    ids = [recipe.entry(corruption).id for corruption in chosen]
    scores = {
        key: Estimate("relative mCE", float(value), percent=False) for key, value in zip(ids, values, strict=True)
    }
    dispersion = balance(values)
    score_range, std = (
        Estimate(statistic, number, percent=False)
        for statistic, number in (("range", dispersion.range), ("standard deviation", dispersion.std))
    )
    return SingleScores(scores, dispersion, score_range, std, "AlexNet, as published")


def alexnet_reference(candidates: Benchmark) -> Reference:
    """AlexNet's published errors on ImageNet under corruptions of ImageNet-C and NOC's candidates, as NOC divides.

    They are valid at the published levels only: candidates at other levels, such as calibrated ranges, raise.
    """
    errors, clean = {}, 0.0
    for entry in candidates.entries:
        source = entry.id.partition("/")[0]
        if source not in ALEXNET:
            raise BrittleError(f"AlexNet's errors are published for {' and '.join(ALEXNET)}, not for {entry.id}")
        recipe, name = ALEXNET[source]
        published = {known.id: known for known in load_benchmark(recipe).entries}
        if entry != published.get(entry.id) or candidates.table not in (None, 224) or candidates.storage != "none":
            raise BrittleError(
                f"AlexNet's errors are valid for {recipe} at 224 px, but {entry.id} of {candidates.name!r} has other "
                "levels, options, table or storage"
            )
        alexnet = baseline(name)
        errors[entry.id], clean = float(alexnet.of([entry.id])[0]), alexnet.clean_error
    return Reference("AlexNet, as published", clean, errors)


def run_reference(results: Results, candidates: Benchmark) -> Reference:
    """The errors of the only model of a run on the same candidates."""
    if len(results.models) != 1 or candidates.hash not in {recipe.hash for recipe in results.benchmarks()}:
        raise BrittleError(
            f"a reference is a run of one model on {candidates.name!r}; this one holds "
            f"{', '.join(results.models)} on {', '.join(recipe.name for recipe in results.benchmarks()) or 'no recipe'}"
        )
    accuracy = results.matrix(results.models[0], [Cell(), *candidates.cells()]).values.mean(axis=0)
    errors = dict(
        zip([entry.id for entry in candidates.entries], 1 - by_corruption(candidates)(accuracy[1:]), strict=True)
    )
    return Reference(results.models[0], float(1 - accuracy[0]), errors)


def fits_alexnet(candidates: Benchmark, classes: Sequence[str], side: int) -> bool:
    """Whether AlexNet's published errors are valid for this recipe and data: ImageNet's 1000 classes at 224 px."""
    if tuple(classes) != imagenet_names() or side != 224:
        return False
    try:
        alexnet_reference(candidates)
    except ValueError:
        return False
    return True
