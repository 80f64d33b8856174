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
from brittle.benchmarks.streams import Batch, StreamBenchmark, is_stream, list_streams, load_stream_benchmark

__all__ = [
    "CLEAN",
    "SEQUENCE_BENCHMARKS",
    "Batch",
    "Benchmark",
    "Cell",
    "Entry",
    "Level",
    "SequenceBenchmark",
    "StreamBenchmark",
    "choose_benchmark",
    "ends",
    "find_corruptions",
    "is_stream",
    "level_name",
    "list_benchmarks",
    "list_streams",
    "load_benchmark",
    "load_sequence_benchmark",
    "load_stream_benchmark",
    "severity_of",
]
