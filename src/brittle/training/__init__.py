"""Train networks on clean, corrupted or augmented images."""

from brittle.models.networks import build_network
from brittle.training.augmentation.user_schemes import Corrupted
from brittle.training.network import TrainedNetwork, train_network, training_config
from brittle.training.trainer import Augment, TrainingConfig, adapt_batchnorm, train

__all__ = [
    "Augment",
    "Corrupted",
    "TrainedNetwork",
    "TrainingConfig",
    "adapt_batchnorm",
    "build_network",
    "train",
    "train_network",
    "training_config",
]
