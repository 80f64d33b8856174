"""Teach a model a corruption."""

from brittle.models.network import build_network
from brittle.training.batches import Augment
from brittle.training.batchnorm import adapt_batchnorm
from brittle.training.corrupted import Corrupted
from brittle.training.recipe import Recipe
from brittle.training.train import train

__all__ = ["Augment", "Corrupted", "Recipe", "adapt_batchnorm", "build_network", "train"]
