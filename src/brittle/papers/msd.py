"""MSD and C-bar: how near augmentations come to corruptions, and benchmarks far from them, table by table."""

from __future__ import annotations
