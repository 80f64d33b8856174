"""An ONNX file as a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._identity import canonical
from brittle._optional import require
from brittle._types import Image
from brittle.models.model import Scores, model_source
from brittle.models.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing, Sides

INPUT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


class OnnxModel:
    """A classifier in onnxruntime.

    The key names the file, the weights it keeps in other files, and the preprocessing. A pickle of it holds the file,
    unless its weights are in other files: then these must be where they were.
    """

    def __init__(self, session: Any, path: Path, name: str, prepare: Preprocessing, *, channels_first: bool) -> None:
        self.path, self.name, self.prepare, self.channels_first = path, name, prepare, channels_first
        self.key = _key(path, canonical({"prepare": prepare, "channels_first": channels_first}))
        self._connect(session)

    def __repr__(self) -> str:
        return f"<OnnxModel {self.name!r}: {str(self.path)!r}>"

    @property
    def preprocessing_in_words(self) -> str:
        """Size, crop, mean and std in one line; a graph that takes uint8 normalises images itself."""
        words = self.prepare.in_words
        return f"{words.partition(';')[0]}; uint8, not normalised" if self._dtype == np.uint8 else words

    def scores(self, images: Image) -> Scores:
        """What the first output of two axes gives; a graph with a fixed batch size is fed batches filled up to it."""
        size = self.batch_size or max(len(images), 1)
        given = [self._batch(images[start : start + size], size) for start in range(0, max(len(images), 1), size)]
        return np.concatenate(given)

    def _batch(self, images: Image, size: int) -> Scores:
        if self._dtype == np.uint8:
            shown: NDArray[Any] = self.prepare.pixels(images)
        else:
            shown = self.prepare.array(images).astype(self._dtype)
        if self.batch_size is not None and len(shown) < size:
            shown = np.concatenate([shown, np.zeros((size - len(shown), *shown.shape[1:]), shown.dtype)])
        if self.channels_first:
            shown = shown.transpose(0, 3, 1, 2)
        (scores,) = self._session.run([self._output], {self._input: np.ascontiguousarray(shown)})
        return np.asarray(scores[: len(images)], np.float32)

    def _connect(self, session: Any) -> None:
        self._session = session
        (given,) = session.get_inputs()
        self._input, self._dtype = given.name, INPUT_TYPES[given.type]
        self.device = "cuda" if session.get_providers()[0] == "CUDAExecutionProvider" else "cpu"
        self.batch_size: int | None = given.shape[0] if isinstance(given.shape[0], int) else None
        outputs = session.get_outputs()
        self._output = next((output for output in outputs if len(output.shape) == 2), outputs[0]).name

    def __getstate__(self) -> dict[str, Any]:
        graph = self.path.read_bytes()
        alone = not list(_other_files(self.path, graph))
        providers = list(self._session.get_provider_options().items())
        return {**self.__dict__, "_session": (graph if alone else str(self.path), providers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        graph, providers = state.pop("_session")
        self.__dict__.update(state)
        runtime = require("onnxruntime")
        self._connect(runtime.InferenceSession(graph, session_options(runtime), providers=providers))


def session_options(runtime: Any) -> Any:
    """Options of a session whose threads sleep while they wait, as torch's do, see `wait_passively`."""
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _key(path: Path, preprocessing: str) -> str:
    graph = path.read_bytes()
    seen = sha256(preprocessing.encode())
    seen.update(graph)
    for other in _other_files(path, graph):
        with other.open("rb") as file:
            while part := file.read(1 << 24):
                seen.update(part)
    return seen.hexdigest()[:16]


def _other_files(path: Path, graph: bytes) -> Iterator[Path]:
    """Files beside a graph that hold its weights: an entry "location" of the protobuf names each."""
    names = set()
    for match in re.finditer(rb"\x0a\x08location\x12(.)", graph, re.DOTALL):
        names.add(graph[match.end() : match.end() + match[1][0]])
    for name in sorted(names):
        other = path.parent / name.decode(errors="replace")
        if other.is_file():
            yield other


