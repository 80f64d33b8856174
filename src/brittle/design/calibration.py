"""Severities at which a model has a given error or a given loss of accuracy."""

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
from brittle.corruptions import get_corruption
from brittle.datasets.dataset import Dataset, no_labels
from brittle.evaluation import with_names_of
from brittle.evaluation.cell import Classes, Drawn, infer
from brittle.evaluation.results import Results
from brittle.models.model import Model

Progress = Callable[[str, float, float], None]
"""Called with each evaluated (corruption, severity, R), where R is the remaining share of the clean accuracy."""


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
    """The benchmark with five levels per corruption at which the model's mean error is the target.

    C-bar scans ten levels and takes around a centre those with the errors nearest to 1 − A, 1 − A/2, 1, 1 + A/2 and
    1 + A times the centre's, where A is `spread`, and then the centres whose mean error is near the target. Severity
    is continuous here, so the five errors are found by bisection, to within `tolerance` of a severity, the nearest of
    all evaluated severities is taken, and the centre is chosen so that their mean is the target: for every corruption,
    not only over all of them. An error below that at severity `gap` or above that at the largest severity is clipped,
    and the centre moves to compensate. Levels closer than `gap` are moved apart, which shifts the mean a little where
    the error jumps. `error_target` takes target and spread from a baseline.
    """
    if not 0 < target_error < 1:
        raise BrittleError(f"target_error is a fraction between 0 and 1, got {target_error!r}; divide percents by 100")
    if not 0 < spread < 1:
        raise BrittleError(f"spread is between 0 and 1, as error_target gives it, got {spread!r}")
    if not (tolerance > 0 and gap >= tolerance):
        raise BrittleError(f"tolerance must be above 0 and gap at least as large, got {tolerance!r} and {gap!r}")
    entries = []
    for entry in benchmark.entries:
        robustness_at = Robustness(model, dataset, benchmark, entry, batch_size, _with_corruption(entry, progress))
        entries.append(replace(entry, levels=_levels(robustness_at, entry, target_error, spread, gap, tolerance)))
    title = f"{benchmark.name}, five levels each, {100 * target_error:.1f} % mean error of {model.name}"
    return replace(benchmark, name=name or f"{benchmark.name}-matched", title=title, entries=tuple(entries))


def error_target(results: Results, baseline: Benchmark, model: str) -> tuple[float, float]:
    """The mean error of a model on a baseline of five levels per corruption, and its spread (C-bar, steps 2 and 3)."""
    for entry in baseline.entries:
        if len(entry.levels) != 5:
            raise BrittleError(
                f"a baseline needs 5 levels for each corruption, as imagenet-c has; {baseline.name!r} has "
                f"{len(entry.levels)} of {entry.id}"
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
    robustness_at: Robustness, entry: Entry, target: float, spread: float, gap: float, tolerance: float
) -> tuple[float, ...]:
    if robustness_at.highest < 6 * gap:
        raise BrittleError(f"five levels {gap:g} apart do not fit below severity {robustness_at.highest:g}; lower gap")
    least, most = (1 - robustness_at.clean * robustness_at(severity) for severity in (gap, robustness_at.highest))
    if not least < target < most:
        end = f"{least:.3f} at severity {gap:g} already"
        if target > least:
            end = f"{most:.3f} even at severity {robustness_at.highest:g}"
        raise BrittleError(
            f"the error under {entry.id} is {end}, so five levels cannot average {target:.3f}; change target_error or "
            "leave that corruption out"
        )
    wanted_errors = _target_errors(target, spread, least, most)
    for error in wanted_errors:
        crossing(robustness_at, min((1 - error) / robustness_at.clean, 1.0), tolerance)
    errors = {
        severity: 1 - robustness_at.clean * value
        for severity, value in robustness_at.evaluated.items()
        if severity >= gap
    }
    nearest = [min(sorted(errors, reverse=True), key=lambda s: abs(errors[s] - error)) for error in wanted_errors]
    return _spaced(nearest, gap, robustness_at.highest)


def _target_errors(target: float, spread: float, least: float, most: float) -> FloatArray:
    """Five errors around a centre, clipped to [least, most], whose mean is the target."""
    factors = 1 + spread * np.array([-1, -0.5, 0, 0.5, 1])
    low, high = least, most / (1 - spread)
    for _ in range(60):
        centre = (low + high) / 2
        below = np.clip(centre * factors, least, most).mean() < target
        low, high = (centre, high) if below else (low, centre)
    return np.asarray(np.clip(high * factors, least, most))


