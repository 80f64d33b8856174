"""Five levels for each corruption, so hard that a model errs as often as on another benchmark (C-bar's rule)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from brittle.benchmarks import Benchmark, Entry
from brittle.datasets.dataset import Dataset
from brittle.design.calibrate import Robustness, crossing
from brittle.evaluation.results import Results
from brittle.evaluation.scores import cells_of
from brittle.metrics.fraction import Floats, fractions
from brittle.models.model import Model

Progress = Callable[[str, float, float], None]
"""Called with each (corruption, severity, R) that was tried, where R is the share of the clean accuracy left."""


def match_error(
    benchmark: Benchmark,
    model: Model,
    dataset: Dataset,
    target_error: float,
    *,
    spread: float,
    gap: float = 0.1,
    tolerance: float = 0.02,
    name: str = "",
    batch_size: int = 128,
    progress: Progress | None = None,
) -> Benchmark:
    """The benchmark with five levels a corruption, on which the model's mean error is the target.

    C-bar scans ten levels and takes around a centre those with the errors nearest to 1 − A, 1 − A/2, 1, 1 + A/2 and
    1 + A times the centre's, where A is `spread`, and then the centres whose mean error is near the target. Severity
    is continuous here, so the five errors are met by halving, to within `tolerance` of a severity, the nearest of all
    severities tried is taken, and the centre is chosen so that their mean is the target: for every corruption, not
    only over all of them. An error below that at severity `gap` or above that at the largest severity cannot be had; it
    is cut off there, and the centre moves to make up for it. Levels closer than `gap` are moved apart, which shifts
    the mean a little where the error jumps. `error_target` takes target and spread from a baseline.
    """
    if not 0 < target_error < 1:
        raise ValueError(f"target_error is a fraction between 0 and 1, got {target_error!r}; divide percents by 100")
    if not 0 < spread < 1:
        raise ValueError(f"spread is between 0 and 1, as error_target gives it, got {spread!r}")
    if not (tolerance > 0 and gap >= tolerance):
        raise ValueError(f"tolerance must be above 0 and gap at least as large, got {tolerance!r} and {gap!r}")
    entries = []
    for entry in benchmark.entries:
        robust = Robustness(model, dataset, benchmark, entry, batch_size, _told(entry, progress))
        entries.append(replace(entry, levels=_levels(robust, entry, target_error, spread, gap, tolerance)))
    title = f"{benchmark.name}, five levels each, {100 * target_error:.1f} % mean error of {model.name}"
    return replace(benchmark, name=name or f"{benchmark.name}-matched", title=title, entries=tuple(entries))


def error_target(results: Results, baseline: Benchmark, model: str) -> tuple[float, float]:
    """The mean error of a model on a baseline with five levels a corruption, and its spread (C-bar, steps 2 and 3)."""
    if any(len(entry.levels) != 5 for entry in baseline.entries):
        raise ValueError(
            f"a baseline has five levels for each corruption, as imagenet-c has; {baseline.name!r} has not"
        )
    errors = 1 - results.matrix(model, cells_of(baseline)).values.mean(axis=0).reshape(-1, 5)
    return float(errors.mean()), error_spread(errors)


def error_spread(errors: ArrayLike) -> float:
    """The mean over corruptions of ½ (|E₁ / E₃ − 1| + |E₅ / E₃ − 1|), from errors of corruptions × five levels."""
    table = fractions(errors, "the error")
    if table.ndim != 2 or table.shape[1] != 5:
        raise ValueError(f"give errors of corruptions × five levels, got shape {table.shape}")
    if not (table[:, 2] > 0).all():
        raise ValueError("an error of 0 at the middle level gives no spread; use more images or leave it out")
    ends = np.abs(table[:, [0, 4]] / table[:, 2:3] - 1)
    return float(ends.mean())


def _levels(
    robust: Robustness, entry: Entry, target: float, spread: float, gap: float, tolerance: float
) -> tuple[float, ...]:
    if robust.highest < 6 * gap:
        raise ValueError(f"five levels {gap:g} apart do not fit below severity {robust.highest:g}; lower gap")
    least, most = (1 - robust.clean * robust(severity) for severity in (gap, robust.highest))
    if not least < target < most:
        end = f"{least:.3f} at severity {gap:g} already"
        if target > least:
            end = f"{most:.3f} even at severity {robust.highest:g}"
        raise ValueError(
            f"the error under {entry.id} is {end}, so five levels cannot average {target:.3f}; change target_error or "
            "leave that corruption out"
        )
    wished = _wished(target, spread, least, most)
    for error in wished:
        crossing(robust, min((1 - error) / robust.clean, 1.0), tolerance)
    errors = {severity: 1 - robust.clean * left for severity, left in robust.looked.items() if severity >= gap}
    nearest = [min(sorted(errors, reverse=True), key=lambda s: abs(errors[s] - error)) for error in wished]
    return _apart(nearest, gap, robust.highest)


def _wished(target: float, spread: float, least: float, most: float) -> Floats:
    """Five errors around a centre, cut off at the ends, whose mean is the target."""
    factors = 1 + spread * np.array([-1, -0.5, 0, 0.5, 1])
    low, high = least, most / (1 - spread)
    for _ in range(60):
        centre = (low + high) / 2
        below = np.clip(centre * factors, least, most).mean() < target
        low, high = (centre, high) if below else (low, centre)
    return np.asarray(np.clip(high * factors, least, most))


def _apart(severities: list[float], gap: float, highest: float) -> tuple[float, ...]:
    """Growing severities, each at least the gap above the one before and none above the largest."""
    levels, below = [], 0.0
    for severity in sorted(severities):
        below = max(severity, below + gap)
        levels.append(below)
    above = math.inf
    for place in reversed(range(len(levels))):
        above = min(levels[place], highest, above - gap)
        levels[place] = above
    return tuple(round(level, 2) for level in levels)


def _told(entry: Entry, progress: Progress | None) -> Callable[[float, float], None] | None:
    return None if progress is None else lambda severity, robustness: progress(entry.id, severity, robustness)
