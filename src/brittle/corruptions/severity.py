"""Severity is a real number; the published levels are the points it passes through."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Scale = Literal["linear", "inverse-sqrt"]

DRAWN_SIZE = 224
"""The image side that plain `levels(...)` are given for."""


@dataclass(frozen=True)
class Levels:
    """One physical parameter along the severity axis: published values per image side, and the clean value."""

    tables: Mapping[int, tuple[float, ...]]
    clean: float
    px: int = 0
    whole: bool = False
    scale: Scale = "linear"

    @property
    def count(self) -> int:
        """How many levels are published, which is also the largest severity."""
        return len(self.tables[DRAWN_SIZE])

    def at(self, severity: float, table: int, ratio: float) -> float:
        """The value at a real severity, from the table of one side, for an image `ratio` times as large."""
        path = (self.clean, *self.tables[table])
        below = min(int(severity), len(path) - 2)
        step = severity - below
        if step == 0:
            value = path[below]
        elif step == 1:
            value = path[below + 1]
        else:
            start, end = _straighten(path[below], self.scale), _straighten(path[below + 1], self.scale)
            value = _bend(start + step * (end - start), self.scale)
        value *= ratio**self.px
        return float(round(value)) if self.whole else float(value)


def levels(
    *values: float,
    clean: float,
    at32: tuple[float, ...] | None = None,
    at64: tuple[float, ...] | None = None,
    at299: tuple[float, ...] | None = None,
    px: int = 0,
    whole: bool = False,
    scale: Scale = "linear",
) -> Levels:
    """Declare a parameter by its published levels 1, 2, 3 … and by its value at severity 0.

    Args:
        values: one value per severity, for 224 px images.
        clean: the value for which the corruption does nothing (`inf` is allowed with "inverse-sqrt").
        at32: published values for 32 px images (CIFAR); `at64` (Tiny-ImageNet) and `at299` likewise.
        px: the power of length in the unit: 1 for a radius, which then grows with the image, 0 for a strength.
        whole: round to a whole number; between the levels the corruption then moves in steps.
        scale: what is interpolated linearly: the value, or 1/√value, the noise that `value` photons make.
    """
    tables = {DRAWN_SIZE: values, 32: at32, 64: at64, 299: at299}
    published = {side: tuple(map(float, table)) for side, table in tables.items() if table is not None}
    if not values or any(len(table) != len(values) for table in published.values()):
        raise ValueError(f"every table of levels needs the same number of values, at least one; got {published}")
    return Levels(published, float(clean), px=px, whole=whole, scale=scale)


def choose_table(sides: frozenset[int], side: int) -> tuple[int, float]:
    """The published table for an image side, and how much larger the image is than that table's.

    A published side has its own table. Any other side takes the nearest of the others on a logarithmic axis,
    and lengths in pixels grow in proportion, so that a severity looks alike at every size. The 299 px
    table is one network's variant of the 224 px one and serves 299 px only.
    """
    if side in sides:
        return side, 1.0
    nearest = min(sorted(sides - {299}), key=lambda known: abs(math.log(side / known)))
    return nearest, side / nearest


def check_severity(severity: object, largest: float) -> float:
    """The severity as a float, or one sentence that says what is wrong with it."""
    if isinstance(severity, bool) or not (isinstance(severity, float | int) or hasattr(severity, "__float__")):
        raise TypeError(
            f"severity must be a number from 0 (clean) to {largest:g}, got {severity!r} ({type(severity).__name__})"
        )
    try:
        value = float(severity)
    except (TypeError, ValueError) as error:
        raise TypeError(f"severity must be one number from 0 to {largest:g}, got {severity!r}") from error
    if not 0 <= value <= largest:
        raise ValueError(f"severity must lie between 0 (clean) and {largest:g}, got {severity!r}")
    return value


def _straighten(value: float, scale: Scale) -> float:
    return value if scale == "linear" else 1 / math.sqrt(value)


def _bend(value: float, scale: Scale) -> float:
    return value if scale == "linear" else 1 / value**2 if value else math.inf
