"""What is done to training images beyond flips and crops."""

from brittle.training.augmentation.augmix import AugMix, powerset, some_schemes
from brittle.training.augmentation.autoaugment import AutoAugment
from brittle.training.augmentation.base import BASES, COLOUR, GEOMETRIC
from brittle.training.augmentation.by_name import scheme_by_name
from brittle.training.augmentation.fixed import Scheme, fixed
from brittle.training.augmentation.flip_crop import FlipCrop
from brittle.training.augmentation.from_function import FromCallable
from brittle.training.augmentation.jsd_loss import jsd_loss
from brittle.training.augmentation.mixture import Mixture
from brittle.training.augmentation.patch_gaussian import PatchGaussian
from brittle.training.augmentation.random_affine import RandomAffine

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
    "fixed",
    "jsd_loss",
    "powerset",
    "scheme_by_name",
    "some_schemes",
]
