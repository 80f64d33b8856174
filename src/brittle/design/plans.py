"""How the networks of an overlap matrix or of a study are trained: each from scratch, fine-tuned or adapted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle.design.overlap import Averaging
from brittle.models import CIFAR_MEAN, CIFAR_STD
from brittle.training import (
    Augment,
    Images,
    ImageSource,
    TrainingConfig,
    adapt_batchnorm,
    changed_config,
    normalised,
    train,
    training_config,
)

SMALL_NOC = training_config(
    "noc",
    batch_size=128,
    warm_up=0.025,
    weight_decay=5e-4,
    nesterov=True,
    crop_kind="padding",
    mean=CIFAR_MEAN,
    std=CIFAR_STD,
)
"""NOC's training, changed for small images and networks: one epoch of warm-up, without which the small network does not
converge at this rate, and the batch size, weight decay, momentum, crops and normalisation of our CIFAR-10 training.
`deviations(SMALL_NOC, "noc")` lists them, and the command line prints them; training_config("noc") is NOC's own."""

ONE_EPOCH = TrainingConfig(epochs=1, learning_rate=0.05)
"""Fine-tuning with the overlaps nearest to those from scratch, of 0.02, 0.05, 0.1: docs/explanation/overlap.md."""

MODES = ("scratch", "finetune", "batchnorm")
STANDARD = "standard"
"""The name of the model trained with clean images alone."""

START = "start"
"""The name of the initial model of fine-tuning and batchnorm, if the standard model is fine-tuned too (`control`)."""


@dataclass(frozen=True)
class Plan:
    """Which networks are trained, and how.

    Args:
        mode: "scratch" trains each model from new weights, as the papers do; "finetune" fine-tunes the standard
            model; "batchnorm" only adapts the batch normalisation of the standard model to the corruption.
        network: the architecture, see `build_network`.
        standard: the training of the standard model, and of all models from scratch.
        tuning: the fine-tuning; its batch size is used by batchnorm too. It normalises images as `standard` does.
        tuning_images: the number of training images for fine-tuning and batchnorm.
        control: with fine-tuning and batchnorm, also fine-tune the standard model, on clean images. Otherwise the
            effect of longer training counts as an effect of the corruptions.
        repeats: the number of trainings of each model, with other seeds and, in fine-tuning and batchnorm, other
            images. Their accuracies are averaged, and their differences show the randomness of the training.
    """

    mode: str = "finetune"
    network: str = "small"
    standard: TrainingConfig = SMALL_NOC
    tuning: TrainingConfig = ONE_EPOCH
    tuning_images: int = 10_000
    control: bool = True
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise BrittleError(f"each model is trained once or more often, got repeats={self.repeats}")
        if self.mode not in MODES:
            raise BrittleError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.mode != "scratch" and _normalisation(self.standard) != _normalisation(self.tuning):
            raise BrittleError(
                f"tuning must normalise images as standard does, {_normalisation(self.standard)}, got "
                f"{_normalisation(self.tuning)}"
            )

    @property
    def first(self) -> str:
        """The name of the initial network: given as a file, or fully trained with clean images."""
        return START if self.control and self.mode != "scratch" else STANDARD

    @property
    def averaging(self) -> Averaging:
        """How overlaps are averaged over both directions, see `overlap_matrix`: as in the papers only from scratch.

        Short trainings leave some native gains small. Their ratios are noise, and averaged gains come nearer to the
        overlaps of models from scratch: docs/explanation/overlap.md.
        """
        return "ratios" if self.mode == "scratch" else "gains"

    def steps(self, images: int, *, full: bool) -> int:
        """The number of steps of one training with so many images, by `standard` if it is `full`."""
        if full or self.mode == "scratch":
            return self.standard.epochs * self.standard.steps(images)
        return self.tuning.epochs * self.tuning.steps(min(self.tuning_images, images))

    def repetition(self, number: int) -> Plan:
        """The plan of one of the repeated trainings, from 0: the first has the seed of the plan."""
        shift = number * REPETITION
        standard, tuning = (replace(config, seed=config.seed + shift) for config in (self.standard, self.tuning))
        return replace(self, standard=standard, tuning=tuning)


REPETITION = 1_000_003
"""The difference between the seeds of two repeated trainings, so that those of small seeds never meet."""


SEEN_BY = (
    *("flip", "crop", "crop_kind", "side", "area", "normalisation", "mean", "std"),
    *("precision", "channels_last"),
)
"""The settings that say how a network sees images: fine-tuning keeps those of the first training."""


