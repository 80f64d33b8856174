"""How the models of an overlap matrix are made."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.training import Recipe

PAPER = Recipe(epochs=40, schedule="step", learning_rate=0.1, warm_up=0.025)
"""As NOC trains: 40 epochs, the learning rate a tenth after 20 and after 30; but it rises during the first epoch,
without which our small network does not learn at this rate."""

SHORT = Recipe(epochs=1, learning_rate=0.05)
"""Fine-tuning that comes nearest to models from scratch, among rates of 0.02, 0.05 and 0.1 (docs/overlap.md)."""

MODES = ("scratch", "finetune", "batchnorm")
STANDARD = "standard"
"""The name of the model that learned clean images alone."""

START = "start"
"""What the cheap modes begin from, if the standard model goes on from it as well."""


@dataclass(frozen=True)
class Plan:
    """Which networks, and how they learn.

    Args:
        mode: "scratch" trains each model from new weights, as the papers do; "finetune" goes on from the standard
            model for a while; "batchnorm" only lets the standard model's batch normalisation see the corruption.
        network: what is trained, see `build_network`.
        standard: the recipe of the standard model, and of all models from scratch.
        tuning: the recipe of fine-tuning; its batch size is that of batchnorm too.
        tuning_images: how many training images fine-tuning and batchnorm see.
        control: in the cheap modes, also let the standard model go on, with clean images. Otherwise what the others
            gain or lose by going on at all is taken for an effect of their corruptions.
    """

    mode: str = "finetune"
    network: str = "small"
    standard: Recipe = PAPER
    tuning: Recipe = SHORT
    tuning_images: int = 10_000
    control: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")

    @property
    def first(self) -> str:
        """The network that is there first: given, or trained in full with clean images."""
        return START if self.control and self.mode != "scratch" else STANDARD
