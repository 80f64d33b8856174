"""Identity as data: the settings of an object as plain data, without those at their defaults, and a digest of them.

Files on disk are keyed by such a digest. A new field with a default changes no key, and neither does the order of keys,
a changed repr, or 1.0 instead of 1. User code has no settings: callables and classes are known by a digest of their
code and of what it uses.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from brittle._errors import BrittleTypeError

PLAIN_TYPES = (type(None), bool, int, float, complex, str, bytes)


def settings(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not at their default and that take part in comparison (`compare=True`)."""
    changed = {}
    for field in fields(thing):
        value = getattr(thing, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if field.compare and (default is MISSING or value != default):
            changed[field.name] = value
    return changed


def as_data(thing: Any) -> Any:
    """An object as JSON data: by its `to_dict()` or, for a dataclass, by its `settings`."""
    if hasattr(thing, "to_dict") and not isinstance(thing, type):
        return as_data(thing.to_dict())
    if is_dataclass(thing) and not isinstance(thing, type):
        return {"kind": type(thing).__name__, **as_data(settings(thing))}
    if isinstance(thing, Mapping):
        return {str(key): as_data(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [as_data(item) for item in thing]
    if isinstance(thing, np.generic):
        return as_data(thing.item())
    if isinstance(thing, float) and thing.is_integer():
        return int(thing)
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, PathLike):
        return fspath(thing)
    raise BrittleTypeError(
        f"{thing!r} has no identity that can be saved ({type(thing).__name__}), so its results cannot be stored; "
        "make it a dataclass, or give it a method to_dict() that returns its settings as numbers and strings"
    )


def canonical(thing: Any) -> str:
    """The canonical JSON of an object: sorted keys, no spaces."""
    return json.dumps(as_data(thing), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(thing: Any, *parts: bytes, length: int = 16) -> str:
    """A SHA-256 digest, cut to `length`, of an object's canonical JSON and of bytes such as pixels or weights."""
    hasher = sha256(canonical(thing).encode("utf-8", "surrogateescape"))
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()[:length]


def code_digest(function: Callable[..., Any], *, state: bool = True) -> str | None:
    """A digest of the code of a callable and of what it uses; None if it has no Python code, as a builtin.

    It covers the file that defines the callable, its bytecode, and, followed name by name, the files of the functions,
    classes and modules that it uses, as far as they are user code and not installed packages; a compiled function, as
    of `jax.jit`, counts as the one that it was made of. With `state` also the values that it uses: closures, defaults,
    attributes and globals, of which a model counts by its key. It misses files that the code reads at run time, and the
    content of objects that cannot be pickled.
    """
    collector = _Collector(state)
    collector.callable_(function)
    return collector.digest() if collector.has_code else None


def class_digest(*classes: type) -> str:
    """A digest of the user code among classes and their bases; "" if there is none."""
    collector = _Collector(state=False)
    for cls in classes:
        collector.class_(cls)
    return collector.digest() if collector.has_code else ""


class _Collector:
    """The parts of a digest, each once, independent of the order of traversal."""

    def __init__(self, state: bool) -> None:
        self.state = state
        self.has_code = False
        self._parts: set[str] = set()
        self._visited: dict[int, Any] = {}  # holds the objects, so that no id is reused
        self._of_users: dict[type, bool] = {}  # the layers of a network share few classes and bases

    def digest(self) -> str:
        return sha256("\n".join(sorted(self._parts)).encode()).hexdigest()

    def _is_new(self, thing: Any) -> bool:
        if id(thing) in self._visited:
            return False
        self._visited[id(thing)] = thing
        return True

    def callable_(self, function: Any) -> None:
        """The callable itself: its code counts even if it belongs to an installed package."""
        if isinstance(function, partial):
            self._value("arguments", (function.args, function.keywords))
            self.callable_(function.func)
        elif isinstance(function, MethodType):
            self._value("self", function.__self__)
            self.callable_(function.__func__)
        elif isinstance(function, FunctionType):
            self._function(function)
        elif isinstance(function, type):
            self.class_(function, always=True)
        elif isinstance(getattr(type(function), "__call__", None), FunctionType):  # noqa: B004 - not bound
            self.class_(type(function), always=True)
            self._value("self", function)
        elif callable(wrapped := getattr(function, "__wrapped__", None)):  # compiled, as by jax.jit
            self.callable_(wrapped)

    def class_(self, cls: type, always: bool = False) -> None:
        """A class and its bases, as far as they are user code; with `always` the class itself in any case."""
        for base in cls.__mro__:
            if (always and base is cls) or self._is_user_class(base):
                if not self._is_new(base):
                    continue
                for function in _methods(base):
                    self._function(function)
                for name, value in vars(base).items():
                    if isinstance(value, PLAIN_TYPES) and not name.startswith("__"):
                        self._parts.add(f"{base.__qualname__}.{name} {value!r}")

    def _is_user_class(self, cls: type) -> bool:
        if cls not in self._of_users:
            self._of_users[cls] = _is_user_class(cls)
        return self._of_users[cls]

    def _function(self, function: FunctionType) -> None:
        function = inspect.unwrap(function)
        if not isinstance(function, FunctionType) or not self._is_new(function):
            return
        self.has_code = True
        code = function.__code__
        self._parts.add(f"{function.__qualname__} {_instructions(code)}")
        self._file(code.co_filename)
        for value in (function.__defaults__, function.__kwdefaults__):
            self._value(f"{function.__qualname__} defaults", value)
        for name, value in _closure(function):
            self._use(f"{function.__qualname__} {name}", value)
        names = set(_used_names(code))
        for name in sorted(names & function.__globals__.keys()):
            self._use(name, function.__globals__[name], names)

    def _use(self, name: str, value: Any, names: set[str] | None = None) -> None:
        if isinstance(value, ModuleType):
            path = getattr(value, "__file__", None)
            if path is None or not is_user_code(path) or not self._is_new(value):
                return
            self._file(path)
            for attribute in sorted((names or set()) & vars(value).keys()):
                self._use(attribute, vars(value)[attribute], names)
        elif isinstance(value, FunctionType):
            if is_user_code(value.__code__.co_filename):
                self._function(value)
        elif isinstance(value, type):
            self.class_(value)
        else:
            self._value(name, value)

    def _file(self, name: str) -> None:
        if Path(name).is_file():
            self._parts.add(f"file {_file_digest(name, Path(name).stat().st_mtime_ns)}")

    def _value(self, name: str, value: Any) -> None:
        """Data that code uses: its content, and the code of functions and classes in it."""
        if isinstance(value, PLAIN_TYPES):
            if self.state:
                self._parts.add(f"{name} {value!r}")
            return
        if not self._is_new(value):
            return
        if isinstance(value, FunctionType | MethodType | partial | type):
            if isinstance(value, type):
                self.class_(value)
            elif not isinstance(value, FunctionType) or is_user_code(value.__code__.co_filename):
                self._visited.pop(id(value))
                self.callable_(value)
            return
        if isinstance(value, Mapping):
            for key, item in value.items():
                self._value(f"{name} {key!r}", item)
        elif isinstance(value, tuple | list):
            for index, item in enumerate(value):
                self._value(f"{name} {index}", item)
        elif isinstance(value, set | frozenset):
            self._value(name, sorted(map(repr, value)))
        else:
            self._object(name, value)

    def _object(self, name: str, value: Any) -> None:
        self.class_(type(value))
        wrapped = getattr(value, "__wrapped__", None)
        if callable(wrapped) and not isinstance(getattr(type(value), "__call__", None), FunctionType):  # noqa: B004
            self._value(name, wrapped)  # a compiled function counts as the one that it was made of
            return
        if not self.state:
            return
        torch = sys.modules.get("torch")
        if (key := _model_key(value)) is not None:  # a pickle of its weights is another one in every process
            self._parts.add(f"{name} model {key}")
        elif torch is not None and isinstance(value, torch.nn.Module):
            for layer in value.modules():
                self.class_(type(layer))
            self._value(name, dict(value.state_dict()))
        elif torch is not None and isinstance(value, torch.Tensor):
            tensor = value.detach().cpu().contiguous()
            content = sha256(tensor.reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()
            self._parts.add(f"{name} {tensor.dtype} {tuple(tensor.shape)} {content}")
        elif hasattr(value, "tobytes") and hasattr(value, "dtype"):
            self._parts.add(f"{name} {value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}")
        elif any(map(_is_user_class, type(value).__mro__)):
            self._value(name, dict(getattr(value, "__dict__", {})))
        else:
            content = f"{type(value).__module__}.{type(value).__qualname__}"
            try:
                content += sha256(pickle.dumps(value)).hexdigest()
            except Exception:  # it holds a session, a lock or an open file
                content += " unseen"
            self._parts.add(f"{name} {content}")


def is_user_code(path: str) -> bool:
    """Whether a file is user code: not of Python, of an installed package or of brittle."""
    if path.startswith("<"):
        return path.startswith(("<stdin>", "<string>", "<ipython-input", "<python-input"))
    return _is_user_file(os.path.abspath(path))  # noqa: PTH100 - a tenth of the time, and asked of every method


@cache
def _is_user_file(path: str) -> bool:
    full = Path(path).resolve()
    return not any(full.is_relative_to(root) for root in _installed_roots()) and not (
        {"site-packages", "dist-packages"} & set(full.parts)
    )


@cache
def _installed_roots() -> tuple[Path, ...]:
    roots = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple({Path(root).resolve() for root in roots} | {Path(__file__).resolve().parent})


@cache
def _file_digest(path: str, _modified: int) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


def _methods(cls: type) -> list[FunctionType]:
    """The Python functions that a class defines, without inherited ones."""
    parts: list[Any] = []
    for value in vars(cls).values():
        if isinstance(value, staticmethod | classmethod):
            parts.append(value.__func__)
        elif isinstance(value, property):
            parts += [value.fget, value.fset]
        else:
            parts.append(value)
    return [part for part in parts if isinstance(part, FunctionType)]


def _is_user_class(cls: type) -> bool:
    return any(is_user_code(function.__code__.co_filename) for function in _methods(cls))


def _model_key(value: Any) -> str | None:
    """The key of a model, which changes with all that its scores depend on; None of anything else."""
    if not callable(getattr(type(value), "scores", None)) or not isinstance(getattr(value, "name", None), str):
        return None
    key = getattr(value, "key", None)
    return key if isinstance(key, str) else None


def _closure(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            continue


def _used_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _used_names(constant)


def _instructions(code: CodeType) -> str:
    """A digest of a function's bytecode, names and constants, without its file path."""
    parts: list[Any] = [code.co_code, code.co_names, code.co_varnames, code.co_freevars]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            parts.append(_instructions(constant))
        elif isinstance(constant, frozenset):
            parts.append(sorted(map(repr, constant)))
        else:
            parts.append(constant)
    return sha256(repr(parts).encode()).hexdigest()
