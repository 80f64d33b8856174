"""Import predictions that were made by other software, from .csv and .npz files."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl

from brittle._errors import BrittleError, BrittleTypeError
from brittle._texts import read_csv
from brittle._types import Image
from brittle.benchmarks import CLEAN, Benchmark, Cell
from brittle.corruptions import get_corruption
from brittle.datasets.dataset import Dataset, no_labels
from brittle.evaluation.cell import CellRows
from brittle.evaluation.records import Call
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.store import Store
from brittle.models.model import Scores

LARGEST_LEVEL = 1_000_000
"""No scale of corruptions goes further, and beyond some level numbers cannot be told apart in a name of a file."""

COLUMNS = ("sample", "corruption", "level", "prediction")
SCHEMA = {
    "sample": pl.String,
    "corruption": pl.String,
    "level": pl.Float64,
    "prediction": pl.Int32,
    "confidence": pl.Float32,
}


def read_predictions(path: str | Path) -> pl.DataFrame:
    """The rows of a .csv or .npz file of predictions: sample, corruption, level, prediction, confidence.

    The corruption is "clean" for clean images, whose level is 0 or left out. The prediction is the number of a class.
    The confidence, between 0 and 1, may be missing; it is null then. Each (sample, corruption, level) may be there
    once. Errors name the row, counted from 1 without the header. Other columns are left out.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of predictions {str(path)!r}")
    readers = {".csv": read_csv, ".npz": _read_npz}
    if path.suffix not in readers:
        raise BrittleError(f"predictions are read from .csv and .npz files, got {str(path)!r}")
    raw = readers[path.suffix](path)
    missing = [name for name in COLUMNS if name not in raw.columns]
    if missing:
        raise BrittleError(f"{str(path)!r} lacks {', '.join(missing)}; it has: {', '.join(raw.columns) or 'nothing'}")
    if raw.is_empty():
        raise BrittleError(f"{str(path)!r} has no rows")
    if "confidence" not in raw.columns:
        raw = raw.with_columns(confidence=pl.lit(None, pl.String))
    clean = pl.col("corruption") == CLEAN
    raw = raw.select(SCHEMA.keys()).with_columns(
        level=pl.when(clean).then(pl.col("level").fill_null("0")).otherwise("level")
    )
    _check(raw, path)
    return raw.cast({"prediction": pl.Float64}).cast(SCHEMA)  # type: ignore[arg-type]


def _check(raw: pl.DataFrame, path: Path) -> None:
    level, prediction, confidence = (
        pl.col(name).cast(pl.Float64, strict=False) for name in ("level", "prediction", "confidence")
    )
    is_class = (prediction >= 0) & (prediction < 2**31) & (prediction == prediction.floor())
    has_confidence = pl.col("confidence").is_not_null()
    for bad, sentence in (
        (pl.col("sample").is_null(), "has no sample"),
        (pl.col("corruption").is_null(), "has no corruption; write the name of one, or clean"),
        (
            ~level.is_between(0, LARGEST_LEVEL).fill_null(False),
            f"has level {{level!r}}; it must be a number from 0 to {LARGEST_LEVEL:,}",
        ),
        ((pl.col("corruption") == CLEAN) & (level != 0), "is clean and has level {level}; clean images have level 0"),
        (~is_class.fill_null(False), "has prediction {prediction!r}; it must be the number of a class, from 0"),
        (
            has_confidence & ~confidence.is_between(0, 1).fill_null(False),
            "has confidence {confidence!r}; it must be a number from 0 to 1, or nothing",
        ),
        (
            ~pl.struct("sample", "corruption", level.alias("level")).is_first_distinct(),
            "has sample {sample!r} under {corruption!r} at level {level} again; each may be there once",
        ),
    ):
        rows = raw.select(bad.arg_true()).to_series()
        if len(rows):
            index = rows[0]
            more = f" ({len(rows)} rows are like this)" if len(rows) > 1 else ""
            problem = sentence.format(**raw.row(index, named=True))
            raise BrittleError(f"row {index + 1} of {str(path)!r} {problem}{more}")