def _spaced(severities: list[float], gap: float, highest: float) -> tuple[float, ...]:
    """Ascending severities, at least `gap` apart and none above `highest`."""
    levels, below = [], 0.0
    for severity in sorted(severities):
        below = max(severity, below + gap)
        levels.append(below)
    above = math.inf
    for i in reversed(range(len(levels))):
        above = min(levels[i], highest, above - gap)
        levels[i] = above
    return tuple(round(level, 2) for level in levels)


def _with_corruption(entry: Entry, progress: Progress | None) -> Callable[[float, float], None] | None:
    return None if progress is None else lambda severity, robustness: progress(entry.id, severity, robustness)


NOC = (0.95, 0.5)
"""NOC's rule: a range begins where a standard model keeps 95 % of its accuracy, and ends where it keeps 50 %."""

CalibrateProgress = Callable[[float, float], None]
"""Called with each evaluated (severity, R)."""


@dataclass(frozen=True)
class Calibration:
    """The severities of one corruption at which a model's robustness R crosses some values, and R there.

    A value that is not reached at the largest severity gives that severity, with `reached` false. `evaluations` lists
    every evaluated (severity, R).
    """

    corruption: str
    severities: tuple[float, ...]
    robustness: tuple[float, ...]
    reached: tuple[bool, ...]
    evaluations: tuple[tuple[float, float], ...]

    @property
    def beyond(self) -> bool:
        """Whether a severity lies above the strongest published level of the corruption."""
        return max(self.severities) > get_corruption(self.corruption).max_severity


def calibrate(
    corruption: str,
    model: Model,
    dataset: Dataset,
    robustness: Sequence[float] = NOC,
    *,
    benchmark: Benchmark | None = None,
    beyond: bool = False,
    tolerance: float = 0.02,
    batch_size: int = 128,
    progress: CalibrateProgress | None = None,
) -> Calibration:
    """The severities at which a model keeps these shares R = A(c) / A of its clean accuracy.

    The draws do not depend on the severity, so bisection finds where R crosses each value, to within `tolerance` of a
    severity; of several crossings it finds one. `benchmark` gives seed, table and options. With `beyond` a value that
    is not reached at the strongest published level is looked for above it, as far as the corruption's parameters can go
    on (`Corruption.highest_severity`): a number of such a recipe compares with no published one.
    """
    targets = tuple(float(value) for value in robustness)
    if not targets or not all(0 < value < 1 for value in targets):
        raise BrittleError(f"robustness is a share of the clean accuracy between 0 and 1, got {list(robustness)}")
    if not tolerance > 0:
        raise BrittleError(f"tolerance must be above 0, got {tolerance}")
    recipe = benchmark or Benchmark("calibration", (Entry(corruption, (1.0,)),))
    entry = recipe.entry(corruption)
    robustness_at = Robustness(model, dataset, recipe, entry, batch_size, progress)
    crossings = [crossing(robustness_at, value, tolerance) for value in targets]
    if beyond and not all(reached for _, _, reached in crossings):
        robustness_at.highest = entry.corruption.highest_severity
        crossings = [crossing(robustness_at, value, tolerance) for value in targets]
    severities, values, reached = zip(*crossings, strict=True)
    return Calibration(entry.id, severities, values, reached, tuple(sorted(robustness_at.evaluated.items())))


def calibrate_all(
    benchmark: Benchmark,
    model: Model,
    dataset: Dataset,
    robustness: Sequence[float] = NOC,
    path: str | Path | None = None,
    *,
    beyond: bool = False,
    tolerance: float = 0.02,
    batch_size: int = 128,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Calibration]:
    """`calibrate` for each corruption of a benchmark, in its order.

    With a `path`, a .json file, each calibration is written as soon as it is made, and the same call resumes after an
    interruption. `progress` is called with (corruption, corruptions done, corruptions in total).
    """
    about = {
        "model": [model.name, model.key],
        "data": [dataset.name, dataset.key],
        "candidates": benchmark.hash,
        "robustness": list(robustness),
        "tolerance": tolerance,
        "beyond": beyond,
    }
    store = _CalibrationFile(None if path is None else Path(path), about)
    for done, entry in enumerate(benchmark.entries):
        if progress is not None:
            progress(entry.id, done, len(benchmark.entries))
        if entry.id not in store.calibrations:
            options: dict[str, Any] = {"benchmark": benchmark, "tolerance": tolerance, "batch_size": batch_size}
            store.add(calibrate(entry.id, model, dataset, robustness, beyond=beyond, **options))
    return [store[entry.id] for entry in benchmark.entries]


