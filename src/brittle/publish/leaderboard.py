"""A leaderboard of many runs as static pages: one for each benchmark, with intervals and groups of equal models."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._io import file_name
from brittle.benchmarks import Benchmark
from brittle.evaluation import Results, Scores, bundled_textures, by_corruption, same_images, scores, shared_rows
from brittle.metrics import Estimate, indistinguishable_groups, pairwise_differences
from brittle.plots import STEPS
from brittle.publish.scored import find_recipe, folder_for, last_day, rendered, title_of, versions, write_text

RESAMPLES = 1000
PAGES = "index"
"""The name that no benchmark's page may have."""


@dataclass(frozen=True, eq=False)
class LeaderboardTable:
    """Models on one recipe and one set of images, the best first: only these may be compared.

    `groups` are the largest groups of models, by their places, of which no two are known to differ; `differences` the
    paired differences of mean accuracy of each model and each later one, with intervals that hold for all at once.
    `left_out` are models that lack some of the cells.
    """

    recipe: Benchmark
    results: Results
    scores: tuple[Scores, ...]
    differences: dict[tuple[int, int], Estimate]
    groups: tuple[tuple[int, ...], ...]
    left_out: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """The name of the images."""
        return next((str(run.data) for run in self.results.runs if run.data), "unnamed images")

    @property
    def data_key(self) -> str:
        """The digest of the images, if it is known."""
        return next((run.data_key for run in self.results.runs if run.data_key), "") or ""

    @property
    def images(self) -> int:
        """The number of images that count."""
        return self.scores[0].mean_accuracy.n or 0

    def letters(self, place: int) -> list[str]:
        """The letters of the groups that a model is in; two models differ exactly if they share none."""
        return [letter(number) for number, group in enumerate(self.groups) if place in group]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "benchmark": self.recipe.name,
            "recipe": self.recipe.hash,
            "data": self.data,
            "data_key": self.data_key,
            "images": self.images,
            "models": [
                {
                    "model": row.model,
                    "rank": place + 1,
                    "groups": self.letters(place),
                    "reference": row.reference,
                    "scores": {one.name: [one.value, one.low, one.high] for one in row.all()},
                    "accuracy": {
                        one.corruption: [one.accuracy.value, one.accuracy.low, one.accuracy.high]
                        for one in row.corruptions
                    },
                }
                for place, row in enumerate(self.scores)
            ],
        }


def letter(number: int) -> str:
    """a … z, then aa, ab, …"""
    first, last = divmod(number, 26)
    return (letter(first - 1) if first else "") + "abcdefghijklmnopqrstuvwxyz"[last]


def leaderboard_tables(results: Results, benchmark: str | None = None) -> list[LeaderboardTable]:
    """A table for each recipe and each set of images of some runs, by the names of the recipes.

    >>> import brittle
    >>> from brittle.publish import leaderboard_tables
    >>> recipe = brittle.load_benchmark("cifar10-c").cut(["fog", "contrast"], severities=[1, 5])
    >>> data = brittle.load_dataset("demo").limited(50)
    >>> [table] = leaderboard_tables(brittle.evaluate(["demo:standard", "demo:augmix"], data, recipe))
    >>> [score.model for score in table.scores], table.letters(0)
    (['demo-augmix', 'demo-standard'], ['a'])

    Runs on different images, or of recipes that differ in anything but their name, are never put into one table.
    """
    made = []
    wanted = find_recipe(results, benchmark).hash if benchmark is not None and benchmark.endswith(".toml") else ""
    for group in same_images(results):
        for recipe in group.benchmarks():
            if benchmark is None or (recipe.hash == wanted if wanted else recipe.name == benchmark):
                made.append(_table(group, recipe))
    if not made:
        known = sorted({recipe.name for recipe in results.benchmarks()})
        if benchmark is not None and known:
            raise BrittleError(f"these runs are not of the benchmark {benchmark!r}; they are of {', '.join(known)}")
        if results.streams is not None:
            raise BrittleError(
                "these runs are of streams, which have an order and are not ranked here; `brittle compare` and "
                "`brittle report` have the error of each model over time"
            )
        raise BrittleError(
            "no model of these runs was run through a whole benchmark, so there is nothing to rank; "
            "run one with `brittle run -b RECIPE`"
        )
    return sorted(made, key=lambda table: (table.recipe.name, -table.images, table.data, table.recipe.hash))


