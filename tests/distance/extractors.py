"""Models to look through, small enough for tests."""

from functools import cache

import numpy as np

from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import load_dataset
from brittle.distance import FeatureImages, feature_images
from brittle.models import TorchModel, from_torch
from brittle.training import build_network


class Linear:
    """Pixels times a fixed matrix: features that can be worked out by hand."""

    name, key = "linear", "linear 1"

    def __init__(self, dimensions: int = 12, side: int = 32) -> None:
        self.weights = np.random.default_rng(5).normal(0, 1, (side * side * 3, dimensions)).astype(np.float32)
        self.seen: list[int] = []

    def features(self, images: np.ndarray) -> np.ndarray:
        self.seen.append(len(images))
        return (images.reshape(len(images), -1) / np.float32(255)) @ self.weights


@cache
def network() -> TorchModel:
    """A residual network with random weights: what it sees is crude, and enough to tell transforms apart."""
    return from_torch(build_network("small:4", 10), name="small", device="cpu")


@cache
def few_images() -> FeatureImages:
    return feature_images(load_dataset("demo"), 12)


THREE = Benchmark(
    "three",
    (
        Entry("imagenet-c/fog", (2.0, 4.0)),
        Entry("imagenet-c/impulse_noise", (3.0, 5.0)),
        Entry("imagenet-c/brightness", (4.0,)),
    ),
)
