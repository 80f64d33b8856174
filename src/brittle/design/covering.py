"""What a benchmark covers, and how balanced it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError, did_you_mean
from brittle._types import FloatArray, check_fractions
from brittle.benchmarks import Benchmark, Cell, load_benchmark
from brittle.datasets.classes import imagenet_names
from brittle.design.matrix import OverlapMatrix, check_names
from brittle.design.overlap import CANDIDATES, right_or_wrong_cells
from brittle.evaluation import Results
from brittle.evaluation.score import by_corruption
from brittle.metrics import Balance, Estimate, balance, baseline, published_table, relative_mce
from brittle.metrics.resampling import means, resampled_means


def benchmark_of(
    members: Sequence[str], candidates: Benchmark | OverlapMatrix, *, name: str, title: str = "", source: str = ""
) -> Benchmark:
    """A recipe of these corruptions, with the levels, options, seed and table that they have among the candidates.

    The candidates are a recipe, or an overlap matrix that knows the one it was measured with.
    """
    chosen = check_names(members)
    if isinstance(candidates, OverlapMatrix):
        if candidates.candidates is None:
            raise BrittleError(
                "this overlap matrix does not say at which levels its corruptions were measured; give the recipe of "
                "its candidates"
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
    """The corruptions of a benchmark, or these, as a matrix or a table names them: "noc/rain", or just "rain".

    One side may leave out the set that a corruption comes from, as long as only one can be meant.
    """
    asked = [entry.id for entry in wanted.entries] if isinstance(wanted, Benchmark) else list(wanted)
    return tuple(_match(name, asked, names) for name in asked)


def _match(name: str, asked: Sequence[str], names: Sequence[str]) -> str:
    if name in names:
        return name
    family, _, plain = name.rpartition("/")
    alike = [known for known in names if known.rpartition("/")[2] == plain and not (family and "/" in known)]
    rivals = [other for other in asked if other.rpartition("/")[2] == plain]
    if len(alike) == 1 and len(rivals) == 1:
        return alike[0]
    if len(alike) > 1 or (alike and len(rivals) > 1):
        several = alike if len(alike) > 1 else rivals
        raise BrittleError(f"{name!r} could be any of {', '.join(several)}; name each with its set, such as noc/rain")
    known = names if family else [one.rpartition("/")[2] for one in names]
    raise BrittleError(f"{name!r} is not in the table; {did_you_mean(name, known)}")


@dataclass(frozen=True)
class Coverage:
    """For each corruption asked about, the members of the benchmark that cover it and by how much, strongest first.

    `unknown` are corruptions that nothing covers as far as is known, but that have a masked overlap with a member.
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
        """Covered corruptions as a fraction of those asked about; NOC's coverage is their number."""
        return len(self.covered) / len(self.covered_by)

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
    found: dict[str, dict[str, float]] = {}
    for name, row in zip(asked, scores, strict=True):
        order = np.argsort(-np.nan_to_num(row), kind="stable")
        found[name] = {members[i]: float(row[i]) for i in order if row[i] > threshold}
    unknown = tuple(name for name, row in zip(asked, scores, strict=True) if np.isnan(row).any() and not found[name])
    return Coverage(found, float(threshold), unknown)


LEAST = 0.02
"""A corruption that adds less than this to the reference's error tells models apart by noise alone."""

ALEXNET = {"imagenet-c": ("imagenet-c", "alexnet-imagenet-c"), "noc": ("noc-candidates", "alexnet-imagenet-noc")}
"""The sets for which AlexNet's errors are published: the recipe whose levels they belong to, and the errors."""


