"""The cheapest way to teach a network a corruption: let batch normalisation see it."""

from __future__ import annotations

import torch
from torch import nn

from brittle.arrays import Image
from brittle.training.batches import Augment, batches
from brittle.training.recipe import Recipe

NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def adapt_batchnorm(network: nn.Module, images: Image, recipe: Recipe, augment: Augment | None = None) -> None:
    """Replace the statistics of every batch normalisation by those of one pass over the augmented images.

    No weight changes. The C-bar paper (appendix B) finds that robustness measured after this still follows that after a
    full training.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, NORMALISATIONS)]
    if not layers:
        raise ValueError(f"{type(network).__name__} has no batch normalisation to adapt; fine-tune it instead")
    kept = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # a plain average over all batches
    network.train()
    device = next(network.parameters()).device
    with torch.inference_mode():
        for _, batch in batches(images, recipe, augment, 0):
            network(torch.from_numpy(batch).permute(0, 3, 1, 2).to(device))
    network.eval()
    for layer, momentum in zip(layers, kept, strict=True):
        layer.momentum = momentum
