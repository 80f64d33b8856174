"""brittle finds out where an image classifier breaks, and builds the tests that find it."""

from brittle.benchmarks import Benchmark, benchmark, benchmarks
from brittle.corruptions import Corruption, Transform, corrupt
from brittle.corruptions import find as corruption
from brittle.corruptions import select as corruptions
from brittle.corruptions.imagenet_p import sequence

__version__ = "0.1.0"

__all__ = [
    "Benchmark",
    "Corruption",
    "Transform",
    "__version__",
    "benchmark",
    "benchmarks",
    "corrupt",
    "corruption",
    "corruptions",
    "sequence",
]