@dataclass(frozen=True)
class Reference:
    """The model whose errors are the yardstick of relative CE: on clean images, and under each corruption by its id."""

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
    """The relative mCE, in percent, of each model that learned one of a benchmark's corruptions, over the benchmark.

    A low score says that the benchmark rewards knowing this corruption much. `balance` is the dispersion of the
    scores; `range` and `std` are the same with intervals. `reference` names the model whose errors divide, and
    `left_out` the corruptions that hardly trouble it, by which nothing can be divided.
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

    `correct` says right or wrong for (k+1) models × (k+1) test sets × samples, the standard model and clean images
    first, as `correct_cube` gives it; `names` names the k corruptions. With E(m, c) the error of model m under c, and
    E(m) on clean images, the score of m is the mean over the members of

        100 (E(m, c) − E(m)) / (E_ref(c) − E_ref),

    the relative CE that NOC prints under the name CE. NOC's reference is AlexNet (`alexnet_reference`); by default it
    is the standard model of the same run, so that no second architecture is needed. Intervals draw images again and
    hold the reference fixed. A member that adds less than two points to the reference's error is left out, and said.
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
    harder = reference.of(chosen) - reference.clean_error > LEAST
    left_out = tuple(name for name, hard in zip(chosen, harder, strict=True) if not hard)
    kept = tuple(name for name in chosen if name not in left_out)
    if len(kept) < 2:
        raise BrittleError(
            f"{', '.join(left_out)} add less than {100 * LEAST:g} points to the error of {reference.name}, so nothing "
            "can be divided by what they add; make them more severe or choose another reference"
        )
    places = np.array([1 + named.index(name) for name in kept])
    rows = cells[np.ix_(places, np.concatenate([[0], places]))].reshape(len(kept) * (len(kept) + 1), -1).T
    yardstick, clean = reference.of(kept), reference.clean_error

    def scored(accuracies: FloatArray) -> FloatArray:
        error = 1 - accuracies.reshape(-1, len(kept), len(kept) + 1)
        return 100 * relative_mce(error[..., 1:], error[..., 0], yardstick, clean)

    value, drawn = scored(means(rows)), scored(resampled_means(rows, resamples=resamples))

    def estimate(name: str, number: float, many: FloatArray) -> Estimate:
        low, high = np.quantile(many, [0.025, 0.975])
        method = f"bootstrap, {resamples} resamples, seed 0"
        return Estimate(name, number, float(low), float(high), n=len(rows), method=method, percent=False)

    scores = {name: estimate("relative mCE", float(value[0, i]), drawn[:, i]) for i, name in enumerate(kept)}
    found = balance(value[0])
    spread = estimate("range", found.range, np.ptp(drawn, axis=1))
    std = estimate("standard deviation", found.std, drawn.std(axis=1))
    return SingleScores(scores, found, spread, std, reference.name, left_out)


def published_single_scores(name: str, members: Sequence[str] | None = None) -> SingleScores:
    """The balance behind a published cross-table: "noc-table7" (ImageNet-C) or "noc-table8" (ImageNet-NOC).

    NOC printed relative CE in whole percents, and no intervals.
    """
    if name not in CANDIDATES:
        raise BrittleError(
            f"{name} is not a table of models trained with one corruption each; see {', '.join(CANDIDATES)}"
        )
    table, recipe = published_table(name), load_benchmark(CANDIDATES[name])
    chosen = (
        table.text("trained_with")[1:] if members is None else [recipe.entry(one).corruption.name for one in members]
    )
    rows = [table.text("trained_with").index(one) for one in chosen]
    values = table.numbers(*chosen)[rows].mean(axis=1)
    ids = [recipe.entry(one).id for one in chosen]
    scores = {
        one: Estimate("relative mCE", float(value), percent=False) for one, value in zip(ids, values, strict=True)
    }
    found = balance(values)
    spread, std = (
        Estimate(what, number, percent=False)
        for what, number in (("range", found.range), ("standard deviation", found.std))
    )
    return SingleScores(scores, found, spread, std, "AlexNet, as published")


def alexnet_reference(candidates: Benchmark) -> Reference:
    """AlexNet's published errors on ImageNet under corruptions of ImageNet-C and NOC's candidates, as NOC divides.

    They belong to the published levels: candidates at other ones, such as ranges calibrated for small images, raise.
    """
    errors, clean = {}, 0.0
    for entry in candidates.entries:
        source = entry.id.partition("/")[0]
        if source not in ALEXNET:
            raise BrittleError(f"AlexNet's errors are published for {' and '.join(ALEXNET)}, not for {entry.id}")
        recipe, name = ALEXNET[source]
        known = {one.id: one for one in load_benchmark(recipe).entries}
        if entry != known.get(entry.id) or candidates.table not in (None, 224) or candidates.storage != "none":
            raise BrittleError(
                f"AlexNet's errors belong to {recipe} at 224 px, and {entry.id} of {candidates.name!r} has other "
                "levels, options, table or storage"
            )
        published = baseline(name)
        errors[entry.id], clean = float(published.of([entry.id])[0]), published.clean_error
    return Reference("AlexNet, as published", clean, errors)


def run_reference(results: Results, candidates: Benchmark) -> Reference:
    """The errors of the one model of a run through the same candidates."""
    if len(results.models) != 1 or candidates.hash not in {recipe.hash for recipe in results.benchmarks()}:
        raise BrittleError(
            f"a reference is a run of one model through {candidates.name!r}; this one holds "
            f"{', '.join(results.models)} on {', '.join(recipe.name for recipe in results.benchmarks()) or 'no recipe'}"
        )
    accuracy = results.matrix(results.models[0], [Cell(), *candidates.cells()]).values.mean(axis=0)
    errors = dict(
        zip([entry.id for entry in candidates.entries], 1 - by_corruption(candidates)(accuracy[1:]), strict=True)
    )
    return Reference(results.models[0], float(1 - accuracy[0]), errors)


def fits_alexnet(candidates: Benchmark, classes: Sequence[str], side: int) -> bool:
    """Whether AlexNet's published errors belong to this recipe and to such data: ImageNet's 1000 classes at 224 px."""
    if tuple(classes) != imagenet_names() or side != 224:
        return False
    try:
        alexnet_reference(candidates)
    except ValueError:
        return False
    return True
