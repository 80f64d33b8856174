"""A TFLite file as a model."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
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
from brittle.models.preprocessing import Preprocessing, Sides

INPUT_TYPES = ("float32", "uint8", "int8")
HALF = (0.5, 0.5, 0.5)
"""Mean and std of networks that take pixels from −1 to 1, as most of TFLite do."""


class TfliteModel:
    """A classifier in ai-edge-litert (formerly TFLite).

    The key covers the file and the preprocessing. A pickle of it holds the file.
    """

    device = "cpu"

    def __init__(
        self, content: bytes, name: str, prepare: Preprocessing, *, normalised: bool, background: bool, path: Path
    ) -> None:
        self.path, self.name, self.prepare = path, name, prepare
        self.normalised, self.background = normalised, background
        self.classes: tuple[str, ...] = ()
        how = canonical({"prepare": prepare, "normalised": normalised, "background": background})
        self.key = sha256(how.encode() + content).hexdigest()[:16]
        self._content = content
        self._connect()
        names = _label_file(path)
        names = names[1:] if background and len(names) == self._outputs else names
        self.classes = names if len(names) == self._outputs - background else ()

    def __repr__(self) -> str:
        return f"<TfliteModel {self.name!r}: {str(self.path)!r}>"

    @property
    def preprocessing_text(self) -> str:
        """Size, crop, mean and std in one line, and whether a background class is left out."""
        text = self.prepare.description
        if not self.normalised:
            text = f"{text.partition(';')[0]}; {np.dtype(self._input['dtype']).name} pixels, not normalised"
        return f"{text}; without its background class" if self.background else text

    def scores(self, images: Image) -> Scores:
        """The output, as real numbers; images are shown as many at once as the graph takes, one for most files."""
        size = self.batch_size
        batches = [self._batch(images[start : start + size]) for start in range(0, max(len(images), 1), size)]
        return np.concatenate(batches)

    def replica(self) -> TfliteModel:
        """The same model with an interpreter of its own, for another thread."""
        twin = object.__new__(TfliteModel)
        twin.__setstate__(self.__getstate__())
        return twin

    def _batch(self, images: Image) -> Scores:
        count, inputs = len(images), self._inputs(images)
        if count < self.batch_size:
            padding = np.zeros((self.batch_size - count, *inputs.shape[1:]), inputs.dtype)
            inputs = np.concatenate([inputs, padding])
        self._interpreter.set_tensor(self._input["index"], inputs)
        self._interpreter.invoke()
        output = self._interpreter.get_tensor(self._output["index"])
        scores = output.reshape(self.batch_size, -1)[:count].astype(np.float32)
        scale, zero = self._output["quantization"]
        scores = (scores - zero) * np.float32(scale) if scale else scores
        # Quantised probabilities, and those without the background, no longer add up to 1 and are divided by their sum.
        sums = scores.sum(1, keepdims=True)
        quantised = scale and abs(scale - 1 / 256) < 1e-4
        are_probabilities = (scores >= 0).all() and (quantised or bool((np.abs(sums - 1) < 1e-3).all()))
        scores = scores[:, 1:] if self.background else scores
        if are_probabilities and (quantised or self.background):
            sums = scores.sum(1, keepdims=True)
            scores = np.where(sums > 0, scores / np.where(sums > 0, sums, 1), np.float32(1 / scores.shape[1]))
        return np.asarray(scores, np.float32)

    def _inputs(self, images: Image) -> NDArray[Any]:
        dtype = np.dtype(self._input["dtype"])
        if not self.normalised:
            pixels = self.prepare.pixels(images)
            return pixels if dtype == np.uint8 else (pixels.astype(np.int16) - 128).astype(np.int8)
        numbers: NDArray[Any] = self.prepare.array(images)
        if dtype == np.float32:
            return numbers
        scale, zero = self._input["quantization"]
        limits = np.iinfo(dtype)
        return np.asarray(np.clip(np.round(numbers / scale) + zero, limits.min, limits.max), dtype)

    def _connect(self) -> None:
        self._interpreter = _interpreter(self._content, self.path)
        (self._input,) = self._interpreter.get_input_details()
        (self._output,) = self._interpreter.get_output_details()
        self.batch_size = int(self._input["shape"][0])
        self._outputs = int(np.prod(self._output["shape"][1:]))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_interpreter", "_input", "_output")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect()


def _interpreter(content: bytes, path: Path) -> Any:
    runtime = require("ai_edge_litert.interpreter")
    try:
        interpreter = runtime.Interpreter(model_content=content, num_threads=1)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BrittleError(f"ai-edge-litert cannot open {str(path)!r}: {reason}") from error
    return interpreter


def _label_file(path: Path) -> tuple[str, ...]:
    """The class names in a file that carries them, as TFLite's metadata do: a zip at its end with one text of lines."""
    if not zipfile.is_zipfile(path):
        return ()
    with zipfile.ZipFile(path) as archive:
        texts = [info for info in archive.infolist() if info.filename.endswith(".txt") and info.file_size < 1 << 20]
        lines = archive.read(texts[0]).decode(errors="replace").splitlines() if len(texts) == 1 else []
    return tuple(line.strip() for line in lines)


