"""Weights that a training starts from: a file, a bundled network, or published weights by the name of their network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._optional import require
from brittle.datasets import Dataset, imagenet_names, numbered_as
from brittle.models import (
    Preprocessing,
    build_network,
    from_timm,
    from_torchvision,
    is_user_network,
    load_into,
    network_normalisation,
    trained_metadata,
    weights_file,
)
from brittle.training.config import TrainingConfig

PUBLISHED = ("timm", "torchvision")
"""Libraries whose networks come with published weights."""

Numbers = tuple[float, float, float]


@dataclass(frozen=True)
class StartingWeights:
    """Weights to start from, and what is known of the network that they are of.

    Attributes:
        network: the text of the network, see `build_network`.
        path: the file of the weights; None if they are published ones, which are downloaded.
        classes: the names of the outputs; empty if they are not known.
        normalisation: mean and standard deviation that the network was trained with; None if they are not known.
        sides: the short side that images are resized to and the side of the central square that the network sees; None
            if it was not made for images of one size.
    """

    network: str
    path: Path | None = None
    classes: tuple[str, ...] = ()
    normalisation: tuple[Numbers, Numbers] | None = None
    sides: tuple[int, int] | None = None

    def build(self, classes: int, *, seed: int = 0) -> Any:
        """The network with these weights.

        A network of timm with another number of classes than was published gets a new last layer, drawn by `seed`.
        """
        if self.path is not None:
            network = build_network(self.network, classes, seed=seed)
            load_into(network, self.path)
            return network
        torch = require("torch")
        family, _, name = self.network.partition(":")
        if family == "torchvision" and classes != len(imagenet_names()):
            raise BrittleError(
                f"the published weights of {self.network} are for {len(imagenet_names())} classes and not for "
                f"{classes}; start from a network of timm, which gets a new last layer"
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = (
                from_timm(name, classes=classes, device="cpu")
                if family == "timm"
                else from_torchvision(name, device="cpu")
            )
        return model.module


def find_start(start: str | Path, network: str | None = None) -> StartingWeights:
    """Weights by a text: a file, "demo:standard", "tiny:standard", or published ones: "timm:resnet50".

    `network` is that of a file that does not say which network it is of; by default `small`.
    """
    scheme, _, name = str(start).partition(":")
    if scheme in PUBLISHED and name:
        if network not in (None, str(start)):
            raise BrittleError(f"{start} is a network with its published weights, so the network cannot be {network}")
        return _with_preprocessing(StartingWeights(str(start)))
    path = weights_file(start)
    about = trained_metadata(path)
    if not about:
        return _with_preprocessing(StartingWeights(network or "small", path))
    if network is None and is_user_network(about["network"]):
        raise BrittleError(
            f"the network of {str(path)!r} is built by the code of {about['network']}; if you trust it, name it as the "
            "network"
        )
    sides = (about["size"], about["crop"]) if isinstance(about.get("size"), int) and about.get("crop") else None
    normalisation = _three(about["mean"]), _three(about["std"])
    return StartingWeights(network or about["network"], path, tuple(about["classes"]), normalisation, sides)


def fitted_to(start: StartingWeights, dataset: Dataset, config: TrainingConfig) -> Dataset:
    """A dataset with the class numbers of the weights to start from, and images of the size that they are made for.

    Classes are put in the order of the network's outputs if it has them all. Files that are not prepared otherwise are
    resized and cropped as the network is used to.
    """
    if start.classes and set(dataset.classes) <= set(start.classes):
        dataset = numbered_as(dataset, start.classes)
    if start.sides is None or dataset.in_memory or dataset.preparation != "none" or config.crop_kind == "resized":
        return dataset
    return dataset if dataset.sizes == {(start.sides[1],) * 2} else dataset.prepared(",".join(map(str, start.sides)))


def _with_preprocessing(start: StartingWeights) -> StartingWeights:
    """The same with what the configuration of its network says about images."""
    family, _, name = start.network.partition(":")
    if family not in PUBLISHED:
        known = family == "small" or start.network.startswith("wide-resnet-")
        normalisation = network_normalisation(start.network) if known else None
        return StartingWeights(start.network, start.path, normalisation=normalisation)
    model = (
        from_timm(name, pretrained=False, device="cpu")
        if family == "timm"
        else from_torchvision(name, weights=None, device="cpu")
    )
    prepare = model.prepare
    assert isinstance(prepare, Preprocessing)
    crop = prepare.square
    sides = None if crop is None else (prepare.size if isinstance(prepare.size, int) else crop, crop)
    normalisation = (_three(prepare.mean), _three(prepare.std))
    return StartingWeights(start.network, start.path, normalisation=normalisation, sides=sides)


def _three(numbers: Any) -> Numbers:
    first, second, third = map(float, numbers)
    return first, second, third
