"""A torch module and its preprocessing."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.models.model import Scores


class TorchModel:
    """A classifier in torch: images are scaled to [0, 1], resized if asked for, standardised, and shown to it."""

    def __init__(
        self, module: Any, name: str, mean: Sequence[float], std: Sequence[float], size: int | None, device: str
    ) -> None:
        import torch

        self.name = name
        self.module = module.eval().to(device)
        self.size = size
        self.device = device
        self._mean = torch.tensor(mean, device=device).view(1, 3, 1, 1)
        self._std = torch.tensor(std, device=device).view(1, 3, 1, 1)
        self.key = _digest(module, (tuple(mean), tuple(std), size))

    def scores(self, images: Image) -> Scores:
        """Logits of a batch."""
        import torch

        with torch.inference_mode():
            batch = torch.from_numpy(np.ascontiguousarray(images)).to(self.device).permute(0, 3, 1, 2).float() / 255
            if self.size is not None and tuple(batch.shape[-2:]) != (self.size, self.size):
                batch = torch.nn.functional.interpolate(
                    batch, (self.size, self.size), mode="bilinear", antialias=True, align_corners=False
                )
            logits = self.module((batch - self._mean) / self._std)
            scores: Scores = logits.float().cpu().numpy()
            return scores


def from_torch(
    module: Any,
    *,
    name: str,
    mean: Sequence[float] = (0.485, 0.456, 0.406),
    std: Sequence[float] = (0.229, 0.224, 0.225),
    size: int | None = None,
    device: str = "cpu",
) -> TorchModel:
    """A model from a `torch.nn.Module` that takes N×3×H×W and gives logits.

    Args:
        module: the network, with its weights.
        name: what results call it.
        mean: of each channel on the scale [0, 1]; `std` likewise. Those of ImageNet unless told otherwise.
        size: resize images to this side first; by default they are shown as they are.
        device: "cpu", "cuda", "mps" …
    """
    if not hasattr(module, "state_dict"):
        raise TypeError(f"a torch model is a torch.nn.Module, got {module!r} ({type(module).__name__})")
    if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
        raise ValueError(f"mean and std are three numbers each, std above 0; got mean={mean!r}, std={std!r}")
    return TorchModel(module, name, mean, std, size, device)


def _digest(module: Any, preprocessing: Any) -> str:
    seen = sha256(repr((type(module).__name__, preprocessing)).encode())
    for name, value in sorted(module.state_dict().items()):
        seen.update(name.encode())
        seen.update(np.ascontiguousarray(value.detach().cpu().float().numpy()).tobytes())
    return seen.hexdigest()[:16]
