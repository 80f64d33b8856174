"""An overlap matrix is checked when it is made, and comes back from disk as it went."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.design import OverlapMatrix
from tests.errors import naming


def matrix(count: int, seed: int = 0) -> OverlapMatrix:
    upper = np.triu(np.random.default_rng(seed).uniform(0, 0.9, (count, count)), 1)
    return OverlapMatrix(tuple(f"c{i}" for i in range(count)), upper + upper.T + np.eye(count))


def masked() -> OverlapMatrix:
    scores = np.array([[1, 0.1, np.nan], [0.1, 1, 1 / 3], [np.nan, 1 / 3, 1]])
    return OverlapMatrix(("fog", "noc/blur", "a, b"), scores, scores - 0.1, np.where(scores < 0.2, np.inf, scores))


@pytest.mark.parametrize(
    ("names", "scores", "values"),
    [
        ("ab", np.ones((2, 3)), ("scores", "(2, 3)")),
        ("abc", np.eye(2), ("3 names", "2 rows")),
        ("aa", np.eye(2), ("'a'",)),
        (["a", ""], np.eye(2), ("['a', '']",)),
        ([], np.empty((0, 0)), ("[]",)),
        ("ab", [[1, 0.2], [0.3, 1]], ("a with b", "0.2", "b with a", "0.3")),
        ("ab", [[1, np.nan], [0.3, 1]], ("a with b", "nan", "b with a", "0.3")),
        ("ab", [[1, np.inf], [np.inf, 1]], ("a and b", "NaN")),
        ("ab", [[0, 0.5], [0.5, 0]], ("a", 1, 0, "1 − distance")),
        ("ab", [[1, 0.5], [0.5, np.nan]], ("b", 1, "nan")),
    ],
)
def test_bad_matrices(names: list[str], scores: list, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        OverlapMatrix(tuple(names), np.asarray(scores))


def test_bad_intervals() -> None:
    for low, high, values in (
        (np.eye(2), None, ("low", "high")),
        (np.ones((2, 2)), np.eye(2), ("a and b", "low", "high")),
    ):
        with pytest.raises(BrittleError, match=naming(*values)):
            OverlapMatrix(("a", "b"), np.eye(2), low, high)


def test_pairs_and_subsets() -> None:
    overlap = masked()
    assert overlap["noc/blur", "fog"] == overlap["fog", "noc/blur"] == 0.1
    part = overlap.subset(["a, b", "noc/blur"])
    assert part.names == ("a, b", "noc/blur")
    assert part["a, b", "noc/blur"] == pytest.approx(1 / 3)
    assert part.low is not None
    assert part.low[0, 1] == pytest.approx(1 / 3 - 0.1)
    assert overlap.mean_pair(["fog", "noc/blur"]) == 0.1
    assert np.isnan(overlap.mean_pair())
    assert np.isnan(overlap.mean_pair(["fog"]))
    assert overlap.masked() == [("fog", "a, b")]
    assert matrix(4).mean_pair() == pytest.approx(matrix(4).scores[np.triu_indices(4, 1)].mean())
    for wrong in (lambda: overlap["fog", "noc/blu"], lambda: overlap.subset(["noc/blu"])):
        with pytest.raises(BrittleError, match=naming("noc/blur")):
            wrong()
    with pytest.raises(ValueError, match=naming("read-only")):  # NumPy's own error
        overlap.scores[0, 1] = 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_to_disk_and_back(tmp_path: Path, ending: str) -> None:
    overlap = replace(masked(), formula="ratio, gains")
    again = OverlapMatrix.load(overlap.save(tmp_path / "new" / f"overlap.{ending}"))
    assert again.names == overlap.names
    assert np.array_equal(again.scores, overlap.scores, equal_nan=True)
    if ending == "csv":
        assert again.low is None
    else:
        assert again.formula == overlap.formula
        assert np.array_equal(again.low, overlap.low, equal_nan=True)
        assert np.array_equal(again.high, overlap.high, equal_nan=True)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ("CSV",)),
        ("corruption,a,b\nb,1,0\na,0,1\n", ("'a'", "'b'")),
        ("corruption,a,b\na,1\nb,0,1\n", ("a with b", "nan", "b with a", 0)),
        ("corruption,a,b\na,1,x\nb,0,1\n", ("'x'", "'a'", "'b'")),
        ("corruption,a,b\na,1,0.2\nb,0.3,1\n", ("a with b", "0.2", "b with a", "0.3")),
    ],
)
def test_bad_files(tmp_path: Path, text: str, values: tuple) -> None:
    path = tmp_path / "overlap.csv"
    path.write_text(text)
    with pytest.raises(BrittleError, match=naming("overlap.csv", *values)):
        OverlapMatrix.load(path)


def test_bad_tables(tmp_path: Path) -> None:
    whole = pl.read_parquet(masked().save(tmp_path / "overlap.parquet"))
    for table, values in (
        (whole.head(8), ("odd.parquet", 3, 9, 8)),
        (whole.drop("overlap"), ("odd.parquet", "overlap", "name_a", "name_b")),
    ):
        table.write_parquet(tmp_path / "odd.parquet")
        with pytest.raises(BrittleError, match=naming(*values)):
            OverlapMatrix.load(tmp_path / "odd.parquet")
    (tmp_path / "odd.parquet").write_text("no table")
    with pytest.raises(BrittleError, match=naming("odd.parquet", "parquet")):
        OverlapMatrix.load(tmp_path / "odd.parquet")
    with pytest.raises(BrittleError, match=naming("overlap.txt")):
        masked().save(tmp_path / "overlap.txt")


def test_order_of_a_heat_map() -> None:
    group = np.random.default_rng(3).permutation(np.repeat([0, 1, 2], 5))
    scores = np.where(group[:, None] == group, 0.8, 0.05) + 0.01 * matrix(15).scores
    np.fill_diagonal(scores, 1)
    overlap = OverlapMatrix(tuple(f"c{i}" for i in range(15)), scores)
    order = overlap.ordered()
    assert sorted(order) == sorted(overlap.names)
    shown = [group[int(name[1:])] for name in order]
    assert sum(a != b for a, b in pairwise(shown)) == 2
    assert OverlapMatrix(("fog",), np.eye(1)).ordered() == ["fog"]
    assert sorted(masked().ordered()) == sorted(masked().names)


RECIPE = Benchmark("two", (Entry("noc/hue", ((1, 3),)), Entry("imagenet-c/fog", (1, 4))), seed=7, table=224)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_what_was_measured_goes_with_the_matrix(ending: str, tmp_path: Path) -> None:
    scores = [[1, np.nan], [np.nan, 1]]
    matrix = OverlapMatrix(("imagenet-c/fog", "noc/hue"), np.array(scores), candidates=RECIPE, unlearned=("noc/hue",))
    again = OverlapMatrix.load(matrix.save(tmp_path / f"m{ending}"))
    assert again.candidates is not None
    assert again.candidates.entries == (RECIPE.entries[1], RECIPE.entries[0])  # in the order of the matrix
    assert (again.candidates.seed, again.candidates.table) == (7, 224)
    if ending == ".parquet":
        assert again.unlearned == ("noc/hue",)  # of two masked ones, only the matrix knows which was not learned
    part = again.subset(["hue"])
    assert part.names == ("noc/hue",)
    assert part.candidates is not None
    assert part.candidates.entries == (RECIPE.entries[0],)
    OverlapMatrix(("a",), np.eye(1)).save(tmp_path / f"m{ending}")
    assert OverlapMatrix.load(tmp_path / f"m{ending}").candidates is None


def test_candidates_and_masks_must_be_those_of_the_matrix() -> None:
    with pytest.raises(BrittleError, match=naming("c/fog")):
        OverlapMatrix(("noc/hue",), np.eye(1), candidates=RECIPE)
    with pytest.raises(BrittleError, match=naming("b", "unlearned", "NaN")):
        OverlapMatrix(("a", "b"), np.eye(2), unlearned=("b",))


def test_a_name_without_its_set_is_found_if_only_one_has_it() -> None:
    matrix = OverlapMatrix(("noc/blur", "noc/rain", "syn2nat/blur"), np.eye(3))
    assert matrix.positions(["rain", "noc/blur"]) == [1, 0]
    with pytest.raises(BrittleError, match=naming("blur", "noc/blur", "syn2nat/blur")):
        matrix.positions(["blur"])
