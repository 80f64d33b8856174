"""Tiny data, two recipes, and models and augmentations in a file, for the verbs that measure distances."""

from pathlib import Path

import numpy as np

COLOURS = np.random.default_rng(0).integers(40, 216, (4, 3))

OWN = """
from brittle.models import build_network, from_callable, from_torch
import numpy as np

def net():
    return from_torch(build_network("small:4", 4), name="net", device="cpu")

def blind():
    return from_callable(lambda x: np.zeros((len(x), 4), np.float32), name="blind")

def bare():
    import torch
    return from_torch(torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                          torch.nn.Unflatten(1, (3, 1)), torch.nn.Flatten()), name="bare", device="cpu")

def smaller(image):
    return image[::2, ::2]

def stops(image, draws):
    if draws.name.split("/")[2] == "i7":
        raise KeyboardInterrupt
    return image
"""

SMALL = ["-m", "own.py:net", "-d", "test.npz", "--feature-images", 6, "--corruption-samples", 2]
TRAIN = [
    "-d",
    "test.npz",
    "--train-data",
    "train.npz",
    "--network",
    "small:4",
    "--standard-epochs",
    2,
    "--batch-size",
    32,
]


def distance_files() -> None:
    """Everything, in the current folder."""
    for name, count in (("train", 160), ("test", 64)):
        labels = np.arange(count) % 4
        noise = np.random.default_rng(count).normal(0, 25, (count, 16, 16, 3))
        images = np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)
        np.savez(f"{name}.npz", images=images, labels=labels, classes=list("abcd"))
    Path("own.py").write_text(OWN)
    names = ("gaussian_noise", "contrast", "brightness")
    entries = "".join(f'[[corruption]]\nid = "imagenet-c/{name}"\n' for name in names)
    Path("three.toml").write_text(f'name = "three"\nlevels = [1, 2, 3, 4, 5]\n{entries}')
    many = ("brownish_noise", "lines", "sparkles", "hue_shift", "checkerboard_cutout")
    entries = "".join(f'[[corruption]]\nid = "c-bar/{name}"\n' for name in many)
    Path("far.toml").write_text(f'name = "far"\nlevels = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n{entries}')
