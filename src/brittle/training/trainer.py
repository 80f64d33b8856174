"""Train a network on clean, corrupted or augmented images; train one by its name and save it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from brittle._errors import BrittleError
from brittle._identity import as_data, canonical, digest
from brittle._io import atomic_write, missing_or_damaged
from brittle._parts import sweep
from brittle._types import Progress
from brittle.datasets import Dataset, no_labels, preparation_sizes
from brittle.models import (
    build_network,
    find_device,
    network_key,
    network_normalisation,
    save_trained,
)
from brittle.training.augmentation import scheme_by_name
from brittle.training.augmentation.consistency import jsd_loss
from brittle.training.config import TrainingConfig, training_config
from brittle.training.data import (
    Augment,
    Images,
    ImageSource,
    as_source,
    cache_folder,
    channel_statistics,
    training_images,
)
from brittle.training.loading import batches

if TYPE_CHECKING:
    from brittle.training.starts import StartingWeights

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def adapt_batchnorm(
    network: nn.Module,
    images: Images,
    recipe: TrainingConfig,
    augment: Augment | None = None,
    *,
    workers: int | None = None,
) -> None:
    """Replace the statistics of every batch normalisation by those of one pass over the augmented images.

    No weight changes. The C-bar paper (appendix B) finds that robustness after this correlates with that after a full
    training.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, BATCH_NORMS)]
    if not layers:
        raise BrittleError(f"{type(network).__name__} has no batch normalisation to adapt; fine-tune it instead")
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # a plain average over all batches
    network.train()
    source = as_source(images)
    config = normalised(recipe, source)
    device = next(network.parameters()).device
    with torch.inference_mode():
        for chosen, batch in batches(source, config, augment, 0, workers=workers):
            if len(chosen):
                network(_tensor(batch, device, config))
    network.eval()
    source.warn()
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum


Steps = Callable[[int, int, float], None]
"""Called with (steps done, steps in total, loss) after each step."""


def train(
    network: nn.Module,
    images: Images,
    labels: NDArray[np.integer[Any]],
    recipe: TrainingConfig | None = None,
    *,
    augment: Augment | None = None,
    checkpoint: str | Path | None = None,
    workers: int | None = None,
    progress: Steps | None = None,
) -> list[float]:
    """Train a network in place, and return the mean loss of each epoch.

    Args:
        network: from N×3×H×W to logits; it is trained on its present device.
        images: N×H×W×3 uint8, or a source of images, see `training_images`; `labels` their classes.
        recipe: the settings of the training. The initial weights are those of the network.
        augment: applied after flip and crop, with the draws of the sample; required by `recipe.jsd`.
        checkpoint: a file for the state after each epoch; an existing one is resumed.
        workers: threads that decode, crop and augment; their number never changes the weights.
        progress: called after each step.
    """
    config, source = recipe or TrainingConfig(), as_source(images)
    _check(source, labels)
    if config.jsd and augment is None:
        raise BrittleError(f"jsd = {config.jsd:g} compares augmented views of an image; give augment, such as AugMix()")
    config = normalised(config, source)
    device = next(network.parameters()).device
    compute = _precision(config, device)
    if config.channels_last:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = _optimizer(network, config)
    scaler = torch.amp.GradScaler(device.type, enabled=config.precision == "fp16")
    average = _average(network, config.ema) if config.ema else None
    parts: dict[str, Any] = {"network": network, "optimizer": optimizer}
    parts |= {} if average is None else {"average": average}
    parts |= {"scaler": scaler} if scaler.is_enabled() else {}
    losses = _resume(checkpoint, parts, config)
    targets = torch.from_numpy(np.asarray(labels, np.int64)).to(device)
    steps = config.steps(source.per_epoch)
    network.train()
    for epoch in range(len(losses), config.epochs):
        total, counted = 0.0, 0
        for step, (chosen, batch) in enumerate(batches(source, config, augment, epoch, workers=workers)):
            done = epoch * steps + step
            if len(chosen) < 2:  # nearly all of it is unreadable, and batch normalisation needs two
                continue
            share = epoch / config.epochs if config.rate_per_epoch else done / (config.epochs * steps)
            for group in optimizer.param_groups:
                group["lr"] = config.rate(share)
            with compute:
                loss = _loss(network(_tensor(batch, device, config)), targets[chosen], config)
            optimizer.zero_grad()
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            scaler.step(optimizer)
            scaler.update()
            if average is not None:
                average.update_parameters(network)
            total, counted = total + _finite(loss.item(), done, config), counted + 1
            if progress is not None:
                progress(done + 1, config.epochs * steps, loss.item())
        if not counted:
            raise BrittleError(f"hardly any of the {len(source)} training images can be read; nothing was learned")
        losses.append(total / counted)
        if checkpoint is not None:
            _save_checkpoint(Path(checkpoint), parts, config, losses)
    if average is not None:
        network.load_state_dict(average.module.state_dict())
    network.eval()
    source.warn()
    return losses


