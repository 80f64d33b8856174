"""How near do cheap overlap matrices come to models from scratch?

    python scripts/overlap_study.py cifar10:DATA study [--network small:8] [--epochs 8] [--images 20000]

Trains the models of an overlap matrix from scratch with two seeds, then fine-tunes and adapts the standard
model, and compares all with the first: the second seed is the ceiling that no cheap way can pass. Resumable.
Writes study/agreement.json, study/agreement.md and study/agreement.svg. A fifth of an hour for each seed's fine-tuning
and hours from scratch are to be expected on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import brittle
from brittle.datasets import load_dataset
from brittle.datasets.dataset import Dataset
from brittle.design import (
    OverlapMatrix,
    Plan,
    compare_overlaps,
    correct_cube,
    measure_overlap,
    overlap_with_intervals,
)
from brittle.plots import plot_agreement, save_figure
from brittle.training import TrainingConfig


@dataclass(frozen=True)
class Study:
    """What is compared."""

    data: str
    folder: Path
    candidates: str
    network: str
    epochs: int
    images: int
    tuning_images: int
    test_images: int

    def matrix(self, mode: str, seed: int) -> OverlapMatrix:
        """A matrix, measured now or before."""
        plan = Plan(mode, self.network, tuning_images=self.tuning_images)
        plan = replace(
            plan,
            standard=TrainingConfig(epochs=self.epochs, warm_up=0.2, seed=seed),
            tuning=replace(plan.tuning, seed=seed),
        )
        folder, recipe = self.folder / f"{mode}{seed}", brittle.load_benchmark(self.candidates)
        start = None if mode == "scratch" else self.folder / f"scratch{seed}" / "models" / "standard.safetensors"
        taught = _evenly(load_dataset(self.data, train=True), self.images)
        test = _evenly(load_dataset(self.data), self.test_images)
        before = os.times()
        clock = time.perf_counter()
        results = measure_overlap(taught, test, recipe, folder, plan, start=start, progress=_say)
        spent = sum(os.times()[:2]) - sum(before[:2])
        if not (folder / "seconds.json").is_file():
            (folder / "seconds.json").write_text(json.dumps({"cpu": spent, "wall": time.perf_counter() - clock}))
        matrix = overlap_with_intervals(correct_cube(results, recipe), recipe)
        matrix.save(folder / "overlap.parquet")
        return matrix


def _evenly(data: Dataset, count: int) -> Dataset:
    count = min(count, len(data))
    return data.subset(np.arange(count) * len(data) // count)


def _say(what: str, done: int, total: int) -> None:
    print(f"\r{what:<50.50} {done}/{total}", end="", flush=True)


def main() -> None:
    """Measure all matrices, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--candidates", default="cifar10-noc-candidates")
    parser.add_argument("--network", default="small:8")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--images", type=int, default=15_000)
    parser.add_argument("--tuning-images", type=int, default=6_000)
    parser.add_argument("--test-images", type=int, default=2_000)
    parser.add_argument("--only", help="measure one matrix, such as scratch1, and stop")
    given = vars(parser.parse_args())
    only = given.pop("only")
    study = Study(**given)
    if only is not None:
        study.matrix(only[:-1], int(only[-1]))
        return
    reference = study.matrix("scratch", 0)
    others = {
        "second seed": study.matrix("scratch", 1),
        "fine-tuned": study.matrix("finetune", 0),
        "batch norm": study.matrix("batchnorm", 0),
    }
    agreements = {name: compare_overlaps(reference, other) for name, other in others.items()}
    lines = ["| | Spearman | mean absolute difference | pairs |", "|---|---|---|---|"]
    for name, one in agreements.items():
        a, b = one.spearman, one.mean_absolute
        lines.append(
            f"| {name} | {a.value:.2f} [{a.low:.2f}, {a.high:.2f}] | {b.value:.2f} [{b.low:.2f}, {b.high:.2f}] | "
            f"{one.pairs} |"
        )
    (study.folder / "agreement.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    numbers = {name: [one.spearman.value, one.mean_absolute.value, one.pairs] for name, one in agreements.items()}
    (study.folder / "agreement.json").write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    save_figure(plot_agreement(reference, others, across="from scratch"), study.folder / "agreement.svg")
    print("\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
