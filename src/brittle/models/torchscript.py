"""A TorchScript archive as a module: what is in it is checked before and after torch loads it."""

from __future__ import annotations

import io
import pickletools
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from brittle._errors import BrittleError
from brittle.models.torch_operators import check_operator
from brittle.models.torchscript_code import MAX_CODE, check_code

OPCODES = frozenset(
    {
        *("PROTO", "STOP", "MARK", "GLOBAL", "NEWOBJ", "REDUCE", "BUILD", "BINPERSID", "BINPUT", "LONG_BINPUT"),
        *("BINGET", "LONG_BINGET", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
        *("BINUNICODE", "SHORT_BINSTRING", "BINSTRING", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
        *("EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM", "SETITEMS", "LIST", "DICT"),
    }
)
"""What TorchScript writes into its pickles, which its own reader in C++ opens, and not Python's."""

GLOBALS = ("torch.jit._pickle.", "torch._utils._rebuild_tensor", "collections.OrderedDict", "torch.device")
"""Names beside the classes of the archive and the storages of torch that its pickles may have."""

OTHERWISE = "quantised modules have such; write the network in another format, such as ONNX"


class ScriptNetwork(nn.Module):
    """The `forward` of a TorchScript archive. A pickle or copy of it is loaded from the same bytes again."""

    def __init__(self, content: bytes, where: str) -> None:
        super().__init__()
        self.content, self.where = content, where
        self.script = load_script(content, where)

    def forward(self, images: torch.Tensor) -> Any:
        """What the archive's forward returns."""
        return self.script.forward(images.contiguous())

    def __reduce__(self) -> tuple[Any, ...]:
        return ScriptNetwork, (self.content, self.where)


def is_torchscript(content: bytes) -> bool:
    """Whether these are the bytes of a TorchScript archive, and not of weights that torch.save wrote."""
    reader = _reader(content)
    return reader is not None and {"constants.pkl", "data.pkl"} <= set(reader.get_all_records())


def load_script(content: bytes, where: str) -> Any:
    """A ScriptModule in evaluation mode; nothing of the archive has run, and its `forward` only computes with tensors.

    Raises for archives whose loading would run code (`__setstate__`, calls as default arguments and as values of
    classes), objects of C++ classes, hooks, and operators that do more than compute, such as torch.save.
    """
    _check_archive(content, where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript as a whole
            load: Any = torch.jit.load
            script = load(io.BytesIO(content), map_location="cpu").eval()
            graph = script._c._get_method("forward").graph.copy()
    except (RuntimeError, ValueError, AttributeError, EOFError, LookupError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BrittleError(f"{where} cannot be read as TorchScript: {reason}") from error
    torch._C._jit_pass_inline(graph)
    for node in _nodes(graph):
        check_operator(node.kind(), where)
    if any(module._get_forward_hooks() or module._get_forward_pre_hooks() for module in _modules(script._c)):
        raise BrittleError(f"{where} has hooks, which are not run; save it again without them")
    return script


def _check_archive(content: bytes, where: str) -> None:
    reader = _reader(content)
    names = [] if reader is None else reader.get_all_records()
    if reader is None or not {"constants.pkl", "data.pkl"} <= set(names) or "model.json" in map(str.lower, names):
        raise BrittleError(
            f"{where} is no TorchScript archive of torch.jit.save, or it is truncated; weights alone belong to a "
            "network, FILE.py:FUNCTION,weights=FILE"
        )
    if len({name.lower() for name in names}) < len(names):  # torch finds records without regard to case
        raise BrittleError(f"{where} has two records of one name, of which torch may read either")
    size = 0
    for name in names:
        if name.lower().endswith(".py"):
            code = reader.get_record(name)
            size += len(code)
            for word in (b"__setstate__", b"torch.classes"):
                if word in code:
                    raise BrittleError(
                        f"{where} has {word.decode()} in its code, which would run when it is loaded; {OTHERWISE}"
                    )
            if size > MAX_CODE:
                raise BrittleError(f"{where} has more than {MAX_CODE // 2**20} MB of code, and is not loaded")
            check_code(code, f"{name} of {where}")
        elif name.lower().endswith("pkl"):
            _check_pickle(reader.get_record(name), f"{name} of {where}")


def _check_pickle(content: bytes, where: str) -> None:
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name not in OPCODES:
                raise BrittleError(f"{where} is no pickle of TorchScript: it has the instruction {opcode.name}")
            name = str(argument).replace(" ", ".") if opcode.name == "GLOBAL" else ""
            is_storage = name.startswith("torch.") and name.endswith("Storage")
            known = is_storage or name.startswith(("__torch__.", *GLOBALS))
            if name and (not known or ".torch.classes" in name):
                raise BrittleError(
                    f"{where} names {name}, which is neither a tensor nor a class of the archive; {OTHERWISE}"
                )
    except ValueError as error:
        if isinstance(error, BrittleError):
            raise
        raise BrittleError(f"{where} is damaged: {error}") from error


def _reader(content: bytes) -> Any:
    if content[:4] != b"PK\x03\x04" or content[4:8] == b"PTMF":  # the mark of FlatBuffers, another format of torch
        return None
    try:
        return torch._C.PyTorchFileReader(io.BytesIO(content))
    except (RuntimeError, ValueError):
        return None


def _nodes(block: Any) -> Iterator[Any]:
    """All nodes of a graph, also inside branches and loops."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _modules(module: Any) -> Iterator[Any]:
    yield module
    for _, child in torch._C.ModuleDict(module).items():
        yield from _modules(child)