LAYOUTS = ("auto", "NCHW", "NHWC")
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "mps": "CoreMLExecutionProvider"}


@model_source("onnx")
def from_onnx(
    path: str | Path,
    *,
    name: str | None = None,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    layout: str = "auto",
    device: str = "auto",
    providers: Sequence[str] | None = None,
) -> OnnxModel:
    """A classifier from an ONNX file with one image input, run by onnxruntime.

    A graph that takes uint8 is shown images as they are, without `mean` and `std`; one of a fixed size is shown images
    of that size.

    Args:
        path: the file.
        name: what results call it; by default the file's name.
        mean: of each channel on the scale [0, 1]; `std` likewise. Those of ImageNet unless told otherwise.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and width.
        crop: show the central part of this side.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        layout: "NCHW" or "NHWC", if the graph does not say which axis has the 3 channels.
        device: "cpu", "cuda" or "auto", for the usual providers.
        providers: those of onnxruntime, in order, instead of a device.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no ONNX file {str(path)!r}")
    runtime = require("onnxruntime")
    chosen = _providers(runtime, device, providers)
    try:
        session = runtime.InferenceSession(str(path), session_options(runtime), providers=chosen)
    except Exception as error:  # onnxruntime has an exception for each status, none of them public
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"onnxruntime cannot open {str(path)!r}: {reason}") from error
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in INPUT_TYPES:
        found = ", ".join(f"{given.name}: {given.type} {given.shape}" for given in inputs)
        raise BrittleError(
            f"{str(path)!r} must take one batch of images, four axes of {', '.join(INPUT_TYPES)}; it takes {found}"
        )
    channels_first = _channels_first(path, inputs[0].shape, layout)
    sides = inputs[0].shape[2:] if channels_first else inputs[0].shape[1:3]
    if all(isinstance(side, int) for side in sides) and size is None and crop is None:
        size = tuple(sides)
    prepare = Preprocessing(tuple(mean), tuple(std), size, crop, interpolation)
    for wanted, shown in zip(sides, prepare.shown or sides, strict=True):
        if isinstance(wanted, int) and wanted != shown:
            raise BrittleError(
                f"{str(path)!r} takes images of {tuple(sides)}; size and crop would give {prepare.shown}"
            )
    return OnnxModel(session, path, name or path.stem, prepare, channels_first=channels_first)


def _channels_first(path: Path, shape: list[Any], layout: str) -> bool:
    if layout not in LAYOUTS:
        raise BrittleError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    first, last = shape[1] == 3, shape[3] == 3
    if layout == "auto" and first == last:
        raise BrittleError(
            f"{str(path)!r} takes {shape}, which does not tell the channels; give layout='NCHW' or 'NHWC'"
        )
    wrong = shape[3 if layout == "NHWC" else 1]
    if layout != "auto" and isinstance(wrong, int) and wrong != 3:
        raise BrittleError(f"{str(path)!r} takes {shape}, which has not 3 channels as {layout}")
    return first if layout == "auto" else layout == "NCHW"


def _providers(runtime: Any, device: str, providers: Sequence[str] | None) -> list[Any]:
    """Those that were asked for, or those of a device, with the CPU for what it cannot do."""
    available = runtime.get_available_providers()
    for provider in providers or ():
        if provider not in available:
            raise BrittleError(f"this onnxruntime has no {provider!r}; it has: {', '.join(available)}")
    if providers:
        return list(providers)
    kind, _, index = device.partition(":")
    if kind == "auto":
        kind = "cuda" if PROVIDERS["cuda"] in available else "cpu"
    if kind not in PROVIDERS or (index and not (index.isdecimal() and kind == "cuda")):
        raise BrittleError(f"device must be auto, cpu, mps, cuda or cuda:<number>, got {device!r}; or give providers")
    if PROVIDERS[kind] not in available:
        raise BrittleError(f"this onnxruntime cannot use {device!r}; it has: {', '.join(available)}")
    options = {"device_id": index} if index else {}
    return [(PROVIDERS[kind], options)] + ([] if kind == "cpu" else [PROVIDERS["cpu"]])