def _table(results: Results, recipe: Benchmark) -> LeaderboardTable:
    rows = scores(results, recipe, resamples=RESAMPLES)
    names = [row.model for row in rows]
    gaps: dict[tuple[int, int], Estimate] = {}
    if len(names) > 1:
        mean = by_corruption(recipe)
        tables = shared_rows(results, names, recipe.cells())
        gaps = pairwise_differences(tables, lambda x: mean(x).mean(-1), resamples=RESAMPLES)
    distinct = np.zeros((len(names), len(names)), bool)
    for (first, second), gap in gaps.items():
        apart = gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
        distinct[first, second] = distinct[second, first] = apart
    left_out = tuple(model for model in results.models if model not in names)
    return LeaderboardTable(recipe, results, tuple(rows), gaps, tuple(indistinguishable_groups(distinct)), left_out)


def write_leaderboard(
    results: Results, folder: str | Path, benchmark: str | None = None, *, title: str | None = None
) -> Path:
    """Write a leaderboard of all models of some runs into a folder, and give the path of its first page.

    >>> import brittle, tempfile
    >>> from brittle.publish import write_leaderboard
    >>> recipe = brittle.load_benchmark("cifar10-c").cut(["fog"], severities=[5])
    >>> results = brittle.evaluate(["demo:standard", "demo:augmix"], brittle.load_dataset("demo").limited(20), recipe)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_leaderboard(results, folder).name
    'index.html'

    The pages are plain files that ask nothing of the network, to be opened from a disk or put on any server: one for
    each benchmark, `index.html`, and `leaderboard.json` with all numbers. The same results give the same bytes.
    """
    place, tables = folder_for(folder), leaderboard_tables(results, benchmark)
    by_name: dict[str, list[LeaderboardTable]] = {}
    for table in tables:
        by_name.setdefault(table.recipe.name, []).append(table)
    files = {name: _page_file(name) for name in by_name}
    heading = title or "Leaderboard"
    given = {"site": heading, "day": last_day(results.runs), "versions": versions(results.runs)}
    nav = [(title_of(group[0].recipe), files[name]) for name, group in by_name.items()]
    pages = {
        files[name]: rendered(
            "leaderboard.html",
            title=title_of(group[0].recipe),
            here=files[name],
            nav=nav,
            tables=[_shown(number, table) for number, table in enumerate(group, start=1)],
            models=len({row.model for table in group for row in table.scores}),
            resamples=RESAMPLES,
            **given,
        )
        for name, group in by_name.items()
    }
    cards = [
        {"title": title_of(group[0].recipe), "file": files[name], "tables": [_card(table) for table in group]}
        for name, group in by_name.items()
    ]
    models = len({row.model for table in tables for row in table.scores})
    pages["index.html"] = rendered(
        "leaderboard_index.html", title=heading, cards=cards, nav=nav, models=models, **given
    )
    pages["leaderboard.json"] = json.dumps([table.to_dict() for table in tables], indent=1, ensure_ascii=False) + "\n"
    for name, text in pages.items():
        write_text(place / name, text)
    return place / "index.html"


def _page_file(recipe: str) -> str:
    stem = file_name(recipe)
    return f"{stem}-benchmark.html" if stem == PAGES else f"{stem}.html"


def _card(table: LeaderboardTable) -> dict[str, Any]:
    """What the first page shows of a table."""
    first = table.groups[0] if table.groups else (0,)
    return {"table": table, "best": table.scores[0], "level": [table.scores[i].model for i in first if i != 0]}


def _shown(number: int, table: LeaderboardTable) -> dict[str, Any]:
    """What a template needs of a table."""
    recipe, rows = table.recipe, table.scores
    worst = [row.worst_first()[0] for row in rows]
    added = list(dict.fromkeys((field, score.name) for row in rows for field, score in row.more.items()))
    notes = [row.reference for row in rows if row.reference and row.mce]
    return {
        "id": f"table{number}",
        "table": table,
        "what": f"{len(recipe.entries)} corruptions, {len(recipe)} cells, seed {recipe.seed}",
        "rows": [
            {
                "place": place,
                "score": row,
                "letters": table.letters(place),
                "worst": worst[place],
                "gap": _to_best(table.differences.get((0, place))),
                "cells": [_heat(one.accuracy) for one in row.corruptions],
            }
            for place, row in enumerate(rows)
        ],
        "letters": [letter(i) for i in range(len(table.groups))],
        "added": added,
        "mce": any(row.mce for row in rows),
        "reference": notes[0] if notes else "",
        "clean": any(row.clean for row in rows),
        "robustness": any(row.robustness for row in rows),
        "entries": recipe.entries,
        "textures": bundled_textures(recipe),
    }


def _to_best(gap: Estimate | None) -> Estimate | None:
    """A model minus the best one, from the best one minus the model."""
    if gap is None or gap.low is None or gap.high is None:
        return None
    return replace(gap, value=-gap.value, low=-gap.high, high=-gap.low)


def _heat(accuracy: Estimate) -> tuple[Estimate, str]:
    """An accuracy with its colour in a heat map."""
    return accuracy, f"h{round(STEPS * min(max(accuracy.value, 0.0), 1.0))}"
