"""Browsing in results, against plain filtering and sorting of all their rows."""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.evaluation import Results, Store, aligned_files, load_results, trajectories
from brittle.evaluation.cell import CellRows
from brittle.explorer.browse import (
    Failure,
    FailureQuery,
    failures,
    heat_map,
    paired_cells,
)
from brittle.explorer.ladders import VALUES, Ladders
from brittle.explorer.samples import sample_trajectories
from brittle.metrics import difference, failure_points, wilson
from tests.errors import naming
from tests.explorer.browse_cases import RECIPE, SAMPLES, models, write_run
from tests.explorer.random_runs import LADDERS, random_rows, random_slides, results_of

SEEDS = range(3)
QUERIES = [
    {},
    {"model": "model-1"},
    {"corruption": "imagenet-c/fog"},
    {"corruption": "clean"},
    {"model": "model-0", "corruption": "imagenet-c/fog", "level": 2.5},
    {"corruption": "c-bar/lines", "level": 0.7},
    {"label": 2},
    {"predicted": 0},
    {"label": 1, "predicted": 3, "corruption": "noc/hue"},
    {"model": "model-1", "right_by": "model-0"},
    {"right_by": "model-2"},
    {"model": "model-2", "corruption": "imagenet-c/fog", "right_by": "model-1", "first_only": True},
    {"first_only": True},
]
SORTS: dict[str, Callable[[dict[str, Any]], tuple[float, ...]]] = {
    "surest": lambda row: (_last(-row["confidence"]), _last(row["point"])),
    "unsure": lambda row: (_last(row["confidence"]), _last(row["point"])),
    "earliest": lambda row: (_last(row["point"]), _last(-row["confidence"])),
    "latest": lambda row: (_last(-row["point"]), _last(-row["confidence"])),
}


def _last(value: float) -> float:
    return math.inf if math.isnan(value) else value


def point_of(rows: dict[tuple[str, str, float, str], bool], model: str, corruption: str, sample: str) -> float:
    """The first level at which a sample is wrong, unknown unless all levels have it."""
    levels = sorted({0.0, *LADDERS[corruption]})
    right = [rows.get((model, corruption if level else "clean", level, sample)) for level in levels]
    if None in right:
        return math.nan
    return next((level for level, is_right in zip(levels, right, strict=True) if not is_right), math.inf)


def brute_force(table: pl.DataFrame, query: dict[str, Any], sort: str) -> list[tuple[str, str, float, str]]:
    """The names of all rows that match, in their order, row by row."""
    right = {row[:4]: row[4] for row in table.select("model", "corruption", "level", "sample", "correct").rows()}
    chosen = []
    for row in table.iter_rows(named=True):
        row["point"] = point_of(right, row["model"], row["corruption"], row["sample"])
        by_other = right.get((query.get("right_by"), row["corruption"], row["level"], row["sample"]))
        if (
            not row["correct"]
            and all(row[key] == query[key] for key in ("model", "corruption", "level", "label") if key in query)
            and row["prediction"] == query.get("predicted", row["prediction"])
            and ("right_by" not in query or by_other)
            and (not query.get("first_only") or row["point"] == row["level"])
        ):
            chosen.append(row)
    names = ("model", "corruption", "level", "sample")
    chosen.sort(key=lambda row: (SORTS[sort](row), *(row[name] for name in names)))
    return [tuple(row[name] for name in names) for row in chosen]  # type: ignore[misc]


def names_of(rows: list[Failure]) -> list[tuple[str, str, float, str]]:
    return [(row.model, row.corruption, row.level, row.sample) for row in rows]


