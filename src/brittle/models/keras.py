"""A network of Keras as a model, from an object or from a .keras file, on any backend."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, BrittleTypeError
from brittle._identity import canonical
from brittle._optional import require
from brittle._types import Image
from brittle.models.model import Scores, as_array, model_source
from brittle.models.preprocessing import Preprocessing, Sides

BACKENDS = ("tensorflow", "jax", "torch")
"""What Keras can compute with, in the order in which it is looked for where KERAS_BACKEND names none."""

AS_IT_IS = (0.0,) * 3, (1 / 255,) * 3
"""Mean and standard deviation on the scale [0, 1] that leave pixels on that of 0 to 255."""


def is_keras(thing: Any) -> bool:
    """Whether something is a network of Keras, known by its methods, so that no package is imported."""
    needed = ("get_config", "get_weights", "predict_on_batch", "__call__")
    return not isinstance(thing, type) and all(callable(getattr(thing, name, None)) for name in needed)


class KerasModel:
    """A classifier in Keras that takes N×H×W×3 of float32.

    The key covers layers, weights and preprocessing; of a file its bytes. A pickle of it holds the network as Keras
    saves it.
    """

    classes: tuple[str, ...] = ()
    device = "cpu"

    def __init__(self, network: Any, name: str, prepare: Preprocessing, identity: bytes) -> None:
        self.network, self.name, self.prepare = network, name, prepare
        self.key = sha256(canonical({"prepare": prepare}).encode() + identity).hexdigest()[:16]
        self.origin = ""

    def __repr__(self) -> str:
        return f"<KerasModel {self.name!r}: {self.network.count_params():,} parameters>"

    @property
    def preprocessing_text(self) -> str:
        """Size, crop, mean and std in one line."""
        text = self.prepare.description
        if self._as_it_is:
            return f"{text.partition(';')[0]}; pixels from 0 to 255, not normalised"
        return text

    def scores(self, images: Image) -> Scores:
        """The output of the network for a batch."""
        pixels = self.prepare.pixels(images).astype(np.float32) if self._as_it_is else self.prepare.array(images)
        return np.asarray(as_array(self.network.predict_on_batch(pixels)), np.float32)

    @property
    def _as_it_is(self) -> bool:
        return (self.prepare.mean, self.prepare.std) == AS_IT_IS


def from_keras(
    network: Any,
    *,
    name: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    version: str | None = None,
) -> KerasModel:
    """A model from a network of Keras that takes N×H×W×3 and gives class scores.

    It is given pixels from 0 to 255, as networks with a layer `Rescaling` want them, unless `mean` or `std` say
    otherwise; images are resized to its input size if that is fixed.

    Args:
        network: a `keras.Model`.
        name: the name in results; by default that of the network.
        mean: of each channel on the scale [0, 1]; `std` likewise. 0.5 and 0.5 give pixels from −1 to 1.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and width.
        crop: the side of the central crop.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        version: part of the key, for changes that neither weights nor configuration show.
    """
    if not is_keras(network):
        raise BrittleTypeError(f"a network of Keras is a keras.Model, got {network!r} ({type(network).__name__})")
    hasher = sha256(json.dumps([network.get_config(), version], sort_keys=True, default=str).encode())
    for weight in map(np.asarray, network.get_weights()):
        hasher.update(f"{weight.dtype} {weight.shape}".encode())
        hasher.update(np.ascontiguousarray(weight).tobytes())
    prepare = _preprocessing(network, network.name, mean, std, size, crop, interpolation)
    return KerasModel(network, name or str(network.name), prepare, hasher.digest())


@model_source("keras")
def from_keras_file(
    path: str | Path,
    *,
    name: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    device: str = "auto",
) -> KerasModel:
    """A model from a .keras file, loaded with `safe_mode=True`, by which Keras refuses code that the file brings along.

    Args:
        path: the file, as `model.save("net.keras")` of Keras 3 writes it.
        name: the name in results; by default the file name.
        mean: replaces pixels from 0 to 255 by normalised ones, as `std`; `size`, `crop` and `interpolation` as for
            `from_keras`.
        device: "auto"; the backend of Keras chooses its own.
    """
    if device != "auto" and device.partition(":")[0] not in ("cpu", "cuda", "mps"):
        raise BrittleError(f"device must be auto, cpu, mps, cuda or cuda:<number>, got {device!r}")
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no Keras file {str(path)!r}")
    content = path.read_bytes()
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise BrittleError(
            f"{str(path)!r} is no .keras file of Keras 3, or it is truncated; older .h5 files may bring code along and "
            'are not read: load one where you trust it, and save it again by model.save("net.keras")'
        )
    network = _loaded(path)
    prepare = _preprocessing(network, repr(str(path)), mean, std, size, crop, interpolation)
    return KerasModel(network, name or path.stem, prepare, content)


def _loaded(path: Path) -> Any:
    keras = _keras()
    try:
        network = keras.saving.load_model(str(path), compile=False, safe_mode=True)
    except (OSError, ValueError, TypeError, KeyError, ImportError, AttributeError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())[:300]
        raise BrittleError(f"Keras cannot open {str(path)!r}: {reason}") from error
    return network


def _keras() -> Any:
    """Keras on the backend that KERAS_BACKEND names, or else on the first that is installed."""
    installed = [backend for backend in BACKENDS if find_spec(backend) is not None]
    if installed and "KERAS_BACKEND" not in os.environ and not Path("~/.keras/keras.json").expanduser().is_file():
        os.environ["KERAS_BACKEND"] = installed[0]
    return require("keras")


def _preprocessing(
    network: Any,
    where: str,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    size: int | Sides | None,
    crop: int | Sides | None,
    interpolation: str,
) -> Preprocessing:
    shape = getattr(network, "input_shape", None)
    if shape is not None and (not isinstance(shape, tuple) or len(shape) != 4 or shape[3] not in (3, None)):
        raise BrittleError(f"{where} must take one batch of images N×H×W×3; it takes {shape}")
    sides = None if shape is None or None in shape[1:3] else (int(shape[1]), int(shape[2]))
    means, deviations = AS_IT_IS if mean is None and std is None else ((0.0,) * 3, (1.0,) * 3)
    prepare = Preprocessing(
        tuple(mean or means), tuple(std or deviations), size or (None if crop else sides), crop, interpolation
    )
    if sides is not None and prepare.shown != sides:
        raise BrittleError(f"{where} takes images of {sides}; size and crop would give {prepare.shown}")
    return prepare
