"""Train a network by name and save it: what `brittle augment train` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._identity import as_data, digest
from brittle._types import Progress
from brittle.datasets import Dataset, no_labels, preparation_sizes
from brittle.models import build_network, find_device, find_weights, load_into, network_key, save_trained
from brittle.training.augmentation import scheme_by_name
from brittle.training.config import TrainingConfig, training_config
from brittle.training.data import as_source, cache_folder, training_images
from brittle.training.trainer import normalised, train


@dataclass(frozen=True)
class TrainedNetwork:
    """The file of a trained network, the mean loss of each epoch, and the number and side of the training images.

    `cache` is the folder of the decoded images, if there is one.
    """

    path: Path
    losses: list[float]
    images: int
    side: int
    cache: Path | None = None


def train_network(
    training: Dataset,
    output: str | Path,
    config: TrainingConfig | None = None,
    *,
    network: str = "small",
    augmentation: str = "none",
    start: str | Path | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    device: str = "auto",
    progress: Callable[[int, int, float], None] | None = None,
    decoding: Progress | None = None,
) -> TrainedNetwork:
    """Train a network on a dataset and save it as a .safetensors file, which `load_model` reads.

    A checkpoint is written beside the file after each epoch, so that the same call resumes after an interruption.

    Args:
        training: labelled images of one size, or of any with crop_kind="resized"; its classes are those of the network.
        output: a new .safetensors file.
        config: the settings of the training; those of `training_config` by default.
        network: the architecture, see `build_network`.
        augmentation: a scheme by its name, such as "augmix" or "corruptions:cifar10-noc".
        start: weights to start from: a file, or "demo:standard".
        cache: a folder into which photographs are decoded once, if they are too many for memory; by default beside
            `output`. "none" decodes them in every epoch.
        workers: threads that decode, crop and augment; their number never changes the weights.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        progress: called with (steps done, steps in total, loss) after each step.
        decoding: called with (title, images done, images in total) while photographs are decoded.
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
    if training.labels is None:
        raise no_labels(training, "and a network learns from labels")
    module = build_network(network, len(training.classes), seed=config.seed).to(find_device(device))
    if start is not None:
        load_into(module, find_weights(start, network, len(training.classes)))
    about = as_data({"recipe": config, "augmentation": scheme, "data": training.key, "start": str(start)})
    about |= {} if network_key(network) is None else {"network_file": network_key(network)}
    checkpoint = path.with_suffix(f".{digest(about, length=8)}.pt")  # of this training and no other
    folder = cache_folder(cache, path.with_suffix(".images"))
    images = training_images(training, config, folder, workers=workers, progress=decoding)
    config = normalised(config, images, network)
    losses = train(
        module,
        images,
        training.labels,
        config,
        augment=scheme,
        checkpoint=checkpoint,
        workers=workers,
        progress=progress,
    )
    about |= input_sizes(training, config)
    save_trained(module, path, network, training.classes, config.mean, config.std, about)
    checkpoint.unlink(missing_ok=True)
    side = config.side if config.crop_kind == "resized" else min(as_source(images).shape[:2])
    return TrainedNetwork(path, losses, len(images), side, folder if folder is not None and folder.is_dir() else None)


def input_sizes(dataset: Dataset, config: TrainingConfig) -> dict[str, Any]:
    """`size` and `crop` of the preprocessing of a network trained on a dataset; empty if images were not resized.

    After training on random resized crops of side 224, images are resized to 256 and the network sees their centre.
    """
    if config.crop_kind == "resized":
        return {"size": round(config.side * SHORT_SIDE), "crop": config.side}
    return preparation_sizes(dataset.preparation)


SHORT_SIDE = 256 / 224
"""The short side of a photograph, as a multiple of the side of the part that a network is tested on."""


def prepared_for_test(dataset: Dataset, config: TrainingConfig) -> Dataset:
    """A dataset as a network is tested on it that was trained by a config, if it is files of photographs."""
    if config.crop_kind != "resized" or dataset.in_memory or dataset.preparation != "none":
        return dataset
    return dataset.prepared(f"{round(config.side * SHORT_SIDE)},{config.side}")
