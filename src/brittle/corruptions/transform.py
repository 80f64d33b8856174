"""Corruptions as training augmentation, for pipelines without sample ids."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import check_seed
from brittle.corruptions import inputs
from brittle.corruptions.images import Draws, Sample, batch_ids, corrupt
from brittle.corruptions.inputs import DataRange
from brittle.corruptions.registry import Corruption, get_corruption
from brittle.corruptions.severity import check_severity
from brittle.corruptions.tensors import change_batch, change_planes, is_tensor, stack_like

SPATIAL_NAMES = ("mask", "masks", "bbox", "bboxes", "box", "boxes", "keypoint", "keypoints", "segmentation", "polygons")
"""Names of spatial labels in common pipelines."""

SPATIAL_TYPES = ("Mask", "BoundingBoxes", "KeyPoints")
"""Types of spatial labels in torchvision."""


class Transform:
    """A callable that corrupts each image with a severity drawn for it.

    >>> import brittle
    >>> augment = brittle.Transform(["contrast", "brightness"], severity=(1, 3), p=0.5)
    >>> image = brittle.datasets.photo("cat")
    >>> augment(image).shape == image.shape
    True

    Works as a torchvision-v2 style transform (`t(image)`, `t(image, label)`), with named data
    (`t(image=image, mask=mask)["image"]`), and inside any `torch.utils.data.Dataset`. Other inputs
    pass through unchanged; masks, boxes, keypoints and other arrays of the image's height and width only if none of the
    corruptions moves pixels (`brittle list` shows which do), because they would no longer fit. In albumentations use
    `brittle.transforms.as_albumentations`, which sees masks and boxes too.

    Takes one image of a kind that `brittle.corrupt` takes, or a torch tensor C×H×W of such values, or a batch of
    tensors (B×C×H×W), which is corrupted by all cores. Every image is checked, even if it is not corrupted.

    Images are numbered as they come, those of a batch one after the other, and each number is a sample id. In a
    data-loader worker the seed of the worker, which torch changes every epoch, is part of the id.
    `t.apply(image, sample=…)` is the same without counting.

    Args:
        corruptions: one name, or several of which one is drawn for each image.
        severity: a number, or a range (low, high) to draw from uniformly.
        seed: the seed of all draws.
        p: the probability that an image is corrupted; others pass through unchanged.
        table, data_range, bands: as in `brittle.corrupt`.
        options: options of the corruption.
    """

    def __init__(
        self,
        corruptions: str | Corruption | Sequence[str | Corruption],
        severity: float | tuple[float, float] = (1, 5),
        *,
        seed: int = 0,
        p: float = 1.0,
        table: int | None = None,
        data_range: DataRange | None = None,
        bands: bool = False,
        **options: Any,
    ) -> None:
        if not isinstance(corruptions, str | Corruption | list | tuple):
            raise BrittleTypeError(f"name a corruption or a list of them, got {corruptions!r}")
        given_corruptions = [corruptions] if isinstance(corruptions, str | Corruption) else list(corruptions)
        if not given_corruptions:
            raise BrittleError("a Transform needs at least one corruption, got an empty list")
        self.names = [get_corruption(name).id for name in given_corruptions]
        bounds = severity if isinstance(severity, tuple | list) else (severity, severity)
        if len(bounds) != 2:
            raise BrittleError(f"severity is a number or a range (low, high), got {severity!r}")
        low, high = bounds
        for name in self.names:
            chosen = get_corruption(name)
            chosen.check_options(options)
            chosen.check_table(table)
            check_severity(low, chosen.max_severity)
            check_severity(high, chosen.max_severity)
        if low > high:
            raise BrittleError(f"a severity range goes from low to high, got {severity!r}")
        if not isinstance(p, float | int) or not 0 <= p <= 1:
            raise BrittleError(f"p is a probability between 0 and 1, got {p!r}")
        self.severity = (float(low), float(high))
        self.seed = check_seed(seed)
        self.p = p
        self.reading = inputs.reading_of(data_range, bands)
        reading = {"data_range": data_range, "bands": bands} if self.reading != inputs.PLAIN else {}
        self.options = {**options, "table": table, **reading}
        self.moving = [name for name in self.names if get_corruption(name).moves_pixels]
        self._calls = count(1)

    def apply(self, image: Any, sample: Any) -> Any:
        """Corrupt one image; the same sample id always gets the same corruption, severity and noise.

        A batch of tensors takes a sequence of ids; each image gets what it gets alone.
        """
        if is_tensor(image):
            return self.change_tensor(image, sample if image.ndim != 4 else batch_ids(sample, len(image)))
        if getattr(image, "ndim", 3) == 4:
            raise BrittleError(
                f"a Transform takes one image at a time, or a batch of tensors B×C×H×W; got an array of {image.shape}"
            )
        changed = self.change(image, sample)
        return image if changed is None else changed

    def change(self, image: Any, sample: Sample | Callable[[Any], Sample]) -> Any:
        """As `apply`, for all but tensors; None if the image is left alone. A function gives the id of the image."""
        inputs.check(image, self.reading)
        identity = sample(image) if callable(sample) else sample
        drawn = self.draw(identity)
        return None if drawn is None else corrupt(image, *drawn, seed=self.seed, sample=identity, **self.options)

    def change_tensor(self, tensor: Any, sample: Any) -> Any:
        """As `apply`, for C×H×W arrays and tensors and for batches of tensors; ids may be functions of the image."""
        if tensor.ndim != 4:
            return change_planes(tensor, partial(self.change, sample=sample), self.reading)
        if len(tensor) == 0:
            raise BrittleError(f"got an empty batch of shape {tuple(tensor.shape)}; give at least one image")
        changes = [partial(self.change, sample=each) for each in sample]
        return stack_like(tensor, change_batch(list(tensor), changes, self.reading))

    def draw(self, sample: Sample, *, always: bool = False) -> tuple[str, float] | None:
        """The corruption and severity that a sample id gets; None if it is left alone, which `always` rules out."""
        draws = Draws(self.seed, "brittle.Transform", sample)
        if not always and self.p < 1 and draws.uniform("apply") >= self.p:
            return None
        name = self.names[draws.integer("corruption", len(self.names)) if len(self.names) > 1 else 0]
        low, high = self.severity
        return name, low if low == high else draws.uniform("severity", low, high)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Corrupt the first positional input, or the one named `image`; everything else passes through."""
        if named:
            if inputs or "image" not in named:
                raise BrittleTypeError("call a Transform as t(image), t(image, label, …) or t(image=image, …)")
            self.check_labels(named["image"], {key: value for key, value in named.items() if key != "image"})
            return {**named, "image": self._apply_next(named["image"])}
        if not inputs:
            raise BrittleTypeError("a Transform needs an image: t(image)")
        self.check_labels(inputs[0], {f"input {position}": value for position, value in enumerate(inputs[1:], 2)})
        out = self._apply_next(inputs[0])
        return out if len(inputs) == 1 else (out, *inputs[1:])

    def _apply_next(self, image: Any) -> Any:
        """Apply it with the next number as the sample id, or the next numbers."""
        worker = _worker()
        if is_tensor(image) and image.ndim == 4:
            return self.apply(image, [f"{worker}{next(self._calls)}" for _ in range(len(image))])
        return self.apply(image, f"{worker}{next(self._calls)}")

    def check_labels(self, image: Any, labels: dict[str, Any]) -> None:
        """Raise if there are spatial labels and a corruption may move pixels."""
        if not self.moving:
            return
        spatial = [name for name, value in labels.items() if _is_spatial(image, name, value)]
        if spatial:
            raise BrittleError(
                f"{', '.join(self.moving)} moves pixels, so {', '.join(spatial)} would no longer fit the image; leave "
                "such corruptions out (`brittle list` shows which move pixels), or call the Transform with the image "
                "alone if its labels are not spatial"
            )

    def __repr__(self) -> str:
        low, high = self.severity
        return f"Transform({', '.join(self.names)}, severity=({low:g}, {high:g}), seed={self.seed}, p={self.p:g})"


def _worker() -> str:
    """The seed of this data-loader worker and epoch; empty outside of torch workers."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    return f"{info.seed}/" if info is not None else ""


def _is_spatial(image: Any, name: str, value: Any) -> bool:
    """Whether a label is spatial: by its name, its type, or as an array with the sides of the image."""
    if value is None:
        return False
    if name in SPATIAL_NAMES or type(value).__name__ in SPATIAL_TYPES:
        return True
    if isinstance(value, dict):  # a target of a detector
        return any(_is_spatial(image, str(key), item) for key, item in value.items())
    if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
        return any(_is_spatial(image, "", item) for item in value)
    sides = _sides(image)
    return sides is not None and min(sides) > 1 and _sides(value) == sides


def _sides(picture: Any) -> tuple[int, int] | None:
    """Height and width of an image or a mask; None for anything else."""
    if inputs.is_pil(picture):
        return picture.height, picture.width
    shape = tuple(getattr(picture, "shape", ()))
    if len(shape) < 2:
        return None
    spatial_axes_last = len(shape) == 2 or is_tensor(picture)
    return (shape[-2], shape[-1]) if spatial_axes_last else (shape[0], shape[1])
