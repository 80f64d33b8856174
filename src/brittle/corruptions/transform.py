"""Corruptions as training augmentation, for pipelines that know nothing of sample ids."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import check_seed
from brittle.corruptions import images
from brittle.corruptions.draws import Draws, Sample
from brittle.corruptions.images import corrupt
from brittle.corruptions.registry import Corruption, get_corruption
from brittle.corruptions.severity import check_severity

PLACES = ("mask", "masks", "bbox", "bboxes", "box", "boxes", "keypoint", "keypoints")
"""What pipelines call labels that belong to places in the picture."""

PLACE_TYPES = ("Mask", "BoundingBoxes", "KeyPoints")
"""The types that torchvision gives such labels."""


class Transform:
    """A callable that corrupts each image with a severity drawn for it.

    >>> import brittle
    >>> augment = brittle.Transform(["contrast", "brightness"], severity=(1, 3), p=0.5)
    >>> image = brittle.datasets.photo("cat")
    >>> augment(image).shape == image.shape
    True

    Works as a torchvision-v2 style transform (`t(image)`, `t(image, label)`), with named data
    (`t(image=image, mask=mask)["image"]`), and inside any `torch.utils.data.Dataset`. What is not the image passes
    through unchanged; masks, boxes, keypoints and other arrays of the image's height and width only if none of the
    corruptions moves pixels (`brittle list` shows which do), because they would stay behind. In albumentations wrap
    it, `A.Lambda(image=lambda image, **_: t(image))`: there it sees the image alone, so choose corruptions that do not
    move pixels if there are masks or boxes.

    Takes one image of a kind that `brittle.corrupt` takes, or a torch tensor (C×H×W, uint8, or float in [0, 1]). Every
    image is checked, also one that is not drawn to be corrupted.

    Calls are numbered, and each number is a sample id. In a data-loader worker the worker's own seed, which
    torch changes every epoch, is part of the id. `t.apply(image, sample=…)` is the same without counting.

    Args:
        corruptions: one name, or several of which one is drawn for each image.
        severity: a number, or a range (low, high) to draw from uniformly.
        seed: another seed gives other draws.
        p: the share of images to corrupt; the rest pass through unchanged.
        table: as in `brittle.corrupt`.
        options: what the corruption itself offers.
    """

    def __init__(
        self,
        corruptions: str | Corruption | Sequence[str | Corruption],
        severity: float | tuple[float, float] = (1, 5),
        *,
        seed: int = 0,
        p: float = 1.0,
        table: int | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(corruptions, str | Corruption | list | tuple):
            raise BrittleTypeError(f"name a corruption or a list of them, got {corruptions!r}")
        several = [corruptions] if isinstance(corruptions, str | Corruption) else list(corruptions)
        if not several:
            raise BrittleError("a Transform needs at least one corruption, got an empty list")
        self.names = [get_corruption(name).id for name in several]
        pair = severity if isinstance(severity, tuple | list) else (severity, severity)
        if len(pair) != 2:
            raise BrittleError(f"severity is a number or a range (low, high), got {severity!r}")
        low, high = pair
        for name in self.names:
            chosen = get_corruption(name)
            chosen.check_options(options)
            chosen.check_table(table)
            check_severity(low, chosen.max_severity)
            check_severity(high, chosen.max_severity)
        if low > high:
            raise BrittleError(f"a severity range goes from low to high, got {severity!r}")
        if not isinstance(p, float | int) or not 0 <= p <= 1:
            raise BrittleError(f"p is a share between 0 and 1, got {p!r}")
        self.severity = (float(low), float(high))
        self.seed = check_seed(seed)
        self.p = p
        self.options = {**options, "table": table}
        self._calls = count(1)

    def apply(self, image: Any, sample: Sample) -> Any:
        """Corrupt one image; the same sample id always gets the same corruption, severity and noise."""
        array = _array(image) if _is_tensor(image) else image
        images.check(array)
        if getattr(array, "ndim", 3) == 4:
            raise BrittleError(f"a Transform takes one image at a time, got a batch of shape {array.shape}")
        draws = Draws(self.seed, "brittle.Transform", sample)
        if draws.uniform("apply") >= self.p:
            return image
        name = self.names[draws.integer("corruption", len(self.names))]
        severity = draws.uniform("severity", *self.severity)
        changed = corrupt(array, name, severity, seed=self.seed, sample=sample, **self.options)
        return _tensor_like(image, changed) if _is_tensor(image) else changed

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Corrupt the first positional input, or the one named `image`; everything else passes through."""
        sample = f"{_worker()}{next(self._calls)}"
        if named:
            if inputs or "image" not in named:
                raise BrittleTypeError("call a Transform as t(image), t(image, label, …) or t(image=image, …)")
            self._check_labels(named["image"], {key: value for key, value in named.items() if key != "image"})
            return {**named, "image": self.apply(named["image"], sample)}
        if not inputs:
            raise BrittleTypeError("a Transform needs an image: t(image)")
        self._check_labels(inputs[0], {f"input {place}": value for place, value in enumerate(inputs[1:], 2)})
        out = self.apply(inputs[0], sample)
        return out if len(inputs) == 1 else (out, *inputs[1:])

    def _check_labels(self, image: Any, labels: dict[str, Any]) -> None:
        """Raise if labels belong to places of the picture and a corruption may move what is there."""
        moving = [name for name in self.names if get_corruption(name).moves_pixels]
        bound = [name for name, value in labels.items() if _is_bound(image, name, value)] if moving else []
        if bound:
            raise BrittleError(
                f"{', '.join(moving)} moves pixels, so what was given as {', '.join(bound)} would no longer fit the "
                "picture; leave such corruptions out (`brittle list` shows which move pixels), or call the Transform "
                "with the image alone if its labels do not depend on places"
            )

    def __repr__(self) -> str:
        low, high = self.severity
        return f"Transform({', '.join(self.names)}, severity=({low:g}, {high:g}), seed={self.seed}, p={self.p:g})"


