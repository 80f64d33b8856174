"""What is done to training images beyond flips and crops."""

from brittle.training.augmentation.augmix import AugMix, powerset
from brittle.training.augmentation.base import BASES, COLOUR, GEOMETRIC

__all__ = ["BASES", "COLOUR", "GEOMETRIC", "AugMix", "powerset"]
