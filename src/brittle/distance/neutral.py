"""Augmentations that nobody would call training on the test."""

from __future__ import annotations

from brittle.training.augmentation.fixed import Scheme
from brittle.training.augmentation.flip_crop import FlipCrop
from brittle.training.augmentation.random_affine import RandomAffine

NEUTRAL: dict[str, Scheme] = {"flip-crop": FlipCrop(), "affine": RandomAffine()}
"""The reference of the leak check: what the baseline of every published benchmark was trained with, and small turns,
shears and shifts.

Neither changes colours or adds noise, and neither blurs beyond what bilinear sampling does, so neither aims at a
corruption of ImageNet-C. For a benchmark with geometric corruptions, such as NOC's rotation, leave out "affine": it
would hide such a leak.
"""
