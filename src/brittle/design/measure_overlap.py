"""From candidate corruptions to their overlap: train a model on each, test every model on each."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.datasets.dataset import Dataset
from brittle.evaluation import Results, evaluate
from brittle.evaluation.scores import cells_of
from brittle.models import from_torch, load_weights, save_trained
from brittle.training import Corrupted, Recipe, adapt_batchnorm, build_network, train

PAPER = Recipe(epochs=40, schedule="step", learning_rate=0.1, warm_up=0.0)
"""As NOC trains: 40 epochs, the learning rate a tenth after 20 and after 30."""

SHORT = Recipe(epochs=1, learning_rate=0.02)

MODES = ("scratch", "finetune", "batchnorm")
STANDARD = "standard"

Progress = Callable[[str, int, int], None]
"""Called with (what is done, steps done, steps in all)."""


@dataclass(frozen=True)
class Plan:
    """How the models of an overlap matrix are made.

    Args:
        mode: "scratch" trains each model from new weights, as the papers do; "finetune" goes on from the standard
            model for a while; "batchnorm" only lets the standard model's batch normalisation see the corruption.
        network: what is trained, see `build_network`.
        standard: the recipe of the standard model, and of all models from scratch.
        tuning: the recipe of fine-tuning; its batch size is that of batchnorm too.
        tuning_images: how many training images fine-tuning and batchnorm see.
    """

    mode: str = "finetune"
    network: str = "small"
    standard: Recipe = PAPER
    tuning: Recipe = SHORT
    tuning_images: int = 10_000

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")


def measure_overlap(
    training: Dataset,
    test: Dataset,
    candidates: Benchmark,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    start: str | Path | None = None,
    batch_size: int = 128,
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
) -> Results:
    """Make the k + 1 models of an overlap matrix and run each through all candidates; what is there stays.

    `start` is a file of weights for the standard model, which is trained otherwise. Weights land in `folder`/models,
    predictions in `folder`/run as those of any run; `accuracy_table` and `correct_cube` read them.
    """
    plan = plan or Plan()
    folder = Path(folder)
    if training.labels is None or test.labels is None:
        raise ValueError("training and test data need labels")
    _check_levels(candidates)
    _claim(folder, plan, candidates, training, start)
    names = [STANDARD, *(entry.id for entry in candidates.entries)]
    teacher = _Teacher(training, candidates, plan, folder / "models", start, progress, names)
    results: Results | None = None
    for name in names:
        model = from_torch(teacher.network(name), name=name, mean=plan.standard.mean, std=plan.standard.std)
        results = evaluate(
            model,
            test,
            candidates,
            folder / "run",
            batch_size=batch_size,
            engine=engine,
            address=address,
            progress=_testing(name, progress),
        )
    assert results is not None
    return results


def _testing(name: str, progress: Progress | None) -> Progress | None:
    if progress is None:
        return None
    return lambda _, done, total: progress(f"testing {name}", done, total)


def accuracy_table(results: Results, candidates: Benchmark) -> NDArray[np.float64]:
    """The (k + 1) × (k + 1) accuracies: row = trained on, column = tested on, the first of both standard and clean."""
    return np.asarray(correct_cube(results, candidates).mean(axis=-1))


def correct_cube(results: Results, candidates: Benchmark) -> NDArray[np.bool_]:
    """Right or wrong, trained on × tested on × sample, from which intervals are drawn."""
    cells = [("clean", 0.0), *cells_of(candidates)]
    names = [STANDARD, *(entry.id for entry in candidates.entries)]
    _check_levels(candidates)
    return np.stack([results.matrix(name, cells).values.T for name in names])


def _check_levels(candidates: Benchmark) -> None:
    for entry in candidates.entries:
        if len(entry.levels) > 1:
            raise ValueError(
                f"{entry.id} of {candidates.name!r} has {len(entry.levels)} levels; candidates have one level, or a "
                "range that each image draws its severity from: write uniform = [1, 5] in the recipe"
            )


class _Teacher:
    """Makes the network of each corruption, or reads it if it is there."""

    def __init__(
        self,
        training: Dataset,
        candidates: Benchmark,
        plan: Plan,
        folder: Path,
        start: str | Path | None,
        progress: Progress | None,
        names: list[str],
    ) -> None:
        self.training, self.candidates, self.plan, self.folder = training, candidates, plan, folder
        self.start, self.progress, self.names = start, progress, names
        self.images: Image | None = None
        self.standard: Any = None

    def network(self, name: str) -> Any:
        """The network that knows a corruption; weights are read from disk in any case, so that they are the same."""
        path = self.folder / f"{name.replace('/', '.')}.safetensors"
        network = build_network(self.plan.network, len(self.training.classes), seed=self.plan.standard.seed)
        if not path.is_file():
            if name == STANDARD and self.start is not None:
                network.load_state_dict(load_weights(self.start))
            else:
                self._teach(network, name, path.with_suffix(".pt"))
            self._save(network, path)
            path.with_suffix(".pt").unlink(missing_ok=True)
        network.load_state_dict(load_weights(path))
        if name == STANDARD:
            self.standard = deepcopy(network)
        return network

    def _save(self, network: Any, path: Path) -> None:
        plan, recipe = self.plan, self.plan.standard
        about = {"plan": repr(plan)}
        save_trained(network, path, plan.network, self.training.classes, recipe.mean, recipe.std, about)

    def _teach(self, network: Any, name: str, checkpoint: Path) -> None:
        if self.images is None:
            self.images = np.stack(list(self.training.images()))
        images, labels, plan = self.images, self.training.labels, self.plan
        assert labels is not None
        augment = None if name == STANDARD else Corrupted(self.candidates, [name])

        def progress(done: int, total: int, _loss: float) -> None:
            if self.progress is not None:
                self.progress(f"training {name}", self.names.index(name) * total + done, len(self.names) * total)

        if name == STANDARD or plan.mode == "scratch":
            train(network, images, labels, plan.standard, augment=augment, checkpoint=checkpoint, progress=progress)
            return
        network.load_state_dict(self.standard.state_dict())
        count = min(plan.tuning_images, len(images))
        few = np.arange(count) * len(images) // count
        if plan.mode == "batchnorm":
            adapt_batchnorm(network, images[few], plan.tuning, augment)
            progress(1, 1, 0.0)
        else:
            train(
                network,
                images[few],
                labels[few],
                plan.tuning,
                augment=augment,
                checkpoint=checkpoint,
                progress=progress,
            )


def _claim(folder: Path, plan: Plan, candidates: Benchmark, training: Dataset, start: str | Path | None) -> None:
    """A folder belongs to one plan, one recipe and one training set."""
    about = {
        "plan": repr(plan),
        "candidates": candidates.hash,
        "training": training.key,
        "start": None if start is None else Path(start).name,
    }
    path = folder / "overlap.json"
    if path.is_file():
        known = json.loads(path.read_text(encoding="utf-8"))
        for key, value in about.items():
            if known.get(key) != value:
                raise ValueError(
                    f"{str(folder)!r} holds overlap models with {key} {known.get(key)}, and this asks for {value}; "
                    "choose another folder"
                )
        return
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(about, indent=1), encoding="utf-8")
