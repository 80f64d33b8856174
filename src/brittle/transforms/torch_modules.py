"""The corruption of images as a torch module, for torchvision's transforms.v2."""

from __future__ import annotations

from typing import Any

import torch

from brittle._errors import BrittleError
from brittle.corruptions import Transform
from brittle.transforms.samples import SampleIds


class CorruptImages(torch.nn.Module):
    """What `as_torchvision` returns."""

    def __init__(self, transform: Transform, sample_key: str) -> None:
        super().__init__()
        self.transform, self.sample_key = transform, sample_key
        self.ids = SampleIds()

    def set_epoch(self, epoch: int) -> None:
        """Draw anew for every sample; workers see it too, unless an `Indexed` dataset has an epoch of its own."""
        self.ids.epoch.set(epoch)

    def forward(self, *inputs: Any, sample: Any = None) -> Any:
        """Corrupt the images among the inputs; all else passes through."""
        given = inputs[0] if len(inputs) == 1 else inputs
        if type(given) is torch.Tensor and given.ndim in (3, 4):  # what most calls are
            return self._corrupt(given, sample)
        leaves = list(_leaves(given))
        images = [leaf for _, leaf in leaves if _is_image(leaf)]
        if not images:  # as in torchvision: a plain tensor is the image if nothing else is
            images = [leaf for _, leaf in leaves if type(leaf) is torch.Tensor and leaf.ndim in (3, 4)][:1]
        if not images:
            kinds = ", ".join(sorted({type(leaf).__name__ for _, leaf in leaves})) or "nothing"
            raise BrittleError(f"no image among the inputs: give a tensor, tv_tensors.Image or PIL image; got {kinds}")
        others = [(key, leaf) for key, leaf in leaves if not any(leaf is image for image in images)]
        for key, leaf in others:
            self.transform.check_labels(images[0], {key: leaf})
            sample = leaf if sample is None and key == self.sample_key else sample
        replaced = {id(image): self._corrupt(image, sample) for image in images}
        return _replace(given, replaced)

    def _corrupt(self, image: Any, sample: Any) -> Any:
        if not isinstance(image, torch.Tensor):
            changed = self.transform.change(image, self.ids.of(sample))
            return image if changed is None else changed
        if image.ndim != 4:
            return self.transform.change_tensor(image, self.ids.of(sample))
        if sample is not None and (not hasattr(sample, "__len__") or len(sample) != len(image)):
            raise BrittleError(f"a batch of {len(image)} images needs {len(image)} sample ids, got {sample!r}")
        known = [None] * len(image) if sample is None else list(sample)
        return self.transform.change_tensor(image, [self.ids.of(each, i) for i, each in enumerate(known)])

    def extra_repr(self) -> str:
        """The corruptions and their settings."""
        return repr(self.transform)


def _is_image(leaf: Any) -> bool:
    if isinstance(leaf, torch.Tensor):
        return type(leaf).__module__.startswith("torchvision.") and type(leaf).__name__ in ("Image", "Video")
    return hasattr(leaf, "getbands") and hasattr(leaf, "convert")


def _leaves(value: Any, key: str = "") -> Any:
    """(name, value) of everything in nested dicts, lists and tuples."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, str(name))
    elif isinstance(value, list | tuple) and not (value and all(isinstance(item, int | str | float) for item in value)):
        for item in value:
            yield from _leaves(item, key)
    else:
        yield key, value


def _replace(value: Any, replaced: dict[int, Any]) -> Any:
    if id(value) in replaced:
        return replaced[id(value)]
    if isinstance(value, dict):
        return type(value)((key, _replace(item, replaced)) for key, item in value.items())
    if isinstance(value, list | tuple):
        items = [_replace(item, replaced) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
