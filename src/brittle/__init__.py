"""brittle finds out where an image classifier breaks, and builds the tests that find it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brittle.benchmarks import Benchmark, benchmark, benchmarks
from brittle.corruptions import Corruption, Transform, corrupt
from brittle.corruptions import find as corruption
from brittle.corruptions import select as corruptions
from brittle.corruptions.imagenet_p import sequence

if TYPE_CHECKING:
    from brittle.evaluation import Results, evaluate, load_results
    from brittle.metrics import published

__version__ = "0.1.0"

LAZY = {"Results": "evaluation", "evaluate": "evaluation", "load_results": "evaluation", "published": "metrics"}
"""What is loaded when it is first asked for, and the room it is in."""

__all__ = [
    "Benchmark",
    "Corruption",
    "Results",
    "Transform",
    "__version__",
    "benchmark",
    "benchmarks",
    "corrupt",
    "corruption",
    "corruptions",
    "evaluate",
    "load_results",
    "published",
    "sequence",
]


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return getattr(import_module(f"brittle.{LAZY[name]}"), name)
    raise AttributeError(f"brittle has no {name!r}; see dir(brittle)")
