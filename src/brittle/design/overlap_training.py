"""Train the models that an overlap matrix needs, and measure it."""

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
from brittle._io import claim, file_name, is_whole, missing_or_damaged, weights_key
from brittle._parallel import check_engine
from brittle._ray import map_on_ray, ray_cluster
from brittle._types import Image, Progress
from brittle.benchmarks import Benchmark, Cell
from brittle.datasets.dataset import Dataset
from brittle.evaluation import Results, evaluate
from brittle.evaluation.score import by_corruption
from brittle.models import TorchModel, build_network, from_torch, load_weights, save_trained
from brittle.models.torch import find_device
from brittle.training import Augment, Corrupted, TrainingConfig, adapt_batchnorm, train

PAPER = TrainingConfig(epochs=40, schedule="step", learning_rate=0.1, warm_up=0.025)
"""As NOC trains: 40 epochs, the learning rate a tenth after 20 and after 30; but it rises during the first epoch,
without which our small network does not learn at this rate."""

SHORT = TrainingConfig(epochs=1, learning_rate=0.05)
"""Fine-tuning that comes nearest to models from scratch, among rates of 0.02, 0.05 and 0.1 (docs/overlap.md)."""

MODES = ("scratch", "finetune", "batchnorm")
STANDARD = "standard"
"""The name of the model that learned clean images alone."""

START = "start"
"""What the cheap modes begin from, if the standard model goes on from it as well."""


@dataclass(frozen=True)
class Plan:
    """Which networks, and how they learn.

    Args:
        mode: "scratch" trains each model from new weights, as the papers do; "finetune" goes on from the standard
            model for a while; "batchnorm" only lets the standard model's batch normalisation see the corruption.
        network: what is trained, see `build_network`.
        standard: the recipe of the standard model, and of all models from scratch.
        tuning: the recipe of fine-tuning; its batch size is that of batchnorm too.
        tuning_images: how many training images fine-tuning and batchnorm see.
        control: in the cheap modes, also let the standard model go on, with clean images. Otherwise what the others
            gain or lose by going on at all is taken for an effect of their corruptions.
    """

    mode: str = "finetune"
    network: str = "small"
    standard: TrainingConfig = PAPER
    tuning: TrainingConfig = SHORT
    tuning_images: int = 10_000
    control: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BrittleError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")

    @property
    def first(self) -> str:
        """The network that is there first: given, or trained in full with clean images."""
        return START if self.control and self.mode != "scratch" else STANDARD


