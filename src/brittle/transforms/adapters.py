"""The adapters: one call for each library gives an object that its pipelines take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from brittle._errors import BrittleError
from brittle._optional import require
from brittle.corruptions import Corruption, Transform, by_threads, change_batch, get_corruption, is_tensor
from brittle.transforms.samples import SampleIds

Corruptions = str | Corruption | Sequence[str | Corruption]
Severity = float | tuple[float, float]


def as_torchvision(
    corruptions: Corruptions, severity: Severity = (1, 5), *, sample_key: str = "sample", **settings: Any
) -> Any:
    """An `nn.Module` for a `torchvision.transforms.v2.Compose`; torchvision itself is not needed.

    Takes C×H×W and B×C×H×W tensors (uint8, or float in [0, 1]), PIL images and `tv_tensors.Image`, alone or inside
    tuples and dicts; labels pass through. A batch is corrupted by all cores. Masks, boxes and keypoints are refused if
    one of the corruptions moves pixels. The sample id is `sample=` of the call, or what a dict has under `sample_key`;
    else the index of an `Indexed` dataset, else a checksum of the pixels.

    Args:
        corruptions: one name, or several of which one is drawn for each image.
        severity: a number, or a range (low, high) to draw from.
        sample_key: the key of the sample id in inputs that are dicts.
        settings: `seed`, `p`, `table`, `data_range`, `bands` and options of the corruption, as in `brittle.Transform`.
    """
    require("torch")
    from brittle.transforms.torch_modules import CorruptImages

    return CorruptImages(Transform(corruptions, severity, **settings), sample_key)


def as_albumentations(
    corruptions: Corruptions,
    severity: Severity = (1, 5),
    *,
    seed: int = 0,
    p: float = 1.0,
    table: int | None = None,
    sample_key: str = "sample",
    **options: Any,
) -> Any:
    """A transform for albumentations 1.4 and 2.0, and for `augmentations=` of Ultralytics.

    It can be saved by `A.to_dict`, and replayed by `A.ReplayCompose`; a process that only loads it imports
    `brittle.transforms.albumentations_classes` first. The sample id is what the call has under `sample_key`
    (`compose(image=image, sample=7)`); else the index of an `Indexed` dataset, else a checksum of the pixels.
    What a `Compose` draws by itself, such as the choice of a `OneOf`, comes from its own seed.

    Args:
        corruptions: one name, or several of which one is drawn for each image.
        severity: a number, or a range (low, high) to draw from.
        seed: the seed of all draws.
        p: the probability that an image is corrupted, drawn by its sample id.
        table: as in `brittle.corrupt`.
        sample_key: the key of the sample id.
        options: `data_range`, `bands` and options of the corruption, as in `brittle.Transform`.
    """
    require("albumentations")
    from brittle.transforms.albumentations_classes import CorruptGeometry, CorruptImage

    names = [corruptions] if isinstance(corruptions, str | Corruption) else list(corruptions)
    moves = any(get_corruption(name).moves_pixels for name in names)
    return (CorruptGeometry if moves else CorruptImage)(corruptions, severity, seed, p, table, sample_key, options)


def as_maite(
    corruptions: Corruptions, severity: Severity = (1, 5), *, sample_key: str = "id", **settings: Any
) -> MaiteAugmentation:
    """An Augmentation of the MAITE protocols: a batch (inputs, targets, metadata) in, another out.

    Inputs are C×H×W arrays or tensors, uint8, or float in [0, 1]; the sample id is the `id` of a datum's metadata.
    Targets with boxes or masks are refused if one of the corruptions moves pixels. MAITE itself is not needed.

    >>> import brittle, numpy as np
    >>> fog = brittle.transforms.as_maite("fog", severity=3)
    >>> images, targets, metadata = fog(([np.zeros((3, 32, 32), np.uint8)], [None], [{"id": "cat.jpg"}]))
    >>> images[0].shape
    (3, 32, 32)

    Args:
        corruptions: one name, or several of which one is drawn for each image.
        severity: a number, or a range (low, high) to draw from.
        sample_key: the key of the sample id in the metadata.
        settings: `seed`, `p`, `table`, `data_range`, `bands` and options of the corruption, as in `brittle.Transform`.
    """
    return MaiteAugmentation(Transform(corruptions, severity, **settings), sample_key)


def as_huggingface(
    corruptions: Corruptions,
    severity: Severity = (1, 5),
    *,
    image: str = "image",
    sample_key: str = "sample",
    **settings: Any,
) -> ColumnTransform:
    """A function for `with_transform` of Hugging Face's datasets: corrupts a column of images.

    The sample id is what a row has in the column `sample_key`; else the index of an `Indexed` dataset, else a
    checksum of the pixels.

    Args:
        corruptions: one name, or several of which one is drawn for each image.
        severity: a number, or a range (low, high) to draw from.
        image: the column of images, PIL or H×W×C.
        sample_key: the column of sample ids, if there is one.
        settings: `seed`, `p`, `table`, `data_range`, `bands` and options of the corruption, as in `brittle.Transform`.
    """
    return ColumnTransform(Transform(corruptions, severity, **settings), image, sample_key)


class MaiteAugmentation:
    """What `as_maite` returns."""

    def __init__(self, transform: Transform, sample_key: str) -> None:
        self.transform, self.sample_key = transform, sample_key
        self.ids = SampleIds()
        self.metadata = {"id": repr(transform)}

    def set_epoch(self, epoch: int) -> None:
        """Draw anew for every sample."""
        self.ids.epoch.set(epoch)

    def __call__(self, batch: tuple[Any, Any, Any]) -> tuple[list[Any], Any, Any]:
        """Corrupt the inputs of a batch; targets and metadata pass through."""
        inputs, targets, metadata = batch
        if not len(inputs) == len(targets) == len(metadata):
            lengths = f"{len(inputs)}, {len(targets)} and {len(metadata)}"
            raise BrittleError(f"a batch has as many inputs as targets and metadata, got {lengths}")
        for position, (tensor, target, datum) in enumerate(zip(inputs, targets, metadata, strict=True)):
            if not isinstance(datum, Mapping) or self.sample_key not in datum:
                raise BrittleError(f"the metadata of datum {position} has no {self.sample_key!r}, got {datum!r}")
            names = [name for name in ("boxes", "masks", "keypoints") if hasattr(target, name)]
            labels = {name: getattr(target, name) for name in names} if names else {"target": target}
            self.transform.check_labels(tensor, labels)
        ids = [self.ids.of(datum[self.sample_key]) for datum in metadata]
        changes = [partial(self.transform.change, sample=sample) for sample in ids]
        return change_batch(list(inputs), changes, self.transform.reading), targets, metadata


class ColumnTransform:
    """What `as_huggingface` returns."""

    def __init__(self, transform: Transform, image: str, sample_key: str) -> None:
        self.transform, self.image, self.sample_key = transform, image, sample_key
        self.ids = SampleIds()

    def set_epoch(self, epoch: int) -> None:
        """Draw anew for every sample; workers see it too, unless an `Indexed` dataset has an epoch of its own."""
        self.ids.epoch.set(epoch)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Corrupt the images of a batch of rows, given as columns."""
        if self.image not in batch:
            raise BrittleError(f"there is no column {self.image!r}; there are: {', '.join(map(str, batch))}")
        images = batch[self.image]
        labels = {name: column for name, column in batch.items() if name not in (self.image, self.sample_key)}
        for name, column in labels.items() if self.transform.moving else ():
            for image, value in zip(images, column, strict=True):
                self.transform.check_labels(image, {name: value})
        known = batch.get(self.sample_key)
        known = [None] * len(images) if known is None else known
        places = range(len(images)) if len(images) > 1 else [None]
        ids = [self.ids.of(given, place) for given, place in zip(known, places, strict=True)]
        return {**batch, self.image: by_threads(self._corrupted, images, ids)}

    def _corrupted(self, image: Any, sample: Any) -> Any:
        if is_tensor(image):  # of a dataset with the format "torch"
            return self.transform.change_tensor(image, sample)
        changed = self.transform.change(image, sample)
        return image if changed is None else changed
