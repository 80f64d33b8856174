"""Measure where an image classifier fails under corruptions, and build the benchmarks that show it."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from brittle._errors import BrittleError
from brittle.benchmarks import Benchmark, list_benchmarks, load_benchmark
from brittle.corruptions import Corruption, Transform, corrupt, get_corruption, list_corruptions
from brittle.corruptions.imagenet_p import sequence

if _TYPE_CHECKING:
    from brittle.datasets import Dataset, load_dataset
    from brittle.evaluation import Results, evaluate, load_results
    from brittle.metrics import published_table
    from brittle.models import Model, load_model

__version__ = "0.1.0"

_SUBPACKAGES = ("datasets", "design", "distance", "evaluation", "metrics", "models", "report", "sliders", "training")
_LAZY = {
    "Dataset": "datasets",
    "Model": "models",
    "Results": "evaluation",
    "evaluate": "evaluation",
    "load_dataset": "datasets",
    "load_model": "models",
    "load_results": "evaluation",
    "published_table": "metrics",
}
"""Names imported at first use, and the subpackage each is in."""

__all__ = [
    "Benchmark",
    "BrittleError",
    "Corruption",
    "Dataset",
    "Model",
    "Results",
    "Transform",
    "__version__",
    "corrupt",
    "evaluate",
    "get_corruption",
    "list_benchmarks",
    "list_corruptions",
    "load_benchmark",
    "load_dataset",
    "load_model",
    "load_results",
    "published_table",
    "sequence",
]


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return _import_module(f"brittle.{name}")
    if name in _LAZY:
        return getattr(_import_module(f"brittle.{_LAZY[name]}"), name)
    if name.startswith("_"):  # requested by tools that inspect modules, not by users
        raise AttributeError(f"module 'brittle' has no attribute {name!r}", name=name)
    from brittle._errors import did_you_mean

    raise AttributeError(
        f"brittle has no {name!r}; {did_you_mean(name, [attr for attr in __dir__() if not attr.startswith('_')])}",
        name=name,
    )


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES])
