"""Correlations of synthetic with natural drops, against SciPy; where drops come from."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.design import Drops, correlate, correlation_rows, correlation_table, drops_of, read_drops, shift_drops
from brittle.evaluation import Results
from tests.errors import naming

stats = pytest.importorskip("scipy.stats")

NAMES = ["fog", "snow", "blur", "noise"]
BENCHMARKS = [["fog"], ["fog", "snow"], ["snow", "blur", "noise"]]


def test_every_correlation_is_scipys(rng: np.random.Generator) -> None:
    drops, natural = rng.random((21, 4)), rng.random(21)
    correlations = correlate(drops, NAMES, BENCHMARKS, natural)
    expected = [stats.pearsonr(drops[:, [NAMES.index(n) for n in b]].mean(1), natural) for b in BENCHMARKS]
    assert correlations.r == pytest.approx([e.statistic for e in expected])
    assert correlations.p == pytest.approx([e.pvalue for e in expected])
    assert correlations.mean_r == pytest.approx(np.mean([e.statistic for e in expected]))
    assert correlations.mean_p == pytest.approx(np.mean([e.pvalue for e in expected]))
    assert correlations.std == pytest.approx(np.std([e.statistic for e in expected]))


def test_the_whole_table(rng: np.random.Generator) -> None:
    drops, natural = rng.random((21, 4)), {"ImageNet-A": rng.random(21), "ObjectNet": rng.random(21)}
    groups = {"(1,1)": BENCHMARKS[:1], "mixed": BENCHMARKS[1:]}
    table = correlation_table(drops, NAMES, groups, natural)
    assert table.columns == ["natural", "(1,1)", "mixed"]
    assert table["natural"].to_list() == ["ImageNet-A", "ObjectNet", "mean"]
    mixed = [correlate(drops, NAMES, BENCHMARKS[1:], values).mean_r for values in natural.values()]
    assert table["mixed"].to_list() == pytest.approx([*mixed, np.mean(mixed)])
    rows = correlation_rows(drops, NAMES, groups, natural)
    assert rows.filter(pl.col("group") == "mixed")["benchmarks"].to_list() == [2, 2]


def test_a_benchmark_that_is_the_shift_correlates_perfectly(rng: np.random.Generator) -> None:
    drops = rng.random((8, 4))
    correlations = correlate(drops, NAMES, BENCHMARKS, 3 * drops[:, :2].mean(1) + 1)
    assert correlations.r[1] == pytest.approx(1)
    assert correlations.p[1] == pytest.approx(0, abs=1e-12)


GOOD = np.random.default_rng(0).random((5, 4))


@pytest.mark.parametrize(
    ("drops", "names", "benchmarks", "natural", "values"),
    [
        (GOOD[:2], NAMES, BENCHMARKS, [0, 1], ("three", 2)),
        (np.where(GOOD[1, 2] == GOOD, np.nan, GOOD), NAMES, BENCHMARKS, range(5), ("model 1", "blur", "nan")),
        (GOOD, NAMES[:3], BENCHMARKS, range(5), (3, "(5, 4)")),
        (GOOD, NAMES, [["fogg"]], range(5), ("'fogg'", "'fog'")),
        (GOOD, NAMES, [["fog", "fog"]], range(5), ("'fog'",)),
        (GOOD, NAMES, [], range(5), ("benchmark",)),
        (GOOD, NAMES, BENCHMARKS, range(4), (5, "(4,)")),
        (GOOD, NAMES, BENCHMARKS, [0, 1, 2, 3, np.nan], ("model 4", "natural", "nan")),
        (GOOD, NAMES, BENCHMARKS, [0.1] * 5, ("natural", "0.1")),
        (GOOD * [0, 1, 1, 1], NAMES, BENCHMARKS, range(5), ("fog", "0")),
    ],
)
def test_bad_drops(drops, names, benchmarks, natural, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        correlate(drops, names, benchmarks, natural)
    with pytest.raises(BrittleError, match=naming(0, 1)):
        correlation_table(drops, names, {}, {"shift": natural})


def results(accuracy: dict[tuple[str, str, float], float]) -> Results:
    """Ten predictions in each cell, so many of them right."""
    rows = [
        (model, corruption, float(level), str(i), 0, int(i >= 10 * share), 0.5, i < 10 * share)
        for (model, corruption, level), share in accuracy.items()
        for i in range(10)
    ]
    columns = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
    return Results(pl.LazyFrame(rows, schema=columns, orient="row"))


RUN = {
    ("m", "clean", 0): 0.9,
    ("m", "fog", 1): 0.8,
    ("m", "fog", 2): 0.4,
    ("m", "snow", 1): 0.7,
    ("n", "clean", 0): 0.8,
    ("n", "fog", 1): 0.7,
    ("n", "fog", 2): 0.7,
    ("n", "snow", 1): 0.9,
}


def test_drops_of_results() -> None:
    drops = drops_of(results(RUN))
    assert (drops.models, drops.names) == (("m", "n"), ("fog", "snow"))
    assert drops.values == pytest.approx(np.array([[0.3, 0.2], [0.1, -0.1]]))
    assert drops.of(["n"]).values == pytest.approx(np.array([[0.1, -0.1]]))
    assert drops_of(results(RUN), models=["n"], corruptions=["snow"]).values == pytest.approx(-0.1)
    for cell in (("n", "fog", 2), ("m", "clean", 0)):
        incomplete = {key: value for key, value in RUN.items() if key != cell}
        with pytest.raises(BrittleError, match=naming(repr(cell[0]), f"{cell[1]} {cell[2]}")):
            drops_of(results(incomplete))
    with pytest.raises(BrittleError, match=naming("snoww", "snow")):
        drops_of(results(RUN), corruptions=["snoww"])
    with pytest.raises(BrittleError, match=naming("o")):
        drops.of(["o"])


def test_drops_on_natural_shifts() -> None:
    sketch = results({("n", "clean", 0): 0.3, ("m", "clean", 0): 0.5})
    drops = shift_drops(results(RUN), {"sketch": sketch})
    assert drops.models == ("m", "n")
    assert drops.columns()["sketch"] == pytest.approx([0.4, 0.5])
    with pytest.raises(BrittleError, match=naming("the test set", "m, n", "sketch", "o")):
        shift_drops(results(RUN), {"sketch": results({("o", "clean", 0): 0.3})})


def test_a_shift_may_have_clean_results_of_its_own_classes() -> None:
    natural = results({("n", "clean", 0): 0.3, ("m", "clean", 0): 0.5})
    easy = results({("n", "clean", 0): 1.0, ("m", "clean", 0): 0.9})
    drops = shift_drops({"a": easy, "sketch": results(RUN)}, {"sketch": natural, "a": natural})
    assert drops.columns()["sketch"] == pytest.approx([0.4, 0.5])
    assert drops.columns()["a"] == pytest.approx([0.4, 0.7])
    with pytest.raises(BrittleError, match=naming("sketch", "a")):
        shift_drops({"a": easy}, {"sketch": natural})


def test_drops_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "drops.csv"
    path.write_text("model,fog,snow\nresnet,0.1,0.2\nvit,0.05,-0.01\n")
    drops = read_drops(path)
    assert (drops.models, drops.names) == (("resnet", "vit"), ("fog", "snow"))
    assert drops.values.tolist() == [[0.1, 0.2], [0.05, -0.01]]
    for text, values in (
        ("model,fog\n", ("drops.csv", "model,<corruption>,…")),
        ("model,fog\nvit,\n", ("drops.csv", "'vit'", "'fog'")),
        ("model,fog\nvit,0.1,0.2\n", ("drops.csv", "CSV")),
        ("model,fog\nvit,0.1\nvit,0.2\n", ("'vit'",)),
    ):
        path.write_text(text)
        with pytest.raises(BrittleError, match=naming(*values)):
            read_drops(path)
    with pytest.raises(BrittleError, match=naming(1, 2)):
        Drops(("m",), ("fog", "snow"), np.zeros((1, 1)))
