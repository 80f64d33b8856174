"""A small input of every figure, with names that are hard to draw; tests and pictures share them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import brittle
from brittle import plots
from brittle.benchmarks import Cell
from brittle.design import (
    Calibration,
    Dissimilar,
    OverlapMatrix,
    categories,
    correlation_table,
    published_overlap,
    scheme_correlations,
    sweep,
)
from brittle.design.covering import Balance, SingleScores
from brittle.distance import CorruptionFeatures, Leak, LeakCheck, distances
from brittle.evaluation import Results, cns_scores
from brittle.metrics import Estimate

NASTY = "$_x^ü$ & <b>_{1}$ \\frac"
HIDDEN = "_Δ τ"
"""Matplotlib drops names that begin with an underscore from legends, and reads mathematics between dollars."""

TWO = brittle.Benchmark(
    "two $ones$", tuple(brittle.load_benchmark("cifar10-c").entry(name) for name in ("fog", "contrast"))
)
SCALES = (0.0, 0.5, 1.0, 2.5)
OVERLAP = published_overlap("noc-table7")
NAMES = [entry.id for entry in brittle.load_benchmark("cifar10-c").entries]


def rows_of(table: list[tuple]) -> Results:
    names = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
    return Results(pl.LazyFrame(table, schema=names, orient="row"))


@cache
def run_results(models: tuple[str, ...] = (NASTY, HIDDEN)) -> Results:
    """Forty images, clean and through both corruptions; the first model is the better one."""
    rng, rows = np.random.default_rng(0), []
    for place, model in enumerate(models):
        for cell in [Cell(), *TWO.cells()]:
            right = rng.random(40) < 0.95 - 0.12 * cell.severity - 0.1 * place
            rows += [(model, *cell.place, f"{i}", 0, int(not ok), 0.9, bool(ok)) for i, ok in enumerate(right)]
    return rows_of(rows)


@cache
def shift_results() -> Results:
    """Each model is right below a limit of its own, and each trajectory shifts it."""
    rng, rows = np.random.default_rng(0), []
    for place, model in enumerate(("alexnet", "vit", NASTY)):
        for shift in ("heavy_fog", "heavy_snow"):
            for seed in range(12):
                limit = 0.3 + 0.5 * place + rng.random()
                for scale in SCALES:
                    sample = f"{shift}/000_tench/seed_{seed:04}_scale_{round(1000 * scale):04}.jpg"
                    right = scale < limit and seed > place
                    rows.append((model, f"cns/{shift}", scale, sample, 0, 0 if right else 1, 0.9, right))
    return rows_of(rows)


@cache
def shift_scores() -> Any:
    return cns_scores(shift_results(), baseline="alexnet", resamples=100)


CURVES = pl.DataFrame(
    [
        (shift, scale, measure, sign * scale, sign * scale - 0.5, sign * scale + 0.5, 12)
        for shift in ("heavy_fog", NASTY)
        for measure, sign in (("ΔCLIP shift", 3.0), ("ΔCLIP class", -1.0))
        for scale in SCALES
    ],
    schema=["shift", "scale", "measure", "value", "low", "high", "trajectories"],
    orient="row",
)
QUALITY = pl.DataFrame(
    [
        ("2 of 4", 0.9, 0.8, 1, 0.1, 0, 0.2, 0.88, 0.8, 0.9, 50),
        (NASTY, 0.5, 0.4, 0.6, 0.3, 0.2, 0.4, 0.6, 0.5, 0.7, 50),
    ],
    schema=["filter", *(f"{w}{e}" for w in ("tpr", "fpr", "accuracy") for e in ("", "_low", "_high")), "images"],
    orient="row",
)
ROC = pl.DataFrame(
    {
        "filter": ["2 of 4"] * 3 + ["CLIP_class"] * 3,
        "target": [0.0, 0.9, 1.0] * 2,
        "tpr": [0.0, 0.9, 1.0] * 2,
        "fpr": [0.0, 0.25, 1.0, 0.0, 0.5, 1.0],
        "auc": [0.825] * 3 + [0.7] * 3,
    }
)
KNOWN = pl.DataFrame(
    {
        "out_of_class": [True] * 4 + [False] * 8,
        "CLIP_class": [1.0, 2, 3, 9, *range(4, 12)],
        "CLIP_ref": [None, *np.linspace(0, 1, 11)],
    }
)
LOSSES = {"fog": [1.0, 0.5, 0.1], NASTY: np.geomspace(1, 1e-3, 300).tolist()}


def masked_matrix(names: list[str]) -> OverlapMatrix:
    """Random overlaps; those of the second are masked."""
    shares = np.random.default_rng(1).random((len(names), len(names)))
    scores = (shares + shares.T) / 2
    scores[1] = scores[:, 1] = np.nan
    np.fill_diagonal(scores, 1)
    high = scores + 0.1
    high[0, -1] = high[-1, 0] = np.inf
    np.fill_diagonal(high, 1)
    return OverlapMatrix(tuple(names), scores, scores, high)


def calibration(name: str) -> Calibration:
    looked = ((0.0, 1.0), (2.5, 0.7), (1.25, 0.94), (5.0, 0.63))
    return Calibration(name, (1.25, 5.0), (0.94, 0.63), (True, False), looked)


def correlations() -> pl.DataFrame:
    drops = np.random.default_rng(2).random((6, 4))
    groups = {"(2,1)": [("a", "c"), ("b", "d")], NASTY: [("a", "b")]}
    return correlation_table(drops, list("abcd"), groups, {"nature": drops[:, 0], HIDDEN: -drops[:, 1]})


def single_scores() -> dict[str, SingleScores]:
    def scores(values: list[float], names: list[str]) -> SingleScores:
        known = {
            name: Estimate("relative mCE", value, value - 2, value + 3)
            for name, value in zip(names, values, strict=True)
        }
        spread = Balance(float(np.ptp(values)), float(np.std(values, ddof=1)))
        return SingleScores(known, spread, Estimate("range", 1.0), Estimate("std", 1.0), NASTY)

    return {NASTY: scores([90.0, 70.0, 80.0], ["noc/a", "noc/b", "noc/c"]), "b": scores([60.0, 65.0], ["noc/d", "e"])}


RNG = np.random.default_rng(7)
CELLS = CorruptionFeatures(
    tuple(Cell(name, level) for name in NAMES for level in (1.0, 3.0)), RNG.normal(3, 1, (30, 6, 4)).astype(np.float32)
)
DISTANCES = [
    distances(RNG.normal(0, spread, (90, 4)), CELLS, augmentation=name, resamples=20)
    for name, spread in (("augmix", 1), (NASTY, 2), ("corruptions:cifar10-c:fog+snow", 3))
]
POINTS = pl.DataFrame(
    [(f"scheme {i}", name, *RNG.random(3)) for name in NAMES for i in range(7)],
    schema=["scheme", "corruption", "msd", "mmd", "error"],
    orient="row",
)
MIXED = pl.DataFrame(
    {"share": [0.1, 1.0, 0.0], "msd": [0.2, 0.1, 3.0], "mmd": [2.0, 0.1, 3.0], "error": [0.25, 0.2, 0.4]}
)
LEAKS = LeakCheck(
    tuple(
        Leak(name, 0.5, "affine", 2.0, 1.1 - 0.1 * i, 0.2, 0.01, 0.0001, i < 6, i < 3) for i, name in enumerate(NAMES)
    ),
    1000,
    0.5,
    0.05,
)


def far(runs: int = 3) -> Dissimilar:
    names = tuple(entry.id for entry in brittle.load_benchmark("cifar10-c-bar-candidates").entries)
    shifts = np.random.default_rng(5).normal(0, 1, (runs, 30))
    shifts[:, 4] = np.nan
    return Dissimilar(names, shifts, dict.fromkeys(names[:4], (1.0, 2.0, 3.0, 4.0, 5.5)), 0.27, 0.2694, 100_000)


def split(names: list[str]) -> tuple:
    overlap = masked_matrix(names).subset([names[0], *names[2:]])
    return overlap, categories(overlap, count=6, starts=2)


@dataclass(frozen=True)
class Case:
    """One figure: a function of `brittle.plots`, and what it is called with."""

    function: Callable[..., Any]
    arguments: Callable[[], tuple]
    options: Callable[[], dict[str, Any]] = dict
    many: bool = False

    def draw(self, target: Any = None) -> Any:
        where = {"figure" if self.many else "ax": target}
        return self.function(*self.arguments(), **self.options(), **where)


def syn2nat() -> list[str]:
    return [one.id for one in brittle.list_corruptions(source="syn2nat")]


CASES = {
    "accuracy": Case(plots.plot_accuracy, lambda: (run_results(), None, TWO)),
    "one corruption": Case(plots.plot_accuracy, lambda: (run_results(), "fog", TWO)),
    "eight models": Case(plots.plot_accuracy, lambda: (run_results(tuple(f"model {i}" for i in range(8))), "fog", TWO)),
    "by corruption": Case(plots.plot_by_corruption, lambda: (run_results(), TWO), many=True),
    "by two": Case(plots.plot_by_corruption, lambda: (run_results(), [TWO, TWO]), many=True),
    "heat map": Case(plots.plot_heat_map, lambda: (run_results(), TWO), lambda: {"model": NASTY}),
    "heat map of models": Case(plots.plot_heat_map, lambda: (run_results(), TWO)),
    "failure points": Case(plots.plot_failure_points, lambda: (run_results().failure_points("fog"),)),
    "drop": Case(plots.plot_drop, lambda: (shift_scores(),), many=True),
    "first failures": Case(plots.plot_first_failures, lambda: (shift_scores(),), many=True),
    "ranks": Case(plots.plot_ranks, lambda: (shift_scores(),), many=True),
    "slopes": Case(plots.plot_slopes, lambda: (shift_scores(),), many=True),
    "rce": Case(plots.plot_rce, lambda: (shift_scores(),)),
    "shift curves": Case(plots.plot_shift_curves, lambda: (CURVES,), many=True),
    "filter": Case(plots.plot_filter, lambda: (QUALITY,), many=True),
    "ooc scores": Case(plots.plot_ooc_scores, lambda: (KNOWN, {"CLIP_class": 3.5, "CLIP_ref": 0.25}), many=True),
    "roc": Case(plots.plot_roc, lambda: (ROC,)),
    "loss": Case(plots.plot_loss, lambda: (LOSSES,), many=True),
    "overlap": Case(plots.plot_overlap, lambda: (OVERLAP,)),
    "masked": Case(plots.plot_overlap, lambda: (masked_matrix(["noc/rain", NASTY, HIDDEN]),)),
    "categories": Case(plots.plot_categories, lambda: (OVERLAP, categories(OVERLAP))),
    "forty": Case(plots.plot_categories, lambda: split(syn2nat())),
    "sweep": Case(plots.plot_sweep, lambda: (sweep(OVERLAP, [0.05, 0.1, 0.3]),), lambda: {"chosen": 0.1}, many=True),
    "one threshold": Case(plots.plot_sweep, lambda: (sweep(OVERLAP, [-1]),), many=True),
    "coverage": Case(plots.plot_coverage, lambda: (OVERLAP, ["fog", "snow"]), lambda: {"of": OVERLAP.names}),
    "balance": Case(plots.plot_balance, lambda: (single_scores(),), many=True),
    "correlation": Case(plots.plot_correlation, lambda: (correlations(),)),
    "calibration": Case(
        plots.plot_calibration,
        lambda: ([calibration(entry.id) for entry in brittle.load_benchmark("noc-candidates").entries],),
        lambda: {"robustness": (0.95, 0.5)},
        many=True,
    ),
    "reliability": Case(plots.plot_reliability, lambda: (run_results(), TWO), many=True),
    "risk coverage": Case(plots.plot_risk_coverage, lambda: (run_results(), TWO)),
    "agreement": Case(
        plots.plot_agreement,
        lambda: (OVERLAP, {NASTY: OVERLAP, "random": masked_matrix(list(OVERLAP.names))}),
        many=True,
    ),
    "distance": Case(plots.plot_distance, lambda: (DISTANCES,)),
    "one augmentation": Case(plots.plot_distance, lambda: (DISTANCES[:1],)),
    "convergence": Case(plots.plot_convergence, lambda: (DISTANCES,)),
    "leak": Case(plots.plot_leak, lambda: (LEAKS,)),
    "study": Case(plots.plot_study, lambda: (POINTS, scheme_correlations(POINTS)), many=True),
    "mixing": Case(plots.plot_mixing, lambda: (MIXED,), many=True),
    "distances alone": Case(plots.plot_mixing, lambda: (MIXED.drop("error"),), many=True),
    "dissimilar": Case(plots.plot_dissimilar, lambda: (far(),), lambda: {"published": ["c-bar/lines"]}),
    "one run": Case(plots.plot_dissimilar, lambda: (far(1),)),
}
