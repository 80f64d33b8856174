"""Benchmarks: recipes of corruptions, levels and seeds."""

from brittle.benchmarks.benchmark import (
    CLEAN,
    Benchmark,
    Cell,
    Entry,
    Level,
    choose_benchmark,
    ends,
    find_corruptions,
    level_name,
    list_benchmarks,
    load_benchmark,
    severity_of,
)

__all__ = [
    "CLEAN",
    "Benchmark",
    "Cell",
    "Entry",
    "Level",
    "choose_benchmark",
    "ends",
    "find_corruptions",
    "level_name",
    "list_benchmarks",
    "load_benchmark",
    "severity_of",
]
