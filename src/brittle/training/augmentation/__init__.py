"""Augmentation schemes for training images."""

from brittle.training.augmentation.consistency import jsd_loss
from brittle.training.augmentation.operations import BASES, COLOUR, GEOMETRIC
from brittle.training.augmentation.schemes import (
    AugMix,
    AutoAugment,
    FlipCrop,
    Mixture,
    PatchGaussian,
    RandomAffine,
    Scheme,
    Transform,
    fixed,
    powerset,
    some_schemes,
)
from brittle.training.augmentation.user_schemes import FromCallable, scheme_by_name, schemes_by_name

__all__ = [
    "BASES",
    "COLOUR",
    "GEOMETRIC",
    "AugMix",
    "AutoAugment",
    "FlipCrop",
    "FromCallable",
    "Mixture",
    "PatchGaussian",
    "RandomAffine",
    "Scheme",
    "Transform",
    "fixed",
    "jsd_loss",
    "powerset",
    "scheme_by_name",
    "schemes_by_name",
    "some_schemes",
]
