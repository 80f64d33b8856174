"""Overlapping scores of candidate corruptions, from accuracies or from published tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._random import generator
from brittle._types import FloatArray, as_bool_array, check_fractions, check_level
from brittle.benchmarks import Benchmark, Entry, list_benchmarks, load_benchmark
from brittle.corruptions import get_corruption
from brittle.design.matrix import OverlapMatrix, names_and_recipe
from brittle.metrics import means, published_table, resampled_means
from brittle.metrics.corruption_error import robustness_score

Form = Literal["ratio", "accuracy"]
Averaging = Literal["ratios", "gains"]

FLOOR = 0.02
"""With 10,000 test images a gain has an error of about 0.007, so a ratio to less than three times that is noise."""


class VanishingGain(UserWarning):
    """A model gains so little on the corruption it was trained with that no overlap with it can be measured."""


def overlap_matrix(
    accuracy: ArrayLike,
    names: Sequence[str] | Benchmark,
    *,
    form: Form = "ratio",
    averaging: Averaging = "ratios",
    floor: float = FLOOR,
) -> OverlapMatrix:
    """The overlapping score of every pair of k corruptions, from a (k+1) × (k+1) table of accuracies.

    Row i is the model trained with corruption i, column j the test set under corruption j; row 0 is the standard
    model, column 0 the clean test set. With R(m, c) = A(m, c) / A(m) and gain(m, c) = R(m, c) − R(standard, c),

        O(a, b) = max(0, ½ [gain(m_a, b) / gain(m_b, b) + gain(m_b, a) / gain(m_a, a)])

    as in NOC's Eq. 2: a foreign model's gain over the native model's gain on the same corruption, the sum clipped at 0.
    `form="accuracy"` takes A(m, c) itself for R(m, c), as the code of Syn2Nat does. `averaging="gains"` averages the
    gains of both directions before it divides, (gain(m_a, b) + gain(m_b, a)) / (gain(m_b, b) + gain(m_a, a)), so that a
    small native gain does not blow up the noise of its ratio: nearer to models from scratch where models were
    fine-tuned, see docs/explanation/overlap.md. If a native gain is not above
    `floor` the score is undefined: that corruption is named in a `VanishingGain` warning and its entries are NaN.

    `names` are those of the corruptions, or their recipe, which becomes the matrix's `candidates`.
    """
    named, candidates = names_and_recipe(names)
    table = check_table(accuracy, named)
    gains, native = gains_of(table, form)
    return from_gains(gains, native, named, floor, candidates, form, averaging)


def check_table(accuracy: ArrayLike, names: tuple[str, ...]) -> FloatArray:
    """Accuracies as fractions, (k+1) × (k+1) for k names."""
    table, side = np.asarray(accuracy, dtype=np.float64), len(names) + 1
    if table.shape != (side, side):
        raise BrittleError(
            f"{len(names)} corruptions need {side} × {side} accuracies, the standard model and the clean test set "
            f"first, got shape {table.shape}"
        )
    return check_fractions(table, "the accuracy")


def gains_of(table: FloatArray, form: Form) -> tuple[FloatArray, FloatArray]:
    """Gains over the standard model, k trained × k tested on the last two axes, and the native ones (the diagonal)."""
    if form not in ("ratio", "accuracy"):
        raise BrittleError(f"the form is 'ratio' (the papers) or 'accuracy' (the code of Syn2Nat), got {form!r}")
    corrupted = table[..., 1:]
    score = robustness_score(corrupted, table[..., :1]) if form == "ratio" else corrupted
    gains = score[..., 1:, :] - score[..., :1, :]
    return gains, np.diagonal(gains, axis1=-2, axis2=-1)


def from_gains(
    gains: FloatArray,
    native: FloatArray,
    names: tuple[str, ...],
    floor: float,
    candidates: Benchmark | None = None,
    form: Form = "ratio",
    averaging: Averaging = "ratios",
) -> OverlapMatrix:
    """The matrix, with a `VanishingGain` warning for every corruption whose native gain is not above the floor."""
    unlearned = tuple(name for name, gain in zip(names, native, strict=True) if not gain > floor)
    for name, gain in zip(names, native, strict=True):
        if not gain > floor:
            message = (
                f"the model trained with {name} is only {gain:+.3f} better on {name} than the standard model (the "
                f"floor is {floor:g}), so its overlaps are masked; train longer, make it more severe or leave it out"
            )
            warnings.warn(VanishingGain(message), stacklevel=3)
    scores = scores_of(gains, native, floor, averaging)
    formula = f"{form}, {averaging}"
    return OverlapMatrix(names, scores, candidates=candidates, unlearned=unlearned, formula=formula)


def scores_of(gains: FloatArray, native: FloatArray, floor: float, averaging: Averaging = "ratios") -> FloatArray:
    """Overlapping scores on the last two axes, NaN in the rows and columns of a vanishing native gain."""
    if not (np.isfinite(floor) and floor >= 0):
        raise BrittleError(
            f"the floor of a native gain is a finite number from 0 upwards, such as {FLOOR}, got {floor!r}"
        )
    if averaging not in ("ratios", "gains"):
        raise BrittleError(
            f"averaging is over 'ratios' (NOC's Eq. 2) or 'gains' (before they divide), got {averaging!r}"
        )
    known = np.where(native > floor, native, np.nan)[..., np.newaxis, :]
    if averaging == "ratios":
        share = gains / known
        both = (share + np.swapaxes(share, -1, -2)) / 2
    else:
        both = (gains + np.swapaxes(gains, -1, -2)) / (known + np.swapaxes(known, -1, -2))
    scores = np.maximum(both, 0)
    diagonal = np.arange(scores.shape[-1])
    scores[..., diagonal, diagonal] = 1
    return np.asarray(scores)


def overlap_with_intervals(
    correct: ArrayLike,
    names: Sequence[str] | Benchmark,
    *,
    form: Form = "ratio",
    averaging: Averaging = "ratios",
    floor: float = FLOOR,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> OverlapMatrix:
    """The overlap matrix with a bootstrap interval for each entry.

    `correct` is right or wrong for (k+1) models × (k+1) test sets × samples, in the order of `overlap_matrix`, the
    same samples in every cell; with several levels a corruption, the share of them that is right. With a first axis
    for repeated trainings, as `correct_cubes` gives it, accuracies are averaged over them before gains are divided.
    `names` are those of the corruptions, or their recipe; `form`, `averaging` and `floor` as in `overlap_matrix`.

    Samples are resampled jointly for all cells, which covers the choice of test images. Repeated trainings also cover
    the randomness of the training: each resample moves the accuracies of each model by the deviation of a random
    repetition of a random model from the mean of its repetitions, divided by √(repetitions − 1), so that the variance
    is that of a mean. A resample in which a native gain vanishes counts as 0 at the low end and as infinite at the
    high end.
    """
    named, candidates = names_and_recipe(names)
    cells, side = right_or_wrong_cells(correct), len(named) + 1
    repeated = cells if cells.ndim == 4 else cells[np.newaxis]
    if repeated.ndim != 4 or repeated.shape[1:3] != (side, side):
        raise BrittleError(
            f"{len(named)} corruptions need {side} models × {side} test sets × samples, got shape {cells.shape}"
        )
    tail = (1 - check_level(level)) / 2
    rows = (repeated[0] if len(repeated) == 1 else repeated.mean(axis=0)).reshape(side * side, -1).T
    gains, native = gains_of(check_table(means(rows).reshape(side, side), named), form)
    matrix = from_gains(gains, native, named, floor, candidates, form, averaging)
    try:
        drawn = resampled_means(rows, seed=seed, resamples=resamples).reshape(-1, side, side)
        drawn = np.clip(drawn + _training_noise(repeated.mean(axis=-1), resamples, seed), 0, 1)
        scores = scores_of(*gains_of(drawn, form), floor, averaging)
    except ValueError as error:
        raise BrittleError(f"the overlap is undefined in a resample ({error}); use more samples") from error
    first, last = math.floor(tail * (resamples - 1)), math.ceil((1 - tail) * (resamples - 1))
    low = np.sort(np.where(np.isnan(scores), 0, scores), axis=0)[first]
    high = np.sort(np.where(np.isnan(scores), np.inf, scores), axis=0)[last]
    masked = np.isnan(matrix.scores)
    low, high = (np.where(masked, np.nan, end) for end in (low, high))
    return replace(matrix, low=low, high=high)


def _training_noise(accuracy: FloatArray, resamples: int, seed: int) -> FloatArray:
    """How much the mean accuracies over repetitions would move with other trainings: resamples × models × test sets."""
    repetitions, models, _ = accuracy.shape
    if repetitions == 1:
        return np.zeros((1, 1, 1))
    deviations = (accuracy - accuracy.mean(axis=0)).reshape(repetitions * models, -1) / math.sqrt(repetitions - 1)
    places, signs = generator(seed + 1).random((2, resamples, models))
    chosen = deviations[(places * len(deviations)).astype(np.int64)]
    return np.asarray(np.where(signs[..., np.newaxis] < 0.5, chosen, -chosen))


def right_or_wrong_cells(correct: ArrayLike) -> NDArray[np.generic]:
    """Right or wrong as booleans, or the share of a corruption's levels at which an image is right."""
    cells = np.asarray(correct)
    return check_fractions(cells, "the share that is right") if cells.dtype.kind == "f" else as_bool_array(cells)