def cursors(rows: list[Failure]) -> list[str]:
    return [row.cursor for row in rows]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_pages_together_are_the_sorted_matches(seed: int, query: dict[str, Any], sort: str) -> None:
    table = random_rows(seed)
    ladders, asked = Ladders(results_of(table)), FailureQuery(**query, sort=sort)  # type: ignore[arg-type]
    expected = brute_force(table, query, sort)
    pages, cursor = [], None
    while not pages or not pages[-1].is_last:
        pages.append(failures(ladders, asked, size=7, after=cursor))
        assert pages[-1].total == len(expected)
        assert len(pages) <= len(expected) // 7 + 1
        cursor = pages[-1].rows[-1].cursor if pages[-1].rows else None
    assert names_of([row for page in pages for row in page.rows]) == expected
    for page in pages:  # the same by number, and backwards
        assert cursors(page.rows) == cursors(failures(ladders, asked, size=7, start=page.start).rows)
    for page, following in pairwise(pages):
        back = failures(ladders, asked, size=7, before=following.rows[0].cursor)
        assert (cursors(back.rows), back.start) == (cursors(page.rows), page.start)


def test_rows_carry_what_the_table_says() -> None:
    table = random_rows(5)
    rows = failures(Ladders(results_of(table)), FailureQuery(), size=200).rows
    known = {
        row[:4]: row[4:]
        for row in table.select("model", "corruption", "level", "sample", "label", "prediction", "confidence").rows()
    }
    assert len(rows) == 200
    for row in rows:
        label, prediction, confidence = known[row.model, row.corruption, row.level, row.sample]
        assert (row.label, row.prediction) == (label, prediction)
        assert row.confidence == confidence or (math.isnan(row.confidence) and math.isnan(confidence))


def test_a_page_follows_its_cursor_also_if_rows_were_added() -> None:
    table = random_rows(1)
    expected = brute_force(table, {}, "earliest")
    fewer = results_of(table.filter(pl.col("model") != "model-1"))
    first = failures(Ladders(fewer), FailureQuery(sort="earliest"), size=10).rows
    rest = failures(Ladders(results_of(table)), FailureQuery(sort="earliest"), size=200, after=first[-1].cursor).rows
    assert names_of(rest) == expected[expected.index(names_of(first)[-1]) + 1 :][:200]


def test_a_page_follows_its_cursor_also_if_its_row_has_gone() -> None:
    table, query = random_rows(1), {"corruption": "noc/hue"}
    rows = failures(Ladders(results_of(table)), FailureQuery(**query), size=9).rows  # type: ignore[arg-type]
    sample = (pl.col("sample") == rows[-1].sample) & (pl.col("model") == rows[-1].model)
    fewer = table.filter(~(sample & (pl.col("corruption") == "noc/hue")))
    rest = failures(Ladders(results_of(fewer)), FailureQuery(**query), size=200, after=rows[-1].cursor).rows  # type: ignore[arg-type]
    assert names_of(rest) == brute_force(table, query, "surest")[9:]


@pytest.mark.parametrize("budget", [0, 5_000])
def test_what_does_not_fit_into_memory_is_read_again(budget: int) -> None:
    table = random_rows(2)
    asked = FailureQuery(right_by="model-0")
    small = Ladders(results_of(table), budget=budget)
    for _ in range(2):
        assert (
            names_of(failures(small, asked, size=200).rows)
            == brute_force(table, {"right_by": "model-0"}, "surest")[:200]
        )
    assert sum(ladder.nbytes for ladder in small._kept.values()) <= max(budget, 2_000)


