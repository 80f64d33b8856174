"""Train networks on clean, corrupted or augmented images."""

from brittle.models.networks import build_network
from brittle.training.augmentation.schemes import Corrupted
from brittle.training.config import (
    DEFAULT_PRESET,
    PRESETS,
    Preset,
    TrainingConfig,
    changed_config,
    deviations,
    deviations_text,
    find_preset,
    read_settings,
    training_config,
)
from brittle.training.data import (
    Augment,
    Images,
    ImageSource,
    cache_folder,
    decode_once,
    training_images,
)
from brittle.training.trainer import (
    TrainedNetwork,
    adapt_batchnorm,
    input_sizes,
    normalised,
    prepared_for_test,
    train,
    train_network,
)

__all__ = [
    "DEFAULT_PRESET",
    "PRESETS",
    "Augment",
    "Corrupted",
    "ImageSource",
    "Images",
    "Preset",
    "TrainedNetwork",
    "TrainingConfig",
    "adapt_batchnorm",
    "build_network",
    "cache_folder",
    "changed_config",
    "decode_once",
    "deviations",
    "deviations_text",
    "find_preset",
    "input_sizes",
    "normalised",
    "prepared_for_test",
    "read_settings",
    "train",
    "train_network",
    "training_config",
    "training_images",
]
