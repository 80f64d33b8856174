"""A file of torch.export as a module: its graph is run node by node, without the loader of torch.

That loader (read in torch 2.13) opens pickles that may hold any code, in place of weights, constants and example
inputs, evaluates the texts of sizes as Python, and loads compiled libraries. Here the weights are read as bytes and the
graph as JSON, and only operators of aten are called.
"""

from __future__ import annotations

import io
import json
import math
import operator
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from brittle._errors import BrittleError
from brittle.models.torch_operators import check_operator, refuse_operator

ATEN = re.compile(r"torch\.ops\.aten\.(\w+)\.(\w+)")
ARITHMETIC = re.compile(
    r"(_operator|math)\.(add|sub|mul|floordiv|truediv|mod|neg|eq|ne|lt|le|gt|ge|and_|or_|not_|ceil|floor|trunc)"
)
"""Calculations with sizes, which a graph for batches of any size has among its operators."""

FLOAT32 = 7
"""The number of float32 in the schema of torch.export; those of other types come from torch."""


class ExportedGraph(nn.Module):
    """The graph of a file that torch.export.save wrote, with one input N×3×H×W of float32.

    `sides` are height and width of the images, and `batch` their number; None where the graph takes any.
    """

    def __init__(self, content: bytes, where: str) -> None:
        super().__init__()
        self.where = where
        try:
            self._read(_Archive(content, where))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            if isinstance(error, BrittleError):
                raise
            reason = f"{type(error).__name__}: {error}".split("\n")[0][:200]
            raise BrittleError(f"{where} cannot be read as a file of torch.export ({reason})") from error

    def _read(self, archive: _Archive) -> None:
        program = archive.json(archive.only_model)["graph_module"]
        graph, signature = program["graph"], program["signature"]
        tensors = {**archive.tensors("weights"), **archive.tensors("constants")}
        self.bound: list[tuple[str, str]] = []  # the name in the graph, and the buffer of this module
        images = []
        for number, spec in enumerate(signature["input_specs"]):
            ((kind, what),) = spec.items()
            if kind in ("parameter", "buffer", "tensor_constant"):
                self.register_buffer(f"value_{number}", tensors[what[f"{kind}_name"]])
                self.bound.append((what["arg"]["name"], f"value_{number}"))
            elif kind == "user_input":
                images.append(_name(what["arg"]))
            else:
                raise BrittleError(f"{self.where} has an input of the kind {kind!r}; only tensors are read")
        if len(images) != 1 or images[0] is None:
            raise BrittleError(f"{self.where} must take one batch of images, it takes {len(images)} inputs")
        self.image = images[0]
        meta = graph["tensor_values"][self.image]
        sizes = [size.get("as_int") for size in meta["sizes"]]
        if len(sizes) != 4 or sizes[1] != 3 or meta["dtype"] != FLOAT32:
            shown = "×".join("any" if size is None else str(size) for size in sizes)
            kind = str(_setting("as_scalar_type", meta["dtype"])).removeprefix("torch.")
            raise BrittleError(f"{self.where} must take images N×3×H×W of float32; it takes {shown} of {kind}")
        self.batch: int | None = sizes[0]
        self.sides = None if None in sizes[2:] else (int(sizes[2]), int(sizes[3]))
        outputs = [spec["user_output"]["arg"] for spec in signature["output_specs"] if "user_output" in spec]
        self.output = str(_name(outputs[0]))
        self.nodes = [(node["target"], node["inputs"], node["outputs"]) for node in graph["nodes"]]
        for target, inputs, _ in self.nodes:
            _resolved(target, self.where)
            for given in inputs:
                ((kind, _),) = given["arg"].items()
                if kind not in KINDS:
                    raise BrittleError(f"{self.where} gives {target} a value of the kind {kind!r}, which is not read")
        self.unused = _last_uses([(inputs, outputs) for _, inputs, outputs in self.nodes], self.output)

    def forward(self, images: torch.Tensor) -> Any:
        """The first output of the graph; a batch is filled up to the number of images that it takes."""
        if self.batch is None:
            return self._run(images.contiguous())
        parts = []
        for start in range(0, len(images), self.batch):
            part = images[start : start + self.batch].contiguous()
            missing = self.batch - len(part)
            filled = torch.cat([part, part[:1].expand(missing, *part.shape[1:])]) if missing else part
            parts.append(self._run(filled)[: len(part)])
        return torch.cat(parts)

    def _run(self, images: torch.Tensor) -> Any:
        values: dict[str, Any] = {name: getattr(self, buffer) for name, buffer in self.bound}
        values[self.image] = images
        for (target, inputs, outputs), unused in zip(self.nodes, self.unused, strict=True):
            function = _resolved(target, self.where)
            positional, keywords = [], {}
            for given in inputs:
                value = _value(given["arg"], values, images.device)
                if given.get("kind") == KEYWORD:
                    keywords[given["name"]] = value
                else:
                    positional.append(value)
            result = function(*positional, **keywords)
            for output, value in _paired(outputs, result):
                values[output] = value
            del positional, keywords, result
            value = None
            for name in unused:  # else all tensors of the graph are in memory at once
                values.pop(name, None)
        return values[self.output]


