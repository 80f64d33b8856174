"""Datasets with an adapter inside, at the top of a module, so that spawned workers find them."""

from typing import Any

import numpy as np
from torch.utils.data import DataLoader

from brittle.transforms import Indexed

LOADERS = [
    (workers, method, persistent)
    for workers in (0, 1, 8)
    for method in ("fork", "spawn")
    for persistent in (False, True)
    if workers or (method, persistent) == ("fork", False)
]


def picture(index: int, side: int = 24) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (side, side, 3), dtype=np.uint8)


class Pictures:
    """Pictures through a function `call(transform, picture)`."""

    def __init__(self, transform: Any, call: Any, count: int = 9) -> None:
        self.transform, self.call, self.count = transform, call, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> np.ndarray:
        return np.asarray(self.call(self.transform, picture(index)))


def same(batch: list) -> list:
    return batch


def two_epochs(dataset: Indexed, workers: int, method: str, persistent: bool) -> np.ndarray:
    """All pixels of epochs 0 and 3, in order."""
    more = {"multiprocessing_context": method, "persistent_workers": persistent} if workers else {}
    loader = DataLoader(dataset, batch_size=2, num_workers=workers, collate_fn=same, **more)
    out = []
    for epoch in (0, 3):
        dataset.set_epoch(epoch)
        out += [image for batch in loader for image in batch]
    return np.stack(out)


def by_torchvision(transform: Any, image: np.ndarray) -> np.ndarray:
    import torch

    return transform(torch.from_numpy(image.transpose(2, 0, 1).copy())).numpy().transpose(1, 2, 0)


def by_albumentations(transform: Any, image: np.ndarray) -> np.ndarray:
    return transform(image=image)["image"]


def by_columns(transform: Any, image: np.ndarray) -> np.ndarray:
    return transform({"image": [image]})["image"][0]
