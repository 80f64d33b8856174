"""TFLite files of every number type give what their graph says, by an interpreter that stands in for ai-edge-litert."""

import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from brittle import BrittleError
from brittle.evaluation.cell import probabilities
from brittle.models import Preprocessing, load_model
from tests.models.networks import images

GRAPHS: dict[bytes, dict] = {}
SIDE = 8


class Interpreter:
    """The mean of each channel, as one score each, in the types of a graph; a fourth output is 0."""

    def __init__(self, model_content: bytes, num_threads: int) -> None:
        assert num_threads == 1
        self.graph = GRAPHS[model_content[8:]]

    def allocate_tensors(self) -> None:
        pass

    def get_input_details(self) -> list[dict]:
        shape = np.array(self.graph.get("shape", (1, SIDE, SIDE, 3)))
        return [{"index": 0, "shape": shape, "dtype": self.graph["dtype"], "quantization": self.graph["input"]}]

    def get_output_details(self) -> list[dict]:
        shape = np.array((1, self.graph.get("outputs", 3)))
        return [{"index": 1, "shape": shape, "quantization": self.graph["output"]}] * self.graph.get("count", 1)

    def set_tensor(self, _: int, values: np.ndarray) -> None:
        assert (values.dtype, values.shape) == (self.graph["dtype"], (1, SIDE, SIDE, 3))
        self.values = values

    def invoke(self) -> None:
        scale, zero = self.graph["input"]
        self.real = (self.values.astype(float) - zero) * (scale or 1)

    def get_tensor(self, _: int) -> np.ndarray:
        means = self.real.mean((1, 2))
        row = self.graph.get("row")
        return np.array([row]) if row is not None else means.astype(np.float32)


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package, module = ModuleType("ai_edge_litert"), ModuleType("ai_edge_litert.interpreter")
    module.Interpreter = Interpreter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ai_edge_litert", package)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", module)

    def write(dtype: type = np.float32, **settings: object) -> Path:
        key = f"graph {len(GRAPHS)}".encode()
        GRAPHS[key] = {"dtype": dtype, "input": (0.0, 0), "output": (0.0, 0), **settings}
        path = tmp_path / f"net{len(GRAPHS)}.tflite"
        path.write_bytes(b"\0\0\0\0TFL3" + key)
        return path

    return write


@pytest.mark.parametrize(
    ("dtype", "quantised", "options", "tolerance"),
    [
        (np.float32, (0.0, 0), {}, 1e-5),
        (np.float32, (0.0, 0), {"mean": (0.4,) * 3, "std": (0.2,) * 3}, 1e-5),
        (np.uint8, (1 / 127.5, 127.5), {}, 1e-5),
        (np.int8, (1 / 127.5, -0.5), {}, 1e-5),
        (np.uint8, (0.02, 120), {"mean": (0.5,) * 3}, 0.02),
        (np.int8, (0.02, 3), {"std": (0.5,) * 3}, 0.02),
    ],
)
def test_every_number_type_sees_the_same_pixels(graph, dtype, quantised, options, tolerance) -> None:
    model = load_model(graph(dtype, input=quantised), **options)
    given = images(3, 12, 10)
    prepare = Preprocessing(options.get("mean", (0.5,) * 3), options.get("std", (0.5,) * 3), SIDE)
    np.testing.assert_allclose(model.scores(given), prepare.array(given).mean((1, 2)), atol=tolerance)
    for twin in (model.replica(), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.scores(given), model.scores(given))
        assert twin.key == model.key


def test_the_background_class_is_left_out_and_quantised_probabilities_stay_probabilities(graph) -> None:
    row = np.zeros(1001, np.float32)
    row[[0, 8]] = 0.5, 0.5
    scores = load_model(graph(outputs=1001, row=row)).scores(images(1, 8, 8))
    assert (scores.shape, scores.argmax(), scores.max()) == ((1, 1000), 7, 1)
    assert load_model(graph(outputs=1001, row=row), background=False).scores(images(1, 8, 8)).shape == (1, 1001)
    row = np.array([100, 50, 100], np.uint8)
    scores = load_model(graph(row=row, output=(1 / 256, 0))).scores(images(1, 8, 8))
    np.testing.assert_allclose(probabilities(scores), [[0.4, 0.2, 0.4]], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"shape": (1, 8, 8, 1)}, {}),
        ({"count": 4}, {}),
        ({"outputs": 1}, {}),
        ({"dtype": np.int32}, {}),
        ({}, {"size": 9}),
        ({}, {"device": "cuda"}),
        ({"dtype": np.uint8}, {"mean": (0.5,) * 3}),
    ],
)
def test_what_is_no_classifier_is_refused(graph, settings: dict, options: dict) -> None:
    with pytest.raises(BrittleError, match=r"net|cuda"):
        load_model(graph(**settings), **options)


def test_a_file_that_is_no_tflite_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(b"<html>not found</html>")
    with pytest.raises(BrittleError, match="TFL3"):
        load_model(tmp_path / "net.tflite")
    with pytest.raises(FileNotFoundError):
        load_model("nowhere.tflite")
