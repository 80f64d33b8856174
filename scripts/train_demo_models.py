"""Train the two bundled demo models on CIFAR-10 and write their weights.

    brittle fetch cifar10
    python scripts/train_demo_models.py cifar10/ standard
    python scripts/train_demo_models.py cifar10/ augmix

One core needs about an hour for each; a training that was ended goes on from its last epoch. The card beside the
weights (src/brittle/models/demo_weights/README.md) says what came out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from rich.progress import Progress

from brittle.datasets import load_dataset
from brittle.models import from_torch, save_weights
from brittle.models.networks import DEMO_WEIGHTS
from brittle.models.small_resnet import SmallResNet
from brittle.training import TrainingConfig, train
from brittle.training.augmentation import AugMix

RECIPE = TrainingConfig(epochs=24, learning_rate=0.15)
AUGMENT = {"standard": None, "augmix": AugMix()}


def main(data: str, which: str, work: str = "demo-training") -> None:
    """Train one of the two."""
    torch.manual_seed(RECIPE.seed)
    torch.set_num_threads(1)
    network = SmallResNet()
    images, labels = whole(data, train=True)
    with Progress() as bar:
        task = bar.add_task(which)
        train(
            network,
            images,
            labels,
            RECIPE,
            augment=AUGMENT[which],
            checkpoint=Path(work) / f"{which}.pt",
            progress=lambda done, total, loss: bar.update(
                task, completed=done, total=total, description=f"{which} {loss:.3f}"
            ),
        )
    images, labels = whole(data, train=False)
    model = from_torch(network, name=which, mean=RECIPE.mean, std=RECIPE.std, device="cpu")
    right = np.concatenate([model.scores(part).argmax(1) for part in np.split(images, 20)]) == labels
    about = {"accuracy": f"{right.mean():.4f}", "recipe": repr(RECIPE), "augmentation": repr(AUGMENT[which])}
    save_weights(network, DEMO_WEIGHTS / f"{which}.safetensors", about, half=True)
    print(f"{which}: {100 * right.mean():.2f} % of the 10,000 test images")


def whole(data: str, *, train: bool) -> tuple[np.ndarray, np.ndarray]:
    """All images and labels of a part."""
    part = load_dataset(f"cifar10:{data}", train=train)
    return np.stack(list(part.images())), part.labels


if __name__ == "__main__":
    main(*sys.argv[1:])
