"""A model from a function of somebody's own code, named by a text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean, model_errors
from brittle.models.model import Model, from_callable
from brittle.models.preprocessing import Sides
from brittle.models.torch import from_torch
from brittle.models.weights import load_into


def from_function(
    place: str,
    *,
    name: str | None = None,
    weights: str | Path | None = None,
    version: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> Model:
    """A model from "package.module:function" or "path/to/file.py:function".

    The function takes no arguments and gives a `torch.nn.Module`, a model, or a function on batches of images. The code
    is run, so it must be code that you trust. Modules are looked for in the current folder too.

    Args:
        place: where the function is.
        name: what results call the model; by default the function's name.
        weights: a file for a `torch.nn.Module`; `mean`, `std`, `size`, `crop`, `interpolation`, `device` and `bf16` are
            for one too, see `from_torch`.
        version: give another one when something changed that neither weights nor code show, see `from_callable`.
    """
    file, _, function = place.rpartition(":")
    made, title = _made(place), name or function
    origin = file if title == function else place
    shown = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    shown = {option: value for option, value in shown.items() if value is not None}
    if _is_module(made):
        if weights is not None:
            load_into(made, weights)
        network = from_torch(made, name=title, device=device, bf16=bf16, version=version, **shown)  # type: ignore[arg-type]
        network.origin = origin
        return network
    if isinstance(made, Model):
        _refuse(place, "a model", name=name, version=version, weights=weights, bf16=bf16, **shown)
        return made
    if callable(made):
        _refuse(place, "a function on batches", weights=weights, bf16=bf16, **shown)
        return from_callable(made, name=title, version=version, origin=origin)
    raise BrittleTypeError(
        f"{place!r} gave {made!r}; it must give a torch.nn.Module, a model, or a function on batches of images"
    )


def _refuse(place: str, kind: str, **options: Any) -> None:
    given = [option for option, value in options.items() if value]
    if given:
        raise BrittleTypeError(f"{place!r} gave {kind}, which takes no {', '.join(given)}")


def _is_module(made: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever made a module has imported it
    return torch is not None and isinstance(made, torch.nn.Module)


def _made(place: str) -> Any:
    where, _, function = place.rpartition(":")
    if not where or not function:
        raise BrittleError(f"write package.module:function or path/to/file.py:function, got {place!r}")
    path = Path(where).expanduser()
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    with _importable(path.resolve().parent if is_file else Path.cwd()), _module(path if is_file else where) as module:
        if not hasattr(module, function):
            known = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
            raise BrittleError(f"{where!r} has no {function!r}; {did_you_mean(function, known)}")
        made = getattr(module, function)
        there = _is_module(made) or (isinstance(made, Model) and not isinstance(made, type))
        if there:
            return made
        with model_errors(place, "while it was made"):
            return made()


@contextmanager
def _module(where: str | Path) -> Iterator[ModuleType]:
    """A module by name or of a file; that of a file is known by name only here, so that Ray sends its code along."""
    if isinstance(where, str):
        yield import_module(where)
        return
    name = f"brittle_file_{where.stem}"
    spec = spec_from_file_location(name, where)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)
    try:
        with model_errors(str(where), "while its file was read"):
            spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
