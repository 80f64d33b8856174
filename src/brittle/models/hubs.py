"""Models of timm, torchvision and Hugging Face transformers."""

from __future__ import annotations

import json
import math
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
    """A model that timm knows by name, shown images as its own configuration says.

    Args:
        architecture: such as "resnet50" or "vit_base_patch16_224.augreg_in1k".
        name: what results call it; by default the architecture.
        pretrained: fetch the published weights. False gives random ones.
        checkpoint: take the weights of this file instead.
        classes: outputs of the last layer, if not those of the published weights.
        mean: instead of that of its configuration, as are `std`, `size`, `crop` and `interpolation`, see `from_torch`.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 where torch finds it safe.
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
            f"the weights of {architecture!r} could not be fetched; without a network, give a file of weights, "
            f"timm:{architecture},checkpoint=FILE, or take random ones, pretrained=false "
            f"({str(error).partition(chr(10))[0]})"
        ) from error
    if checkpoint is not None:
        load_into(network, checkpoint)
    shown = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    prepare = changed(_preprocessing(architecture, timm.data.resolve_model_data_config(network)), **shown)
    return TorchModel(network, name or architecture, prepare, device=device, bf16=bf16)


def _preprocessing(architecture: str, config: Mapping[str, Any]) -> Preprocessing:
    """What timm does to images before an evaluation: "squash" scales both sides alike, "center" keeps the aspect."""
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
    """A classifier that torchvision knows by name, shown images as its published weights want them.

    Args:
        architecture: such as "resnet50".
        name: what results call it; by default the architecture.
        weights: "DEFAULT" for the best published ones, another name of published ones such as "IMAGENET1K_V1", a file,
            or None for random ones. A file is shown images as the default weights are.
        classes: outputs of the last layer, for weights of a file.
        mean: instead of that of its configuration, as are `std`, `size`, `crop` and `interpolation`, see `from_torch`.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 where torch finds it safe.
    """
    require("torch")
    models = require("torchvision.models")
    known = models.list_models(module=models)
    if architecture not in known:
        raise BrittleError(f"torchvision has no classifier {architecture!r}; {did_you_mean(architecture, known)}")
    published = models.get_model_weights(architecture)
    from_file = weights is not None and Path(weights).suffix != ""
    chosen = published.DEFAULT if weights is None or from_file else _named(published, str(weights), architecture)
    try:
        network = models.get_model(
            architecture,
            weights=None if weights is None or from_file else chosen,
            **({} if classes is None else {"num_classes": classes}),
        )
    except OSError as error:
        raise OSError(
            f"the weights of {architecture!r} could not be fetched; without a network, give a file of them, "
            f"torchvision:{architecture},weights=FILE, or take random ones, weights=none ({error})"
        ) from error
    if from_file:
        load_into(network, str(weights))
    shown = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    prepare = changed(_torchvision_preprocessing(chosen), **shown)
    return TorchModel(network, name or architecture, prepare, device=device, bf16=bf16)


def _named(published: Any, weights: str, architecture: str) -> Any:
    names = list(published.__members__)
    if weights not in names:
        raise BrittleError(f"{architecture} has the weights {', '.join(names)}, or a file; got {weights!r}")
    return published[weights]


def _torchvision_preprocessing(weights: Any) -> Preprocessing:
    shown = weights.transforms()
    (size,), (crop,) = shown.resize_size, shown.crop_size
    return Preprocessing(tuple(shown.mean), tuple(shown.std), size, crop, shown.interpolation.value)


@model_source("transformers")
def from_transformers(
    folder_or_id: str | Path, *, name: str | None = None, device: str = "auto", bf16: bool = False
) -> TorchModel:
    """An image classifier from a folder, or from the Hugging Face hub by its id, shown images by its own processor.

    Only safetensors weights are read, and no code that comes with them is run. The processor works in Pillow, also
    where torchvision is installed, so that a model sees the same pixels everywhere. Images that already have the
    final size are neither resized nor cropped.

    Args:
        folder_or_id: what `save_pretrained` wrote, or an id such as "google/vit-base-patch16-224".
        name: what results call it; by default the last part of the folder or id.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 where torch finds it safe.
    """
    require("torch")
    transformers = require("transformers")
    place = Path(folder_or_id).expanduser()
    local = place.is_dir()
    if local and not list(place.glob("*.safetensors")):
        raise FileNotFoundError(
            f"the folder {str(folder_or_id)!r} has no .safetensors weights, and others are not read; load it once "
            "where you trust it, and write it again with save_pretrained"
        )
    source = str(place if local else folder_or_id)
    try:
        network, loading = transformers.AutoModelForImageClassification.from_pretrained(
            source, use_safetensors=True, local_files_only=local, trust_remote_code=False, output_loading_info=True
        )
        processor = transformers.AutoImageProcessor.from_pretrained(
            source, backend="pil", local_files_only=local, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        what = "the folder" if local else "there is no folder, and the hub gave no model,"
        kind = OSError if isinstance(error, OSError) else BrittleError
        raise kind(f"{what} {source!r} cannot be used as an image classifier: {reason}") from error
    if loading["missing_keys"]:
        missing = ", ".join(sorted(loading["missing_keys"])[:3])
        raise BrittleError(f"{source!r} is no trained classifier: it has no weights {missing}")
    model = TorchModel(network, name or place.name, Processor(processor), device=device, bf16=bf16)
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
        """The side of the square that the network sees; None if it is none, or as large as the images."""
        cropped = _side(getattr(self.processor, "crop_size", None)) if self._does("center_crop") else None
        return cropped or (_side(getattr(self.processor, "size", None)) if self._does("resize") else None)

    @property
    def in_words(self) -> str:
        """Size, crop, mean and std in one line."""
        words = [f"resized to {_side(self.processor.size) or self.processor.size}"] if self._does("resize") else []
        if self._does("center_crop"):
            words.append(f"central {_side(self.processor.crop_size) or self.processor.crop_size}")
        shown = ", ".join(words) or "images at their own size"
        if not self._does("normalize"):
            return shown
        mean, std = (
            " ".join(f"{number:.3g}" for number in numbers)
            for numbers in (self.processor.image_mean, self.processor.image_std)
        )
        return f"{shown}; mean {mean}, std {std}"

    def _does(self, what: str) -> bool:
        return bool(getattr(self.processor, f"do_{what}", False))

    def tensor(self, images: Image, device: str) -> Any:
        """The network's input N×3×H×W."""
        import torch

        as_is = len(images) > 0 and self._call(images[:1]).shape[-2:] == images.shape[1:3]
        shown = self._call(images, do_resize=False, do_center_crop=False) if as_is else self._call(images)
        return torch.from_numpy(np.asarray(shown, np.float32)).to(device)

    def _call(self, images: Image, **options: bool) -> Any:
        shown = self.processor(list(images), return_tensors="np", input_data_format="channels_last", **options)
        return shown["pixel_values"]


def _side(size: Any) -> int | None:
    """The side of a square, or the length of a short side, as processors write it; None if it is something else."""
    known = dict(size) if size is not None else {}
    sides = {known[key] for key in ("shortest_edge", "height", "width") if known.get(key) is not None}
    return int(sides.pop()) if len(sides) == 1 else None
