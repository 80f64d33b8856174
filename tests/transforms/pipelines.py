"""Datasets with an adapter inside, at the top of a module, so that spawned workers find them."""

from typing import Any

import numpy as np
from PIL import Image as Pil
from torch.utils.data import DataLoader

from brittle._optional import patch_torchvision
from brittle.transforms import Indexed

patch_torchvision(needed=False)  # it may be a build for CUDA beside a torch without; workers import this module first

EPOCHS = (0, 3)
LOADERS = [
    (workers, method, persistent)
    for workers in (0, 1, 8)
    for method in ("fork", "spawn", "forkserver")
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


class Many:
    """Pictures through several pipelines at once, so that the workers of a loader start once for all of them."""

    def __init__(self, pipelines: dict[str, Any], count: int = 9) -> None:
        self.pipelines, self.count = pipelines, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> np.ndarray:
        return np.stack([pipeline(index) for pipeline in self.pipelines.values()])


def same(batch: list) -> list:
    return batch


def two_epochs(dataset: Indexed, workers: int, method: str, persistent: bool) -> np.ndarray:
    """All pixels of both epochs, in order."""
    more = {"multiprocessing_context": method, "persistent_workers": persistent} if workers else {}
    loader = DataLoader(dataset, batch_size=2, num_workers=workers, collate_fn=same, **more)
    out = []
    for epoch in EPOCHS:
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


class Torchvision:
    """A `v2.Compose` of torchvision."""

    def __init__(self, transform: Any) -> None:
        from torchvision.transforms import v2

        self.compose = v2.Compose([v2.PILToTensor(), transform])

    def __call__(self, index: int) -> np.ndarray:
        return self.compose(Pil.fromarray(picture(index))).permute(1, 2, 0).numpy()


class Albumentations:
    """An `A.Compose` of albumentations."""

    def __init__(self, transform: Any) -> None:
        import albumentations

        self.compose = albumentations.Compose([transform])

    def __call__(self, index: int) -> np.ndarray:
        return self.compose(image=picture(index))["image"]


class HuggingFace:
    """A dataset of Hugging Face with a transform."""

    def __init__(self, transform: Any, count: int = 9) -> None:
        import datasets

        images = [Pil.fromarray(picture(index)) for index in range(count)]
        features = datasets.Features({"image": datasets.Image()})
        self.rows = datasets.Dataset.from_dict({"image": images}, features=features).with_transform(transform)

    def __call__(self, index: int) -> np.ndarray:
        return np.asarray(self.rows[index]["image"])


class Maite:
    """An augmentation of MAITE, on batches of one."""

    def __init__(self, augmentation: Any) -> None:
        self.augmentation = augmentation

    def __call__(self, index: int) -> np.ndarray:
        inputs, _, _ = self.augmentation(([picture(index).transpose(2, 0, 1)], [0], [{"id": index}]))
        return inputs[0].transpose(1, 2, 0)
