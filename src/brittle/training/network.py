"""Train a network by name and save it: what `brittle augment train` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._identity import as_data, digest
from brittle._types import Image
from brittle.datasets import Dataset, no_labels
from brittle.models import build_network, find_device, find_weights, load_into, save_trained
from brittle.training.augmentation import scheme_by_name
from brittle.training.trainer import TrainingConfig, train

FINE_TUNING = TrainingConfig(epochs=1, learning_rate=0.02)
"""The defaults with weights to start from."""


@dataclass(frozen=True)
class TrainedNetwork:
    """The file of a trained network, the mean loss of each epoch, and the number and side of the training images."""

    path: Path
    losses: list[float]
    images: int
    side: int


def training_config(
    *,
    start: str | Path | None = None,
    epochs: int | None = None,
    lr: float | None = None,
    batch_size: int = 128,
    optimizer: str = "sgd",
    schedule: str = "cosine",
    jsd: float = 0.0,
    ema: float = 0.0,
    seed: int = 0,
) -> TrainingConfig:
    """The settings of a training; `epochs` and `lr` are 24 and 0.1 by default, or 1 and 0.02 with a `start`."""
    usual = TrainingConfig() if start is None else FINE_TUNING
    return replace(
        usual,
        epochs=usual.epochs if epochs is None else epochs,
        learning_rate=usual.learning_rate if lr is None else lr,
        batch_size=batch_size,
        optimiser=optimizer,
        schedule=schedule,
        jsd=jsd,
        ema=ema,
        seed=seed,
    )


def train_network(
    training: Dataset,
    output: str | Path,
    config: TrainingConfig | None = None,
    *,
    network: str = "small",
    augmentation: str = "none",
    start: str | Path | None = None,
    device: str = "auto",
    progress: Callable[[int, int, float], None] | None = None,
) -> TrainedNetwork:
    """Train a network on a dataset and save it as a .safetensors file, which `load_model` reads.

    A checkpoint is written beside the file after each epoch, so that the same call resumes after an interruption.

    Args:
        training: labelled images of one size; its classes are those of the network.
        output: a new .safetensors file.
        config: the settings of the training; those of `training_config` by default.
        network: the architecture, see `build_network`.
        augmentation: a scheme by its name, such as "augmix" or "corruptions:cifar10-noc".
        start: weights to start from: a file, or "demo:standard".
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        progress: called with (steps done, steps in total, loss) after each step.
    """
    path = Path(output)
    if path.suffix != ".safetensors":
        raise BrittleError(f"a network is a .safetensors file, got {str(path)!r}; change the ending")
    if path.exists():
        raise BrittleError(f"{str(path)!r} exists already; remove it or choose another name")
    config = training_config(start=start) if config is None else config
    scheme = scheme_by_name(augmentation)
    if config.jsd and augmentation == "none":
        raise BrittleError(
            f"jsd {config.jsd:g} compares augmented views of an image; name an augmentation, such as augmix"
        )
    images, labels = _arrays(training)
    module = build_network(network, len(training.classes), seed=config.seed).to(find_device(device))
    if start is not None:
        load_into(module, find_weights(start, network, len(training.classes)))
    about = as_data({"recipe": config, "augmentation": scheme, "data": training.key, "start": str(start)})
    checkpoint = path.with_suffix(f".{digest(about, length=8)}.pt")  # of this training and no other
    losses = train(module, images, labels, config, augment=scheme, checkpoint=checkpoint, progress=progress)
    save_trained(module, path, network, training.classes, config.mean, config.std, about)
    checkpoint.unlink(missing_ok=True)
    return TrainedNetwork(path, losses, len(images), min(images.shape[1:3]))


def _arrays(dataset: Dataset) -> tuple[Image, NDArray[np.integer]]:
    if dataset.labels is None:
        raise no_labels(dataset, "and a network learns from labels")
    return np.stack(list(dataset.images())), dataset.labels
