"""Heat maps whose cells are links: accuracies of one model, and differences of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from brittle.benchmarks import CLEAN
from brittle.evaluation import SHIFT
from brittle.explorer.addresses import address, short_name
from brittle.explorer.browse import PairedCell
from brittle.explorer.runs import BrowsedRuns
from brittle.plots import STEPS, ramp_step

WIDEST_GAP = 0.3
"""Differences of so much or more have the strongest colour."""


@dataclass(frozen=True)
class ShownCell:
    """A cell of a heat map: its colour, its text, what is told about it, and where it leads."""

    css: str
    text: str
    tip: str
    query: str
    level: str
    strong: bool = False


@dataclass(frozen=True)
class ShownRow:
    """A corruption of a heat map; `last` is a cell for all levels."""

    name: str
    family: str
    query: str
    cells: Sequence[ShownCell]
    last: ShownCell
    mean: float


@dataclass(frozen=True)
class ShownGroup:
    """The corruptions of one set, with a table of their own."""

    title: str
    rows: Sequence[ShownRow]

    @property
    def steps(self) -> int:
        """The number of levels of the longest row."""
        return max(len(row.cells) for row in self.rows)

    @property
    def shared(self) -> list[str]:
        """The names of the levels, if all rows have the same."""
        names = {tuple(cell.level for cell in row.cells) for row in self.rows}
        return list(names.pop()) if len(names) == 1 else []


def heat_groups(
    run: BrowsedRuns, row: Callable[[str], ShownRow | None], order: str, *, clean: bool = False
) -> list[ShownGroup]:
    """The rows of a heat map by the set that corruptions are of, or all of them, the lowest first."""
    names = [*([CLEAN] if clean else []), *run.corruptions]
    rows = [(name, made) for name in names if (made := row(name)) is not None]
    if order == "worst":
        rows.sort(key=lambda pair: (pair[1].mean, pair[0]))
        return [ShownGroup("", [made for _, made in rows])] if rows else []
    groups: dict[str, list[ShownRow]] = {}
    for name, made in rows:
        title = "slides" if name.startswith(SHIFT) else name.rpartition("/")[0] if name != CLEAN else ""
        groups.setdefault(title, []).append(made)
    return [ShownGroup(title, members) for title, members in groups.items()]


def accuracy_row(run: BrowsedRuns, number: int, model: str, corruption: str) -> ShownRow | None:
    """The accuracies of one model under one corruption; None if it was not run."""
    heat = run.heat.get((model, corruption))
    if heat is None:
        return None
    cells = []
    for level, cell in heat.cells.items():
        name = run.level_name(corruption, level)
        tip = (
            f"{short_name(corruption)} at {name}: {100 * cell.value:.1f} % right "
            f"[{100 * (cell.low or 0):.1f}, {100 * (cell.high or 0):.1f}] of {cell.n:,} images"
        )
        query = address("/results/failures", run=number, model=model, corruption=corruption, level=level)
        cells.append(ShownCell(f"h{ramp_step(cell.value)}", f"{100 * cell.value:.0f}", tip, query, name))
    every = address("/results/failures", run=number, model=model, corruption=corruption)
    tip = f"{short_name(corruption)}, mean over its levels: {100 * heat.mean:.1f} % right"
    last = ShownCell(f"h{ramp_step(heat.mean)}", f"{100 * heat.mean:.0f}", tip, every, "mean")
    return ShownRow(short_name(corruption), run.family(corruption), every, cells, last, heat.mean)


def gap_row(
    run: BrowsedRuns,
    number: int,
    first: str,
    second: str,
    corruption: str,
    compared: Mapping[str, Mapping[float, PairedCell]],
) -> ShownRow | None:
    """The differences of two models under one corruption; None if they do not share it."""
    if corruption not in compared:
        return None
    cells = []
    for level, cell in compared[corruption].items():
        name = run.level_name(corruption, level)
        ends = cell.gap.low or 0.0, cell.gap.high or 0.0
        tip = (
            f"{short_name(corruption)} at {name}: {signed(cell.gap.value)} points "
            f"[{signed(ends[0])}, {signed(ends[1])}]; "
            f"{100 * cell.first:.1f} % and {100 * cell.second:.1f} % right; "
            f"{cell.only_first:,} images right for the first alone, {cell.only_second:,} for the second alone"
        )
        better, worse = (first, second) if cell.gap.value >= 0 else (second, first)
        query = address(
            "/results/failures", run=number, model=worse, right_by=better, corruption=corruption, level=level
        )
        certain = ends[0] > 0 or ends[1] < 0
        cells.append(ShownCell(_gap_css(cell.gap.value), signed(cell.gap.value, 0), tip, query, name, certain))
    mean = math.fsum(cell.gap.value for cell in compared[corruption].values()) / len(cells)
    better, worse = (first, second) if mean >= 0 else (second, first)
    every = address("/results/failures", run=number, model=worse, right_by=better, corruption=corruption)
    tip = f"{short_name(corruption)}, mean over its levels: {signed(mean)} points"
    last = ShownCell(_gap_css(mean), signed(mean, 0), tip, every, "mean")
    return ShownRow(short_name(corruption), run.family(corruption), every, cells, last, mean)


def _gap_css(gap: float) -> str:
    return f"d{round(STEPS * min(max((gap / WIDEST_GAP + 1) / 2, 0.0), 1.0))}"


def signed(share: float, digits: int = 1) -> str:
    """A difference of shares in percentage points with its sign."""
    text = f"{100 * share:+.{digits}f}".replace("-", "−")
    return text.lstrip("+−") if float(text.replace("−", "-")) == 0 else text
