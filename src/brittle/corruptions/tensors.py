"""Images whose channels come first: C×H×W arrays and tensors, one or a batch. Torch is used only if the caller did."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._parallel import cores, thread_map
from brittle.corruptions.inputs import PLAIN, Reading, check, is_pil, is_suspicious

THREADED_VALUES = 30_000
"""Pictures with fewer values are left to one thread: most of their time is Python's own, which threads do not share."""

COPIED_VALUES = 8_000
"""From so many values on, OpenCV's way from planes to pixels and back is faster than NumPy's."""

Change = Callable[[NDArray[Any]], NDArray[Any] | None]
"""Gives the corrupted H×W×C image, or None if the image stays as it is."""


def is_tensor(value: object) -> bool:
    """Whether it is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def change_planes(planes: Any, change: Change, reading: Reading = PLAIN) -> Any:
    """Change one C×H×W array or tensor; the result has its type, dtype and device, and lies plane after plane.

    So it does if the input's channels lie side by side, as those of decoded pictures: whoever puts a batch together
    copies planes in a tenth of the time.
    """
    array = _array(planes)
    if array.ndim != 3 or not array.size or (is_suspicious(array.shape[0], array.shape[1:]) and not reading.bands):
        raise BrittleError(
            "a C×H×W image has 1, 3 or 4 channels or a few bands, a batch of them is B×C×H×W; got shape "
            f"{tuple(array.shape)}; if the first axis are bands, give bands=True"
        )
    view = array.transpose(1, 2, 0)
    rounded = reading == PLAIN and array.dtype.kind == "f" and array.shape[0] != 4
    if rounded:
        # A float image is rounded before its planes are put together, which then takes a quarter of the time. One with
        # alpha is not, because its alpha is kept as it is.
        check(view)
        view = np.rint(view * 255).astype(np.uint8)
    changed = change(view if view.flags.c_contiguous else _put_together(view))
    if changed is None:
        return planes
    out = _take_apart(changed)
    if rounded:
        out = out.astype(array.dtype) / array.dtype.type(255)
    return _like(planes, out)


def change_batch(batch: Sequence[Any], changes: Sequence[Change], reading: Reading = PLAIN) -> list[Any]:
    """Change each of many C×H×W arrays or tensors, with as many threads as there are processors.

    The compiled loops release the GIL. A data-loader worker has one thread, because its siblings use the other cores.
    """
    return by_threads(partial(change_planes, reading=reading), batch, changes)


def by_threads(work: Callable[[Any, Any], Any], pictures: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """work(picture, other) of each pair, in order; small pictures and those in a data-loader worker by one thread."""
    small = sum(map(_size, pictures)) < THREADED_VALUES * len(pictures)
    threads = 1 if small or _in_worker() else min(cores(), len(pictures))
    return thread_map(lambda place: work(pictures[place], others[place]), len(pictures), max(threads, 1))


def stack_like(batch: Any, tensors: Sequence[Any]) -> Any:
    """The changed images of a batch of tensors as another batch of its type."""
    torch = sys.modules["torch"]
    if batch.is_cpu and batch.dtype is torch.uint8:  # NumPy has no threads that spin beside those of the corruptions
        return _wrap(batch, torch.from_numpy(np.stack([_array(tensor) for tensor in tensors])))
    return _wrap(batch, torch.stack(list(tensors)))


def _size(picture: Any) -> int:
    """The number of values of an array, a tensor or a PIL image."""
    if is_pil(picture):
        return int(picture.width * picture.height * len(picture.getbands()))
    return int(np.prod(getattr(picture, "shape", ())))


def _put_together(view: NDArray[Any]) -> NDArray[Any]:
    """A view of planes as a contiguous H×W×C image."""
    if view.size < COPIED_VALUES:
        return np.ascontiguousarray(view)
    import cv2

    return np.asarray(cv2.merge(list(np.ascontiguousarray(view.transpose(2, 0, 1)))))


def _take_apart(image: NDArray[Any]) -> NDArray[Any]:
    """An H×W×C image as contiguous planes."""
    if image.size < COPIED_VALUES:
        return np.ascontiguousarray(image.transpose(2, 0, 1))
    import cv2

    out = np.empty((image.shape[2], *image.shape[:2]), image.dtype)
    cv2.split(image, list(out))
    return out


def _array(planes: Any) -> NDArray[Any]:
    if isinstance(planes, np.ndarray):
        return planes
    if not is_tensor(planes):
        return np.asarray(planes)
    torch = sys.modules["torch"]
    plain = planes if type(planes) is torch.Tensor else planes.as_subclass(torch.Tensor)
    if plain.requires_grad or not plain.is_cpu:
        plain = plain.detach().cpu()
    if plain.dtype in (torch.float16, torch.bfloat16):
        plain = plain.float()
    array: NDArray[Any] = plain.numpy()
    return array


def _like(planes: Any, array: NDArray[Any]) -> Any:
    if not is_tensor(planes):
        return array
    out = sys.modules["torch"].from_numpy(array)
    if not (planes.is_cpu and planes.dtype == out.dtype):
        out = out.to(device=planes.device, dtype=planes.dtype)
    return _wrap(planes, out)


def _wrap(like: Any, tensor: Any) -> Any:
    """A tensor as one of torchvision's types, if the other one is."""
    types = None if type(like) is sys.modules["torch"].Tensor else sys.modules.get("torchvision.tv_tensors")
    return types.wrap(tensor, like=like) if types is not None and isinstance(like, types.TVTensor) else tensor


def _in_worker() -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None
