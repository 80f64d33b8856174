"""Tables of the MSD paper: errors of methods on two benchmarks over several trainings, beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittle import datasets, design, evaluation, metrics, training
from brittle.benchmarks import Benchmark
from brittle.metrics import Estimate
from brittle.papers.experiments import plain_name
from brittle.training.augmentation import Scheme

if TYPE_CHECKING:
    from brittle.datasets import Dataset
    from brittle.papers.experiments import Rows, Setting


def places(setting: Setting) -> dict[str, Any]:
    """Where networks are trained and evaluated."""
    return {
        "device": setting.device,
        "engine": setting.engine,
        "address": setting.address,
        "progress": setting.progress,
    }


def errors_by_corruption(results: Any, model: str, benchmark: Benchmark) -> dict[str, float]:
    """The error of a model in percent on each corruption, means over severities."""
    accuracy = results.matrix(model, benchmark.cells()).values.mean(0)
    errors = 100 * (1 - evaluation.by_corruption(benchmark)(accuracy))
    return {plain_name(entry.id): float(error) for entry, error in zip(benchmark.entries, errors, strict=True)}


@dataclass(frozen=True)
class MethodErrors:
    """The errors of a method in percent: runs × corruptions of each of two benchmarks."""

    method: str
    first: Sequence[Mapping[str, float]]
    second: Sequence[Mapping[str, float]]

    def means(self) -> tuple[list[float], list[float]]:
        """The mean error of each run on both benchmarks."""
        return tuple([float(np.mean(list(run.values()))) for run in runs] for runs in (self.first, self.second))  # type: ignore[return-value]

    def row(self, published: Mapping[str, Any] | None = None, prefix: str = "cifar10") -> dict[str, Any]:
        """A row of Table 1 with the published numbers beside: errors ± std over runs, Δ, and each corruption."""
        first, second = self.means()
        given = published or {}
        row = {
            "method": self.method,
            "runs": len(first),
            "C error": float(np.mean(first)),
            "C std": _std(first),
            "published C error": given.get(f"{prefix}_c_error"),
            "C-bar error": float(np.mean(second)),
            "C-bar std": _std(second),
            "published C-bar error": given.get(f"{prefix}_c_bar_error"),
            "Δ": float(np.mean(second) - np.mean(first)),
            "published Δ": given.get("difference"),
        }
        for name in self.second[0]:
            row[name] = float(np.mean([run[name] for run in self.second]))
            row[f"published {name}"] = given.get(name)
        return row


def _std(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def method_errors(
    setting: Setting,
    methods: Mapping[str, Scheme],
    data: tuple[Dataset, Dataset],
    benchmarks: tuple[Benchmark, Benchmark],
    plans: Mapping[str, Sequence[design.Plan]],
    folder: Path,
    start: str | Path | None = None,
) -> list[MethodErrors]:
    """Train each method once for each of its plans, and test all networks on two benchmarks (Table 1).

    `data` are training and test images. A plan's seed is that of the run, and names its folder. `start` are the weights
    that fine-tuning begins with.
    """
    found = []
    for method, scheme in methods.items():
        errors: tuple[list[Any], list[Any]] = ([], [])
        for plan in plans[method]:
            run = f"{method} {plan.tuning.seed}"
            full = plan.mode == "scratch"
            options: dict[str, Any] = {"start": None if full else start, "standard": not full, **places(setting)}
            models = design.scheme_models(
                {run: scheme}, data[0], folder / run, plan, cache=folder / "images", **options
            )
            for benchmark, listed in zip(benchmarks, errors, strict=True):
                results = design.evaluate_schemes(
                    {run: models[run]},
                    data[1],
                    benchmark,
                    folder / "run",
                    engine=setting.engine,
                    address=setting.address,
                    progress=setting.progress,
                )
                listed.append(errors_by_corruption(results, run, benchmark))
        found.append(MethodErrors(method, *errors))
    return found


def table_agreement(rows: Rows, columns: Sequence[str]) -> list[Estimate]:
    """For each column, the mean absolute difference to the published one and the rank correlation over the rows."""
    found = []
    for column in columns:
        pairs = [(row[column], row[f"published {column}"]) for row in rows]
        known = np.array([(a, b) for a, b in pairs if a is not None and b is not None and not np.isnan(b)])
        if len(known) < 2:
            continue
        gap = float(np.abs(known[:, 0] - known[:, 1]).mean())
        found.append(Estimate(f"{column}: mean absolute difference in points", gap, n=len(known), percent=False))
        if len(known) >= 4 and np.ptp(known[:, 0]) and np.ptp(known[:, 1]):
            rho = metrics.spearman(known[:, 0], known[:, 1])
            found.append(Estimate(f"{column}: Spearman", rho.value, rho.low, rho.high, n=len(known), percent=False))
    return found


def published_rows(table: str, key: str) -> dict[str, dict[str, float | str]]:
    """The rows of a published table by their names."""
    published = metrics.published_table(table)
    return {name: published.row(name) for name in published.text(key)}


def chance_in_common(common: int, candidates: int, published: int, picked: int) -> float:
    """The probability that so many drawn blindly have that many or more in common with the published ones."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(common - 1, candidates, published, picked))


def published_among(rows: Rows) -> Estimate:
    """The chance that a published candidate has a larger shift than another one: 0.5 is blind, 1 is perfect."""
    known = [row for row in rows if row["shift"] is not None]
    first, second = ([row["shift"] for row in known if row["published"] == kind] for kind in ("yes", "no"))
    above = np.mean(np.subtract.outer(first, second) > 0) if first and second else float("nan")
    return Estimate("a published candidate is farther than another", float(above), n=len(known))


def imagenet_parts(setting: Setting, config: training.TrainingConfig) -> tuple[Dataset, Dataset]:
    """Training and test images of ImageNet, or of those of its classes that are there."""
    spec = f"imagenet:{setting.path('imagenet')}"
    images = datasets.load_training_set(spec, partial=True)
    return images, training.prepared_for_test(datasets.load_test_set(spec, images, partial=True), config)