def training_plan(
    *,
    mode: str = "finetune",
    network: str = "small",
    epochs: int | None = None,
    standard_epochs: int | None = None,
    train_limit: int | None = None,
    batch_size: int | None = None,
    lr: float | None = None,
    control: bool = True,
    repeats: int = 1,
    seed: int = 0,
    start: str | Path | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Plan:
    """A plan from a few settings, or a BrittleError where two of them contradict each other.

    Args:
        mode: see `Plan`.
        network: see `Plan`.
        epochs: of the models trained on corruptions or augmentations.
        standard_epochs: of the standard model, if that is trained and not from scratch like all others.
        train_limit: the number of images for fine-tuning and batchnorm.
        batch_size: of all trainings; by default that of the standard model's.
        lr: the learning rate of fine-tuning.
        control: see `Plan`.
        repeats: see `Plan`.
        seed: of all trainings.
        start: the weights of the standard model, if it exists already.
        preset: the published training of the standard model and of all models from scratch, see `PRESETS`; by default
            NOC's, changed for small images.
        settings: other settings of that training by their names. Fine-tuning takes over those that say how a network
            sees images.
    """
    usual = Plan(mode, network)
    published = usual.standard if preset is None else training_config(preset)
    standard = changed_config(published, **(settings or {}))
    tuning = replace(usual.tuning, **{name: getattr(standard, name) for name in SEEN_BY})
    batch_size = standard.batch_size if batch_size is None else batch_size
    if standard_epochs is not None and (mode == "scratch" or start is not None):
        reason = "is trained as all others, so use `epochs`" if mode == "scratch" else "exists already by `start`"
        raise BrittleError(f"`standard_epochs={standard_epochs}` does not apply: the standard model {reason}")
    if epochs is not None and mode == "batchnorm":
        raise BrittleError(f"batchnorm takes one pass over the images and no `epochs`, got {epochs}; use `train_limit`")
    if train_limit is not None and train_limit < batch_size:
        raise BrittleError(
            f"`train_limit={train_limit}` does not fill a batch of {batch_size}; lower `batch_size` or take more images"
        )
    if mode != "finetune" and lr is not None:
        raise BrittleError(f"`lr={lr:g}` is that of fine-tuning, and the `mode` is {mode}; leave it out")
    full = epochs if mode == "scratch" else standard_epochs
    short = epochs if mode == "finetune" else None
    shared: dict[str, Any] = {"batch_size": batch_size, "seed": seed}
    rate: dict[str, Any] = {} if lr is None else {"learning_rate": lr}
    return replace(
        usual,
        standard=replace(standard, epochs=standard.epochs if full is None else full, **shared),
        tuning=replace(tuning, epochs=tuning.epochs if short is None else short, **shared, **rate),
        tuning_images=train_limit or usual.tuning_images,
        control=control,
        repeats=repeats,
    )


def _normalisation(config: TrainingConfig) -> tuple[Any, ...]:
    return (config.mean, config.std) if config.normalisation == "given" else (config.normalisation,)


def normalised_plan(plan: Plan, images: Callable[[], Images]) -> Plan:
    """The plan with the mean and std that its normalisation asks for; `images` are read only if it needs them."""
    if plan.standard.normalisation == "given":
        return plan
    standard = normalised(plan.standard, images(), plan.network)
    tuning = replace(plan.tuning, normalisation="given", mean=standard.mean, std=standard.std)
    return replace(plan, standard=standard, tuning=tuning)


def train_or_adapt(
    network: Any,
    images: Images,
    labels: Any,
    plan: Plan,
    augment: Augment | None,
    *,
    full: bool,
    repetition: int = 0,
    checkpoint: Path | None = None,
    workers: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> None:
    """Train a network in place: by `plan.standard` if `full`, else by fine-tuning or batch-norm adaptation.

    Each `repetition` is fine-tuned on other images, as long as there are others.
    """
    options: dict[str, Any] = {"augment": augment, "checkpoint": checkpoint, "workers": workers, "progress": progress}
    if full:
        train(network, images, labels, plan.standard, **options)
        return
    count = min(plan.tuning_images, len(images))
    subset = (np.arange(count) * len(images) // count + repetition) % len(images)
    part = images.take(subset) if isinstance(images, ImageSource) else images[subset]
    if plan.mode == "batchnorm":
        adapt_batchnorm(network, part, plan.tuning, augment, workers=workers)
    else:
        train(network, part, labels[subset], plan.tuning, **options)