def test_files_with_the_same_samples_are_read_without_their_ids_and_give_the_same(tmp_path: Path) -> None:
    write_run(tmp_path)
    results = load_results(tmp_path)
    quick, plain = Ladders(results), Ladders(Results(results.rows))
    assert len(aligned_files(results)) == 2 * 5
    assert not aligned_files(plain.results)
    assert quick.levels == plain.levels
    assert heat_map(quick.accuracy()) == heat_map(plain.accuracy()) != []
    for one, other in zip(quick.each(quick.pairs()), plain.each(plain.pairs()), strict=True):
        for name in ("samples", "labels", "predictions", "confidences", "states", "points"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert failures(quick, FailureQuery()).rows == failures(plain, FailureQuery()).rows != []
    assert sample_trajectories(quick, SAMPLES[0]) == sample_trajectories(plain, SAMPLES[0])
    with pytest.raises(BrittleError, match=naming("elsewhere")):
        sample_trajectories(quick, "elsewhere")


def test_a_cell_whose_samples_are_in_another_order_is_read_with_their_ids(tmp_path: Path) -> None:
    write_run(tmp_path)
    before = failures(Ladders(load_results(tmp_path)), FailureQuery()).rows
    file = next(path for path in sorted((tmp_path / "cells").glob("*/*.parquet")) if "fog@3" in path.name)
    table, store, cell = pl.read_parquet(file).reverse(), Store(tmp_path), RECIPE.cells()[1]
    model = next(one for one in models() if one.name == table["model"][0])
    store.write(model, cell, CellRows(table["sample"].to_list(), *(table[name].to_numpy() for name in VALUES[:3])))
    results = load_results(tmp_path)
    assert not aligned_files(results)
    assert failures(Ladders(results), FailureQuery()).rows == before


def test_failure_points_are_those_of_the_metric() -> None:
    results = results_of(random_rows(3))
    ladders = Ladders(results)
    for model, corruption in ladders.pairs():
        if corruption == "clean":
            continue
        right, levels, samples = results.correct(model, corruption)
        expected = dict(zip(samples, failure_points(right, levels).points, strict=True))
        ladder = ladders.get(model, corruption)
        known = {str(s): p for s, p in zip(ladder.samples, ladder.points, strict=True) if not math.isnan(p)}
        assert known == expected


def test_the_heat_map_has_every_cell_with_its_interval() -> None:
    table = random_rows(4)
    rows = {(row.model, row.corruption): row for row in heat_map(results_of(table).accuracy())}
    assert ("model-2", "c-bar/lines") not in rows
    for (model, corruption, level), cell in table.group_by("model", "corruption", "level"):
        estimate = rows[str(model), str(corruption)].cells[float(level)]  # type: ignore[arg-type]
        low, high = wilson(cell["correct"].sum(), len(cell))
        assert estimate.n == len(cell)
        assert estimate.value == pytest.approx(cell["correct"].sum() / len(cell))
        assert (estimate.low, estimate.high) == pytest.approx((float(low), float(high)))


def test_a_sample_has_its_trajectory_under_every_corruption() -> None:
    table = random_rows(6)
    right = {row[:4]: row[4] for row in table.select("model", "corruption", "level", "sample", "correct").rows()}
    for sample in table["sample"].unique().sort()[:10]:
        page = sample_trajectories(Ladders(results_of(table)), sample)
        steps = {
            (one.model, one.corruption if step.level else "clean", step.level): step
            for one in page.trajectories
            for step in one.steps
        }
        rows = table.filter(pl.col("sample") == sample)
        assert len(steps) == len(rows)
        for row in rows.iter_rows(named=True):
            step = steps[row["model"], row["corruption"], row["level"]]
            assert (step.prediction, step.right) == (row["prediction"], row["correct"])
        for one in page.trajectories:
            expected = point_of(right, one.model, one.corruption, sample)
            assert math.isnan(expected) or one.point == expected


def test_two_models_are_compared_on_the_samples_that_both_were_shown() -> None:
    table = random_rows(7, samples=60)
    compared = paired_cells(Ladders(results_of(table)), "model-0", "model-2")
    assert set(compared) == {"clean", "imagenet-c/fog", "noc/hue"}
    wide = table.pivot("model", index=["corruption", "level", "sample"], values="correct").drop_nulls(
        ["model-0", "model-2"]
    )
    for corruption, cells in compared.items():
        for level, cell in cells.items():
            part = wide.filter((pl.col("corruption") == corruption) & (pl.col("level") == level))
            a, b = (part[name].to_numpy().astype(bool) for name in ("model-0", "model-2"))
            assert cell.gap.n == len(part)
            assert (cell.first, cell.second) == (a.mean(), b.mean())
            assert (cell.only_first, cell.only_second) == ((a & ~b).sum(), (b & ~a).sum())
            drawn = difference(a[:, np.newaxis], b[:, np.newaxis], resamples=2000)
            assert cell.gap.value == pytest.approx(drawn.value)
            ends, drawn_ends = np.array([cell.gap.low, cell.gap.high]), np.array([drawn.low, drawn.high])
            assert ends == pytest.approx(drawn_ends, abs=0.15 * float(np.ptp(drawn_ends)))


def test_slides_fail_where_their_trajectories_do() -> None:
    results = results_of(random_slides(0))
    ladders = Ladders(results)
    for part in trajectories(results):
        for number, model in enumerate(part.models):
            ladder = ladders.get(model, f"cns/{part.shift}")
            expected = dict(zip(part.names, failure_points(part.correct[number], part.scales).points, strict=True))
            known = {str(s): p for s, p in zip(ladder.samples, ladder.points, strict=True) if not math.isnan(p)}
            assert known == expected
    rows = failures(ladders, FailureQuery(corruption="cns/snow", sort="earliest"), size=200).rows
    assert {row.sample for row in rows} <= set(random_slides(0)["sample"])
    page = sample_trajectories(Ladders(results), rows[0].sample)
    assert {one.corruption for one in page.trajectories} == {"cns/snow"}
    assert [step.level for step in page.trajectories[0].steps] in ([0, 0.5, 1, 1.5], [0, 0.5, 1])
    assert rows[0].sample in {step.sample for one in page.trajectories for step in one.steps}


def test_the_same_sample_twice_is_named() -> None:
    table = random_rows(0)
    doubled = pl.concat([table, table.filter(pl.col("corruption") == "noc/hue")])
    with pytest.raises(BrittleError, match=naming("noc/hue", "model-0")):
        failures(Ladders(results_of(doubled)), FailureQuery())


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"model": "model-9"}, "model-9"),
        ({"corruption": "../../etc/passwd"}, "../../etc/passwd"),
        ({"right_by": "nobody"}, "nobody"),
        ({"model": "model-0", "corruption": "imagenet-c/fog", "level": 4.0}, "4"),
    ],
)
def test_unknown_names_are_named(query: dict[str, Any], named: str) -> None:
    with pytest.raises(BrittleError, match=naming(named)):
        failures(Ladders(results_of(random_rows(0))), FailureQuery(**query))


