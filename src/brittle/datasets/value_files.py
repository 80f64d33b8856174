"""Single images of bands, of 16 bits or of floats in files: NumPy arrays, TIFF and PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle.corruptions import DataRange, corrupt
from brittle.datasets.images import UnreadableImage
from brittle.datasets.pictures import severities_for

ARRAY, TIFF, PNG = (".npy",), (".tif", ".tiff"), (".png",)
ENDINGS = (*ARRAY, *TIFF, *PNG)

FITTING = {TIFF: ("uint8", "uint16", "float32", "float64"), PNG: ("uint8", "uint16")}
"""The types of values that a format has; a file of NumPy holds any."""


def corrupt_values(
    source: str | Path,
    destination: str | Path,
    corruptions: Sequence[str],
    severities: Sequence[float] = (),
    *,
    data_range: DataRange | None = None,
    bands: bool = False,
    seed: int = 0,
    sample: str | None = None,
) -> NDArray[Any]:
    """Write one image with its own depth and bands, with corruptions over each other, and give its values.

    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from brittle.datasets import corrupt_values
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scene, foggy = Path(folder) / "scene.npy", Path(folder) / "foggy.npy"
    ...     np.save(scene, np.full((64, 64, 13), 2000, np.uint16))
    ...     values = corrupt_values(scene, foggy, ["fog"], [3], data_range=4095)
    >>> values.shape, values.dtype
    ((64, 64, 13), dtype('uint16'))

    Args:
        source: an .npy, .tif or .png file of one image, H×W or H×W×C; an .npy file may also hold a batch N×H×W×C.
        destination: a file with one of these endings, of a format that has this type of values.
        corruptions: names.
        severities: one for each corruption; without any each has 3.
        data_range: the values of black and white, as in `brittle.corrupt`.
        bands: all channels are bands of data, as in `brittle.corrupt`.
        seed: the seed of the draws.
        sample: the sample id, by default the file's name; images of a batch have their indices.
    """
    suffix = Path(destination).suffix.lower()
    if suffix not in ENDINGS:
        raise BrittleError(f"bands, 16 bits and floats are written to {', '.join(ENDINGS)}; got {str(destination)!r}")
    levels = severities_for(corruptions, severities)
    values = read_values(source)
    _check_format(values, destination)
    identity = None if values.ndim == 4 else sample if sample is not None else Path(source).name
    if values.ndim == 4 and sample is not None:
        raise BrittleError(f"{str(source)!r} holds {len(values)} images, whose sample ids are 0 …; got {sample!r}")
    for name, severity in zip(corruptions, levels, strict=True):
        values = corrupt(values, name, severity, seed=seed, sample=identity, data_range=data_range, bands=bands)
    _write(values, Path(destination))
    return values


def read_values(path: str | Path) -> NDArray[Any]:
    """The values of an .npy, .tif or .png file as they are, channels last and in the order red, green, blue, alpha."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; give an image with the ending {', '.join(ENDINGS)}")
    if path.suffix.lower() in ARRAY:
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (ValueError, EOFError, OSError) as error:
            raise UnreadableImage(f"{str(path)!r} is no array of numbers: {error}") from error
    if path.suffix.lower() not in ENDINGS:
        raise BrittleError(f"values are read from {', '.join(ENDINGS)}; got {str(path)!r}")
    image = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        raise UnreadableImage(f"{str(path)!r} cannot be decoded; save its array with np.save and give the .npy file")
    return _swapped(image)


def _swapped(image: NDArray[Any]) -> NDArray[Any]:
    """Red and blue exchanged, as OpenCV has them."""
    if image.ndim == 2 or image.shape[2] not in (3, 4):
        return image
    return np.ascontiguousarray(image[:, :, [2, 1, 0, 3][: image.shape[2]]])


def _check_format(values: NDArray[Any], destination: str | Path) -> None:
    suffix = Path(destination).suffix.lower()
    for endings, types in FITTING.items():
        if suffix not in endings:
            continue
        count = values.shape[2] if values.ndim == 3 else 1
        if values.ndim not in (2, 3) or count not in (1, 3, 4) or values.dtype.name not in types:
            raise BrittleError(
                f"a {suffix} file holds 1, 3 or 4 channels of {', '.join(types)}, and the image is {values.dtype} of "
                f"shape {values.shape}; write to an .npy file"
            )


def _write(values: NDArray[Any], destination: Path) -> None:
    """Complete or not at all."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(destination) as part:
        if destination.suffix.lower() in ARRAY:
            with part.open("wb") as file:
                np.save(file, values)
            return
        done, data = cv2.imencode(destination.suffix, _swapped(values))
        assert done
        part.write_bytes(data.tobytes())
