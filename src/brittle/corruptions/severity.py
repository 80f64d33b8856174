"""Severity as a real number: parameters are interpolated between the published levels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brittle._errors import BrittleError, BrittleTypeError

Scale = Literal["linear", "inverse-sqrt", "shares"]

PLAIN = (float, int)

DRAWN_SIZE = 224
"""The image side that plain `levels(...)` are given for."""


@dataclass(frozen=True)
class Levels:
    """One physical parameter along the severity axis: published values per image side, and the clean value."""

    tables: Mapping[int, tuple[float, ...]]
    clean: float | None
    px: int = 0
    integer: bool = False
    scale: Scale = "linear"
    furthest: float | None = None

    @property
    def count(self) -> int:
        """The number of published levels, which is the largest severity."""
        return len(self.tables[DRAWN_SIZE])

    @property
    def constant(self) -> bool:
        """Whether all published levels have the same value."""
        return all(len(set(values)) == 1 for values in self.tables.values())

    @property
    def highest(self) -> float:
        """The severity at which it reaches its furthest value; that of the strongest level if it has none."""
        if self.furthest is None:
            return float(self.count)
        first, *_, before, last = self.tables[DRAWN_SIZE]
        if self.scale == "shares":  # the middle of its interval
            interval = (self.count - 1) / (abs(last - first) + 1)
            return 1 + interval * (abs(self.furthest - first) + 0.5)
        return self.count + (self.furthest - last) / (last - before)

    @property
    def sides(self) -> frozenset[int]:
        """The image sides that have a table of their own."""
        return frozenset(self.tables)

    def at(self, severity: float, table: int, ratio: float) -> float:
        """The value at a real severity, from the table of one side, for an image `ratio` times as large."""
        published = self.tables[table]
        values = (published[0] if self.clean is None else self.clean, *published)
        if self.scale == "shares" and severity >= 1:
            return _integer_at(severity, values[1], values[-1], len(values) - 1) * ratio**self.px
        lower = min(int(severity), len(values) - 2)
        step = severity - lower
        if step == 0:
            value = values[lower]
        elif step == 1:
            value = values[lower + 1]
        else:
            start, end = _to_scale(values[lower], self.scale), _to_scale(values[lower + 1], self.scale)
            value = _from_scale(start + step * (end - start), self.scale)
        value *= ratio**self.px
        return float(round(value)) if self.integer else float(value)


def levels(
    *values: float,
    clean: float | None,
    at32: tuple[float, ...] | None = None,
    at64: tuple[float, ...] | None = None,
    at299: tuple[float, ...] | None = None,
    px: int = 0,
    integer: bool = False,
    scale: Scale = "linear",
    furthest: float | None = None,
) -> Levels:
    """Declare a parameter by its published levels 1, 2, 3 … and by its value at severity 0.

    Args:
        values: one value per severity, for 224 px images.
        clean: the value without effect (`inf` is allowed with "inverse-sqrt"), or None for a parameter that keeps its
            value of severity 1 while another one fades.
        at32: published values for 32 px images (CIFAR); `at64` (Tiny-ImageNet) and `at299` likewise.
        px: the power of length in the unit: 1 for a radius, which then grows with the image, 0 for a strength.
        integer: round to a whole number; between the levels the corruption then changes in steps.
        scale: what is interpolated linearly: the value, or 1/√value, the noise that `value` photons make.
        furthest: the value, for 224 px images, up to which the last step may be continued beyond the strongest level;
            by default it may not.
    """
    tables = {DRAWN_SIZE: values, 32: at32, 64: at64, 299: at299}
    published = {side: tuple(map(float, table)) for side, table in tables.items() if table is not None}
    if not values or any(len(table) != len(values) for table in published.values()):
        raise BrittleError(f"every table of levels needs the same number of values, at least one; got {published}")
    first = None if clean is None else float(clean)
    return Levels(published, first, px=px, integer=integer, scale=scale, furthest=furthest)


def evenly(
    last: float,
    *,
    clean: float,
    first: float | None = None,
    steps: int = 5,
    at32: float | None = None,
    px: int = 0,
    integer: bool = False,
    furthest: float | None = None,
) -> Levels:
    """Declare a parameter that changes linearly: from `clean` at severity 0 to `last` at severity `steps`.

    Args:
        last: the value at the largest severity, for 224 px images; `at32` likewise for 32 px, where it differs.
        clean: the value without effect.
        first: the value at severity 1, if it is published too; in between it is linear.
        steps: the largest severity.
        px: as in `levels`; so are `integer` and `furthest`.
    """

    def values(end: float) -> tuple[float, ...]:
        if first is None:
            return tuple(clean + (end - clean) * k / steps for k in range(1, steps + 1))
        return tuple(first + (end - first) * (k - 1) / (steps - 1) for k in range(1, steps + 1))

    options: dict[str, Any] = {"px": px, "integer": integer, "furthest": furthest}
    return levels(*values(last), clean=clean, at32=None if at32 is None else values(at32), **options)


def integers(
    first: int, last: int, *, clean: float, steps: int = 5, px: int = 0, furthest: int | None = None
) -> Levels:
    """Declare an integer from `first` at severity 1 to `last` at severity `steps`, each on an equal interval.

    A severity drawn uniformly between the two then gives each integer with equal probability, as published ranges of
    integers do. Below severity 1 it is interpolated to `clean`, rounded. `furthest` is as in `levels`.
    """
    ends = (float(first), *(first + (last - first) * (k - 1) / (steps - 1) for k in range(2, steps)), float(last))
    return Levels({DRAWN_SIZE: ends}, float(clean), px=px, integer=True, scale="shares", furthest=furthest)


def choose_table(sides: frozenset[int], side: int) -> tuple[int, float]:
    """The published table for an image side, and the ratio of the image side to that of the table.

    A published side has its own table. Any other side takes the closest on a logarithmic scale, and lengths in pixels
    grow in proportion, so that a severity looks alike at every size. The 299 px table is a variant of the 224 px one
    for one network and is used for 299 px only.
    """
    if side in sides:
        return side, 1.0
    closest = min(sorted(sides - {299}), key=lambda published: abs(math.log(side / published)))
    return closest, side / closest


def check_severity(severity: object, largest: float) -> float:
    """The severity as a float; raises if it is invalid."""
    if type(severity) in PLAIN and 0 <= severity <= largest:  # type: ignore[operator]
        return float(severity)  # type: ignore[arg-type]
    is_number = isinstance(severity, float | int) or hasattr(severity, "__float__")
    if isinstance(severity, bool | np.bool_) or not is_number:
        raise BrittleTypeError(
            f"severity must be a number from 0 (clean) to {largest:g}, got {severity!r} ({type(severity).__name__})"
        )
    try:
        value = float(severity)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise BrittleTypeError(f"severity must be one number from 0 to {largest:g}, got {severity!r}") from error
    except OverflowError:
        raise BrittleError(f"severity must lie between 0 (clean) and {largest:g}, got one beyond all floats") from None
    if not 0 <= value <= largest:
        raise BrittleError(f"severity must lie between 0 (clean) and {largest:g}, got {severity!r}")
    return value


def _to_scale(value: float, scale: Scale) -> float:
    return 1 / math.sqrt(value) if scale == "inverse-sqrt" else value


def _from_scale(value: float, scale: Scale) -> float:
    if scale != "inverse-sqrt":
        return value
    return 1 / value**2 if value > 1e-150 else math.inf


def _integer_at(severity: float, first: float, last: float, steps: int) -> float:
    """The integer in whose interval of [1, steps] the severity lies; all intervals, also beyond, are equally long."""
    count = abs(last - first) + 1
    index = int((severity - 1) / (steps - 1) * count)
    index = min(index, int(count) - 1) if severity <= steps else index
    return first + math.copysign(index, last - first)
