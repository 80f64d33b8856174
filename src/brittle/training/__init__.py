"""Teach a model a corruption."""

from brittle.training.batches import Augment
from brittle.training.recipe import Recipe
from brittle.training.train import train

__all__ = ["Augment", "Recipe", "train"]
