"""Which corruptions make a test."""

from brittle.benchmarks.benchmark import (
    Benchmark,
    Entry,
    Level,
    ends,
    level_name,
    list_benchmarks,
    load_benchmark,
    severity_of,
)

__all__ = ["Benchmark", "Entry", "Level", "ends", "level_name", "list_benchmarks", "load_benchmark", "severity_of"]