CANDIDATES = {"noc-table7": "imagenet-c", "noc-table8": "imagenet-noc"}
"""The published cross-tables, and the recipes of the corruptions in them."""


def overlap_from_relative_errors(
    table: ArrayLike, names: Sequence[str] | Benchmark, *, clean_errors: ArrayLike | None = None, floor: float = FLOOR
) -> OverlapMatrix:
    """The overlapping scores that a (k+1) × k table of relative corruption errors implies, standard model first.

    Row i is the model trained with corruption i, column j the relative CE on corruption j as a fraction (1.21, not
    121). With D(c) = E_ref(c) − E_ref of the reference model, the same for all rows, a relative CE is

        CE(m, c) = (E(m, c) − E(m)) / D(c) = (A(m) − A(m, c)) / D(c),   so   R(m, c) = A(m, c) / A(m)
                 = 1 − CE(m, c) D(c) / A(m),   and   gain(m, c) = D(c) [CE(s, c) / A(s) − CE(m, c) / A(m)].

    An overlapping score divides gains on the same corruption, so D(c) cancels and the reference errors are not
    needed. The clean accuracies A do not cancel: give `clean_errors`, one per row. Without them all models are assumed
    to be equally good on clean images. `floor` is in units of D(c) here. `names` may be the recipe of the corruptions,
    which becomes the matrix's `candidates`.
    """
    named, candidates = names_and_recipe(names)
    errors, k = np.asarray(table, dtype=np.float64), len(named)
    if errors.shape != (k + 1, k):
        raise BrittleError(
            f"{k} corruptions need {k + 1} × {k} relative errors, the standard model first, got {errors.shape}"
        )
    if not np.isfinite(errors).all():
        row, column = map(int, np.argwhere(~np.isfinite(errors))[0])
        raise BrittleError(
            f"every relative error must be a finite number, and that under {named[column]} in row {row} is "
            f"{errors[row, column]}; leave out corruptions with a missing one"
        )
    if np.abs(errors).max() > 10:
        raise BrittleError(f"relative errors are fractions here, got {np.abs(errors).max():g}; divide percents by 100")
    accuracy = _clean_accuracy(clean_errors, k + 1)
    loss = errors / accuracy[:, np.newaxis]
    gains = loss[0] - loss[1:]
    return from_gains(gains, np.diagonal(gains), named, floor, candidates)


