"""Models of timm, torchvision, RobustBench and Hugging Face transformers."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, did_you_mean
from brittle._optional import INSTALL, require
from brittle._types import Image
from brittle.models.model import model_source
from brittle.models.networks import load_into
from brittle.models.preprocessing import Preprocessing, Sides, changed
from brittle.models.torch import TorchModel


@model_source("timm")
def from_timm(
    architecture: str,
    *,
    name: str | None = None,
    pretrained: bool = True,
    checkpoint: str | Path | None = None,
    classes: int | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> TorchModel:
    """A model of timm by name, with the preprocessing of its configuration.

    Args:
        architecture: such as "resnet50" or "vit_base_patch16_224.augreg_in1k".
        name: the name in results; by default the architecture.
        pretrained: download the published weights. False gives random weights.
        checkpoint: load the weights of this file instead.
        classes: number of outputs, if not that of the published weights.
        mean: replaces that of its configuration, as do `std`, `size`, `crop` and `interpolation`, see `from_torch`.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast.
    """
    require("torch")
    require("torchvision", INSTALL["timm"])
    timm = require("timm")
    if ":" not in architecture and not timm.is_model(architecture):
        hint = did_you_mean(architecture, timm.list_models())
        hint = hint if hint.startswith("did") else "timm.list_models() names them all"
        raise BrittleError(f"timm has no model {architecture!r}; {hint}")
    options = {} if classes is None else {"num_classes": classes}
    try:
        network = timm.create_model(architecture, pretrained=pretrained and checkpoint is None, **options)
    except OSError as error:
        raise OSError(
            f"the weights of {architecture!r} could not be downloaded; offline, give a file of weights, "
            f"timm:{architecture},checkpoint=FILE, or use random weights, pretrained=false "
            f"({str(error).partition(chr(10))[0]})"
        ) from error
    if checkpoint is not None:
        load_into(network, checkpoint)
    overrides = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    prepare = changed(_preprocessing(architecture, timm.data.resolve_model_data_config(network)), **overrides)
    return TorchModel(network, name or architecture, prepare, device=device, bf16=bf16)


def _preprocessing(architecture: str, config: Mapping[str, Any]) -> Preprocessing:
    """The evaluation preprocessing of timm: "squash" resizes to a fixed size, "center" keeps the aspect ratio."""
    channels, height, width = config["input_size"]
    scaled = tuple(math.floor(side / config["crop_pct"]) for side in (height, width))
    if channels != 3 or config["crop_mode"] not in ("squash", "center"):
        raise BrittleError(
            f"{architecture!r} takes {channels} channels with crop_mode {config['crop_mode']!r}; use from_torch"
        )
    if config["crop_mode"] == "center" and height != width:
        raise BrittleError(f"{architecture!r} takes images of {height}×{width}; use from_torch with size and crop")
    size = scaled if config["crop_mode"] == "squash" else scaled[0]
    return Preprocessing(config["mean"], config["std"], size, (height, width), config["interpolation"])


@model_source("torchvision")
def from_torchvision(
    architecture: str,
    *,
    name: str | None = None,
    weights: str | Path | None = "DEFAULT",
    classes: int | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> TorchModel:
    """A classifier of torchvision by name, with the preprocessing of its published weights.

    Args:
        architecture: such as "resnet50".
        name: the name in results; by default the architecture.
        weights: "DEFAULT" for the best published weights, the name of others such as "IMAGENET1K_V1", a file, or None
            for random weights. A file gets the preprocessing of the default weights.
        classes: number of outputs, for weights of a file.
        mean: replaces that of its configuration, as do `std`, `size`, `crop` and `interpolation`, see `from_torch`.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast.
    """
    require("torch")
    models = require("torchvision.models")
    architectures = models.list_models(module=models)
    if architecture not in architectures:
        raise BrittleError(
            f"torchvision has no classifier {architecture!r}; {did_you_mean(architecture, architectures)}"
        )
    published = models.get_model_weights(architecture)
    from_file = weights is not None and Path(weights).suffix != ""
    chosen = (
        published.DEFAULT if weights is None or from_file else _published_weights(published, str(weights), architecture)
    )
    try:
        network = models.get_model(
            architecture,
            weights=None if weights is None or from_file else chosen,
            **({} if classes is None else {"num_classes": classes}),
        )
    except OSError as error:
        raise OSError(
            f"the weights of {architecture!r} could not be downloaded; offline, give a file of weights, "
            f"torchvision:{architecture},weights=FILE, or use random weights, weights=none ({error})"
        ) from error
    if from_file:
        load_into(network, str(weights))
    overrides = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    prepare = changed(_torchvision_preprocessing(chosen), **overrides)
    return TorchModel(network, name or architecture, prepare, device=device, bf16=bf16)


def _published_weights(published: Any, weights: str, architecture: str) -> Any:
    names = list(published.__members__)
    if weights not in names:
        raise BrittleError(f"{architecture} has the weights {', '.join(names)}, or a file; got {weights!r}")
    return published[weights]


def _torchvision_preprocessing(weights: Any) -> Preprocessing:
    transform = weights.transforms()
    (size,), (crop,) = transform.resize_size, transform.crop_size
    return Preprocessing(tuple(transform.mean), tuple(transform.std), size, crop, transform.interpolation.value)


THREATS = ("corruptions", "corruptions_3d", "Linf", "L2")
ZOO_DATASETS = ("imagenet", "cifar10", "cifar100")
"""The parts of RobustBench's model zoo."""


