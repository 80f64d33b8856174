"""NOC: the overlapping score, and a benchmark of corruptions that do not overlap, table by table."""

from __future__ import annotations
