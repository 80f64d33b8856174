"""Severities at which a model loses as much as one wants."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._io import atomic_write, missing_or_damaged
from brittle._types import FloatArray, Image, check_fractions
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets.dataset import Dataset, no_labels
from brittle.evaluation.cell import Classes, Drawn, infer
from brittle.evaluation.results import Results
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
        raise BrittleError(f"target_error is a fraction between 0 and 1, got {target_error!r}; divide percents by 100")
    if not 0 < spread < 1:
        raise BrittleError(f"spread is between 0 and 1, as error_target gives it, got {spread!r}")
    if not (tolerance > 0 and gap >= tolerance):
        raise BrittleError(f"tolerance must be above 0 and gap at least as large, got {tolerance!r} and {gap!r}")
    entries = []
    for entry in benchmark.entries:
        robust = Robustness(model, dataset, benchmark, entry, batch_size, _told(entry, progress))
        entries.append(replace(entry, levels=_levels(robust, entry, target_error, spread, gap, tolerance)))
    title = f"{benchmark.name}, five levels each, {100 * target_error:.1f} % mean error of {model.name}"
    return replace(benchmark, name=name or f"{benchmark.name}-matched", title=title, entries=tuple(entries))


def error_target(results: Results, baseline: Benchmark, model: str) -> tuple[float, float]:
    """The mean error of a model on a baseline with five levels a corruption, and its spread (C-bar, steps 2 and 3)."""
    if any(len(entry.levels) != 5 for entry in baseline.entries):
        raise BrittleError(
            f"a baseline has five levels for each corruption, as imagenet-c has; {baseline.name!r} has not"
        )
    errors = 1 - results.matrix(model, baseline.cells()).values.mean(axis=0).reshape(-1, 5)
    return float(errors.mean()), error_spread(errors)


def error_spread(errors: ArrayLike) -> float:
    """The mean over corruptions of ½ (|E₁ / E₃ − 1| + |E₅ / E₃ − 1|), from errors of corruptions × five levels."""
    table = check_fractions(errors, "the error")
    if table.ndim != 2 or table.shape[1] != 5:
        raise BrittleError(f"give errors of corruptions × five levels, got shape {table.shape}")
    if not (table[:, 2] > 0).all():
        raise BrittleError("an error of 0 at the middle level gives no spread; use more images or leave it out")
    ends = np.abs(table[:, [0, 4]] / table[:, 2:3] - 1)
    return float(ends.mean())


def _levels(
    robust: Robustness, entry: Entry, target: float, spread: float, gap: float, tolerance: float
) -> tuple[float, ...]:
    if robust.highest < 6 * gap:
        raise BrittleError(f"five levels {gap:g} apart do not fit below severity {robust.highest:g}; lower gap")
    least, most = (1 - robust.clean * robust(severity) for severity in (gap, robust.highest))
    if not least < target < most:
        end = f"{least:.3f} at severity {gap:g} already"
        if target > least:
            end = f"{most:.3f} even at severity {robust.highest:g}"
        raise BrittleError(
            f"the error under {entry.id} is {end}, so five levels cannot average {target:.3f}; change target_error or "
            "leave that corruption out"
        )
    wished = _wished(target, spread, least, most)
    for error in wished:
        crossing(robust, min((1 - error) / robust.clean, 1.0), tolerance)
    errors = {severity: 1 - robust.clean * left for severity, left in robust.looked.items() if severity >= gap}
    nearest = [min(sorted(errors, reverse=True), key=lambda s: abs(errors[s] - error)) for error in wished]
    return _apart(nearest, gap, robust.highest)


def _wished(target: float, spread: float, least: float, most: float) -> FloatArray:
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


NOC = (0.95, 0.5)
"""NOC's rule: a range begins where a standard model keeps 95 % of its accuracy, and ends where it keeps half."""

CalibrateProgress = Callable[[float, float], None]
"""Called with each (severity, R) that was tried."""


@dataclass(frozen=True)
class Calibration:
    """The severities of one corruption at which a model's robustness R crosses some values, and R there.

    A value that is not reached even at the largest severity gives that severity; `robustness` says how far it got.
    `looked` lists every (severity, R) that was tried.
    """

    corruption: str
    severities: tuple[float, ...]
    robustness: tuple[float, ...]
    reached: tuple[bool, ...]
    looked: tuple[tuple[float, float], ...]


def calibrate(
    corruption: str,
    model: Model,
    dataset: Dataset,
    robustness: Sequence[float] = NOC,
    *,
    benchmark: Benchmark | None = None,
    tolerance: float = 0.02,
    batch_size: int = 128,
    progress: CalibrateProgress | None = None,
) -> Calibration:
    """Where a corruption leaves a model these shares of its clean accuracy (R = A(c) / A, falling from 1).

    The draws do not depend on the severity, so R falls along one path for all images and halving finds its crossing,
    to within `tolerance` of a severity; of several crossings it finds one. `benchmark` gives seed, table and options.
    """
    wanted = tuple(float(value) for value in robustness)
    if not wanted or not all(0 < value < 1 for value in wanted):
        raise BrittleError(f"robustness is a share of the clean accuracy between 0 and 1, got {list(robustness)}")
    if not tolerance > 0:
        raise BrittleError(f"tolerance must be above 0, got {tolerance}")
    recipe = benchmark or Benchmark("calibration", (Entry(corruption, (1.0,)),))
    entry = recipe.entry(corruption)
    robust = Robustness(model, dataset, recipe, entry, batch_size, progress)
    found = [crossing(robust, value, tolerance) for value in wanted]
    severities, values, reached = zip(*found, strict=True)
    return Calibration(entry.id, severities, values, reached, tuple(sorted(robust.looked.items())))


