"""Any model of timm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.datasets.near import nearest
from brittle.models.load_weights import load_into
from brittle.models.needs import INSTALL, needs
from brittle.models.preprocessing import Preprocessing, changed
from brittle.models.resize import Sides
from brittle.models.torch_model import TorchModel


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
    needs("torch")
    needs("torchvision", INSTALL["timm"])
    timm = needs("timm")
    if ":" not in architecture and not timm.is_model(architecture):
        hint = nearest(architecture, timm.list_models())
        hint = hint if hint.startswith("did") else "timm.list_models() names them all"
        raise ValueError(f"timm has no model {architecture!r}; {hint}")
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
        raise ValueError(
            f"{architecture!r} takes {channels} channels with crop_mode {config['crop_mode']!r}; use from_torch"
        )
    if config["crop_mode"] == "center" and height != width:
        raise ValueError(f"{architecture!r} takes images of {height}×{width}; use from_torch with size and crop")
    size = scaled if config["crop_mode"] == "squash" else scaled[0]
    return Preprocessing(config["mean"], config["std"], size, (height, width), config["interpolation"])