def _worker() -> str:
    """What tells this data-loader worker and epoch from others; nothing outside torch."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    return f"{info.seed}/" if info is not None else ""


def _is_tensor(image: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(image, torch.Tensor)


def _is_bound(image: Any, name: str, value: Any) -> bool:
    """Whether a label belongs to places of the picture: by its name, its type, or as an array of the same sides."""
    if value is None:
        return False
    if name in PLACES or type(value).__name__ in PLACE_TYPES:
        return True
    if isinstance(value, dict):  # a target of a detector
        return any(_is_bound(image, str(key), item) for key, item in value.items())
    sides = _sides(image)
    return sides is not None and min(sides) > 1 and _sides(value) == sides


def _sides(picture: Any) -> tuple[int, int] | None:
    """Height and width of what may be a picture or a mask."""
    if images.is_pil(picture):
        return picture.height, picture.width
    shape = tuple(getattr(picture, "shape", ()))
    if len(shape) < 2:
        return None
    last = len(shape) == 2 or _is_tensor(picture)
    return (shape[-2], shape[-1]) if last else (shape[0], shape[1])


def _array(tensor: Any) -> Any:
    """A torch image as H×W×C."""
    if tensor.ndim != 3 or tensor.shape[0] not in (1, 3, 4):
        raise BrittleError(f"a tensor image is C×H×W with 1, 3 or 4 channels, got shape {tuple(tensor.shape)}")
    return np.ascontiguousarray(tensor.detach().cpu().numpy().transpose(1, 2, 0))


def _tensor_like(tensor: Any, changed: Any) -> Any:
    torch = sys.modules["torch"]
    return torch.from_numpy(np.ascontiguousarray(changed.transpose(2, 0, 1))).to(
        device=tensor.device, dtype=tensor.dtype
    )
