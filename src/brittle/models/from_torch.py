"""A torch module and its preprocessing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brittle.models.needs import needs
from brittle.models.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from brittle.models.resize import Sides
from brittle.models.torch_model import TorchModel


def from_torch(
    module: Any,
    *,
    name: str,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    device: str = "auto",
    bf16: bool = False,
    version: str | None = None,
) -> TorchModel:
    """A model from a `torch.nn.Module` that takes N×3×H×W and gives logits.

    The module is put into evaluation mode and moved to the device.

    Args:
        module: the network, with its weights.
        name: what results call it.
        mean: of each channel on the scale [0, 1]; `std` likewise. Those of ImageNet unless told otherwise.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and
            width. By default images are shown as they are.
        crop: show the central part of this side.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        device: "cpu", "cuda", "cuda:1", "mps", or "auto" for the best there is.
        bf16: compute in bfloat16 where torch finds it safe: fast on recent GPUs, slow on most CPUs.
        version: another one makes another key, for changes that neither weights nor code show.
    """
    torch = needs("torch")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"a torch model is a torch.nn.Module, got {module!r} ({type(module).__name__})")
    prepare = Preprocessing(tuple(mean), tuple(std), size, crop, interpolation)
    return TorchModel(module, name, prepare, device=device, bf16=bf16, version=version)
