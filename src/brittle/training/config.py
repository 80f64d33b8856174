"""The settings of a training, and those of the papers under their names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle.models.preprocessing import CIFAR_MEAN, CIFAR_STD, IMAGENET_MEAN, IMAGENET_STD

SCHEDULES, OPTIMIZERS = ("cosine", "step"), ("sgd", "adamw")
CROPS = ("padding", "resized", "none")
NORMALISATIONS = ("given", "dataset", "network")
PRECISIONS = ("fp32", "bf16", "fp16")


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a training; by default SGD with Nesterov momentum, a short warm-up and a cosine schedule.

    Args:
        epochs: the number of passes over the images.
        batch_size: images of one step, or all if there are fewer; another incomplete batch is dropped.
        learning_rate: the highest one.
        optimizer: "sgd" or "adamw".
        schedule: "cosine" falls to zero; "step" divides by ten at each of `milestones`.
        warm_up: the share of the training in which the rate rises from a tenth.
        momentum: that of SGD.
        weight_decay: that of all weights.
        ema: above 0, the decay of an exponential moving average of the weights, which is returned instead of the last.
        flip: mirror half of the images.
        crop: the pixels of black padding of which crop_kind="padding" cuts the image's size again.
        mean: of each channel on the scale [0, 1], subtracted before a division by `std`.
        std: see `mean`.
        seed: of the order, of flips and crops, and of augmentations.
        jsd: above 0, take each image three times, clean and under two samples of the augmentation, and add `jsd` times
            the Jensen–Shannon divergence of the three predictions to the clean cross-entropy; AugMix uses 12.
        nesterov: Nesterov's momentum instead of the plain one.
        milestones: shares of the training at which schedule="step" divides the rate by ten.
        rate_per_epoch: the rate changes once an epoch instead of at each step.
        crop_kind: "padding", "resized" (a part of random area and aspect, resized to `side`), or "none".
        side: the side in pixels of what crop_kind="resized" gives.
        area: the smallest and largest share of an image that crop_kind="resized" takes.
        normalisation: "given" takes `mean` and `std`, "dataset" measures them on the training images, and "network"
            takes those that the weights to start from were trained with, or else of the network's own configuration.
        precision: "fp32", or the type of `torch.autocast`: "bf16", or "fp16" on GPUs, with scaled gradients.
        channels_last: torch's memory format; it is faster on most devices.
    """

    epochs: int = 24
    batch_size: int = 128
    learning_rate: float = 0.1
    optimizer: str = "sgd"
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
    nesterov: bool = True
    milestones: tuple[float, ...] = (0.5, 0.75)
    rate_per_epoch: bool = False
    crop_kind: str = "padding"
    side: int = 224
    area: tuple[float, float] = (0.08, 1.0)
    normalisation: str = "given"
    precision: str = "fp32"
    channels_last: bool = True

    def __post_init__(self) -> None:
        choices = {
            "schedule": SCHEDULES,
            "optimizer": OPTIMIZERS,
            "crop_kind": CROPS,
            "normalisation": NORMALISATIONS,
            "precision": PRECISIONS,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise BrittleError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
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
        if not (0 <= self.ema < 1 and 0 <= self.momentum < 1 and 0 <= self.weight_decay < math.inf):
            raise BrittleError(
                "ema and momentum must be at least 0 and below 1, and weight_decay at least 0; "
                f"got {self.ema}, {self.momentum}, {self.weight_decay}"
            )
        if len(self.mean) != 3 or len(self.std) != 3 or not min(self.std) > 0:
            raise BrittleError(f"mean and std are three numbers each, std above 0; got {self.mean}, {self.std}")
        if list(self.milestones) != sorted(self.milestones) or not all(0 < at < 1 for at in self.milestones):
            raise BrittleError(
                f"milestones are rising shares of the training between 0 and 1, such as 0.5,0.75; got {self.milestones}"
            )
        if self.side < 1 or len(self.area) != 2 or not 0 < self.area[0] <= self.area[1] <= 1:
            raise BrittleError(
                "side must be at least 1, and area two rising shares above 0 and up to 1, such as 0.08,1; "
                f"got {self.side}, {self.area}"
            )

    def steps(self, images: int) -> int:
        """The number of steps of one epoch over so many images: whole batches, or one of all images."""
        return images // self.batch_size or 1

    def rate(self, progress: float) -> float:
        """The learning rate after a share `progress` of the training.

        It rises from a tenth during warm-up. Then `cosine` falls to zero, and `step` to a tenth at each milestone: by
        default after half and after three quarters of the epochs, as NOC trains (40 epochs, at 20 and 30).
        """
        if progress < self.warm_up:
            return self.learning_rate * (0.1 + 0.9 * progress / self.warm_up)
        if self.schedule == "step":
            return self.learning_rate * 10.0 ** -sum(progress >= milestone for milestone in self.milestones)
        after_warm_up = (progress - self.warm_up) / (1 - self.warm_up)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * after_warm_up))


@dataclass(frozen=True)
class Preset:
    """The settings of a published training: where they come from, and what belongs to them besides the config.

    `prepare` is how photographs are brought to one size (see `Dataset.prepared`), and `augmentation` what images are
    trained with, see `scheme_by_name`.
    """

    config: TrainingConfig
    source: str
    prepare: str | None = None
    augmentation: str = "none"


