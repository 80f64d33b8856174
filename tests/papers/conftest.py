"""A CIFAR-10 of the bundled images, and an ImageNet-100 of noise, small enough to train on in seconds."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from brittle.datasets import load_dataset
from brittle.datasets.classes import imagenet_classes


@pytest.fixture(scope="session")
def tiny_cifar10(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 1,000 bundled images as batches: 800 to train with and 200 to test."""
    folder = tmp_path_factory.mktemp("cifar10")
    demo = load_dataset("demo")
    images, labels = np.stack(list(demo.images())), np.asarray(demo.labels)
    order = np.random.default_rng(0).permutation(len(images))
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    for name, part in zip(names, np.split(order, [160, 320, 480, 640, 800]), strict=True):
        data = images[part].transpose(0, 3, 1, 2).reshape(len(part), 3072)
        (folder / name).write_bytes(pickle.dumps({b"data": data, b"labels": labels[part].tolist()}))
    return folder


@pytest.fixture(scope="session")
def tiny_imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of the 100 classes of ImageNet-100: in train two photographs each, in val one, of several sizes."""
    folder = tmp_path_factory.mktemp("imagenet")
    rng = np.random.default_rng(0)
    for row in imagenet_classes():
        if not row.in_100:
            continue
        for part, count in (("train", 2), ("val", 1)):
            (folder / part / row.wnid).mkdir(parents=True)
            for number in range(count):
                side = 40 + 8 * number
                pixels = rng.integers(0, 256, (side, 48, 3), dtype=np.uint8)
                Pil.fromarray(pixels).save(folder / part / row.wnid / f"{row.wnid}_{part}_{number}.JPEG")
    return folder
