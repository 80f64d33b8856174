"""Published scores on a benchmark, to put beside one's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from brittle.metrics.tables import published

COLUMNS = {
    "imagenet-c": (
        ("imagenet-c-leaderboard", "mCE", "mCE"),
        ("noc-table5", "relative_mCE", "relative mCE"),
        ("c-bar-table1-imagenet", "imagenet_c_error", "unnormalised error"),
        ("c-bar-table2", "imagenet_c_error", "unnormalised error"),
    ),
    "imagenet-c-bar": (
        ("c-bar-table1-imagenet", "imagenet_c_bar_error", "unnormalised error"),
        ("c-bar-table2", "imagenet_c_bar_error", "unnormalised error"),
    ),
    "imagenet-noc": (
        ("noc-table6", "relative_mCE", "relative mCE"),
        ("noc-table4", "imagenet_noc_relative_mCE", "relative mCE"),
    ),
    "cifar10-c": (("c-bar-table1-cifar10", "cifar10_c_error", "unnormalised error"),),
    "cifar10-c-bar": (("c-bar-table1-cifar10", "cifar10_c_bar_error", "unnormalised error"),),
}
"""For each benchmark: a published table, its column, and what the column holds, in percent."""


@dataclass(frozen=True)
class PublishedScore:
    """One number as printed: a fraction, whose it is, and where it was printed."""

    who: str
    metric: str
    value: float
    source: str


def published_scores(benchmark: str) -> list[PublishedScore]:
    """What others published on a benchmark; empty if nothing is known here."""
    found = []
    for name, column, metric in COLUMNS.get(benchmark, ()):
        table = published(name)
        for who, value in zip(table.text(next(iter(table.columns))), table.numbers(column), strict=True):
            if not math.isnan(value):
                found.append(PublishedScore(who, metric, float(value) / 100, table.source))
    return found
