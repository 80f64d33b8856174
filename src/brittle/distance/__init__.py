"""Feature distances of augmentations to corruptions: MSD, MMD and the leak check."""

from brittle.distance.experiments import MeasuredLeak, measure_distances, measure_leak
from brittle.distance.features import Extractor, FeatureImages, TransformFeatures, check_extractor, feature_images
from brittle.distance.leakage import NEUTRAL, Leak, LeakCheck, check_leak_options, leak_check, leak_scores
from brittle.distance.measures import (
    Distances,
    SchemeDistances,
    check_tolerance,
    covered,
    distances,
    distances_until,
    expected_minimum,
    mmd,
    mmd_to,
    msd,
    msd_to,
    sample_distances,
)
from brittle.distance.selection import ChosenTransforms, choose_augmentations, chosen_schemes, interleaved_order
from brittle.distance.transforms import CorruptionFeatures, corruption_features, transform_features

__all__ = [
    "NEUTRAL",
    "ChosenTransforms",
    "CorruptionFeatures",
    "Distances",
    "Extractor",
    "FeatureImages",
    "Leak",
    "LeakCheck",
    "MeasuredLeak",
    "SchemeDistances",
    "TransformFeatures",
    "check_extractor",
    "check_leak_options",
    "check_tolerance",
    "choose_augmentations",
    "chosen_schemes",
    "corruption_features",
    "covered",
    "distances",
    "distances_until",
    "expected_minimum",
    "feature_images",
    "interleaved_order",
    "leak_check",
    "leak_scores",
    "measure_distances",
    "measure_leak",
    "mmd",
    "mmd_to",
    "msd",
    "msd_to",
    "sample_distances",
    "transform_features",
]
