"""Which corruptions make a test."""

from brittle.benchmarks.benchmark import Benchmark, Entry, benchmark, benchmarks

__all__ = ["Benchmark", "Entry", "benchmark", "benchmarks"]
