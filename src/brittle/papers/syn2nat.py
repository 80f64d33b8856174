"""Syn2Nat: categories of corruptions, balanced benchmarks, and natural shifts, table by table."""

from __future__ import annotations
