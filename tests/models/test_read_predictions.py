"""Predictions made elsewhere are read as they are, or refused with the row that is wrong."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.evaluation import read_predictions
from tests.errors import naming

ROWS = [
    ("a.png", "clean", 0.0, 3, 0.5),
    ("a.png", "imagenet-c/fog", 1.0, 3, 0.25),
    ("a.png", "imagenet-c/fog", 3.5, 0, None),
    ("7", "imagenet-c/fog", 1.0, 2, 1.0),
]
NAMES = ["sample", "corruption", "level", "prediction", "confidence"]
EXPECTED = pl.DataFrame(
    ROWS, dict(zip(NAMES, [pl.String, pl.String, pl.Float64, pl.Int32, pl.Float32], strict=True)), orient="row"
)


def csv(folder: Path, text: str) -> Path:
    (folder / "made.csv").write_text(text)
    return folder / "made.csv"


@pytest.mark.parametrize(
    "text",
    [
        "sample,corruption,level,prediction,confidence\na.png,clean,,3,0.5\na.png,imagenet-c/fog,1,3,.25\n"
        "a.png,imagenet-c/fog,3.5,0,\n7,imagenet-c/fog,1,2,1\n",
        "note,confidence,prediction,level,corruption,sample\nx,0.5,3,0,clean,a.png\ny,0.25,3.0,1.0,imagenet-c/fog,a.png\n"
        ",,0,3.5,imagenet-c/fog,a.png\n,1.0,2,1,imagenet-c/fog,7\n",
    ],
    ids=["plain", "other order, more columns"],
)
def test_csv(tmp_path: Path, text: str) -> None:
    assert read_predictions(csv(tmp_path, text)).equals(EXPECTED)


def test_npz(tmp_path: Path) -> None:
    names = [name for name in NAMES if name != "confidence"]
    arrays = {name: EXPECTED[name].to_numpy().astype(str if name in NAMES[:2] else None) for name in names}
    np.savez(tmp_path / "made.npz", **arrays, other=np.zeros(3))
    bare = read_predictions(tmp_path / "made.npz")
    assert bare.drop("confidence").equals(EXPECTED.drop("confidence"))
    assert bare["confidence"].null_count() == 4
    arrays["sample"] = np.arange(4)
    np.savez(tmp_path / "full.npz", **arrays, confidence=np.full(4, 0.5, np.float32))
    full = read_predictions(tmp_path / "full.npz")
    assert full["sample"].to_list() == ["0", "1", "2", "3"]
    assert full["confidence"].to_list() == [0.5] * 4
    assert full.schema == EXPECTED.schema


GOOD = "a,fog,1,3,0.5"


@pytest.mark.parametrize(
    ("row", "values"),
    [
        ("b,fog,1,3.5,0.5", ("row 2", "made.csv", "prediction", "'3.5'", 0)),
        ("b,fog,1,cat,0.5", ("row 2", "made.csv", "prediction", "'cat'")),
        ("b,fog,1,-1,0.5", ("row 2", "made.csv", "prediction", "'-1'")),
        ("b,fog,1,NaN,0.5", ("row 2", "made.csv", "prediction", "'NaN'")),
        ("b,fog,1,,0.5", ("row 2", "made.csv", "prediction", "None")),
        ("b,fog,nan,3,0.5", ("row 2", "made.csv", "level", "'nan'", 0)),
        ("b,fog,,3,0.5", ("row 2", "made.csv", "level", "None")),
        ("b,fog,1e308,3,0.5", ("row 2", "made.csv", "level", "'1e308'", "1,000,000")),
        ("b,fog,inf,3,0.5", ("row 2", "made.csv", "level", "'inf'")),
        ("b,fog,-2,3,0.5", ("row 2", "made.csv", "level", "'-2'")),
        ("b,clean,2,3,0.5", ("row 2", "made.csv", "clean", "level 2", "level 0")),
        ("b,fog,1,3,1.5", ("row 2", "made.csv", "confidence", "'1.5'", 0, 1)),
        ("b,fog,1,3,nan", ("row 2", "made.csv", "confidence", "'nan'")),
        (",fog,1,3,0.5", ("row 2", "made.csv", "sample")),
        ("b,,1,3,0.5", ("row 2", "made.csv", "corruption", "clean")),
        ("b,fog,1,3,0.5\na,fog,1.0,4,0.5", ("row 3", "made.csv", "'a'", "'fog'", "1.0")),
        ("b,fog,1,x,1\nc,fog,1,y,1", ("row 2", "made.csv", "'x'", "2 rows")),
    ],
)
def test_the_wrong_row_is_named(tmp_path: Path, row: str, values: tuple) -> None:
    path = csv(tmp_path, f"sample,corruption,level,prediction,confidence\n{GOOD}\n{row}\n")
    with pytest.raises(BrittleError, match=naming(*values)):
        read_predictions(path)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sample,level,prediction\na,1,2\n", ("made.csv", "corruption", "sample, level, prediction")),
        ("sample,corruption,level,prediction\n", ("made.csv", "rows")),
        ("", ("made.csv", "CSV")),
        ("sample,corruption,level,prediction\na,fog,1,2,3,4\n", ("made.csv", "CSV")),
    ],
)
def test_tables_that_are_none_are_named(tmp_path: Path, text: str, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        read_predictions(csv(tmp_path, text))


@pytest.mark.parametrize(
    ("arrays", "values"),
    [
        ({"sample": [1, 2], "prediction": [1]}, ("made.npz", "{'sample': (2,), 'prediction': (1,)}")),
        ({"sample": [[1]]}, ("made.npz", "{'sample': (1, 1)}")),
        ({"sample": [1]}, ("made.npz", "corruption, level, prediction", "sample")),
        ({"sample": np.array([None])}, ("made.npz",)),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path: Path, arrays: dict, values: tuple) -> None:
    np.savez(tmp_path / "made.npz", **arrays)
    with pytest.raises(BrittleError, match=naming(*values)):
        read_predictions(tmp_path / "made.npz")


def test_other_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "made.json").write_text("{}")
    with pytest.raises(BrittleError, match=naming(".csv", ".npz", "made.json")):
        read_predictions(tmp_path / "made.json")
    with pytest.raises(FileNotFoundError, match=naming("nothing.csv")):
        read_predictions(tmp_path / "nothing.csv")
    (tmp_path / "broken.npz").write_text("no")
    with pytest.raises(BrittleError, match=naming("broken.npz")):
        read_predictions(tmp_path / "broken.npz")
