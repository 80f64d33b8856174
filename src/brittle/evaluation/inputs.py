"""What `evaluate` takes: names, modules, functions, arrays and datasets of other libraries, made into our own nouns."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, BrittleTypeError
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.datasets.dataset import Dataset, arrays, no_labels
from brittle.datasets.interop import from_hugging_face, from_torch
from brittle.datasets.load import load_dataset
from brittle.datasets.published_sets import StoredSet, stored_set
from brittle.models.load import load_model
from brittle.models.model import Model, from_callable
from brittle.models.torch import from_torch as from_module


def as_models(given: Any) -> list[Model]:
    """Models from one model or several: a list, or a dictionary whose keys are the names that results call them by."""
    if isinstance(given, Mapping):
        return [as_model(model, name=name) for name, model in given.items()]
    if isinstance(given, list | tuple):
        return [as_model(model) for model in given]
    return [as_model(given)]


def as_model(given: Any, *, name: str | None = None) -> Model:
    """A model from its name, a `torch.nn.Module`, a function on batches of images, or a model.

    A module sees images normalised with ImageNet's mean and standard deviation; `from_torch` sets others. Modules and
    functions are called by the name of their class or function unless there is a `name`.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise BrittleTypeError(f"a model is called by a text, got {name!r} ({type(name).__name__})")
    if isinstance(given, str | Path):
        return _renamed(load_model(given), name)
    if _is_module(given):
        return from_module(given, name=name or type(given).__name__)
    if isinstance(given, type):
        raise BrittleTypeError(f"{given.__name__} is a class; give an object of it, such as {given.__name__}()")
    if isinstance(given, Model):
        return _renamed(given, name)
    if callable(given):
        return from_callable(given, name=name or _name_of(given))
    raise BrittleTypeError(
        "a model is a name such as 'demo:standard', a torch.nn.Module, a function on batches of images, or has name, "
        f"key and scores; got {given!r} ({type(given).__name__})"
    )


def as_dataset(given: Any) -> Dataset:
    """A dataset from its name, a folder, (images, labels), a torch or Hugging Face dataset, or a dataset."""
    if isinstance(given, str | Path | Dataset):
        return load_dataset(given)
    if hasattr(given, "column_names"):
        return from_hugging_face(given)
    if hasattr(given, "batch_sampler"):
        raise BrittleTypeError(f"a {type(given).__name__} gives batches; give the dataset that it reads, its .dataset")
    if isinstance(given, list | tuple) and len(given) == 2 and hasattr(given[0], "ndim"):
        return arrays(*given)
    if hasattr(given, "ndim") or isinstance(given, tuple):
        raise BrittleTypeError(f"arrays are given as (images, labels), got {_shape(given)}")
    if hasattr(given, "__len__") and hasattr(given, "__getitem__") and not isinstance(given, Mapping):
        return from_torch(given)
    raise BrittleTypeError(
        "data are a name such as 'demo' or 'cifar10:PATH', a folder of images, arrays (images, labels), a torch or "
        f"Hugging Face dataset, or a Dataset; got {type(given).__name__}"
    )


def as_benchmark(given: Any) -> Benchmark | None:
    """A benchmark from its name or its recipe file, or a benchmark; None stays None and means clean images alone."""
    if given is None or isinstance(given, Benchmark):
        return given
    if isinstance(given, str | Path):
        return load_benchmark(given)
    raise BrittleTypeError(
        "a benchmark is a name such as 'imagenet-c', the path of a recipe, a Benchmark, or None for clean images; "
        f"got {given!r} ({type(given).__name__})"
    )


def as_stored_set(given: Any) -> StoredSet | None:
    """Published corrupted images from a text such as "imagenet-c:PATH"; None if it names none."""
    if isinstance(given, StoredSet):
        return given
    return stored_set(given) if isinstance(given, str | Path) else None


def check(models: Sequence[Model], dataset: Dataset, batch_size: int | None) -> None:
    """Raise unless these models can be run on this dataset."""
    if not models:
        raise BrittleError("name at least one model to run")
    names = [model.name for model in models]
    if len(set(names)) != len(names):
        raise BrittleError(
            f"models need names of their own, got {', '.join(names)}; in Python, give a dictionary {{name: model}}"
        )
    if batch_size is not None and batch_size < 1:
        raise BrittleError(f"batch_size must be at least 1, got {batch_size}")
    if dataset.labels is None:
        raise no_labels(dataset, "so nothing can be right or wrong")


def _is_module(given: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever made a module has imported it
    return torch is not None and isinstance(given, torch.nn.Module)


def _name_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    name = str(getattr(function, "__name__", type(function).__name__))
    return "function" if name == "<lambda>" else name


def _renamed(model: Model, name: str | None) -> Model:
    if name is None or model.name == name:
        return model
    twin = copy.copy(model)
    try:
        object.__setattr__(twin, "name", name)
    except AttributeError as error:
        raise BrittleError(f"the model {model.name!r} has a name that cannot be changed to {name!r}; use it") from error
    return twin


def _shape(given: Any) -> str:
    if isinstance(given, tuple):
        return f"a tuple of {len(given)}: {', '.join(type(part).__name__ for part in given) or 'nothing'}"
    return f"one array of shape {tuple(given.shape)} without labels"
