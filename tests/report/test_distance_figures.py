"""Figures of distances: what they say is what was measured, and nothing leaves the paper."""

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Cell
from brittle.design.dissimilarity import Dissimilar
from brittle.design.studies import scheme_correlations
from brittle.distance import CorruptionFeatures, Leak, LeakCheck, distances
from brittle.report.figures import (
    convergence_figure,
    dissimilar_figure,
    distance_figure,
    leak_figure,
    mixing_figure,
    study_figure,
)
from brittle.report.sheets import NearestRow, nearest_sheet
from tests.report.test_figures import MEASURE, texts, tips
from tests.report.test_report_in_a_browser import BROWSER, browse

RNG = np.random.default_rng(7)
NAMES = [entry.id for entry in brittle.load_benchmark("cifar10-c").entries]
CELLS = CorruptionFeatures(
    tuple(Cell(name, level) for name in NAMES for level in (1.0, 3.0)), RNG.normal(3, 1, (30, 6, 4)).astype(np.float32)
)
FOUND = [
    distances(RNG.normal(0, spread, (90, 4)), CELLS, augmentation=name, resamples=20)
    for name, spread in (("augmix", 1), ("patch-gaussian", 2), ("corruptions:cifar10-c:fog+snow", 3))
]
POINTS = pl.DataFrame(
    [(f"scheme {i}", name, *RNG.random(3)) for name in NAMES for i in range(7)],
    schema=["scheme", "corruption", "msd", "mmd", "error"],
    orient="row",
)
FLAT = POINTS.with_columns(error=pl.when(pl.col("corruption") == NAMES[0]).then(0.5).otherwise(pl.col("error")))
MIXED = pl.DataFrame(
    {"share": [1.0, 0.1, 0.0], "msd": [0.1, 0.2, 3.0], "mmd": [0.1, 2.0, 3.0], "error": [0.2, 0.25, 0.4]}
)


def leaks() -> LeakCheck:
    each = [
        Leak(name, 0.5, "affine", 2.0, 1.1 - 0.1 * i, 0.2, 0.01, 0.0001, i < 6, i < 3) for i, name in enumerate(NAMES)
    ]
    return LeakCheck(tuple(each), 1000, 0.5, 0.05)


def far(runs: int = 3) -> Dissimilar:
    names = tuple(entry.id for entry in brittle.load_benchmark("cifar10-c-bar-candidates").entries)
    shifts = RNG.normal(0, 1, (runs, 30))
    shifts[:, 4] = np.nan
    return Dissimilar(names, shifts, dict.fromkeys(names[:4], (1.0, 2.0, 3.0, 4.0, 5.5)), 0.27, 0.2694, 100_000)


FIGURES = {
    "distance": lambda: distance_figure(FOUND),
    "one": lambda: distance_figure(FOUND[:1]),
    "convergence": lambda: convergence_figure(FOUND),
    "leak": lambda: leak_figure(leaks()),
    "study": lambda: study_figure(POINTS, scheme_correlations(POINTS)),
    "no correlation": lambda: study_figure(FLAT, scheme_correlations(FLAT), distance="mmd"),
    "mixing": lambda: mixing_figure(MIXED),
    "distances alone": lambda: mixing_figure(MIXED.drop("error")),
    "dissimilar": lambda: dissimilar_figure(far(), published=["c-bar/lines"]),
    "one run": lambda: dissimilar_figure(far(1)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_one_strict_file_for_light_and_dark(name: str) -> None:
    figure = FIGURES[name]()
    assert ElementTree.fromstring(figure).tag.endswith("svg")
    assert figure.count("prefers-color-scheme:dark") == 1
    assert not re.search(r"\bnan\b", figure, re.I)


def test_each_figure_says_what_was_found() -> None:
    row = FOUND[0].by_corruption().row(0, named=True)
    tip = f"augmix, gaussian_noise: MSD {row['msd']:.2f} [{row['msd_low']:.2f}, {row['msd_high']:.2f}]"
    assert tip in tips(distance_figure(FOUND))
    by_mean = sorted(NAMES, key=lambda name: np.mean([_msd(one, name) for one in FOUND]))
    plain = [name.rpartition("/")[2] for name in by_mean]
    assert [text for text in texts(distance_figure(FOUND)) if text in plain] == plain
    last = float(CELLS.over_levels(FOUND[0].msd).mean())
    assert f"augmix, 90 samples: {last:.3f}" in tips(convergence_figure(FOUND))
    assert texts(leak_figure(leaks())).count("leaked, p < 0.001") == 3
    rho = scheme_correlations(POINTS)["msd"][0]
    assert f"ρ = {rho:.2f}".replace("-", "−") in texts(study_figure(POINTS, scheme_correlations(POINTS)))
    assert "no correlation" in texts(FIGURES["no correlation"]())
    assert "share 0.1: MMD 2" in tips(mixing_figure(MIXED))
    drawn = dissimilar_figure(far(), published=["c-bar/lines"])
    assert tips(drawn).count("published") == 2  # the candidate, and the key
    assert drawn.count('class="bar"') == 5  # four picked, and the key


def _msd(found, name: str) -> float:
    return dict(found.by_corruption().select("corruption", "msd").rows())[name]


def test_pictures_stand_beside_each_other() -> None:
    clean = np.full((32, 32, 3), 200, np.uint8)
    rows = [NearestRow("fog", clean // 2, {"augmix": (clean // 4, 1.5), "none": (clean, 3.0)}) for _ in range(9)]
    sheet = np.asarray(nearest_sheet(clean, rows, thumb=40))
    for value in (200, 100, 50):
        assert (sheet == value).all(-1).sum() >= 9 * 1000
    assert nearest_sheet(clean, rows[:1], thumb=40).height < 250
    with pytest.raises(BrittleError, match="at least one corruption"):
        nearest_sheet(clean, [])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distance_figure([]), "at least one augmentation"),
        (lambda: convergence_figure([]), "at least one augmentation"),
        (lambda: study_figure(POINTS, scheme_correlations(POINTS), distance="mse"), "msd or mmd, got 'mse'"),
        (lambda: mixing_figure(MIXED.head(1)), "two shares or more"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises(BrittleError, match=message):
        call()


@pytest.mark.skipif(BROWSER is None or shutil.which("chromium") is None, reason="needs chromium")
def test_no_word_leaves_the_paper(tmp_path: Path) -> None:
    figures = "\n".join(make() for make in FIGURES.values())
    (tmp_path / "all.html").write_text(f"<!doctype html><meta charset=utf-8><body>{figures}{MEASURE}</body>")
    shown, complaints = browse(f"file://{tmp_path}/all.html", tmp_path / "home")
    assert complaints == ""
    assert re.search(r'data-outside="([^"]*)"', shown).group(1) == "none"