@model_source("tflite")
def from_tflite(
    path: str | Path,
    *,
    name: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    background: bool | None = None,
    device: str = "auto",
) -> TfliteModel:
    """A classifier from a TFLite file with one image input and one output, run by ai-edge-litert on the CPU.

    A graph of float32 gets pixels from −1 to 1 unless `mean` and `std` say otherwise. A quantised graph, uint8
    or int8, gets pixels as they are, as TFLite's own task library shows them; with `mean` and `std` it gets
    normalised pixels in the quantisation of its input. Images are resized to the input size of the graph.

    Args:
        path: the file.
        name: the name in results; by default the file name.
        mean: of each channel on the scale [0, 1]; `std` likewise.
        size: resize the shorter side to this first, if there is a `crop`.
        crop: the side of the central crop, which is the input side of the graph.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        background: leave out output 0, the background class of TensorFlow's first networks; by default if there are
            1001 outputs, so that the others are ImageNet's 1000.
        device: "cpu" or "auto"; there are no others.
    """
    if device not in ("auto", "cpu"):
        raise BrittleError(f"a TFLite file runs on the CPU; device is auto or cpu, got {device!r}")
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no TFLite file {str(path)!r}")
    content = path.read_bytes()
    if content[4:8] != b"TFL3":
        raise BrittleError(f"{str(path)!r} is not a TFLite file: it does not have the mark TFL3")
    graph = _interpreter(content, path)
    inputs, outputs = graph.get_input_details(), graph.get_output_details()
    shape = list(inputs[0]["shape"]) if inputs else []
    if len(inputs) != 1 or len(shape) != 4 or shape[3] != 3 or np.dtype(inputs[0]["dtype"]).name not in INPUT_TYPES:
        given = ", ".join(f"{np.dtype(part['dtype']).name} {[int(n) for n in part['shape']]}" for part in inputs)
        raise BrittleError(
            f"{str(path)!r} must take one batch of images N×H×W×3 of {', '.join(INPUT_TYPES)}; it takes {given}"
        )
    signature = [int(number) for number in inputs[0].get("shape_signature", shape)]
    if min(signature[1:]) < 0:
        raise BrittleError(f"{str(path)!r} takes images of any size, {signature}; convert it with a fixed one")
    classes = [int(number) for number in outputs[0]["shape"]] if outputs else []
    count = int(np.prod(classes[1:])) if len(classes) >= 2 else 0
    if len(outputs) != 1 or count < 2 or count != max(classes[1:]) or classes[0] != shape[0]:
        raise BrittleError(
            f"{str(path)!r} must give one row of class scores an image; it gives {len(outputs)} outputs, the first of "
            f"shape {classes}; detectors and segmenters are not classifiers"
        )
    normalised = inputs[0]["dtype"] == np.float32 or mean is not None or std is not None
    if normalised and inputs[0]["dtype"] != np.float32 and not inputs[0]["quantization"][0]:
        raise BrittleError(f"the input of {str(path)!r} has no quantisation; leave mean and std out")
    sides = (int(shape[1]), int(shape[2]))
    prepare = Preprocessing(
        tuple(mean or HALF), tuple(std or HALF), size or (None if crop else sides), crop, interpolation
    )
    if prepare.shown != sides:
        raise BrittleError(f"{str(path)!r} takes images of {sides}; size and crop would give {prepare.shown}")
    background = count == 1001 if background is None else background
    return TfliteModel(content, name or path.stem, prepare, normalised=normalised, background=background, path=path)