KEYWORD = 2
"""The number of a keyword argument in the schema of torch.export."""

PLAIN = ("as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools", "as_string", "as_strings")
NAMED = ("as_tensor", "as_tensors", "as_optional_tensors", "as_sym_int", "as_sym_ints", "as_sym_float", "as_sym_bool")
KINDS = (*PLAIN, *NAMED, "as_none", "as_scalar_type", "as_memory_format", "as_layout", "as_device")
"""The kinds of arguments that are read, all of them numbers, texts, tensors or settings of torch."""


def _last_uses(nodes: list[tuple[Any, Any]], output: str) -> list[set[str]]:
    """For each node the names that no later one uses, besides the output of the graph."""
    known, last = {output}, []
    for inputs, outputs in reversed(nodes):
        used = {*_names(inputs), *_names(outputs)} - known
        known |= used
        last.append(used)
    return last[::-1]


def _names(part: Any) -> Iterator[str]:
    """All texts in a part of the graph: the names of values, and some that are none."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _names(inner)


def _value(argument: dict[str, Any], values: dict[str, Any], device: torch.device) -> Any:
    """The value of an argument, with the tensors and sizes that were computed before."""
    ((kind, given),) = argument.items()
    if kind in PLAIN:  # infinities are texts in JSON
        return float(given) if kind == "as_float" else [*map(float, given)] if kind == "as_floats" else given
    if kind in ("as_tensors", "as_optional_tensors", "as_sym_ints"):
        return [None if "as_none" in item else _item(item, values) for item in given]
    if kind in NAMED:
        return _item(given, values)
    if kind == "as_none":
        return None
    return device if kind == "as_device" else _setting(kind, given)


def _item(item: dict[str, Any], values: dict[str, Any]) -> Any:
    """A tensor by its name, a size by its name, or the number that stands in its place."""
    if "as_tensor" in item:
        item = item["as_tensor"]
    name = item.get("name", item.get("as_name"))
    return values[name] if name is not None else next(iter(item.values()))


def _setting(kind: str, number: int) -> Any:
    from torch._export.serde import serialize

    tables = {
        "as_scalar_type": serialize._SERIALIZE_TO_TORCH_DTYPE,
        "as_memory_format": serialize._SERIALIZE_TO_TORCH_MEMORY_FORMAT,
        "as_layout": serialize._SERIALIZE_TO_TORCH_LAYOUT,
    }
    return tables[kind][number]


def _paired(outputs: list[dict[str, Any]], result: Any) -> Iterator[tuple[str, Any]]:
    """The names of a node's outputs with their values."""
    results = result if len(outputs) > 1 else [result]
    for output, value in zip(outputs, results, strict=True):
        ((kind, given),) = output.items()
        if kind == "as_tensors":
            yield from ((str(item["name"]), part) for item, part in zip(given, value, strict=True))
        elif kind != "as_none":
            name = _name(output)
            if name is not None:
                yield name, value


