"""An ONNX graph as a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.models.model import Scores
from brittle.models.needs import needs
from brittle.models.preprocessing import Preprocessing

INPUT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


class OnnxModel:
    """A classifier in onnxruntime.

    The key names the file, the weights it keeps in other files, and the preprocessing. A pickle of it holds the file,
    unless its weights are in other files: then these must be where they were.
    """

    def __init__(self, session: Any, path: Path, name: str, prepare: Preprocessing, *, channels_first: bool) -> None:
        self.path, self.name, self.prepare, self.channels_first = path, name, prepare, channels_first
        self.key = _key(path, repr((prepare, channels_first)))
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
        runtime = needs("onnxruntime")
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