def published_overlap(name: str, *, floor: float = FLOOR) -> OverlapMatrix:
    """The overlap matrix behind a published cross-table: "noc-table7" (ImageNet-C) or "noc-table8" (ImageNet-NOC).

    NOC shows its matrices as figures only; these are recomputed from its relative CE, printed in whole percents, with
    an error of about 0.01 per entry. The candidates are those of the table's benchmark.
    """
    table = published_table(name)
    name_column = next(iter(table.columns))
    names = table.text(name_column)[1:]
    if name not in CANDIDATES or not {"clean_error", *names} <= set(table.columns):
        raise BrittleError(
            f"{name} is not a table of models trained with one corruption each; see {', '.join(CANDIDATES)}"
        )
    recipe = load_benchmark(CANDIDATES[name])
    candidates = replace(recipe, entries=tuple(map(recipe.entry, names)))
    errors = table.numbers(*names) / 100
    return overlap_from_relative_errors(errors, candidates, clean_errors=table.numbers("clean_error"), floor=floor)


def load_overlap(given: str | Path) -> OverlapMatrix:
    """An overlap matrix: a folder of `brittle design overlap`, a .csv or .parquet file, or a published one's name."""
    if str(given) in CANDIDATES:
        return published_overlap(str(given))
    path = Path(given)
    if path.is_dir():
        path = path / "overlap.parquet"
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no overlap matrix {str(path)!r}; make one with `brittle design overlap`, or "
            f"give a published one, {' or '.join(CANDIDATES)}"
        )
    return OverlapMatrix.load(path)


