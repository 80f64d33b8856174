"""Train the networks of an overlap matrix, evaluate them, and read what they got right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._identity import as_data
from brittle._io import claim, file_name, is_complete, missing_or_damaged, weights_key
from brittle._parallel import check_engine
from brittle._ray import map_on_ray, ray_cluster
from brittle._types import Progress
from brittle.benchmarks import Benchmark, Cell
from brittle.datasets.dataset import Dataset
from brittle.design.plans import STANDARD, START, Plan, normalised_plan, train_or_adapt
from brittle.evaluation import Results, evaluate
from brittle.evaluation.results import by_corruption
from brittle.models import TorchModel, build_network, from_torch, load_weights, network_key, save_trained
from brittle.models.torch import find_device
from brittle.training import Corrupted, Images, cache_folder, input_sizes, training_images


def repeated_name(name: str, number: int) -> str:
    """The name of the model of a repeated training, from 0: fog, fog #2, fog #3."""
    return name if number == 0 else f"{name} #{number + 1}"


Weights = dict[str, Any]


@dataclass(frozen=True)
class OverlapTrainer:
    """Everything a worker needs to train one of the networks."""

    plan: Plan
    candidates: Benchmark
    images: Images
    labels: Any
    classes: int
    device: str = "auto"
    workers: int | None = None

    @cached_property
    def places(self) -> dict[str, tuple[str, int]]:
        """What each network is trained with, and which of the repeated trainings it is."""
        return {START: (START, 0)} | {
            repeated_name(name, number): (name, number)
            for number in range(self.plan.repeats)
            for name in (STANDARD, *(entry.id for entry in self.candidates.entries))
        }

    def train(self, name: str, first: Weights | None, checkpoint: Path | None = None, progress: Any = None) -> Weights:
        """The weights of the network of this name; `first` are the weights to fine-tune or adapt."""
        trained_with, repetition = self.places[name]
        plan = self.plan.repetition(repetition)
        network = build_network(plan.network, self.classes, seed=plan.standard.seed)
        network.to(find_device(self.device))
        augment = None if trained_with in (START, STANDARD) else Corrupted(self.candidates, [trained_with])
        full = name == plan.first or plan.mode == "scratch"
        if not full:
            assert first is not None
            if trained_with == plan.first:
                return first  # without a control there is one standard model for all repetitions
            network.load_state_dict(first)
        options: dict[str, Any] = {"checkpoint": checkpoint, "progress": progress, "workers": self.workers}
        options["repetition"] = repetition
        train_or_adapt(network, self.images, self.labels, plan, augment, full=full, **options)
        state: Weights = network.cpu().state_dict()
        return state


class OverlapModels:
    """The networks of a folder: trained on first use, and read from disk afterwards."""

    def __init__(
        self,
        training: Dataset,
        candidates: Benchmark,
        plan: Plan,
        folder: Path,
        *,
        start: str | Path | None = None,
        cache: str | Path | None = None,
        workers: int | None = None,
        device: str = "auto",
        progress: Progress | None = None,
    ) -> None:
        self.training, self.candidates, self.given_plan, self.folder = training, candidates, plan, folder
        self.start, self.device, self.progress, self.cache, self.workers = start, device, progress, cache, workers
        names = [STANDARD, *(entry.id for entry in candidates.entries)]
        self.names = [repeated_name(name, number) for number in range(plan.repeats) for name in names]
        self.all = list(dict.fromkeys([plan.first, *self.names]))

    @cached_property
    def images(self) -> Images:
        """The training images, which are read only if a model must be trained or normalised by them."""
        options: dict[str, Any] = {"workers": self.workers, "progress": self.progress}
        return training_images(self.training, self.given_plan.standard, self.cache, **options)

    @cached_property
    def plan(self) -> Plan:
        """The plan with numbers for the normalisation."""
        return normalised_plan(self.given_plan, lambda: self.images)

    @cached_property
    def trainer(self) -> OverlapTrainer:
        """Holds the images, so it is created only if a model must be trained."""
        classes, options = len(self.training.classes), (self.device, self.workers)
        labels = np.asarray(self.training.labels)
        return OverlapTrainer(self.plan, self.candidates, self.images, labels, classes, *options)

    def network(self, name: str) -> Any:
        """The network trained with a corruption; always read from disk, so that new and stored weights are the same."""
        path = self.path(name)
        checkpoint = path.with_suffix(".pt")
        if missing_or_damaged(path, "the model is trained again"):
            if name == self.plan.first and self.start is not None:
                self._save(name, load_weights(self.start))
            else:
                self._save(name, self.trainer.train(name, self._first(name), checkpoint, self._on_step(name)))
        checkpoint.unlink(missing_ok=True)  # also one that a power cut left beside whole weights
        network = build_network(self.plan.network, len(self.training.classes))
        network.load_state_dict(load_weights(path))
        return network

    def make_on_ray(self, address: str | None) -> None:
        """Train the missing networks on the workers of a Ray cluster, one network per task."""
        self.network(self.plan.first)
        missing = [name for name in self.all if not is_complete(self.path(name))]
        if not missing:
            return
        with ray_cluster(address) as ray:
            trainer, weights = ray.put(self.trainer), ray.put(self._first(missing[0]))
            gpu = self.device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0
            tasks = [(name, (trainer, name, weights)) for name in missing]
            for number, done in enumerate(map_on_ray(ray, _train, tasks, gpu=gpu, title=lambda name: name)):
                self._save(done.item, done.result)
                if self.progress is not None:
                    self.progress(f"trained {done.item}{done.where}", number + 1, len(missing))

    def _first(self, name: str) -> Weights | None:
        if name == self.plan.first:
            return None
        self.network(self.plan.first)  # trains it if it is missing
        return load_weights(self.path(self.plan.first))

    def path(self, name: str) -> Path:
        """The file of a network."""
        return self.folder / f"{file_name(name)}.safetensors"

    def _save(self, name: str, state: Weights) -> None:
        network, config = build_network(self.plan.network, len(self.training.classes)), self.plan.standard
        network.load_state_dict(state)
        about = {"plan": as_data(self.plan), **input_sizes(self.training, config)}
        classes = self.training.classes
        save_trained(network, self.path(name), self.plan.network, classes, config.mean, config.std, about)

    def _on_step(self, name: str) -> Callable[[int, int, float], None]:
        steps = [self.plan.steps(len(self.training), full=other == self.plan.first) for other in self.all]
        before, count = sum(steps[: self.all.index(name)]), sum(steps)

        def on_step(done: int, _total: int, _loss: float) -> None:
            if self.progress is not None:
                self.progress(f"training {name}", before + done, count)

        return on_step