@pytest.mark.parametrize("cursor", ["", "x", "%%%", "W10", "WzEsMiwzLDQsNV0", "é", "bnVsbA", "A" * 10_000])
def test_a_broken_cursor_is_one_sentence(cursor: str) -> None:
    with pytest.raises(BrittleError):
        failures(Ladders(results_of(random_rows(0))), FailureQuery(), after=cursor)


@pytest.mark.parametrize("wrong", [{"sort": "size"}, {"level": 1.0}, {"corruption": "clean", "level": math.nan}])
def test_a_query_that_makes_no_sense_raises(wrong: dict[str, Any]) -> None:
    with pytest.raises(BrittleError):
        FailureQuery(**wrong)


def test_numbers_beyond_the_end_give_the_end() -> None:
    ladders = Ladders(results_of(random_rows(0)))
    page = failures(ladders, FailureQuery(), size=5, start=10**30)
    assert page.is_last
    assert page.start == page.total - 1
    for size in (0, 201):
        with pytest.raises(BrittleError, match=naming(size)):
            failures(ladders, FailureQuery(), size=size)
    with pytest.raises(BrittleError, match=naming("nobody.png")):
        sample_trajectories(ladders, "nobody.png")
    with pytest.raises(BrittleError, match=naming("model-0")):
        paired_cells(ladders, "model-0", "model-0")
