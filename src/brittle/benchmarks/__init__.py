"""Benchmarks: recipes of corruptions, levels and seeds."""

from brittle.benchmarks.benchmark import (
    CLEAN,
    Benchmark,
    Cell,
    Entry,
    Level,
    ends,
    level_name,
    list_benchmarks,
    load_benchmark,
    severity_of,
)
from brittle.benchmarks.selection import choose_benchmark, find_corruptions
from brittle.benchmarks.sequences import SEQUENCE_BENCHMARKS, SequenceBenchmark, load_sequence_benchmark

__all__ = [
    "CLEAN",
    "SEQUENCE_BENCHMARKS",
    "Benchmark",
    "Cell",
    "Entry",
    "Level",
    "SequenceBenchmark",
    "choose_benchmark",
    "ends",
    "find_corruptions",
    "level_name",
    "list_benchmarks",
    "load_benchmark",
    "load_sequence_benchmark",
    "severity_of",
]
