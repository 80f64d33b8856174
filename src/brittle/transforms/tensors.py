"""Corrupt C×H×W arrays and tensors, one or a batch of them, by all cores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._parallel import cores
from brittle.corruptions import Sample, Transform, corrupt

PIXELS_PER_THREAD = 100_000
"""Fewer pixels than this do not pay for one more thread."""

Id = Callable[[NDArray[Any]], Sample]
"""Gives the sample id of an H×W×C image."""


def corrupted_tensor(transform: Transform, tensor: Any, sample: Id) -> Any:
    """Corrupt one C×H×W array or tensor, and return one of its type, dtype and device."""
    planes = _numpy(tensor)
    if planes.ndim != 3 or planes.size == 0:
        raise BrittleError(f"an image is C×H×W, a batch B×C×H×W; got shape {planes.shape}")
    image = channels_last(planes)
    identity = sample(image)
    drawn = transform.draw(identity)
    if drawn is None:
        return tensor
    out = corrupt(image, *drawn, seed=transform.seed, sample=identity, **transform.options)
    return _like(tensor, channels_first(out))


def corrupted_batch(transform: Transform, tensors: Sequence[Any], samples: Sequence[Id]) -> list[Any]:
    """Corrupt many; the compiled loops release the GIL, so that threads use all cores. Inside a worker there is one."""
    pixels = sum(int(np.prod(tensor.shape)) for tensor in tensors)
    threads = 1 if _in_worker() else min(cores(), len(tensors), 1 + pixels // PIXELS_PER_THREAD)
    if threads == 1:
        return [corrupted_tensor(transform, *each) for each in zip(tensors, samples, strict=True)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(corrupted_tensor, [transform] * len(tensors), tensors, samples))


def channels_last(planes: NDArray[Any]) -> NDArray[Any]:
    """C×H×W as a contiguous H×W×C; OpenCV does it many times faster than NumPy."""
    import cv2

    if planes.shape[0] == 1:
        return np.ascontiguousarray(planes[0])[:, :, np.newaxis]
    return np.asarray(cv2.merge([np.ascontiguousarray(plane) for plane in planes]))


def channels_first(image: NDArray[Any]) -> NDArray[Any]:
    """H×W×C as a contiguous C×H×W."""
    import cv2

    if image.shape[2] == 1:
        return image[:, :, 0][np.newaxis]
    out = np.empty((image.shape[2], *image.shape[:2]), image.dtype)
    cv2.split(image, list(out))
    return out


def _numpy(tensor: Any) -> NDArray[Any]:
    if isinstance(tensor, np.ndarray):
        return tensor
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        plain = tensor.detach().cpu()
        if plain.dtype in (torch.float16, torch.bfloat16):
            plain = plain.float()
        array: NDArray[Any] = plain.numpy()
        return array
    return np.asarray(tensor)


def _like(tensor: Any, array: NDArray[Any]) -> Any:
    if isinstance(tensor, np.ndarray) or not hasattr(tensor, "new_tensor"):
        return array
    out = sys.modules["torch"].from_numpy(array).to(device=tensor.device, dtype=tensor.dtype)
    types = sys.modules.get("torchvision.tv_tensors")
    return types.wrap(out, like=tensor) if types is not None and isinstance(tensor, types.TVTensor) else out


def _in_worker() -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None