def _train(trainer: OverlapTrainer, name: str, first: Weights) -> Weights:
    return trainer.train(name, first)


MODELS_AT_ONCE = 12
"""Models evaluated at once: they share the corrupted images, and must fit into memory."""


def measure_overlap(
    training: Dataset,
    test: Dataset,
    candidates: Benchmark,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    start: str | Path | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    batch_size: int = 128,
    engine: str = "local",
    address: str | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> Results:
    """Train the k + 1 models of an overlap matrix and evaluate each on all candidates; existing results are kept.

    A candidate with a range draws the severity of each image from it. One with several levels, such as those of
    ImageNet-C, draws one of them for each training image, as NOC does (section 5.1); every model is tested at all of
    them, which has the same expectation as NOC's random level and less noise.

    `start` is a file of weights of the standard model, which is trained by default. Weights are written to
    `folder`/models, predictions to `folder`/run; `accuracy_table` and `correct_cube` read them. The local engine
    resumes an interrupted training from its last epoch; `workers` threads load its images. Photographs are decoded once
    into the folder `cache`, by default `folder`/images, or in every epoch if that is "none". With "ray" the workers of
    a cluster train whole models, and then evaluate them.
    """
    plan = plan or Plan()
    folder = Path(folder)
    check_engine(engine, address)
    if training.labels is None or test.labels is None:
        raise BrittleError("training and test data need labels")
    about = {
        "plan": as_data(plan),
        "candidates": candidates.hash,
        "training": training.key,
        "start": weights_key(start),
        "network": network_key(plan.network),
    }
    claim(folder / "overlap.json", about, "overlap models")
    models = OverlapModels(
        training,
        candidates,
        plan,
        folder / "models",
        start=start,
        cache=cache_folder(cache, folder / "images"),
        workers=workers,
        device=device,
        progress=progress,
    )
    if engine == "ray":
        models.make_on_ray(address)
    for name in models.names:
        models.network(name)
    results: Results | None = None
    for start_at in range(0, len(models.names), MODELS_AT_ONCE):
        group = [_model(models, name, device) for name in models.names[start_at : start_at + MODELS_AT_ONCE]]
        results = evaluate(
            group,
            test,
            candidates,
            folder / "run",
            batch_size=batch_size,
            engine=engine,
            address=address,
            progress=_on_test(start_at, len(models.names), progress),
        )
    assert results is not None
    return results


def _model(models: OverlapModels, name: str, device: str) -> TorchModel:
    config = models.plan.standard
    return from_torch(models.network(name), name=name, mean=config.mean, std=config.std, device=device)


def _on_test(before: int, models: int, progress: Progress | None) -> Callable[[str, int, int], None] | None:
    if progress is None:
        return None
    groups = -(-models // MODELS_AT_ONCE)
    return lambda cell, done, total: progress(
        f"testing under {cell}", before // MODELS_AT_ONCE * total + done, groups * total
    )


def accuracy_table(results: Results, candidates: Benchmark) -> NDArray[np.float64]:
    """The (k + 1) × (k + 1) accuracies: row = trained on, column = tested on; first the standard model and clean."""
    return np.asarray(correct_cube(results, candidates).mean(axis=-1))


def correct_cube(results: Results, candidates: Benchmark) -> NDArray[Any]:
    """Right or wrong, trained on × tested on × sample.

    If a candidate has several levels, it is the share of levels at which a sample is right, and if the trainings were
    repeated, the share of them.
    """
    cubes = correct_cubes(results, candidates)
    return np.asarray(cubes[0] if len(cubes) == 1 else cubes.mean(axis=0))


def correct_cubes(results: Results, candidates: Benchmark) -> NDArray[Any]:
    """Right or wrong, repeated training × trained on × tested on × sample, as `overlap_with_intervals` takes it."""
    cells = [Cell(), *candidates.cells()]
    names = [STANDARD, *(entry.id for entry in candidates.entries)]
    cubes: list[NDArray[Any]] = []
    while repeated_name(STANDARD, len(cubes)) in results.models or not cubes:
        rows = [results.matrix(repeated_name(name, len(cubes)), cells).values for name in names]
        if len(candidates) > len(candidates.entries):
            mean = by_corruption(candidates)
            rows = [np.column_stack([correct[:, 0], np.minimum(mean(correct[:, 1:]), 1)]) for correct in rows]
        cubes.append(np.stack([correct.T for correct in rows]))
    return np.stack(cubes)
