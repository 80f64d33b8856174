"""Corruptions as training augmentation, for pipelines that know nothing of sample ids."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from brittle.corruptions import images
from brittle.corruptions.corrupt import corrupt
from brittle.corruptions.draws import Draws, Sample, check_seed
from brittle.corruptions.registry import Corruption, find
from brittle.corruptions.severity import check_severity


class Transform:
    """A callable that corrupts each image with a severity drawn for it.

    Works as a torchvision-v2 style transform (`t(image)`, `t(image, label)`: what follows the image passes
    through), as an albumentations one (`t(image=image, mask=mask)["image"]`) and inside any
    `torch.utils.data.Dataset`. Takes what `brittle.corrupt` takes, and torch tensors (C×H×W, uint8 or float).

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
            raise TypeError(f"name a corruption or a list of them, got {corruptions!r}")
        several = [corruptions] if isinstance(corruptions, str | Corruption) else list(corruptions)
        if not several:
            raise ValueError("a Transform needs at least one corruption, got an empty list")
        self.names = [find(name).id for name in several]
        pair = severity if isinstance(severity, tuple | list) else (severity, severity)
        if len(pair) != 2:
            raise ValueError(f"severity is a number or a range (low, high), got {severity!r}")
        low, high = pair
        for name in self.names:
            chosen = find(name)
            chosen.check_options(options)
            chosen.check_table(table)
            check_severity(low, chosen.max_severity)
            check_severity(high, chosen.max_severity)
        if low > high:
            raise ValueError(f"a severity range goes from low to high, got {severity!r}")
        if not isinstance(p, float | int) or not 0 <= p <= 1:
            raise ValueError(f"p is a share between 0 and 1, got {p!r}")
        self.severity = (float(low), float(high))
        self.seed = check_seed(seed)
        self.p = p
        self.options = {**options, "table": table}
        self._calls = count(1)

    def apply(self, image: Any, sample: Sample) -> Any:
        """Corrupt one image; the same sample id always gets the same corruption, severity and noise."""
        if not _is_tensor(image):
            images.check(image)
        draws = Draws(self.seed, "brittle.Transform", sample)
        if draws.uniform("apply") >= self.p:
            return image
        name = self.names[draws.integer("corruption", len(self.names))]
        severity = draws.uniform("severity", *self.severity)
        if _is_tensor(image):
            return _on_tensor(image, lambda array: self._corrupt(array, name, severity, sample))
        return self._corrupt(image, name, severity, sample)

    def _corrupt(self, image: Any, name: str, severity: float, sample: Sample) -> Any:
        return corrupt(image, name, severity, seed=self.seed, sample=sample, **self.options)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Corrupt the first positional input, or the one named `image`; everything else passes through."""
        sample = f"{_worker()}{next(self._calls)}"
        if named:
            if inputs or "image" not in named:
                raise TypeError("call a Transform as t(image), t(image, label, …) or t(image=image, …)")
            return {**named, "image": self.apply(named["image"], sample)}
        if not inputs:
            raise TypeError("a Transform needs an image: t(image)")
        out = self.apply(inputs[0], sample)
        return out if len(inputs) == 1 else (out, *inputs[1:])

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


def _on_tensor(tensor: Any, change: Any) -> Any:
    if tensor.ndim != 3 or tensor.shape[0] not in (1, 3, 4):
        raise ValueError(f"a tensor image is C×H×W with 1, 3 or 4 channels, got shape {tuple(tensor.shape)}")
    array = np.ascontiguousarray(tensor.detach().cpu().numpy().transpose(1, 2, 0))
    changed = np.ascontiguousarray(change(array).transpose(2, 0, 1))
    torch = sys.modules["torch"]
    return torch.from_numpy(changed).to(device=tensor.device, dtype=tensor.dtype)
