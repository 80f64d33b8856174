"""The torch module of a CLIP that classifies: images against the embeddings of class prompts."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from brittle.models.clip import pooled


class ClipNetwork(nn.Module):
    """Logits of N×3×H×W: the scale of the network times the cosine of image and class, plus the bias of SigLIP."""

    classes: torch.Tensor | None

    def __init__(self, network: Any, classes: torch.Tensor | None = None) -> None:
        super().__init__()
        self.network = network
        # not persistent: the key of a model has the prompts, whose embeddings differ in the last digits by device
        self.register_buffer("classes", classes, persistent=False)

    def embed(self, pixels: torch.Tensor) -> torch.Tensor:
        """Unit vectors of images, N×features."""
        if hasattr(self.network, "get_image_features"):
            features = pooled(self.network.get_image_features(pixel_values=pixels))
        else:
            features = self.network.encode_image(pixels)
        return nn.functional.normalize(features.float(), dim=-1)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Class scores, N×classes."""
        assert self.classes is not None
        bias = getattr(self.network, "logit_bias", None)
        logits: torch.Tensor = self.network.logit_scale.float().exp() * (self.embed(pixels) @ self.classes.T)
        return logits if bias is None else logits + bias.float()
