"""Train the two bundled demo models on CIFAR-10 and write their weights and model card.

    python scripts/train_demo_models.py cifar10/ standard
    python scripts/train_demo_models.py cifar10/ augmix

The first argument is what `brittle fetch cifar10` made. One core needs about an hour for each; a run that was ended
goes on from its last epoch.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from rich.progress import Progress

from brittle.datasets import load_dataset
from brittle.models.small_resnet import SmallResNet
from brittle.training import Recipe, train
from brittle.training.augmentation import AugMix

RECIPE = Recipe(epochs=24, learning_rate=0.15)
AUGMENT = {"standard": None, "augmix": AugMix()}


def main(data: str, which: str, work: str = "demo-training") -> None:
    """Train one of the two."""
    torch.manual_seed(RECIPE.seed)
    torch.set_num_threads(1)
    network = SmallResNet()
    training = load_dataset(f"cifar10:{data}", train=True)
    images = np.stack([training.image(i) for i in range(len(training))])
    folder = Path(work)
    with Progress() as bar:
        task = bar.add_task(which)
        train(
            network,
            images,
            training.labels,
            RECIPE,
            augment=AUGMENT[which],
            checkpoint=folder / f"{which}.pt",
            progress=lambda done, total, loss: bar.update(
                task, completed=done, total=total, description=f"{which} {loss:.3f}"
            ),
        )
    torch.save(network.state_dict(), folder / f"{which}-final.pt")


if __name__ == "__main__":
    main(*sys.argv[1:])