@model_source("robustbench")
def from_robustbench(
    model: str,
    *,
    name: str | None = None,
    threat_model: str = "corruptions",
    dataset: str = "imagenet",
    folder: str | Path | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> TorchModel:
    """A robust model by its name in RobustBench's model zoo, whose networks normalise images themselves.

    Args:
        model: such as "Hendrycks2020AugMix".
        name: the name in results; by default that of the zoo.
        threat_model: the part of the zoo: "corruptions", "corruptions_3d", "Linf" or "L2".
        dataset: "imagenet", "cifar10" or "cifar100". Photographs are resized to 256 px and cropped to 224.
        folder: where downloaded weights are kept; by default ./models, as RobustBench does.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast.
    """
    for option, given, allowed in (("threat_model", threat_model, THREATS), ("dataset", dataset, ZOO_DATASETS)):
        if given not in allowed:
            raise BrittleError(f"{option} of a model of RobustBench is one of {', '.join(allowed)}; got {given!r}")
    require("torch")
    zoo = require("robustbench.utils", "robustbench")
    place = {} if folder is None else {"model_dir": str(folder)}
    try:
        network = zoo.load_model(model_name=model, dataset=dataset, threat_model=threat_model, **place)
    except KeyError as error:
        raise BrittleError(
            f"RobustBench has no model {model!r} for {dataset} and {threat_model} (it lacks {error}); its model zoo "
            f"lists them, and threat_model is one of {', '.join(THREATS)}"
        ) from error
    except ValueError as error:
        raise BrittleError(f"RobustBench cannot load {model!r}: {error}") from error
    except _download_errors() as error:
        place_of_file = f"{folder or './models'}/{dataset}/{threat_model.removesuffix('_3d')}"  # they share models
        raise OSError(
            f"the weights of {model!r} could not be downloaded; put them as {model}.pt into {place_of_file}, or give "
            f"them to torchvision: or timm: ({str(error).strip().partition(chr(10))[0]})"
        ) from error
    size, crop = (256, 224) if dataset == "imagenet" else (None, None)
    prepare = Preprocessing((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), size, crop)
    return TorchModel(network, name or model, prepare, device=device, bf16=bf16)


def _download_errors() -> tuple[type[Exception], ...]:
    """What a failed download raises, also in gdown, which RobustBench imports."""
    exceptions = getattr(sys.modules.get("gdown"), "exceptions", None)
    errors = (getattr(exceptions, name, None) for name in ("DownloadError", "FileURLRetrievalError"))
    return (OSError, *(error for error in errors if error is not None))


@model_source("transformers")
def from_transformers(
    folder_or_id: str | Path, *, name: str | None = None, device: str = "auto", bf16: bool = False
) -> TorchModel:
    """An image classifier from a folder, or from the Hugging Face hub by its id, with its own image processor.

    Only safetensors weights are read, and no code that comes with them is run. The processor uses Pillow even
    if torchvision is installed, so that a model sees the same pixels everywhere. Images that already have the
    final size are neither resized nor cropped.

    Args:
        folder_or_id: what `save_pretrained` wrote, or an id such as "google/vit-base-patch16-224".
        name: the name in results; by default the last part of the folder or id.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast.
    """
    require("torch")
    transformers = require("transformers")
    path = Path(folder_or_id).expanduser()
    local = path.is_dir()
    if local and not list(path.glob("*.safetensors")):
        raise FileNotFoundError(
            f"the folder {str(folder_or_id)!r} has no .safetensors weights, and no others are read; load it once "
            "where you trust it, and save it again with save_pretrained"
        )
    source = str(path if local else folder_or_id)
    try:
        network, loading = transformers.AutoModelForImageClassification.from_pretrained(
            source, use_safetensors=True, local_files_only=local, trust_remote_code=False, output_loading_info=True
        )
        processor = transformers.AutoImageProcessor.from_pretrained(
            source, backend="pil", local_files_only=local, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        subject = "the folder" if local else "there is no folder, and the hub gave no model,"
        error_type = OSError if isinstance(error, OSError) else BrittleError
        raise error_type(f"{subject} {source!r} cannot be used as an image classifier: {reason}") from error
    if loading["missing_keys"]:
        missing = ", ".join(sorted(loading["missing_keys"])[:3])
        raise BrittleError(f"{source!r} is not a trained classifier: it has no weights {missing}")
    model = TorchModel(network, name or path.name, Processor(processor), device=device, bf16=bf16)
    names = network.config.id2label
    if names != {number: f"LABEL_{number}" for number in names}:
        model.classes = tuple(str(names[number]) for number in sorted(names))
    return model


class Processor:
    """The preprocessing of a Hugging Face image processor."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor

    def to_dict(self) -> dict[str, Any]:
        """Its configuration."""
        return dict(json.loads(self.processor.to_json_string()))

    @property
    def square(self) -> int | None:
        """The side of the square input of the network; None if it is not square, or depends on the images."""
        cropped = _side(getattr(self.processor, "crop_size", None)) if self._does("center_crop") else None
        return cropped or (_side(getattr(self.processor, "size", None)) if self._does("resize") else None)

    @property
    def description(self) -> str:
        """Size, crop, mean and std in one line."""
        steps = [f"resized to {_side(self.processor.size) or self.processor.size}"] if self._does("resize") else []
        if self._does("center_crop"):
            steps.append(f"central {_side(self.processor.crop_size) or self.processor.crop_size}")
        description = ", ".join(steps) or "images at their own size"
        if not self._does("normalize"):
            return description
        mean, std = (
            " ".join(f"{number:.3g}" for number in numbers)
            for numbers in (self.processor.image_mean, self.processor.image_std)
        )
        return f"{description}; mean {mean}, std {std}"

    def _does(self, step: str) -> bool:
        return bool(getattr(self.processor, f"do_{step}", False))

    def tensor(self, images: Image, device: str) -> Any:
        """The network's input N×3×H×W."""
        import torch

        as_is = len(images) > 0 and self._call(images[:1]).shape[-2:] == images.shape[1:3]
        pixels = self._call(images, do_resize=False, do_center_crop=False) if as_is else self._call(images)
        return torch.from_numpy(np.asarray(pixels, np.float32)).to(device)

    def _call(self, images: Image, **options: bool) -> Any:
        batch = self.processor(list(images), return_tensors="np", input_data_format="channels_last", **options)
        return batch["pixel_values"]


def _side(size: Any) -> int | None:
    """The side of a square, or the length of a short side, from the size of a processor; None if it is neither."""
    sizes = dict(size) if size is not None else {}
    sides = {sizes[key] for key in ("shortest_edge", "height", "width") if sizes.get(key) is not None}
    return int(sides.pop()) if len(sides) == 1 else None
