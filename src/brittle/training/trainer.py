"""Train a network on clean, corrupted or augmented images."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from brittle._errors import BrittleError
from brittle._identity import canonical
from brittle._io import atomic_write, missing_or_damaged, sweep
from brittle._types import Image
from brittle.corruptions import Draws
from brittle.models.preprocessing import CIFAR_MEAN, CIFAR_STD
from brittle.training.augmentation.consistency import jsd_loss
from brittle.training.augmentation.schemes import augmented

SCHEDULES, OPTIMISERS = ("cosine", "step"), ("sgd", "adamw")


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a training; by default SGD with Nesterov momentum, a short warm-up and a cosine schedule.

    `ema` above 0 is the decay of an exponential moving average of the weights, which is returned instead of the last
    weights. `jsd` above 0 takes each image three times, clean and under two samples of the augmentation, and adds
    `jsd` times the Jensen–Shannon divergence of the three predictions to the clean cross-entropy; AugMix uses 12.
    """

    epochs: int = 24
    batch_size: int = 128
    learning_rate: float = 0.1
    optimiser: str = "sgd"
    schedule: str = "cosine"
    warm_up: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    ema: float = 0.0
    flip: bool = True
    crop: int = 4
    mean: tuple[float, float, float] = CIFAR_MEAN
    std: tuple[float, float, float] = CIFAR_STD
    seed: int = 0
    jsd: float = 0.0

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise BrittleError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        if self.optimiser not in OPTIMISERS or not 0 <= self.ema < 1:
            raise BrittleError(
                f"optimiser must be one of {', '.join(OPTIMISERS)} and ema at least 0 and below 1, got "
                f"{self.optimiser!r}, {self.ema}"
            )
        if self.epochs < 1 or self.batch_size < 2:
            raise BrittleError(
                f"epochs must be at least 1 and batch_size at least 2, got {self.epochs}, {self.batch_size}"
            )
        if not 0 <= self.jsd < math.inf:
            raise BrittleError(f"jsd is a weight from 0 upwards, such as AugMix's 12, got {self.jsd}")
        if not (self.learning_rate > 0 and 0 <= self.warm_up < 1 and self.crop >= 0):
            raise BrittleError(
                "learning_rate must be above 0, warm_up at least 0 and below 1, and crop at least 0; "
                f"got {self.learning_rate}, {self.warm_up}, {self.crop}"
            )

    def rate(self, progress: float) -> float:
        """The learning rate after a share `progress` of the training.

        It rises from a tenth during warm-up. Then `cosine` falls to zero, and `step` to a tenth after half of the
        epochs and to a hundredth after three quarters, as NOC trains (40 epochs, at 20 and 30).
        """
        if progress < self.warm_up:
            return self.learning_rate * (0.1 + 0.9 * progress / self.warm_up)
        if self.schedule == "step":
            return self.learning_rate * (1.0 if progress < 0.5 else 0.1 if progress < 0.75 else 0.01)
        after_warm_up = (progress - self.warm_up) / (1 - self.warm_up)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * after_warm_up))


Augment = Callable[[Image, Draws], NDArray[Any]]
"""From an image and its draws to an image of the same shape, uint8, or float in [0, 1] (bundled ones: on 0..255)."""

PREFETCHED = 4
"""Number of prefetched batches."""


def order(count: int, epoch: int, seed: int) -> NDArray[np.int64]:
    """The order of the samples in an epoch."""
    return np.random.Generator(np.random.Philox(key=[seed, epoch])).permutation(count)


