"""ONNX files of every layout, batch size and number type give what their graph says."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.models import Preprocessing, from_onnx
from tests.errors import naming
from tests.models.graphs import MATRIX, write
from tests.models.networks import images

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
STANDARD = Preprocessing(MEAN, STD)


def expected(given: np.ndarray, prepare: Preprocessing = STANDARD) -> np.ndarray:
    return prepare.array(given).mean((1, 2)) @ MATRIX


@pytest.mark.parametrize("batch", ["n", 1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("channels_first", [True, False])
@pytest.mark.parametrize("side", [24, "s"])
def test_scores_are_those_of_the_graph(tmp_path: Path, batch, dtype: str, channels_first: bool, side) -> None:
    shape = (batch, 3, side, side) if channels_first else (batch, side, side, 3)
    path = write(tmp_path / "net.onnx", shape, dtype=dtype, channels_first=channels_first)
    model = from_onnx(path, mean=MEAN, std=STD)
    prepare = STANDARD if side == "s" else Preprocessing(MEAN, STD, 24)
    for count in (1, 4, 6):
        given = images(count, 40, 30)
        wanted = expected(given, prepare)
        if dtype == "uint8":
            wanted = prepare.pixels(given).mean((1, 2)) @ MATRIX
        np.testing.assert_allclose(model.scores(given), wanted, rtol=1e-3, atol=1e-2 if dtype == "float16" else 1e-4)
    assert (model.name, model.batch_size) == ("net", batch if isinstance(batch, int) else None)


def test_size_crop_and_interpolation_are_used(tmp_path: Path) -> None:
    path = write(tmp_path / "net.onnx", ("n", 3, "h", "w"))
    how = {"size": 36, "crop": (32, 20), "interpolation": "bicubic"}
    given = images(3, 40, 64)
    model = from_onnx(path, mean=MEAN, std=STD, name="mine", **how)
    np.testing.assert_allclose(model.scores(given), expected(given, Preprocessing(MEAN, STD, **how)), atol=1e-4)
    assert model.name == "mine"


@pytest.mark.parametrize("alone", [True, False], ids=["one file", "weights beside it"])
def test_the_key_names_all_weights_and_a_model_can_travel(tmp_path: Path, alone: bool) -> None:
    how = {} if alone else {"save_as_external_data": True, "location": "beside.bin", "size_threshold": 64}
    path = write(tmp_path / "net.onnx", ("n", 3, 32, 32), **how)
    assert (tmp_path / "beside.bin").exists() != alone
    model = from_onnx(path, mean=MEAN, std=STD)
    text, given = pickle.dumps(model), images(3)
    if alone:
        path.rename(tmp_path / "elsewhere.onnx")
    again = pickle.loads(text)
    assert again.key == model.key
    np.testing.assert_array_equal(again.scores(given), model.scores(given))
    if not alone:
        (tmp_path / "beside.bin").unlink()
    other = from_onnx(write(tmp_path / "net.onnx", ("n", 3, 32, 32), scale=2, **how), mean=MEAN, std=STD)
    assert other.key != model.key
    assert from_onnx(path).key != other.key
    np.testing.assert_allclose(other.scores(given), 2 * model.scores(given), rtol=1e-4)


@pytest.mark.parametrize("place", ["above", "absolute", "link"])
def test_weights_outside_the_folder_of_the_graph_are_refused(tmp_path: Path, place: str) -> None:
    onnx = pytest.importorskip("onnx")
    (tmp_path / "in").mkdir()
    how = {"save_as_external_data": True, "location": "beside.bin", "size_threshold": 64}
    path = write(tmp_path / "in" / "net.onnx", ("n", 3, 32, 32), **how)
    from_onnx(path)
    outside = (tmp_path / "in" / "beside.bin").rename(tmp_path / "outside.bin")
    (tmp_path / "in" / "link").symlink_to(outside)
    graph = onnx.load(path, load_external_data=False)
    [location] = [e for weights in graph.graph.initializer for e in weights.external_data if e.key == "location"]
    location.value = {"above": "../outside.bin", "absolute": str(outside), "link": "link"}[place]
    path.write_bytes(graph.SerializeToString())
    with pytest.raises(BrittleError, match=naming(repr(str(path)))):
        from_onnx(path)


@pytest.mark.parametrize(
    ("shape", "options", "values"),
    [
        (("n", "c", "h", "w"), {}, ("net.onnx", "['n', 'c', 'h', 'w']", "layout='NCHW'", "'NHWC'")),
        (("n", 3, 3, 3), {}, ("net.onnx", "['n', 3, 3, 3]", "layout='NCHW'")),
        (("n", 3, 32, 32), {"layout": "NHWC"}, ("net.onnx", "['n', 3, 32, 32]", "NHWC")),
        (("n", 3, 32, 32), {"layout": "HWC"}, ("layout", "auto", "NCHW", "NHWC", "'HWC'")),
        (("n", 3, 32, 32), {"size": 64}, ("net.onnx", "(32, 32)", "(64, 64)")),
        (("n", 3, "h", 32), {"size": 64, "crop": 40}, ("net.onnx", "('h', 32)", "(40, 40)")),
        (("n", 3, 32, 32), {"device": "gpu"}, ("device", "auto", "cpu", "cuda", "providers")),
        (("n", 3, 32, 32), {"device": "cpu:1"}, ("device", "auto", "cpu", "cuda", "providers")),
        (("n", 3, 32, 32), {"providers": ["Magic"]}, ("'Magic'", "CPUExecutionProvider")),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, shape: tuple, options: dict, values: tuple) -> None:
    path = write(tmp_path / "net.onnx", shape)
    with pytest.raises(BrittleError, match=naming(*values)):
        from_onnx(path, **options)


def test_a_layout_that_is_given_is_used(tmp_path: Path) -> None:
    path = write(tmp_path / "net.onnx", ("n", "h", "w", "c"), channels_first=False)
    model = from_onnx(path, mean=MEAN, std=STD, layout="NHWC", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(model.scores(images(2)), expected(images(2)), atol=1e-4)


def test_files_that_are_no_image_classifiers_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(BrittleError, match=naming("onnxruntime", "text.onnx")):
        from_onnx(tmp_path / "text.onnx")
    with pytest.raises(FileNotFoundError, match=naming("nothing.onnx")):
        from_onnx(tmp_path / "nothing.onnx")


@pytest.mark.parametrize("name", [b"images", b"scores", b"MatMul"])
def test_names_that_are_no_text_are_one_sentence_and_nothing_else_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: bytes
) -> None:
    path = write(tmp_path / "net.onnx", ("n", 3, 24, 24))
    path.write_bytes(path.read_bytes().replace(name, b"\xe1" + name[1:]))
    with pytest.raises(BrittleError, match=naming("onnxruntime", "net.onnx")):
        from_onnx(path)
    assert capfd.readouterr().out == ""