def _read_npz(path: Path) -> pl.DataFrame:
    """Every array as texts, so that what is wrong with it is found in one place."""
    try:
        with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
            arrays = {name: file[name] for name in SCHEMA if name in file.files}
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise BrittleError(f"{str(path)!r} cannot be read as arrays of numbers and texts: {error}") from error
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise BrittleError(f"the arrays of {str(path)!r} must have one axis and one length; they have {shapes}")
    return pl.DataFrame({name: pl.Series(array.tolist()).cast(pl.String) for name, array in arrays.items()})


@dataclass(frozen=True)
class _Absent:
    """A model that is known by its predictions only."""

    name: str
    key: str

    def scores(self, images: Image) -> Scores:
        raise BrittleTypeError(
            f"{self.name!r} is known by its predictions only; it cannot be shown {len(images)} more images"
        )


def import_predictions(
    file: str | Path,
    dataset: Dataset,
    folder: str | Path,
    *,
    model_name: str | None = None,
    benchmark: Benchmark | None = None,
) -> Results:
    """Bring a file of predictions (see `read_predictions`) into a run's folder, joined with the dataset's labels.

    Corruptions that brittle knows get their full ids. The `benchmark` says which recipe the predictions belong to, so
    that its scores can be given. Predictions for samples that the dataset does not have raise.
    """
    path = Path(file)
    table = read_predictions(path)
    if dataset.labels is None:
        raise no_labels(dataset, "so nothing can be right or wrong")
    truth = pl.DataFrame({"sample": list(map(str, dataset.ids)), "label": dataset.labels.astype(np.int32)})
    joined = table.join(truth, on="sample", how="left", maintain_order="left")
    strangers = joined.filter(pl.col("label").is_null())["sample"].unique().to_list()
    if strangers:
        raise BrittleError(
            f"{str(path)!r} has predictions for {len(strangers)} samples that {dataset.name!r} does not have, such as "
            f"{sorted(strangers)[0]!r}; its ids are like {str(dataset.ids[0])!r}"
        )
    largest = int(table["prediction"].cast(pl.Int64).to_numpy().max())
    if dataset.outputs is not None and largest >= dataset.outputs:
        raise BrittleError(
            f"{str(path)!r} predicts class {largest}, but {dataset.name!r} has classes 0 to {dataset.outputs - 1}"
        )
    names = {str(name): _identity(str(name), benchmark) for name in table["corruption"].unique() if name != CLEAN}
    if len(set(names.values())) < len(names):
        raise BrittleError(
            f"{str(path)!r} names a corruption in two ways: {', '.join(sorted(names))}; name each in one"
        )
    if benchmark is not None:
        strange = sorted(set(names.values()) - {entry.id for entry in benchmark.entries})
        if strange:
            raise BrittleError(f"{str(path)!r} has {', '.join(strange)}, which {benchmark.name!r} does not have")
    model = _Absent(model_name or path.stem, sha256(path.read_bytes()).hexdigest()[:16])
    store = Store(folder)
    store.claim_for(dataset)
    if benchmark is not None:
        store.keep_recipe(benchmark)
    store.keep_model(model, 1)
    with store.recorded(Call(predictions=path.name, models={model.name: model.key})):
        for (corruption, level), rows in joined.group_by("corruption", "level", maintain_order=True):
            cell = Cell() if corruption == CLEAN else Cell(names[str(corruption)], level, "elsewhere")
            confidences = rows["confidence"].fill_null(float("nan")).to_numpy()
            predictions, labels = rows["prediction"].to_numpy(), rows["label"].to_numpy()
            store.write(model, cell, CellRows(rows["sample"].to_list(), labels, predictions, confidences))
    return load_results(folder)


def _identity(name: str, benchmark: Benchmark | None) -> str:
    """The full id of a corruption; a name that brittle does not know stays as it is."""
    for search in (benchmark.entry if benchmark is not None else get_corruption, get_corruption):
        try:
            corruption = search(name)
        except ValueError:
            continue
        return corruption.id
    return name