def batches(images: Image, config: TrainingConfig, augment: Augment | None, epoch: int) -> Iterator[tuple[Any, Any]]:
    """(indices, N×H×W×3 float32 standardised) for one epoch; an incomplete last batch is dropped.

    With `config.jsd` there are 3N images: all after flip and crop alone, then all under a first sample of the
    augmentation, then all under a second one.
    """
    samples = order(len(images), epoch, config.seed)
    starts = range(0, len(samples) - config.batch_size + 1, config.batch_size)
    mean, std = (np.array(numbers, np.float32) * 255 for numbers in (config.mean, config.std))

    def view(name: str, augment: Augment | None) -> Callable[[Image, int], NDArray[Any]]:
        def transform(image: Image, sample: int) -> NDArray[Any]:
            draws = Draws(config.seed, f"epoch {epoch}", sample)
            moved = _moved(image, draws, config)
            if augment is None:
                return moved
            return augmented(augment, moved, Draws(config.seed, f"epoch {epoch}{name}", sample) if name else draws)

        return transform

    views = [view("", augment)]
    if config.jsd:
        views = [view("", None), view(" first", augment), view(" second", augment)]

    def draw(start: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        chosen = samples[start : start + config.batch_size]
        batch = np.stack([view(images[i], int(i)) for view in views for i in chosen])
        return chosen, (batch.astype(np.float32) - mean) / std

    with ThreadPoolExecutor(1) as pool:
        pending: deque[Future[Any]] = deque()
        for start in starts:
            pending.append(pool.submit(draw, start))
            if len(pending) > PREFETCHED:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _moved(image: Image, draws: Draws, config: TrainingConfig) -> Image:
    """An image flipped and cropped by its draws."""
    if config.flip and draws.integer("flip", 2):
        image = image[:, ::-1]
    if config.crop:
        height, width = image.shape[:2]
        padded = np.pad(image, ((config.crop, config.crop), (config.crop, config.crop), (0, 0)))
        top, left = (draws.integer(side, 2 * config.crop + 1) for side in ("top", "left"))
        image = padded[top : top + height, left : left + width]
    return np.ascontiguousarray(image)


NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def adapt_batchnorm(network: nn.Module, images: Image, recipe: TrainingConfig, augment: Augment | None = None) -> None:
    """Replace the statistics of every batch normalisation by those of one pass over the augmented images.

    No weight changes. The C-bar paper (appendix B) finds that robustness after this correlates with that after a full
    training.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, NORMALISATIONS)]
    if not layers:
        raise BrittleError(f"{type(network).__name__} has no batch normalisation to adapt; fine-tune it instead")
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # a plain average over all batches
    network.train()
    device = next(network.parameters()).device
    with torch.inference_mode():
        for _, batch in batches(images, recipe, augment, 0):
            network(torch.from_numpy(batch).permute(0, 3, 1, 2).to(device))
    network.eval()
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum


Progress = Callable[[int, int, float], None]
"""Called with (steps done, steps in total, loss) after each step."""


def train(
    network: nn.Module,
    images: Image,
    labels: NDArray[np.integer[Any]],
    recipe: TrainingConfig | None = None,
    *,
    augment: Augment | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> list[float]:
    """Train a network in place, and return the mean loss of each epoch.

    Args:
        network: from N×3×H×W to logits; it is trained on its present device.
        images: N×H×W×3 uint8; `labels` their classes.
        recipe: the settings of the training. The initial weights are those of the network.
        augment: applied after flip and crop, with the draws of the sample; required by `recipe.jsd`.
        checkpoint: a file for the state after each epoch; an existing one is resumed.
        progress: called after each step.
    """
    config = recipe or TrainingConfig()
    _check(images, labels, config)
    if config.jsd and augment is None:
        raise BrittleError(f"jsd = {config.jsd:g} compares augmented views of an image; give augment, such as AugMix()")
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = _optimiser(network, config)
    average = _average(network, config.ema) if config.ema else None
    parts = {"network": network, "optimiser": optimiser, **({} if average is None else {"average": average})}
    losses = _resume(checkpoint, parts, config)
    device = next(network.parameters()).device
    targets = torch.from_numpy(np.asarray(labels, np.int64)).to(device)
    steps = len(images) // config.batch_size
    network.train()
    for epoch in range(len(losses), config.epochs):
        total = 0.0
        for step, (chosen, batch) in enumerate(batches(images, config, augment, epoch)):
            done = epoch * steps + step
            for group in optimiser.param_groups:
                group["lr"] = config.rate(done / (config.epochs * steps))
            inputs = torch.from_numpy(batch).permute(0, 3, 1, 2).to(device)  # channels last already
            loss = _loss(network(inputs), targets[chosen], config)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            if average is not None:
                average.update_parameters(network)
            total += _finite(loss.item(), done, config)
            if progress is not None:
                progress(done + 1, config.epochs * steps, loss.item())
        losses.append(total / steps)
        if checkpoint is not None:
            _save_checkpoint(Path(checkpoint), parts, config, losses)
    if average is not None:
        network.load_state_dict(average.module.state_dict())
    network.eval()
    return losses


def _finite(loss: float, step: int, config: TrainingConfig) -> float:
    if not math.isfinite(loss):
        raise BrittleError(
            f"the loss became {loss} at step {step + 1}; lower learning_rate ({config.learning_rate:g}) or "
            f"increase warm_up ({config.warm_up:g} of the training)"
        )
    return loss


def _loss(logits: Tensor, labels: Tensor, config: TrainingConfig) -> Tensor:
    """Cross-entropy, or AugMix's loss of three views of each image."""
    if not config.jsd:
        return nn.functional.cross_entropy(logits, labels)
    clean, first, second = logits.chunk(3)
    return jsd_loss(clean, first, second, labels, weight=config.jsd)


def _average(network: nn.Module, decay: float) -> torch.optim.swa_utils.AveragedModel:
    average = torch.optim.swa_utils.get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    return torch.optim.swa_utils.AveragedModel(network, multi_avg_fn=average, use_buffers=True)


def _optimiser(network: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    if config.optimiser == "adamw":
        return torch.optim.AdamW(weights, config.learning_rate, weight_decay=config.weight_decay)
    return torch.optim.SGD(
        weights,
        config.learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        nesterov=config.momentum > 0,
    )


def _save_checkpoint(path: Path, parts: dict[str, Any], config: TrainingConfig, losses: list[float]) -> None:
    state = {name: part.state_dict() for name, part in parts.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    with atomic_write(path) as part:
        torch.save({**state, "recipe": canonical(config), "losses": losses}, part)


def _resume(path: str | Path | None, parts: dict[str, Any], config: TrainingConfig) -> list[float]:
    if path is None or missing_or_damaged(Path(path), "the training starts again"):
        return []
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["recipe"] != canonical(config):
        raise BrittleError(
            f"{str(path)!r} is a checkpoint of a training with other settings, {state['recipe']}; remove it to "
            "start again"
        )
    for name, part in parts.items():
        part.load_state_dict(state[name])
    losses: list[float] = state["losses"]
    return losses


def _check(images: Image, labels: NDArray[np.integer[Any]], config: TrainingConfig) -> None:
    if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
        raise BrittleError(f"training images are N×H×W×3 of uint8, got shape {images.shape} of {images.dtype}")
    if len(images) != len(labels):
        raise BrittleError(f"there are {len(images)} images and {len(labels)} labels; each image needs one")
    if len(images) < config.batch_size:
        raise BrittleError(f"{len(images)} images do not fill a batch of {config.batch_size}; lower batch_size")
