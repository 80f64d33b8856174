"""How near an augmentation is to a corruption."""

from brittle.distance.convergence import expected_minimum
from brittle.distance.corruption_features import CorruptionFeatures, corruption_features
from brittle.distance.covered import covered
from brittle.distance.distances import Distances, distances
from brittle.distance.extractor import Extractor
from brittle.distance.feature_images import FeatureImages, feature_images
from brittle.distance.feature_store import TransformFeatures
from brittle.distance.leak import Leak, LeakCheck, leak_check
from brittle.distance.leak_scores import leak_scores
from brittle.distance.mmd import mmd, mmd_to
from brittle.distance.msd import msd, msd_to, sample_distances
from brittle.distance.neutral import NEUTRAL
from brittle.distance.transform_features import transform_features
from brittle.distance.until import Looked, distances_until

__all__ = [
    "NEUTRAL",
    "CorruptionFeatures",
    "Distances",
    "Extractor",
    "FeatureImages",
    "Leak",
    "LeakCheck",
    "Looked",
    "TransformFeatures",
    "corruption_features",
    "covered",
    "distances",
    "distances_until",
    "expected_minimum",
    "feature_images",
    "leak_check",
    "leak_scores",
    "mmd",
    "mmd_to",
    "msd",
    "msd_to",
    "sample_distances",
    "transform_features",
]
