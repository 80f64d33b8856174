"""brittle finds out where an image classifier breaks, and builds the tests that find it.

>>> import brittle
>>> results = brittle.evaluate("demo:standard", brittle.load_dataset("demo").limited(20))
>>> round(results.clean_accuracy("demo-standard"), 2)
0.95
>>> brittle.__version__
'0.1.0'

`dir(brittle)` lists what most people need. The rooms `brittle.corruptions`, `benchmarks`, `datasets`, `models`,
`metrics`, `evaluation`, `training`, `distance`, `design`, `sliders`, `plots`, `report`, `publish` and `explorer` have
the rest; they are loaded when they are first asked for.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from brittle._errors import BrittleError
from brittle.benchmarks import Benchmark, list_benchmarks, load_benchmark
from brittle.corruptions import Corruption, Transform, corrupt, get_corruption, list_corruptions
from brittle.corruptions.imagenet_p import sequence

if _TYPE_CHECKING:
    from brittle.datasets import Dataset, load_dataset
    from brittle.evaluation import (
        Results,
        compare,
        evaluate,
        load_results,
        probe,
        scores,
        search_failure_points,
    )
    from brittle.explorer import explore
    from brittle.metrics import published_table
    from brittle.models import Model, load_model, wrap_model
    from brittle.report import write_report

__version__ = "0.1.0"

_SUBPACKAGES = (
    "datasets",
    "design",
    "distance",
    "evaluation",
    "explorer",
    "metrics",
    "models",
    "plots",
    "publish",
    "report",
    "sliders",
    "training",
    "transforms",
)
_LAZY = {
    "Dataset": "datasets",
    "Model": "models",
    "Results": "evaluation",
    "compare": "evaluation",
    "evaluate": "evaluation",
    "explore": "explorer",
    "load_dataset": "datasets",
    "load_model": "models",
    "load_results": "evaluation",
    "probe": "evaluation",
    "published_table": "metrics",
    "scores": "evaluation",
    "search_failure_points": "evaluation",
    "wrap_model": "models",
    "write_report": "report",
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
    "compare",
    "corrupt",
    "evaluate",
    "explore",
    "get_corruption",
    "list_benchmarks",
    "list_corruptions",
    "load_benchmark",
    "load_dataset",
    "load_model",
    "load_results",
    "probe",
    "published_table",
    "scores",
    "search_failure_points",
    "sequence",
    "wrap_model",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return _import_module(f"brittle.{name}")
    if name in _LAZY:
        return getattr(_import_module(f"brittle.{_LAZY[name]}"), name)
    if name.startswith("_"):  # requested by tools that inspect modules, not by users
        raise AttributeError(f"module 'brittle' has no attribute {name!r}", name=name)
    from brittle._errors import did_you_mean

    known = [*(public for public in __all__ if not public.startswith("_")), *_SUBPACKAGES]
    raise AttributeError(f"brittle has no {name!r}; {did_you_mean(name, known)}", name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
