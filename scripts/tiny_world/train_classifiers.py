"""Classifiers of different strength, and a judge that is used for nothing but measuring the world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_data import Clothes

from brittle.models import build_network, save_trained
from brittle.sliders.demo_pipeline import DEMO_CLASSES
from brittle.training import TrainingConfig, train
from brittle.training.augmentation import AugMix

HALF = (0.5, 0.5, 0.5)


@dataclass(frozen=True)
class Plan:
    """How one of them is trained."""

    width: int
    epochs: int
    augmix: bool = False
    shifts: bool = False


PLANS = {
    "judge": Plan(12, 3, shifts=True),
    "small": Plan(5, 1),
    "standard": Plan(10, 2),
    "augmix": Plan(10, 2, augmix=True),
}


def train_classifier(name: str, clothes: Clothes, work: Path, folder: Path) -> None:
    """One of them; the judge sees plain and shifted images, the others plain ones alone."""
    file = folder / f"{name}.safetensors"
    if file.is_file():
        return
    plan = PLANS[name]
    spec = f"small:{plan.width}"
    network = build_network(spec, len(DEMO_CLASSES))
    recipe = TrainingConfig(epochs=plan.epochs, learning_rate=0.1, crop=2, mean=HALF, std=HALF)
    images, labels = clothes.plain, clothes.labels
    if plan.shifts:
        images, labels = np.concatenate([images, clothes.shifted]), np.concatenate([labels, labels])

    def progress(done: int, total: int, loss: float) -> None:
        if done % 50 == 0 or done == total:
            print(f"{name}: {done}/{total}, loss {loss:.3f}", flush=True)

    augment = AugMix() if plan.augmix else None
    train(network, images, labels, recipe, augment=augment, checkpoint=work / f"{name}.pt", progress=progress)
    about = {"recipe": repr(recipe), "augmentation": repr(augment), "shifts": str(plan.shifts)}
    save_trained(network, file, spec, DEMO_CLASSES, HALF, HALF, about, half=True)