def calibrate_all(
    benchmark: Benchmark,
    model: Model,
    dataset: Dataset,
    robustness: Sequence[float] = NOC,
    path: str | Path | None = None,
    *,
    tolerance: float = 0.02,
    batch_size: int = 128,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Calibration]:
    """`calibrate` for each corruption of a benchmark, in its order.

    With a `path`, a .json file, each is kept there as soon as it is found, and the same call goes on after an
    interruption. `progress` is called with (the corruption, corruptions done, corruptions in all).
    """
    about = {
        "model": [model.name, model.key],
        "data": [dataset.name, dataset.key],
        "candidates": benchmark.hash,
        "robustness": list(robustness),
        "tolerance": tolerance,
    }
    kept = _Kept(None if path is None else Path(path), about)
    for place, entry in enumerate(benchmark.entries):
        if progress is not None:
            progress(entry.id, place, len(benchmark.entries))
        if entry.id not in kept.found:
            how: dict[str, Any] = {"benchmark": benchmark, "tolerance": tolerance, "batch_size": batch_size}
            kept.add(calibrate(entry.id, model, dataset, robustness, **how))
    return [kept[entry.id] for entry in benchmark.entries]


class _Kept:
    """The calibrations found so far, in a file that belongs to one model, one data set and one wish."""

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self.path, self.about = path, about
        self.found: dict[str, Any] = {}
        if path is not None and not missing_or_damaged(path, "the calibrations are made again"):
            stored = json.loads(path.read_text(encoding="utf-8"))
            for key, value in about.items():
                if stored.get("about", {}).get(key) != value:
                    known = stored.get("about", {}).get(key)
                    if key == "candidates":
                        differs = "of other candidates"
                    elif key in ("model", "data"):  # a name and a digest of what it stands for
                        differs = f"of another {key} than {value[0]!r} is now"
                    else:
                        differs = f"with {key} {known}, and this asks for {value}"
                    raise BrittleError(f"{str(path)!r} holds calibrations {differs}; remove it or choose another file")
            self.found = stored["found"]

    def __getitem__(self, corruption: str) -> Calibration:
        one = self.found[corruption]
        looked = tuple((float(severity), float(value)) for severity, value in one["looked"])
        rest = {key: tuple(one[key]) for key in ("severities", "robustness", "reached")}
        return Calibration(corruption=corruption, looked=looked, **rest)

    def add(self, one: Calibration) -> None:
        """Keep one more, on disk too."""
        self.found[one.corruption] = asdict(one)
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.path) as part:
            part.write_text(json.dumps({"about": self.about, "found": self.found}, indent=1), encoding="utf-8")


def crossing(robust: Robustness, value: float, tolerance: float) -> tuple[float, float, bool]:
    """The severity at which R falls below a value, found by halving, R there, and whether it gets there at all."""
    low = max((s for s, r in robust.looked.items() if r >= value), default=0.0)
    high = min((s for s, r in robust.looked.items() if r < value and s > low), default=robust.highest)
    if high == robust.highest and robust(high) >= value:
        return high, robust(high), False
    while high - low > tolerance:
        middle = (low + high) / 2
        low, high = (middle, high) if robust(middle) >= value else (low, middle)
    return high, robust(high), True


def calibrated(benchmark: Benchmark, calibrations: Sequence[Calibration], *, name: str, title: str = "") -> Benchmark:
    """A recipe whose corruptions draw each image's severity from the calibrated ranges."""
    ranges = {each.corruption: each.severities for each in calibrations}
    entries = []
    for entry in benchmark.entries:
        low, high = (round(end(ranges[entry.id]), 2) for end in (min, max))
        entries.append(replace(entry, levels=((low, high) if low < high else high,)))
    return replace(benchmark, name=name, title=title or f"{benchmark.name}, calibrated", entries=tuple(entries))


class Robustness:
    """R of one model under one corruption at a severity, remembered; `clean` is the accuracy that R is a share of."""

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        recipe: Benchmark,
        entry: Entry,
        batch_size: int,
        progress: CalibrateProgress | None,
    ) -> None:
        if dataset.labels is None:
            raise no_labels(dataset, "so accuracy is not known")
        self.source = Drawn(np.stack(list(dataset.images())), dataset.ids, recipe)
        self.model, self.labels, self.classes = model, dataset.labels, Classes.of(dataset)
        self.recipe, self.entry, self.batch_size, self.progress = recipe, entry, batch_size, progress
        self.clean = self._accuracy(0.0)
        if self.clean < 2 / max(2, len(dataset.classes)):
            raise BrittleError(f"{model.name!r} has {100 * self.clean:.1f} % on clean images: too little to lose any")
        self.highest = float(entry.corruption.max_severity)
        self.looked: dict[float, float] = {0.0: 1.0}

    def __call__(self, severity: float) -> float:
        if severity not in self.looked:
            self.looked[severity] = self._accuracy(severity) / self.clean
            if self.progress is not None:
                self.progress(severity, self.looked[severity])
        return self.looked[severity]

    def _accuracy(self, severity: float) -> float:
        def draw(start: int) -> Image:
            part = slice(start, start + self.batch_size)
            clean: Image = self.source.images[part]
            if not severity:
                return clean
            corrupted: Image = self.recipe.apply(clean, self.entry.id, severity, self.source.ids[part])
            return corrupted

        batches = infer([self.model], draw, range(0, len(self.source), self.batch_size), self.classes)
        predictions = np.concatenate([classes for [(classes, _)] in batches])
        return float((predictions == self.labels).mean())
