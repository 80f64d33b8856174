"""ONNX files of a few nodes: the mean of each channel, times a matrix."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MATRIX = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8}


def write(path: Path, shape: tuple, *, dtype: str = "float32", channels_first: bool = True, **how) -> Path:
    """A classifier of 5 classes; its second output is the one of two axes."""
    axes = [2, 3] if channels_first else [1, 2]
    nodes = [
        helper.make_node("Cast", ["images"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["real", "axes"], ["colour"], keepdims=0),
        helper.make_node("MatMul", ["colour", "matrix"], ["scores"]),
        helper.make_node("ReduceMax", ["scores", "last"], ["best"], keepdims=0),
    ]
    constants = [
        numpy_helper.from_array(np.array(axes, np.int64), "axes"),
        numpy_helper.from_array(np.array([1], np.int64), "last"),
        numpy_helper.from_array(MATRIX * how.pop("scale", 1), "matrix"),
    ]
    graph = helper.make_graph(
        nodes,
        "mean colour",
        [helper.make_tensor_value_info("images", TYPES[dtype], shape)],
        [
            helper.make_tensor_value_info("best", TensorProto.FLOAT, [shape[0]]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [shape[0], 5]),
        ],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path, **how)
    return path
