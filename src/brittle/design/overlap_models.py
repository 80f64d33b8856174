"""The k + 1 networks of an overlap matrix: one that knows clean images, and one for each candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from brittle._io import file_name, is_whole, missing_or_damaged
from brittle.benchmarks import Benchmark
from brittle.datasets.dataset import Dataset
from brittle.design.learn import learn
from brittle.design.overlap_plan import STANDARD, START, Plan
from brittle.evaluation.cluster import cluster, spread
from brittle.models import build_network, load_weights, save_trained
from brittle.models.device import find_device
from brittle.training import Corrupted

Progress = Callable[[str, int, int], None]
"""Called with (what is done, steps done, steps in all)."""

Weights = dict[str, Any]


@dataclass(frozen=True)
class Teacher:
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
        learn(network, self.images, self.labels, self.plan, augment, full=full, **kept)
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
    def teacher(self) -> Teacher:
        """Holds the images in memory, so it is made only if something is left to learn."""
        images, labels = np.stack(list(self.training.images())), np.asarray(self.training.labels)
        return Teacher(self.plan, self.candidates, images, labels, len(self.training.classes), self.device)

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
        with cluster(address) as ray:
            teacher, weights = ray.put(self.teacher), ray.put(self._first(missing[0]))
            gpu = self.device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0
            work = [(name, (teacher, name, weights)) for name in missing]
            for done, (name, state) in enumerate(spread(ray, _teach, work, gpu=gpu, title=lambda name: name)):
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
        about, classes = {"plan": repr(self.plan)}, self.training.classes
        save_trained(network, self.path(name), self.plan.network, classes, recipe.mean, recipe.std, about)

    def _tick(self, name: str) -> Callable[[int, int, float], None]:
        before, count = self.all.index(name), len(self.all)

        def tick(done: int, total: int, _loss: float) -> None:
            if self.progress is not None:
                self.progress(f"training {name}", before * total + done, count * total)

        return tick


def _teach(teacher: Teacher, name: str, first: Weights) -> Weights:
    return teacher.teach(name, first)
