"""Which corruptions make a test."""

from brittle.benchmarks.benchmark import Benchmark, benchmark, benchmarks
from brittle.benchmarks.entry import Entry
from brittle.benchmarks.level import Level, ends, level_name, severity_of

__all__ = ["Benchmark", "Entry", "Level", "benchmark", "benchmarks", "ends", "level_name", "severity_of"]