def train_or_adapt(
    network: Any,
    images: Image,
    labels: Any,
    plan: Plan,
    augment: Augment | None,
    *,
    full: bool,
    checkpoint: Path | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> None:
    """Train a network in place: by the plan's standard recipe if `full`, else as its cheap mode goes on."""
    kept: dict[str, Any] = {"augment": augment, "checkpoint": checkpoint, "progress": progress}
    if full:
        train(network, images, labels, plan.standard, **kept)
        return
    count = min(plan.tuning_images, len(images))
    few = np.arange(count) * len(images) // count
    if plan.mode == "batchnorm":
        adapt_batchnorm(network, images[few], plan.tuning, augment)
    else:
        train(network, images[few], labels[few], plan.tuning, **kept)


Weights = dict[str, Any]


@dataclass(frozen=True)
class OverlapTrainer:
    """All that a worker anywhere needs to make one of the networks."""

    plan: Plan
    candidates: Benchmark
    images: Any
    labels: Any
    classes: int
    device: str = "auto"

    def teach(self, name: str, first: Weights | None, checkpoint: Path | None = None, progress: Any = None) -> Weights:
        """The weights of a network that knows `name`; the cheap modes go on from those of the first one."""
        network = build_network(self.plan.network, self.classes, seed=self.plan.standard.seed)
        network.to(find_device(self.device))
        augment = None if name in (START, STANDARD) else Corrupted(self.candidates, [name])
        full = name == self.plan.first or self.plan.mode == "scratch"
        if not full:
            assert first is not None
            network.load_state_dict(first)
        kept: dict[str, Any] = {"checkpoint": checkpoint, "progress": progress}
        train_or_adapt(network, self.images, self.labels, self.plan, augment, full=full, **kept)
        state: Weights = network.cpu().state_dict()
        return state


class OverlapModels:
    """The networks of a folder: made when they are asked for, and read from then on."""

    def __init__(
        self,
        training: Dataset,
        candidates: Benchmark,
        plan: Plan,
        folder: Path,
        *,
        start: str | Path | None = None,
        device: str = "auto",
        progress: Progress | None = None,
    ) -> None:
        self.training, self.candidates, self.plan, self.folder = training, candidates, plan, folder
        self.start, self.device, self.progress = start, device, progress
        self.names = [STANDARD, *(entry.id for entry in candidates.entries)]
        self.all = list(dict.fromkeys([plan.first, *self.names]))

    @cached_property
    def teacher(self) -> OverlapTrainer:
        """Holds the images in memory, so it is made only if something is left to learn."""
        images, labels = np.stack(list(self.training.images())), np.asarray(self.training.labels)
        return OverlapTrainer(self.plan, self.candidates, images, labels, len(self.training.classes), self.device)

    def network(self, name: str) -> Any:
        """The network that knows a corruption; weights are read from disk in any case, so that they are the same."""
        path = self.path(name)
        if missing_or_damaged(path, "the model is trained again"):
            if name == self.plan.first and self.start is not None:
                self._save(name, load_weights(self.start))
            else:
                checkpoint = path.with_suffix(".pt")
                self._save(name, self.teacher.teach(name, self._first(name), checkpoint, self._tick(name)))
                checkpoint.unlink(missing_ok=True)
        network = build_network(self.plan.network, len(self.training.classes))
        network.load_state_dict(load_weights(path))
        return network

    def make_on_ray(self, address: str | None) -> None:
        """Make what is missing on the workers of a cluster, each network on one of them."""
        self.network(self.plan.first)
        missing = [name for name in self.all if not is_whole(self.path(name))]
        if not missing:
            return
        with ray_cluster(address) as ray:
            teacher, weights = ray.put(self.teacher), ray.put(self._first(missing[0]))
            gpu = self.device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0
            work = [(name, (teacher, name, weights)) for name in missing]
            for done, (name, state) in enumerate(map_on_ray(ray, _teach, work, gpu=gpu, title=lambda name: name)):
                self._save(name, state)
                if self.progress is not None:
                    self.progress(f"trained {name}", done + 1, len(missing))

    def _first(self, name: str) -> Weights | None:
        if name == self.plan.first:
            return None
        self.network(self.plan.first)  # it is made if it is not there yet
        return load_weights(self.path(self.plan.first))

    def path(self, name: str) -> Path:
        """The file of a network."""
        return self.folder / f"{file_name(name)}.safetensors"

    def _save(self, name: str, state: Weights) -> None:
        network, recipe = build_network(self.plan.network, len(self.training.classes)), self.plan.standard
        network.load_state_dict(state)
        about, classes = {"plan": as_data(self.plan)}, self.training.classes
        save_trained(network, self.path(name), self.plan.network, classes, recipe.mean, recipe.std, about)

    def _tick(self, name: str) -> Callable[[int, int, float], None]:
        before, count = self.all.index(name), len(self.all)

        def tick(done: int, total: int, _loss: float) -> None:
            if self.progress is not None:
                self.progress(f"training {name}", before * total + done, count * total)

        return tick


def _teach(teacher: OverlapTrainer, name: str, first: Weights) -> Weights:
    return teacher.teach(name, first)


TOGETHER = 12
"""So many models are tested at once: they share the drawing of the corruptions, and must fit into memory."""


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
    device: str = "auto",
    progress: Progress | None = None,
) -> Results:
    """Make the k + 1 models of an overlap matrix and run each through all candidates; what is there stays.

    A candidate with a range draws the severity of each image from it. One with several levels, such as those of
    ImageNet-C, draws one of them for each training image, as NOC does (section 5.1); every model is tested at all of
    them, which has the mean of NOC's random one and less noise.

    `start` is a file of weights for the standard model, which is trained otherwise. Weights land in `folder`/models,
    predictions in `folder`/run as those of any run; `accuracy_table` and `correct_cube` read them. The local engine
    resumes inside a training that was interrupted; with "ray" the workers of a cluster make whole models, and then
    test them.
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
    }
    claim(folder / "overlap.json", about, "overlap models")
    models = OverlapModels(training, candidates, plan, folder / "models", start=start, device=device, progress=progress)
    if engine == "ray":
        models.make_on_ray(address)
    for name in models.names:
        models.network(name)
    results: Results | None = None
    for start_at in range(0, len(models.names), TOGETHER):
        some = [_model(models, name, device) for name in models.names[start_at : start_at + TOGETHER]]
        results = evaluate(
            some,
            test,
            candidates,
            folder / "run",
            batch_size=batch_size,
            engine=engine,
            address=address,
            progress=_testing(start_at, len(models.names), progress),
        )
    assert results is not None
    return results


def _model(models: OverlapModels, name: str, device: str) -> TorchModel:
    recipe = models.plan.standard
    return from_torch(models.network(name), name=name, mean=recipe.mean, std=recipe.std, device=device)


def _testing(before: int, models: int, progress: Progress | None) -> Callable[[str, int, int], None] | None:
    if progress is None:
        return None
    parts = -(-models // TOGETHER)
    return lambda what, done, total: progress(f"testing under {what}", before // TOGETHER * total + done, parts * total)


def accuracy_table(results: Results, candidates: Benchmark) -> NDArray[np.float64]:
    """The (k + 1) × (k + 1) accuracies: row = trained on, column = tested on, the first of both standard and clean."""
    return np.asarray(correct_cube(results, candidates).mean(axis=-1))


def correct_cube(results: Results, candidates: Benchmark) -> NDArray[Any]:
    """Right or wrong, trained on × tested on × sample, from which intervals are drawn.

    If a candidate has several levels, it is the share of them at which a sample is right.
    """
    cells = [Cell(), *candidates.cells()]
    names = [STANDARD, *(entry.id for entry in candidates.entries)]
    rows = [results.matrix(name, cells).values for name in names]
    if len(candidates) > len(candidates.entries):
        mean = by_corruption(candidates)
        rows = [np.column_stack([correct[:, 0], np.minimum(mean(correct[:, 1:]), 1)]) for correct in rows]
    return np.stack([correct.T for correct in rows])
