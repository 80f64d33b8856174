"""Files that are no weights, metadata that is none of ours, and weights that an ONNX graph names at length."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from brittle import BrittleError
from brittle.benchmarks import load_benchmark
from brittle.models import load_model
from brittle.models.networks import build_network, load_weights, made_with
from brittle.models.onnx import _weight_files
from tests.errors import naming

TEXTS = [b"hello world", b"access denied", b"", b"<html></html>", b"PK\x03\x04nothing", b"\x80\x02N."]


@pytest.mark.parametrize("content", TEXTS, ids=repr)
def test_a_text_is_no_file_of_torch(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.pt"
    path.write_bytes(content)
    with pytest.raises(BrittleError, match=r"net\.pt"):
        load_weights(path)


@pytest.mark.parametrize("network", ["7", "[1]", "{}", "null", "no json", '"small"'])
def test_metadata_of_others_is_named(tmp_path: Path, network: str) -> None:
    metadata = {"network": network, "classes": "[0]" if network != '"small"' else "5", "mean": "[0]", "std": "[1]"}
    path = tmp_path / "net.safetensors"
    save_file({"a": np.ones(3, np.float32)}, path, metadata=metadata)
    with pytest.raises(BrittleError, match=r"net\.safetensors"):
        load_model(str(path))


ODD = {
    "size": ["nonsense", '["a"]', "-5", "1e400", "[" * 5000],
    "crop": ['{"a": 1}', "0"],
    "mean": ["[1e400, 0, 0]", "[NaN, 0, 0]", "[[], 0, 0]", "[" * 5000],
    "std": ['["a", "b", "c"]', "[0, 0, 0]", "[1, 2]"],
    "classes": ["[[], []]", "[1, 2]", "5"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in ODD.items() for value in values])
def test_metadata_that_somebody_changed_is_named(tmp_path: Path, key: str, value: str) -> None:
    path = tmp_path / "net.safetensors"
    sound = {"network": '"small:2"', "classes": '["a", "b"]', "mean": "[0, 0, 0]", "std": "[1, 1, 1]"}
    weights = build_network("small:2", 2).state_dict()
    save_file({name: value.numpy() for name, value in weights.items()}, path, metadata=sound)
    load_model(str(path))
    save_file({name: value.numpy() for name, value in weights.items()}, path, metadata=sound | {key: value})
    with pytest.raises(BrittleError, match=naming("net.safetensors")):
        load_model(str(path))


@pytest.mark.parametrize("length", [5, 127, 128, 200])
def test_weights_beside_a_graph_are_found_by_names_of_any_length(tmp_path: Path, length: int) -> None:
    name = "w" * length
    (tmp_path / name).touch()
    varint = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    graph = b"..\x0a\x08location\x12" + varint + name.encode() + b".."
    assert [file.name for file in _weight_files(tmp_path / "net.onnx", graph)] == [name]


@pytest.mark.parametrize("key", ["name", "title", "source"])
def test_a_number_is_no_text_of_a_recipe(tmp_path: Path, key: str) -> None:
    path = tmp_path / "recipe.toml"
    head = "" if key == "name" else 'name = "x"\n'
    path.write_text(f'{head}{key} = 5\nlevels = [1]\n[[corruption]]\nid = "imagenet-c/fog"\n')
    with pytest.raises(BrittleError, match=key):
        load_benchmark(path)


def test_what_weights_depend_on_can_be_written_down() -> None:
    about = json.loads(json.dumps(made_with()))
    assert set(about) == {"torch", "threads", "processor", "capability"}
    assert about["threads"] >= 1
