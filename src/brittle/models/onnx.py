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

    The key covers the file, external weight files, and the preprocessing. A pickle of it holds the file, unless its
    weights are in external files: then these must still be at their path.
    """

    def __init__(self, session: Any, path: Path, name: str, prepare: Preprocessing, *, channels_first: bool) -> None:
        self.path, self.name, self.prepare, self.channels_first = path, name, prepare, channels_first
        self.key = _key(path, canonical({"prepare": prepare, "channels_first": channels_first}))
        self._connect(session)

    def __repr__(self) -> str:
        return f"<OnnxModel {self.name!r}: {str(self.path)!r}>"

    @property
    def preprocessing_text(self) -> str:
        """Size, crop, mean and std in one line; a graph that takes uint8 normalises images itself."""
        description = self.prepare.description
        return f"{description.partition(';')[0]}; uint8, not normalised" if self._dtype == np.uint8 else description

    def scores(self, images: Image) -> Scores:
        """The first output with two axes; batches are padded to the batch size of the graph if it is fixed."""
        size = self.batch_size or max(len(images), 1)
        batches = [self._batch(images[start : start + size], size) for start in range(0, max(len(images), 1), size)]
        return np.concatenate(batches)

    def _batch(self, images: Image, size: int) -> Scores:
        if self._dtype == np.uint8:
            inputs: NDArray[Any] = self.prepare.pixels(images)
        else:
            inputs = self.prepare.array(images).astype(self._dtype)
        if self.batch_size is not None and len(inputs) < size:
            inputs = np.concatenate([inputs, np.zeros((size - len(inputs), *inputs.shape[1:]), inputs.dtype)])
        if self.channels_first:
            inputs = inputs.transpose(0, 3, 1, 2)
        (scores,) = self._session.run([self._output], {self._input: np.ascontiguousarray(inputs)})
        return np.asarray(scores[: len(images)], np.float32)

    def _connect(self, session: Any) -> None:
        self._session = session
        (graph_input,) = session.get_inputs()
        self._input, self._dtype = graph_input.name, INPUT_TYPES[graph_input.type]
        self.device = "cuda" if session.get_providers()[0] == "CUDAExecutionProvider" else "cpu"
        self.batch_size: int | None = graph_input.shape[0] if isinstance(graph_input.shape[0], int) else None
        outputs = session.get_outputs()
        self._output = next((output for output in outputs if len(output.shape) == 2), outputs[0]).name

    def __getstate__(self) -> dict[str, Any]:
        graph = self.path.read_bytes()
        self_contained = not list(_weight_files(self.path, graph))
        providers = list(self._session.get_provider_options().items())
        return {**self.__dict__, "_session": (graph if self_contained else str(self.path), providers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        graph, providers = state.pop("_session")
        self.__dict__.update(state)
        runtime = require("onnxruntime")
        self._connect(open_session(runtime, graph, providers))


def open_session(runtime: Any, graph: str | bytes, providers: Sequence[Any]) -> Any:
    """A session of onnxruntime, which by itself prints a failure, and tries again on the processor."""
    return runtime.InferenceSession(graph, session_options(runtime), providers=providers, enable_fallback=0)


def session_options(runtime: Any) -> Any:
    """Options of a session whose threads sleep while they wait, as those of torch, see `wait_passively`."""
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _key(path: Path, preprocessing: str) -> str:
    graph = path.read_bytes()
    digest = sha256(preprocessing.encode())
    digest.update(graph)
    for weights in _weight_files(path, graph):
        with weights.open("rb") as file:
            while part := file.read(1 << 24):
                digest.update(part)
    return digest.hexdigest()[:16]


def _weight_files(path: Path, graph: bytes) -> Iterator[Path]:
    """External weight files of a graph, named by the entries "location" of the protobuf."""
    names = set()
    for match in re.finditer(rb"\x0a\x08location\x12([\x80-\xff]*[\x00-\x7f])", graph, re.DOTALL):
        length = sum((byte & 127) << (7 * place) for place, byte in enumerate(match[1]))  # a varint of protobuf
        names.add(graph[match.end() : match.end() + length])
    for name in sorted(names):
        file = path.parent / name.decode(errors="replace")
        if file.is_file():
            yield file


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

    A graph with uint8 input gets images without normalisation by `mean` and `std`; images are resized to the input size
    of the graph if it is fixed.

    Args:
        path: the file.
        name: the name in results; by default the file name.
        mean: of each channel on the scale [0, 1]; `std` likewise. By default those of ImageNet.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and width.
        crop: the side of the central crop.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        layout: "NCHW" or "NHWC", if the graph does not show which axis has the 3 channels.
        device: "cpu", "cuda" or "auto", for the default providers.
        providers: those of onnxruntime, in order, instead of a device.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no ONNX file {str(path)!r}")
    runtime = require("onnxruntime")
    chosen_providers = _providers(runtime, device, providers)
    try:
        session = open_session(runtime, str(path), chosen_providers)
        inputs = session.get_inputs()
        for each in (*inputs, *session.get_outputs()):
            str(each)  # raises if a name is no text
    except Exception as error:  # onnxruntime has an exception per status, none of them public
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"onnxruntime cannot open {str(path)!r}: {reason}") from error
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in INPUT_TYPES:
        signature = ", ".join(f"{graph_input.name}: {graph_input.type} {graph_input.shape}" for graph_input in inputs)
        raise BrittleError(
            f"{str(path)!r} must take one batch of images, four axes of {', '.join(INPUT_TYPES)}; it takes {signature}"
        )
    channels_first = _channels_first(path, inputs[0].shape, layout)
    sides = inputs[0].shape[2:] if channels_first else inputs[0].shape[1:3]
    if all(isinstance(side, int) for side in sides) and size is None and crop is None:
        size = tuple(sides)
    prepare = Preprocessing(tuple(mean), tuple(std), size, crop, interpolation)
    for expected, actual in zip(sides, prepare.shown or sides, strict=True):
        if isinstance(expected, int) and expected != actual:
            raise BrittleError(
                f"{str(path)!r} takes images of {tuple(sides)}; size and crop would give {prepare.shown}"
            )
    return OnnxModel(session, path, name or path.stem, prepare, channels_first=channels_first)


def _channels_first(path: Path, shape: list[Any], layout: str) -> bool:
    if layout not in LAYOUTS:
        raise BrittleError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    nchw, nhwc = shape[1] == 3, shape[3] == 3
    if layout == "auto" and nchw == nhwc:
        raise BrittleError(
            f"{str(path)!r} takes {shape}, which does not show its channel axis; give layout='NCHW' or 'NHWC'"
        )
    channels = shape[3 if layout == "NHWC" else 1]
    if layout != "auto" and isinstance(channels, int) and channels != 3:
        raise BrittleError(f"{str(path)!r} takes {shape}, which does not have 3 channels as {layout}")
    return nchw if layout == "auto" else layout == "NCHW"


def _providers(runtime: Any, device: str, providers: Sequence[str] | None) -> list[Any]:
    """The requested providers, or those of a device, with the CPU as fallback."""
    available = runtime.get_available_providers()
    for provider in providers or ():
        if provider not in available:
            raise BrittleError(f"this onnxruntime has no {provider!r}; it has: {', '.join(available)}")
    if providers:
        return list(providers)
    device_type, _, index = device.partition(":")
    if device_type == "auto":
        device_type = "cuda" if PROVIDERS["cuda"] in available else "cpu"
    if device_type not in PROVIDERS or (index and not (index.isdecimal() and device_type == "cuda")):
        raise BrittleError(f"device must be auto, cpu, mps, cuda or cuda:<number>, got {device!r}; or give providers")
    if PROVIDERS[device_type] not in available:
        raise BrittleError(f"this onnxruntime cannot use {device!r}; it has: {', '.join(available)}")
    options = {"device_id": index} if index else {}
    return [(PROVIDERS[device_type], options)] + ([] if device_type == "cpu" else [PROVIDERS["cpu"]])
