"""What a report is about: each benchmark on each set of images is a part of its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from brittle.benchmarks import Benchmark, Entry
from brittle.evaluation.cell import CLEAN, plan
from brittle.evaluation.results import COLUMNS, Cells, Results
from brittle.evaluation.scores import CLEAN_CELL, cells_of
from brittle.evaluation.store import Store, scan
from brittle.sliders.trajectories import SHIFT


@dataclass(frozen=True, eq=False)
class Part:
    """One benchmark on one set of images, or the clean images alone; models that lack a cell are left out."""

    number: int
    results: Results
    benchmark: Benchmark | None
    models: list[str]
    left_out: list[str]
    slides: bool = False

    @property
    def has_clean(self) -> bool:
        """Whether the clean images were run; published sets on disk do not hold them."""
        return CLEAN_CELL in self.results.cells

    @property
    def id(self) -> str:
        """What the ids of its sections begin with."""
        return f"part{self.number}"

    @property
    def data(self) -> str:
        """The name of the images."""
        return next((str(run["data"]) for run in self.results.runs if run.get("data")), "")

    @property
    def classes(self) -> list[str]:
        """The names of the classes, if they are known."""
        return next((list(run["classes"]) for run in self.results.runs if run.get("classes")), [])

    def class_name(self, number: int) -> str:
        """What people call a class."""
        if number < 0:
            return "none of the classes"
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    @property
    def name(self) -> str:
        """What people call the benchmark."""
        if self.benchmark is None:
            return self.data or ("Slides" if self.slides else "Clean images")
        return self.benchmark.title.partition(":")[0].strip() or self.benchmark.name

    @property
    def place(self) -> str:
        """The name with that of the run, where several parts have the same."""
        return f"{self.name}, {Path(self.results.runs[0]['folder']).name}"

    @property
    def about(self) -> str:
        """The rest of the benchmark's title."""
        return "" if self.benchmark is None else self.benchmark.title.partition(":")[2].strip()


def parts(results: Results) -> list[Part]:
    """All parts, in the order in which they were run."""
    found: list[Part] = []
    for group in same_images(results):
        there = set(group.rows.select("model", "corruption", "level").unique().collect().rows())
        slid = [cell for cell in group.cells if cell[0].startswith(SHIFT)]
        if slid:
            whole = group.models_with(slid)
            left_out = [model for model in group.models if model not in whole]
            if whole:
                found.append(Part(len(found) + 1, group, None, whole, left_out, slides=True))
            continue
        clean: Cells = [CLEAN_CELL] if CLEAN_CELL in group.cells else []
        own: list[tuple[Benchmark | None, list[str]]] = []
        for benchmark in _recipes(group):
            cells = [*clean, *cells_of(benchmark)]
            whole = [model for model in group.models if all((model, *cell) in there for cell in cells)]
            if whole:
                own.append((benchmark, whole))
        if not own and clean:
            own.append((None, [model for model in group.models if (model, *CLEAN_CELL) in there]))
        for recipe, models in own:
            left_out = [model for model in group.models if model not in models]
            found.append(Part(len(found) + 1, group, recipe, models, left_out))
    if not found:
        raise ValueError(
            f"none of the models {', '.join(results.models)} has results on all cells of a recipe, or on clean images; "
            "run them again to fill what is missing"
        )
    return found


def same_images(results: Results) -> list[Results]:
    """One Results for each set of images, since rows of different images must not be averaged together."""
    if len(results.runs) < 2:
        return [results]
    groups: list[tuple[Any, dict[tuple[str, float], str], list[dict[str, Any]]]] = []
    for run in results.runs:
        keys = {(c.corruption, c.severity): c.key for recipe in Store(run["folder"]).recipes() for c in plan(recipe)}
        for data, known, runs in groups:
            if data == _data(run) and all(known.get(cell, key) == key for cell, key in keys.items()):
                known |= keys
                runs.append(run)
                break
        else:
            groups.append((_data(run), keys, [run]))
    return [_together(runs, results) for _, _, runs in groups]


def _data(run: dict[str, Any]) -> tuple[Any, ...]:
    """What tells sets of images apart: a digest, or for published sets on disk what is known of them."""
    return run.get("data_key"), run.get("stored"), None if "data_key" in run else (run["data"], run["images"])


def _together(runs: list[dict[str, Any]], results: Results) -> Results:
    """The rows of some of the runs, those on the same images, with the names that the models have in all of them."""
    stores, among = ([Store(run["folder"]) for run in several] for several in (runs, results.runs))
    rows = scan(stores, among).select(COLUMNS).filter(pl.col("model").is_in(results.models))
    return Results(rows, tuple(runs))


def _recipes(group: Results) -> list[Benchmark]:
    order = [s.get("recipe") for run in group.runs for s in run.get("calls", ())]
    found = group.benchmarks()
    if not found:
        found = _made_up(group)
    return sorted(found, key=lambda recipe: order.index(recipe.hash) if recipe.hash in order else len(order))


def _made_up(group: Results) -> list[Benchmark]:
    """Rows that came without a recipe: what they hold is the recipe, as far as the corruptions are known."""
    levels: dict[str, tuple[float, ...]] = {}
    for corruption, level in group.cells:
        if corruption != CLEAN:
            levels[corruption] = (*levels.get(corruption, ()), level)
    entries = []
    for item in levels.items():
        with suppress(ValueError):
            entries.append(Entry(*item))
    return [Benchmark("all corruptions", tuple(entries), "All corruptions")] if entries else []


def in_order(several: list[Part], order: list[str]) -> list[Part]:
    """The same parts with their models in this order."""
    return [replace(part, models=sorted(part.models, key=order.index)) for part in several]