class _CalibrationFile:
    """The finished calibrations, in memory and in a file for one model, data set and set of options."""

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self.path, self.about = path, about
        self.calibrations: dict[str, Any] = {}
        if path is not None and not missing_or_damaged(path, "the calibrations are computed again"):
            stored = json.loads(path.read_text(encoding="utf-8"))
            for key, value in about.items():
                stored_value = stored.get("about", {}).get(key, False if key == "beyond" else None)
                if stored_value != value:
                    if key == "candidates":
                        differs = "of other candidates"
                    elif key in ("model", "data"):  # a name and a digest of the content
                        differs = f"of another {key} than the present {value[0]!r}"
                    else:
                        differs = f"with {key} {stored_value}, and this call has {value}"
                    raise BrittleError(f"{str(path)!r} holds calibrations {differs}; remove it or choose another file")
            self.calibrations = stored["found"]

    def __getitem__(self, corruption: str) -> Calibration:
        data = self.calibrations[corruption]
        evaluations = tuple((float(severity), float(value)) for severity, value in data["evaluations"])
        columns = {key: tuple(data[key]) for key in ("severities", "robustness", "reached")}
        return Calibration(corruption=corruption, evaluations=evaluations, **columns)

    def add(self, calibration: Calibration) -> None:
        """Add a calibration, and write the file."""
        self.calibrations[calibration.corruption] = asdict(calibration)
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.path) as part:
            part.write_text(json.dumps({"about": self.about, "found": self.calibrations}, indent=1), encoding="utf-8")


def crossing(robustness_at: Robustness, value: float, tolerance: float) -> tuple[float, float, bool]:
    """The severity at which R falls below a value, by bisection; R there; and whether the value is reached."""
    low = max((s for s, r in robustness_at.evaluated.items() if r >= value), default=0.0)
    high = min((s for s, r in robustness_at.evaluated.items() if r < value and s > low), default=robustness_at.highest)
    if high == robustness_at.highest and robustness_at(high) >= value:
        return high, robustness_at(high), False
    while high - low > tolerance:
        middle = (low + high) / 2
        low, high = (middle, high) if robustness_at(middle) >= value else (low, middle)
    return high, robustness_at(high), True


def calibrated(
    benchmark: Benchmark,
    calibrations: Sequence[Calibration],
    *,
    name: str,
    title: str = "",
    image_size: int | None = None,
) -> Benchmark:
    """A recipe whose corruptions draw each image's severity from the calibrated ranges, at version 1.

    `image_size` is the longer side in pixels of the images that it was calibrated with.
    """
    ranges = {calibration.corruption: calibration.severities for calibration in calibrations}
    entries = []
    for entry in benchmark.entries:
        low, high = (round(end(ranges[entry.id]), 2) for end in (min, max))
        entries.append(replace(entry, levels=((low, high) if low < high else high,)))
    return replace(
        benchmark,
        name=name,
        title=title or f"{benchmark.name}, calibrated",
        entries=tuple(entries),
        version=1,
        image_size=benchmark.image_size if image_size is None else image_size,
    )


class Robustness:
    """R = A(c) / A of one model under one corruption, a function of severity that caches; `clean` is A."""

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
            raise no_labels(dataset, "so accuracy cannot be measured")
        self.source = Drawn(np.stack(list(dataset.images())), dataset.ids, recipe)
        [self.model] = with_names_of([model], dataset)
        self.labels, self.classes = dataset.labels, Classes.of(dataset)
        self.recipe, self.entry, self.batch_size, self.progress = recipe, entry, batch_size, progress
        self.clean = self._accuracy(0.0)
        if self.clean < 2 / max(2, len(dataset.classes)):
            raise BrittleError(
                f"{model.name!r} has {100 * self.clean:.1f} % accuracy on clean images, less than twice chance, so no "
                "loss can be measured; use a better model"
            )
        self.highest = float(entry.corruption.max_severity)
        self.evaluated: dict[float, float] = {0.0: 1.0}

    def __call__(self, severity: float) -> float:
        if severity not in self.evaluated:
            self.evaluated[severity] = self._accuracy(severity) / self.clean
            if self.progress is not None:
                self.progress(severity, self.evaluated[severity])
        return self.evaluated[severity]

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