def normalised(
    config: TrainingConfig, images: Images, network: str | None = None, start: StartingWeights | None = None
) -> TrainingConfig:
    """The config with the mean and std that its normalisation asks for: of the images, or of a network by its name.

    Those of a network are those of the weights that it starts from, where they are known.
    """
    if config.normalisation == "given":
        return config
    if config.normalisation == "dataset":
        mean, std = channel_statistics(images)
    elif start is not None and start.normalisation is not None:
        mean, std = start.normalisation
    elif network is None:
        raise BrittleError("normalisation='network' needs a network's name: normalised(config, images, name)")
    else:
        mean, std = network_normalisation(network)
    return replace(config, normalisation="given", mean=mean, std=std)


def _tensor(batch: NDArray[np.float32], device: torch.device, config: TrainingConfig) -> Tensor:
    inputs = torch.from_numpy(batch).permute(0, 3, 1, 2).to(device)  # channels last already
    return inputs if config.channels_last else inputs.contiguous()


def _precision(config: TrainingConfig, device: torch.device) -> AbstractContextManager[Any]:
    """What computes in the precision of a config."""
    if config.precision == "fp32":
        return nullcontext()
    if config.precision == "fp16" and device.type == "cpu":
        raise BrittleError("precision fp16 is for GPUs, and the network is on the CPU; use fp32 or bf16")
    return torch.autocast(device.type, torch.bfloat16 if config.precision == "bf16" else torch.float16)


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