def _name(argument: dict[str, Any]) -> str | None:
    ((kind, given),) = argument.items()
    if kind not in NAMED or not isinstance(given, dict):
        return None
    name = given.get("name", given.get("as_name"))
    return None if name is None else str(name)


def _resolved(target: str, where: str) -> Any:
    """The function of a node: an operator of aten, or arithmetic on sizes."""
    arithmetic = ARITHMETIC.fullmatch(target)
    if arithmetic:
        return getattr(operator if arithmetic[1] == "_operator" else math, arithmetic[2])
    aten = ATEN.fullmatch(target)
    if aten is None:
        refuse_operator(target, where)
    check_operator(f"aten::{aten[1]}", where)
    name = aten[1] if aten[2] == "default" else f"{aten[1]}.{aten[2]}"
    if not torch._C._dispatch_has_kernel(f"aten::{name}"):
        raise BrittleError(f"{where} calls aten::{name}, which torch {torch.__version__} does not have")
    return getattr(getattr(torch.ops.aten, aten[1]), aten[2])


class _Archive:
    """The records of a file that torch.export.save wrote."""

    def __init__(self, content: bytes, where: str) -> None:
        self.where = where
        try:
            self.reader = torch._C.PyTorchFileReader(io.BytesIO(content))
            self.names = set(self.reader.get_all_records())
        except (RuntimeError, ValueError) as error:
            reason = str(error).split("\n")[0][:120]
            raise BrittleError(f"{where} is no file of torch.export.save, or it is truncated: {reason}") from error
        if "archive_format" not in self.names or self.reader.get_record("archive_format") != b"pt2":
            raise BrittleError(
                f"{where} is no file of torch.export.save of torch 2.9 or newer; export the network again"
            )
        compiled = [name for name in self.names if name.startswith(("data/aotinductor/", "data/executorch/", "mtia"))]
        if compiled:
            raise BrittleError(
                f"{where} holds compiled code ({sorted(compiled)[0]}), which would run with all your rights; save the "
                "program with torch.export.save, without compiling it"
            )
        models = [name for name in self.names if name.startswith("models/") and name.endswith(".json")]
        if len(models) != 1:
            raise BrittleError(f"{where} holds {len(models)} programs; it must be one")
        self.only_model = models[0]

    def json(self, name: str) -> Any:
        """A record that is JSON."""
        return json.loads(self.reader.get_record(name))

    def tensors(self, kind: str) -> dict[str, torch.Tensor]:
        """The tensors of a folder, `weights` or `constants`, by name, from their bytes; pickles are refused."""
        model = self.only_model.removeprefix("models/").removesuffix(".json")
        config = self.json(f"data/{kind}/{model}_{kind}_config.json")["config"]
        tensors = {}
        for name, payload in config.items():
            if payload["use_pickle"] or payload["tensor_meta"] is None:
                raise BrittleError(
                    f"{self.where} keeps {name!r} as a pickle, which may run any code when it is opened; only plain "
                    "tensors are read"
                )
            tensors[name] = self._tensor(f"data/{kind}/{payload['path_name']}", payload["tensor_meta"])
        return tensors

    def _tensor(self, record: str, meta: dict[str, Any]) -> torch.Tensor:
        dtype = _setting("as_scalar_type", meta["dtype"])
        sizes, strides = ([int(size["as_int"]) for size in meta[key]] for key in ("sizes", "strides"))
        content = self.reader.get_record(record)
        flat = torch.frombuffer(bytearray(content), dtype=dtype) if content else torch.empty(0, dtype=dtype)
        return flat.as_strided(sizes, strides, int(meta["storage_offset"]["as_int"])).clone()
