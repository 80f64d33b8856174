"""Overlaps from published tables of relative corruption errors, without a single training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from brittle.benchmarks import Benchmark, benchmark
from brittle.design.overlap_matrix import OverlapMatrix, names_and_recipe
from brittle.design.overlap_score import FLOOR, from_gains
from brittle.metrics import published
from brittle.metrics.fraction import Floats, fractions

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
    needed. The clean accuracies A do not cancel: give `clean_errors`, one a row. Without them all models are taken to
    be equally good on clean images, which is exact only if they are. `floor` is in units of D(c) here. `names` may be
    the recipe of the corruptions, which the matrix then carries.
    """
    named, candidates = names_and_recipe(names)
    errors, k = np.asarray(table, dtype=np.float64), len(named)
    if errors.shape != (k + 1, k):
        raise ValueError(
            f"{k} corruptions need {k + 1} × {k} relative errors, the standard model first, got {errors.shape}"
        )
    if not np.isfinite(errors).all():
        raise ValueError("every relative error must be a finite number; leave out corruptions that lack one")
    if np.abs(errors).max() > 10:
        raise ValueError(f"relative errors are fractions here, got {np.abs(errors).max():g}; divide percents by 100")
    accuracy = _clean_accuracy(clean_errors, k + 1)
    loss = errors / accuracy[:, np.newaxis]
    gains = loss[0] - loss[1:]
    return from_gains(gains, np.diagonal(gains), named, floor, candidates)


def published_overlap(name: str, *, floor: float = FLOOR) -> OverlapMatrix:
    """The overlap matrix behind a published cross-table: "noc-table7" (ImageNet-C) or "noc-table8" (ImageNet-NOC).

    NOC printed its matrices as pictures only; these are rebuilt from its relative CE, printed in whole percents, so
    expect an error of about 0.01 an entry. The candidates are the entries of the benchmark that the table is about.
    """
    table = published(name)
    rows = next(iter(table.columns))
    names = table.text(rows)[1:]
    if name not in CANDIDATES or not {"clean_error", *names} <= set(table.columns):
        raise ValueError(
            f"{name} is not a table of models trained with one corruption each; see {', '.join(CANDIDATES)}"
        )
    recipe = benchmark(CANDIDATES[name])
    candidates = replace(recipe, entries=tuple(map(recipe.entry, names)))
    errors = table.numbers(*names) / 100
    return overlap_from_relative_errors(errors, candidates, clean_errors=table.numbers("clean_error"), floor=floor)


def _clean_accuracy(clean_errors: ArrayLike | None, rows: int) -> Floats:
    if clean_errors is None:
        return np.ones(rows)
    clean = fractions(clean_errors, "the clean error")
    if clean.shape != (rows,):
        raise ValueError(f"give one clean error a row, {rows} of them, got shape {clean.shape}")
    if (clean == 1).any():
        raise ValueError("a model with a clean error of 1 knows nothing; its robustness is undefined, leave it out")
    return np.asarray(1 - clean)
