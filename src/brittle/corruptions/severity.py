"""Severity is a real number; the published levels are the points it passes through."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from brittle._errors import BrittleError, BrittleTypeError

Scale = Literal["linear", "inverse-sqrt", "shares"]

DRAWN_SIZE = 224
"""The image side that plain `levels(...)` are given for."""


@dataclass(frozen=True)
class Levels:
    """One physical parameter along the severity axis: published values per image side, and the clean value."""

    tables: Mapping[int, tuple[float, ...]]
    clean: float | None
    px: int = 0
    whole: bool = False
    scale: Scale = "linear"

    @property
    def count(self) -> int:
        """How many levels are published, which is also the largest severity."""
        return len(self.tables[DRAWN_SIZE])

    @property
    def sides(self) -> frozenset[int]:
        """The image sides that have a table of their own."""
        return frozenset(self.tables)

    def at(self, severity: float, table: int, ratio: float) -> float:
        """The value at a real severity, from the table of one side, for an image `ratio` times as large."""
        published = self.tables[table]
        path = (published[0] if self.clean is None else self.clean, *published)
        if self.scale == "shares" and severity >= 1:
            return _share(severity, path[1], path[-1], len(path) - 1) * ratio**self.px
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
    clean: float | None,
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
        clean: the value for which the corruption does nothing (`inf` is allowed with "inverse-sqrt"), or None for a
            parameter that stays as it is at severity 1 while another one fades.
        at32: published values for 32 px images (CIFAR); `at64` (Tiny-ImageNet) and `at299` likewise.
        px: the power of length in the unit: 1 for a radius, which then grows with the image, 0 for a strength.
        whole: round to a whole number; between the levels the corruption then moves in steps.
        scale: what is interpolated linearly: the value, or 1/√value, the noise that `value` photons make.
    """
    tables = {DRAWN_SIZE: values, 32: at32, 64: at64, 299: at299}
    published = {side: tuple(map(float, table)) for side, table in tables.items() if table is not None}
    if not values or any(len(table) != len(values) for table in published.values()):
        raise BrittleError(f"every table of levels needs the same number of values, at least one; got {published}")
    return Levels(published, None if clean is None else float(clean), px=px, whole=whole, scale=scale)


def evenly(
    last: float,
    *,
    clean: float,
    first: float | None = None,
    steps: int = 5,
    at32: float | None = None,
    px: int = 0,
    whole: bool = False,
) -> Levels:
    """Declare a parameter that moves evenly: from `clean` at severity 0 to `last` at severity `steps`.

    Args:
        last: the value at the largest severity, for 224 px images; `at32` likewise for 32 px, where it differs.
        clean: the value for which the corruption does nothing.
        first: the value at severity 1, if it is published too; the rest is then even between the two.
        steps: the largest severity.
        px: as in `levels`; so is `whole`.
    """

    def values(end: float) -> tuple[float, ...]:
        if first is None:
            return tuple(clean + (end - clean) * k / steps for k in range(1, steps + 1))
        return tuple(first + (end - first) * (k - 1) / (steps - 1) for k in range(1, steps + 1))

    return levels(*values(last), clean=clean, at32=None if at32 is None else values(at32), px=px, whole=whole)


def integers(first: int, last: int, *, clean: float, steps: int = 5, px: int = 0) -> Levels:
    """Declare a whole number from `first` at severity 1 to `last` at severity `steps`, each with an equal share.

    A severity that is uniform between the two then draws each number equally often, as a published range of whole
    numbers means it. Below severity 1 the number goes on to `clean`, rounded.
    """
    ends = (float(first), *(first + (last - first) * (k - 1) / (steps - 1) for k in range(2, steps)), float(last))
    return Levels({DRAWN_SIZE: ends}, float(clean), px=px, whole=True, scale="shares")


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
        raise BrittleTypeError(
            f"severity must be a number from 0 (clean) to {largest:g}, got {severity!r} ({type(severity).__name__})"
        )
    try:
        value = float(severity)
    except (TypeError, ValueError) as error:
        raise BrittleTypeError(f"severity must be one number from 0 to {largest:g}, got {severity!r}") from error
    if not 0 <= value <= largest:
        raise BrittleError(f"severity must lie between 0 (clean) and {largest:g}, got {severity!r}")
    return value


def _straighten(value: float, scale: Scale) -> float:
    return 1 / math.sqrt(value) if scale == "inverse-sqrt" else value


def _bend(value: float, scale: Scale) -> float:
    if scale != "inverse-sqrt":
        return value
    return 1 / value**2 if value > 1e-150 else math.inf


def _share(severity: float, first: float, last: float, steps: int) -> float:
    """The whole number in whose equal share of [1, steps] the severity lies."""
    count = abs(last - first) + 1
    index = min(int((severity - 1) / (steps - 1) * count), int(count) - 1)
    return first + math.copysign(index, last - first)
