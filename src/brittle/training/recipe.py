"""How a network is trained: every number that the weights depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from brittle.models.preprocessing import CIFAR_MEAN, CIFAR_STD

SCHEDULES, OPTIMISERS = ("cosine", "step"), ("sgd", "adamw")


@dataclass(frozen=True)
class Recipe:
    """By default SGD with Nesterov momentum, and a learning rate that warms up briefly and falls along a cosine.

    `ema` above 0 keeps a running average of the weights with that decay, and gives it back instead of the last ones.
    `jsd` above 0 shows each image three times, clean and under two samples of the augmentation, and adds so much times
    the Jensen–Shannon divergence of the three predictions to the clean one's cross-entropy; AugMix takes 12.
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

    def __repr__(self) -> str:
        """All settings; `jsd` only where it is used, so that what was kept before there was one is still known."""
        shown = [f.name for f in fields(self) if f.name != "jsd" or self.jsd]
        return f"Recipe({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        if self.optimiser not in OPTIMISERS or not 0 <= self.ema < 1:
            raise ValueError(
                f"optimiser must be one of {', '.join(OPTIMISERS)} and ema at least 0 and below 1, got "
                f"{self.optimiser!r}, {self.ema}"
            )
        if self.epochs < 1 or self.batch_size < 2:
            raise ValueError(
                f"epochs must be at least 1 and batch_size at least 2, got {self.epochs}, {self.batch_size}"
            )
        if not 0 <= self.jsd < math.inf:
            raise ValueError(f"jsd is a weight from 0 upwards, 12 as AugMix has it, got {self.jsd}")
        if not (self.learning_rate > 0 and 0 <= self.warm_up < 1 and self.crop >= 0):
            raise ValueError(
                "learning_rate must be above 0, warm_up a share of the training below 1, and crop at least 0; "
                f"got {self.learning_rate}, {self.warm_up}, {self.crop}"
            )

    def rate(self, progress: float) -> float:
        """The learning rate when a share `progress` of the training is done.

        It rises from a tenth while warming up. Then `cosine` falls to zero, and `step` to a tenth after half of the
        epochs and to a hundredth after three quarters, as NOC trains (40 epochs, at 20 and 30).
        """
        if progress < self.warm_up:
            return self.learning_rate * (0.1 + 0.9 * progress / self.warm_up)
        if self.schedule == "step":
            return self.learning_rate * (1.0 if progress < 0.5 else 0.1 if progress < 0.75 else 0.01)
        left = (progress - self.warm_up) / (1 - self.warm_up)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * left))