def is_overlap(given: str | Path) -> bool:
    """Whether `load_overlap` would read it: a folder or .parquet file of an overlap matrix, or a published one's name.

    A .csv file may hold anything, and does not count.
    """
    path = Path(given)
    return str(given) in CANDIDATES or path.suffix == ".parquet" or (path / "overlap.parquet").is_file()


CANDIDATE_RECIPES = ("noc-candidates", "syn2nat-candidates")
"""The recipes that give a corruption of a published set of candidates its range or level."""


def is_recipe(text: str) -> bool:
    """Whether a text names a benchmark or its file."""
    return text in list_benchmarks() or Path(text).suffix == ".toml"


def split_names(text: str) -> list[str]:
    """The names in a text with commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def load_candidates(candidates: str | Path) -> Benchmark:
    """Candidate corruptions: a recipe by its name or file, or names of corruptions with commas.

    A corruption that is named alone has the range or level that it has among the candidates of NOC or Syn2Nat, and
    otherwise the levels 1 to 5, of which each image draws one.
    """
    text = str(candidates)
    if is_recipe(text):
        return load_benchmark(text)
    published = {entry.id: entry for name in CANDIDATE_RECIPES for entry in load_benchmark(name).entries}
    try:
        ids = [get_corruption(name).id for name in split_names(text)]
    except ValueError as error:
        recipes = ", ".join(list_benchmarks())
        raise BrittleError(f"candidates are a recipe ({recipes}, or a .toml file) or corruptions: {error}") from None
    entries = tuple(published.get(identity, Entry(identity, (1, 2, 3, 4, 5))) for identity in ids)
    return Benchmark("candidates", entries, title=f"{len(entries)} candidates")


def _clean_accuracy(clean_errors: ArrayLike | None, rows: int) -> FloatArray:
    if clean_errors is None:
        return np.ones(rows)
    clean = check_fractions(clean_errors, "the clean error")
    if clean.shape != (rows,):
        raise BrittleError(f"give one clean error per row, {rows} of them, got shape {clean.shape}")
    if (clean == 1).any():
        raise BrittleError("the robustness of a model with a clean error of 1 is undefined; leave it out")
    return np.asarray(1 - clean)
