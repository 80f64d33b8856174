"""Train networks on clean, corrupted or augmented images."""

from brittle.models.networks import build_network
from brittle.training.augmentation.user_schemes import Corrupted
from brittle.training.config import (
    PRESETS,
    Preset,
    TrainingConfig,
    deviations,
    deviations_in_words,
    preset,
    read_settings,
    training_config,
)
from brittle.training.data import (
    Augment,
    Images,
    ImageSource,
    decode_once,
    input_sizes,
    prepared_for_test,
    training_images,
)
from brittle.training.trainer import adapt_batchnorm, normalised, train

__all__ = [
    "PRESETS",
    "Augment",
    "Corrupted",
    "ImageSource",
    "Images",
    "Preset",
    "TrainingConfig",
    "adapt_batchnorm",
    "build_network",
    "decode_once",
    "deviations",
    "deviations_in_words",
    "input_sizes",
    "normalised",
    "prepared_for_test",
    "preset",
    "read_settings",
    "train",
    "training_config",
    "training_images",
]
