"""One small trainer: plain torch, resumable, the same weights from the same recipe on the same machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from brittle._io import missing_or_damaged, replacing, sweep
from brittle.arrays import Image
from brittle.training.augmentation.jsd_loss import jsd_loss
from brittle.training.batches import Augment, batches
from brittle.training.recipe import Recipe

Progress = Callable[[int, int, float], None]
"""Called with (steps done, steps in all, the loss) after each step."""


def train(
    network: nn.Module,
    images: Image,
    labels: NDArray[np.integer[Any]],
    recipe: Recipe | None = None,
    *,
    augment: Augment | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> list[float]:
    """Train a network in place, and give the mean loss of each epoch.

    Args:
        network: takes N×3×H×W, gives logits; it learns on the device where it is.
        images: N×H×W×3 uint8; `labels` their classes.
        recipe: epochs, rates and the seed. The initial weights are the network's own.
        augment: applied after flip and crop, with the sample's own draws; `recipe.jsd` needs one.
        checkpoint: a file that holds the state after each epoch; training goes on from it if it is there.
        progress: called after each step.
    """
    recipe = recipe or Recipe()
    _check(images, labels, recipe)
    if recipe.jsd and augment is None:
        raise ValueError(f"jsd = {recipe.jsd:g} compares augmented views of an image; give augment, such as AugMix()")
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = _optimiser(network, recipe)
    average = _average(network, recipe.ema) if recipe.ema else None
    parts = {"network": network, "optimiser": optimiser, **({} if average is None else {"average": average})}
    losses = _resume(checkpoint, parts, recipe)
    device = next(network.parameters()).device
    targets = torch.from_numpy(np.asarray(labels, np.int64)).to(device)
    steps = len(images) // recipe.batch_size
    network.train()
    for epoch in range(len(losses), recipe.epochs):
        total = 0.0
        for step, (chosen, batch) in enumerate(batches(images, recipe, augment, epoch)):
            done = epoch * steps + step
            for group in optimiser.param_groups:
                group["lr"] = recipe.rate(done / (recipe.epochs * steps))
            shown = torch.from_numpy(batch).permute(0, 3, 1, 2).to(device)  # channels last already
            loss = _loss(network(shown), targets[chosen], recipe)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            if average is not None:
                average.update_parameters(network)
            total += _finite(loss.item(), done, recipe)
            if progress is not None:
                progress(done + 1, recipe.epochs * steps, loss.item())
        losses.append(total / steps)
        if checkpoint is not None:
            _keep(Path(checkpoint), parts, recipe, losses)
    if average is not None:
        network.load_state_dict(average.module.state_dict())
    network.eval()
    return losses


def _finite(loss: float, step: int, recipe: Recipe) -> float:
    if not math.isfinite(loss):
        raise ValueError(
            f"the loss became {loss} at step {step + 1}; lower learning_rate ({recipe.learning_rate:g}) or let it "
            f"warm up longer (warm_up is {recipe.warm_up:g} of the training)"
        )
    return loss


def _loss(logits: Tensor, labels: Tensor, recipe: Recipe) -> Tensor:
    """Cross-entropy, or AugMix's loss of three views of each image."""
    if not recipe.jsd:
        return nn.functional.cross_entropy(logits, labels)
    clean, first, second = logits.chunk(3)
    return jsd_loss(clean, first, second, labels, weight=recipe.jsd)


def _average(network: nn.Module, decay: float) -> torch.optim.swa_utils.AveragedModel:
    average = torch.optim.swa_utils.get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    return torch.optim.swa_utils.AveragedModel(network, multi_avg_fn=average, use_buffers=True)


def _optimiser(network: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    if recipe.optimiser == "adamw":
        return torch.optim.AdamW(weights, recipe.learning_rate, weight_decay=recipe.weight_decay)
    return torch.optim.SGD(
        weights,
        recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        nesterov=recipe.momentum > 0,
    )


def _keep(path: Path, parts: dict[str, Any], recipe: Recipe, losses: list[float]) -> None:
    state = {name: part.state_dict() for name, part in parts.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    with replacing(path) as part:
        torch.save({**state, "recipe": repr(recipe), "losses": losses}, part)


def _resume(path: str | Path | None, parts: dict[str, Any], recipe: Recipe) -> list[float]:
    if path is None or missing_or_damaged(Path(path), "the training starts anew"):
        return []
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["recipe"] != repr(recipe):
        raise ValueError(
            f"{str(path)!r} holds a training with another recipe, {state['recipe']}; remove it to start anew"
        )
    for name, part in parts.items():
        part.load_state_dict(state[name])
    losses: list[float] = state["losses"]
    return losses


def _check(images: Image, labels: NDArray[np.integer[Any]], recipe: Recipe) -> None:
    if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
        raise ValueError(f"training images are N×H×W×3 of uint8, got shape {images.shape} of {images.dtype}")
    if len(images) != len(labels):
        raise ValueError(f"there are {len(images)} images and {len(labels)} labels; each image needs one")
    if len(images) < recipe.batch_size:
        raise ValueError(f"{len(images)} images do not fill a batch of {recipe.batch_size}; lower batch_size")