PRESETS: Mapping[str, Preset] = {
    "cifar-small": Preset(TrainingConfig(), "ours, for small networks on small images"),
    "noc": Preset(
        TrainingConfig(
            epochs=40,
            batch_size=256,
            schedule="step",
            warm_up=0.0,
            weight_decay=1e-4,
            nesterov=False,
            crop_kind="none",
            mean=(0.0, 0.0, 0.0),
            std=(1.0, 1.0, 1.0),
        ),
        "Laugros et al., section 4 and the authors' code: ResNet-18 on ImageNet-100, images resized to 224×224",
        prepare="224x224",
    ),
    "msd-cifar": Preset(
        TrainingConfig(epochs=100, warm_up=0.0, rate_per_epoch=True),
        "Mintun et al., appendix and the authors' code: WideResNet-40-2 on CIFAR-10",
    ),
    "augmix-imagenet": Preset(
        TrainingConfig(
            epochs=100,
            batch_size=256,
            schedule="step",
            milestones=(0.3, 0.6, 0.9),
            warm_up=0.0,
            weight_decay=1e-4,
            crop_kind="resized",
            mean=IMAGENET_MEAN,
            std=IMAGENET_STD,
            jsd=12.0,
        ),
        "Mintun et al., appendix and the authors' code: ResNet-50 on ImageNet with AugMix at severity 1 and its loss",
        augmentation="augmix-imagenet",
    ),
}
"""Published trainings by name."""

DEFAULT_PRESET = "cifar-small"


FINE_TUNING: Mapping[str, Any] = {"epochs": 1, "learning_rate": 0.02, "normalisation": "network"}
"""What differs from the default with weights to start from; images are normalised as these are used to."""


def find_preset(name: str) -> Preset:
    """The preset of a name; see `PRESETS`."""
    if name not in PRESETS:
        raise BrittleError(f"there is no training preset {name!r}; {did_you_mean(name, PRESETS)}")
    return PRESETS[name]


def training_config(
    preset: str | None = None,
    *,
    start: str | Path | None = None,
    epochs: int | None = None,
    lr: float | None = None,
    batch_size: int | None = None,
    optimizer: str | None = None,
    schedule: str | None = None,
    jsd: float | None = None,
    ema: float | None = None,
    seed: int = 0,
    **settings: Any,
) -> TrainingConfig:
    """The settings of a training: those of a preset, some of them changed, as in training_config("noc", epochs=10).

    Args:
        preset: the name of a published training, see `PRESETS`. By default it is "cifar-small", and with weights to
            start from a fine-tuning: 1 epoch at a learning rate of 0.02, with images normalised as these need it.
        start: the weights to start from.
        lr: the learning rate.
        settings: any other setting of `TrainingConfig`; those that are named above are explained there.
    """
    usual = find_preset(preset or DEFAULT_PRESET).config
    if start is not None and preset is None:
        usual = replace(usual, **FINE_TUNING)
    named = {"epochs": epochs, "learning_rate": lr, "batch_size": batch_size, "optimizer": optimizer}
    named |= {"schedule": schedule, "jsd": jsd, "ema": ema, "seed": seed}
    if lr is not None and "learning_rate" in settings:
        raise BrittleTypeError(f"lr is the learning_rate; give one of them, got {lr} and {settings['learning_rate']}")
    given = {name: value for name, value in named.items() if value is not None}
    if {"mean", "std"} & settings.keys():
        settings = {"normalisation": "given", **settings}
    return changed_config(usual, **{**given, **settings})


def changed_config(config: TrainingConfig, **settings: Any) -> TrainingConfig:
    """A config with other values of some settings."""
    known = [field.name for field in fields(TrainingConfig)]
    for name in settings:
        if name not in known:
            raise BrittleTypeError(f"a training has no setting {name!r}; {did_you_mean(name, known)}")
    return replace(config, **settings)


def deviations(config: TrainingConfig, name: str) -> dict[str, tuple[Any, Any]]:
    """The settings that differ from a preset, each with both values, the preset's last. The seed is not one of them."""
    published = find_preset(name).config
    pairs = {field.name: (getattr(config, field.name), getattr(published, field.name)) for field in fields(config)}
    unused = {"crop"} if config.crop_kind == published.crop_kind != "padding" else set()
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1] and key not in {"seed", *unused}}


def deviations_text(config: TrainingConfig, name: str) -> str:
    """One line: which settings differ from a preset, with the value of the preset behind each."""
    different = deviations(config, name)
    if not different:
        return f"trained as {name}"
    listed = ", ".join(f"{key} {_text(value)} (not {_text(usual)})" for key, (value, usual) in different.items())
    return f"trained as {name}, but: {listed}"


def _text(value: Any) -> str:
    return "/".join(f"{number:.3g}" for number in value) if isinstance(value, tuple) else f"{value}"


def read_settings(texts: Mapping[str, str]) -> dict[str, Any]:
    """Settings that stand as texts on a command line, as values: {"nesterov": "false"} gives {"nesterov": False}."""
    known = {field.name: field for field in fields(TrainingConfig)}
    values = {}
    for key, text in texts.items():
        if key not in known:
            raise BrittleError(f"a training has no setting {key!r}; {did_you_mean(key, known)}")
        values[key] = _value(key, text, known[key].default)
    return values


def _value(key: str, text: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, tuple):
            return tuple(float(number) for number in text.split(","))
        return type(default)(text)
    except (KeyError, ValueError):
        forms = {bool: "true or false", int: "a whole number", float: "a number", tuple: "numbers with commas"}
        form = forms[type(default)]
        raise BrittleError(f"the setting {key} is {form}, got {text!r}") from None