def _optimizer(network: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    if config.optimizer == "adamw":
        return torch.optim.AdamW(weights, config.learning_rate, weight_decay=config.weight_decay)
    return torch.optim.SGD(
        weights,
        config.learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        nesterov=config.nesterov and config.momentum > 0,
    )


def _save_checkpoint(path: Path, parts: dict[str, Any], config: TrainingConfig, losses: list[float]) -> None:
    state = {name: part.state_dict() for name, part in parts.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path.parent)
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


def _check(source: ImageSource, labels: NDArray[np.integer[Any]]) -> None:
    if len(source) != len(labels):
        raise BrittleError(f"there are {len(source)} images and {len(labels)} labels; each image needs one")
    if source.per_epoch < 2:
        raise BrittleError(f"a training needs at least 2 images, got {source.per_epoch}; give more of them")


@dataclass(frozen=True)
class TrainedNetwork:
    """The file of a trained network, the mean loss of each epoch, and the number of images of one and their side.

    `cache` is the folder of the decoded images, if there is one.
    """

    path: Path
    losses: list[float]
    images: int
    side: int
    cache: Path | None = None


def train_network(
    training: Dataset,
    output: str | Path,
    config: TrainingConfig | None = None,
    *,
    network: str | None = None,
    augmentation: str = "none",
    start: str | Path | None = None,
    mix: Dataset | None = None,
    mix_share: float = 0.5,
    cache: str | Path | None = None,
    workers: int | None = None,
    device: str = "auto",
    progress: Steps | None = None,
    decoding: Progress | None = None,
) -> TrainedNetwork:
    """Train a network on a dataset and save it as a .safetensors file, which `load_model` reads.

    A checkpoint is written beside the file after each epoch, so that the same call resumes after an interruption.

    Args:
        training: labelled images of one size, or of any with crop_kind="resized"; its classes are those of the network.
        output: a new .safetensors file.
        config: the settings of the training; those of `training_config` by default.
        network: the architecture, see `build_network`; by default that of the weights to start from, else "small".
        augmentation: a scheme by its name, such as "augmix" or "corruptions:cifar10-noc".
        start: weights to start from: a file, "demo:standard", or published ones such as "timm:resnet50". Their network
            keeps its normalisation, the order of its classes and, if it was made for one, its input size.
        mix: other images of the same classes, such as photographs beside generated images. An epoch has every image of
            `training` once, and so many of these that they are the share `mix_share` of all.
        mix_share: see `mix`.
        cache: a folder into which photographs are decoded once, if they are too many for memory; by default beside
            `output`. "none" decodes them in every epoch.
        workers: threads that decode, crop and augment; their number never changes the weights.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        progress: called with (steps done, steps in total, loss) after each step.
        decoding: called with (title, images done, images in total) while photographs are decoded.
    """
    path = Path(output)
    if path.suffix != ".safetensors":
        raise BrittleError(f"a network is a .safetensors file, got {str(path)!r}; change the ending")
    config = training_config(start=start) if config is None else config
    scheme = scheme_by_name(augmentation)
    if config.jsd and augmentation == "none":
        raise BrittleError(
            f"jsd {config.jsd:g} compares augmented views of an image; name an augmentation, such as augmix"
        )
    if training.labels is None:
        raise no_labels(training, "and a network learns from labels")
    begin = None
    if start is not None:
        from brittle.training.starts import find_start, fitted_to

        begin = find_start(start, network)
        training = fitted_to(begin, training, config)
    spec = begin.network if begin is not None else network or "small"
    classes = len(training.classes)
    module = build_network(spec, classes, seed=config.seed) if begin is None else begin.build(classes, seed=config.seed)
    module = module.to(find_device(device))
    about = as_data({"recipe": config, "augmentation": scheme, "data": training.key, "start": str(start)})
    about |= {} if network_key(spec) is None else {"network_file": network_key(spec)}
    about |= {} if mix is None else {"mix": mix.key, "mix_share": mix_share}
    checkpoint = path.with_suffix(f".{digest(about, length=8)}.pt")  # of this training and no other
    if path.exists() and not checkpoint.exists():  # with it, this training was cut off at its very end, and resumes
        raise BrittleError(f"{str(path)!r} exists already; remove it or choose another name")
    folder = cache_folder(cache, path.with_suffix(".images"))
    images, labels = training_images(training, config, folder, workers=workers, progress=decoding), training.labels
    assert labels is not None
    if mix is not None:
        from brittle.training.mixing import mixed_images

        others = mix if begin is None else fitted_to(begin, mix, config)
        images, labels = mixed_images(
            (images, training),
            (training_images(others, config, folder, workers=workers, progress=decoding), others),
            mix_share,
        )
    config = normalised(config, images, spec, begin)
    losses = train(
        module,
        images,
        labels,
        config,
        augment=scheme,
        checkpoint=checkpoint,
        workers=workers,
        progress=progress,
    )
    about |= input_sizes(training, config)
    save_trained(module, path, spec, training.classes, config.mean, config.std, about)
    checkpoint.unlink(missing_ok=True)
    source = as_source(images)
    side = config.side if config.crop_kind == "resized" else min(source.shape[:2])
    decoded = folder if folder is not None and folder.is_dir() else None
    return TrainedNetwork(path, losses, source.per_epoch, side, decoded)


def input_sizes(dataset: Dataset, config: TrainingConfig) -> dict[str, Any]:
    """`size` and `crop` of the preprocessing of a network trained on a dataset; empty if images were not resized.

    After training on random resized crops of side 224, images are resized to 256 and the network sees their centre.
    """
    if config.crop_kind == "resized":
        return {"size": round(config.side * SHORT_SIDE), "crop": config.side}
    return preparation_sizes(dataset.preparation)


SHORT_SIDE = 256 / 224
"""The short side of a photograph, as a multiple of the side of the part that a network is tested on."""


def prepared_for_test(dataset: Dataset, config: TrainingConfig) -> Dataset:
    """A dataset as a network is tested on it that was trained by a config, if it is files of photographs."""
    if config.crop_kind != "resized" or dataset.in_memory or dataset.preparation != "none":
        return dataset
    return dataset.prepared(f"{round(config.side * SHORT_SIDE)},{config.side}")
