"""The overlap matrix, its file format, and the agreement of two matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import zip_longest
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle._html import html_block, html_table, html_title
from brittle._io import atomic_write
from brittle._texts import read_csv
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark
from brittle.metrics import Estimate
from brittle.metrics.correlation import correlate, mean_ranks

SAME = 1e-6
"""Two entries that differ by less count as equal."""


@dataclass(frozen=True, eq=False)
class OverlapMatrix:
    """Overlapping scores of named corruptions: symmetric, 1 on the diagonal, NaN where one is masked.

    About 0 means that training with one corruption does not help with the other, 1 that it helps as much as training
    with the other itself. `low` and `high`, if known, are the ends of each entry's confidence interval; an infinite
    `high` means that there is no upper bound. `candidates`, if known, is the recipe under which the overlaps were
    measured: corruptions, levels or ranges, options, seed and table. `unlearned` names the corruptions on which their
    own models hardly gain, so that their overlaps are masked; by default those without any known overlap. `formula`
    says, if it is known, of what gains are taken and what is averaged, such as "ratio, gains": see `overlap_matrix`.
    """

    names: tuple[str, ...]
    scores: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    candidates: Benchmark | None = None
    unlearned: tuple[str, ...] | None = None
    formula: str = ""

    def __post_init__(self) -> None:
        names = check_names(self.names)
        scores = _square(self.scores, names, "scores")
        if np.isinf(scores).any():
            i, j = np.argwhere(np.isinf(scores))[0]
            raise BrittleError(f"the overlap of {names[i]} and {names[j]} is infinite; write NaN for an unknown entry")
        wrong = np.flatnonzero(~(np.abs(np.diagonal(scores) - 1) < SAME))
        if wrong.size:
            diagonal = scores[wrong[0], wrong[0]]
            raise BrittleError(
                f"the overlap of {names[wrong[0]]} with itself must be 1, got {diagonal:g}; if these are distances, "
                "give 1 − distance"
            )
        if (self.low is None) != (self.high is None):
            raise BrittleError("an interval has two ends: give both low and high, or neither")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "scores", scores)
        if self.low is not None and self.high is not None:
            low, high = _square(self.low, names, "low"), _square(self.high, names, "high")
            if (low > high).any():
                i, j = np.argwhere(low > high)[0]
                raise BrittleError(
                    f"the interval of {names[i]} and {names[j]} ends before it begins; swap low and high"
                )
            object.__setattr__(self, "low", low)
            object.__setattr__(self, "high", high)
        if self.candidates is not None:
            object.__setattr__(self, "candidates", _in_order(self.candidates, names))
        object.__setattr__(self, "unlearned", _unlearned(self.unlearned, names, scores))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:3]) + (" …" if len(self) > 3 else "")
        return f"<OverlapMatrix of {len(self)} corruptions: {shown}>"

    def _repr_html_(self) -> str:
        chosen = self.subset(self.ordered())
        labels = [name.rpartition("/")[2] for name in chosen.names]
        labels = [name if labels.count(name) == 1 else full for name, full in zip(labels, chosen.names, strict=True)]
        rows = [
            [str(i + 1), escape(labels[i]), *("–" if np.isnan(value) else f"{value:.2f}" for value in row)]
            for i, row in enumerate(chosen.scores)
        ]

        def shade(row: int, column: int) -> str:
            value = chosen.scores[row, column - 2] if column > 1 else np.nan
            strength = 0.0 if np.isnan(value) else 0.75 * min(max(float(value), 0.0), 1.0)
            return f"background:rgba(224,122,31,{strength:.2f});padding:.15em .35em" if column > 1 else ""

        head = ["", "", *(str(i + 1) for i in range(len(chosen)))]
        facts = f"{len(self)} corruptions", f"mean overlap {self.mean_pair():.2f}" if len(self) > 1 else ""
        note = (
            "1: training on one helps as much as training on the other; 0: not at all. Alike corruptions are adjacent."
        )
        title = html_title("Overlap matrix", "", *facts)
        return html_block(title, html_table(head, rows, left=2, styles=shade), note=note)

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The overlap of two corruptions: `overlap["fog", "contrast"]`, with or without their sets."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise BrittleTypeError(f"ask for a pair, such as overlap['fog', 'contrast'], got {pair!r}")
        i, j = self.positions(pair)
        return float(self.scores[i, j])

    def positions(self, names: Sequence[str]) -> list[int]:
        """The rows of these corruptions in the matrix: "noc/rain", or "rain" if it is unique."""
        index_of = {name: i for i, name in enumerate(self.names)}
        by_plain_name: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            by_plain_name.setdefault(name.rpartition("/")[2], []).append(i)
        positions = []
        for name in names:
            matches = [index_of[name]] if name in index_of else by_plain_name.get(str(name), [])
            if len(matches) > 1:
                raise BrittleError(
                    f"{name!r} could be any of {', '.join(self.names[i] for i in matches)}; give the full name"
                )
            if not matches:
                available = self.names if "/" in str(name) else list(by_plain_name)
                raise BrittleError(f"there is no {name!r} in this overlap matrix; {did_you_mean(str(name), available)}")
            positions.append(matches[0])
        return positions

    def masked(self) -> list[tuple[str, str]]:
        """The pairs whose overlap is unknown."""
        rows, columns = np.nonzero(np.triu(np.isnan(self.scores), 1))
        return [(self.names[i], self.names[j]) for i, j in zip(rows, columns, strict=True)]

    def subset(self, names: Sequence[str]) -> OverlapMatrix:
        """The same scores for these corruptions only, in this order."""
        rows = self.positions(check_names(names))
        pairs, chosen = np.ix_(rows, rows), tuple(self.names[i] for i in rows)
        low, high = (None if end is None else end[pairs] for end in (self.low, self.high))
        recipe = self.candidates and replace(self.candidates, entries=tuple(map(self.candidates.entry, chosen)))
        unlearned = tuple(name for name in chosen if name in (self.unlearned or ()))
        return OverlapMatrix(chosen, self.scores[pairs], low, high, recipe, unlearned, self.formula)

    def mean_pair(self, names: Sequence[str] | None = None) -> float:
        """The mean overlap over all pairs of different corruptions; NaN if there is no pair or one is masked."""
        chosen = self if names is None else self.subset(names)
        pairs = chosen.scores[np.triu_indices(len(chosen), 1)]
        return float(pairs.mean()) if pairs.size else float("nan")

    def ordered(self) -> list[str]:
        """The names with similar corruptions side by side, for a heat map.

        The optimal leaf ordering of an average-linkage tree on 1 − overlap. A masked pair counts as not overlapping.
        """
        if len(self) < 2:
            return list(self.names)
        from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering

        condensed = distances(np.nan_to_num(self.scores))
        return [self.names[i] for i in leaves_list(optimal_leaf_ordering(average_linkage(condensed), condensed))]

    def save(self, path: str | Path) -> Path:
        """Write a `.csv` (scores only, names in the first row and column) or a `.parquet` (long, with intervals).

        The candidates, if known, are written as a recipe: `overlap.candidates.toml` beside `overlap.parquet`.
        """
        path = Path(path)
        recipe = candidates_path(path)
        if self.candidates is None:
            recipe.unlink(missing_ok=True)  # the recipe of a matrix that is overwritten
        else:
            recipe.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(recipe) as part:
                self.candidates.save(part)
        return write_overlap(path, self)

    @classmethod
    def load(cls, path: str | Path) -> OverlapMatrix:
        """Read what `save` wrote, or any table of that shape."""
        try:
            names, scores, low, high, unlearned, formula = read_overlap(Path(path))
            recipe = candidates_path(Path(path))
            candidates = Benchmark.load(recipe) if recipe.is_file() else None
            return cls(names, scores, low, high, candidates, unlearned, formula)
        except ValueError as error:
            raise BrittleError(f"{path} is not an overlap matrix: {error}") from error


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple; raises if there are none or duplicates."""
    if isinstance(names, str):
        raise BrittleTypeError(f"give a list of names, got the single word {names!r}")
    duplicates = sorted({name for name in names if list(names).count(name) > 1})
    if duplicates:
        raise BrittleError(f"{', '.join(map(repr, duplicates))} is named more than once; name each once")
    if not names or not all(isinstance(name, str) and name for name in names):
        raise BrittleError(f"give one name or more, none empty, got {list(names)!r}")
    return tuple(names)


def names_and_recipe(names: Sequence[str] | Benchmark) -> tuple[tuple[str, ...], Benchmark | None]:
    """The names of corruptions, and their recipe if one is given."""
    if isinstance(names, Benchmark):
        return tuple(entry.id for entry in names.entries), names
    return check_names(names), None


def candidates_path(path: Path) -> Path:
    """The file of the recipe of a matrix's candidates."""
    return path.with_suffix(".candidates.toml")


def _in_order(candidates: Benchmark, names: tuple[str, ...]) -> Benchmark:
    """The candidates in the order of the matrix; raises unless both have the same corruptions."""
    ids = {entry.id for entry in candidates.entries}
    if ids != set(names):
        differing = sorted(ids ^ set(names))
        raise BrittleError(
            f"the candidates {candidates.name!r} and the matrix must name the same corruptions; {differing[0]} is in "
            "one of them only"
        )
    return replace(candidates, entries=tuple(map(candidates.entry, names)))


def _unlearned(unlearned: Sequence[str] | None, names: tuple[str, ...], scores: FloatArray) -> tuple[str, ...]:
    """The corruptions whose overlaps are all masked, as given or as found in the matrix."""
    all_masked = np.isnan(scores).sum(axis=1) == len(names) - 1
    masked = [name for name, is_masked in zip(names, all_masked, strict=True) if is_masked and len(names) > 1]
    not_masked = sorted(set(unlearned or ()) - set(masked))
    if not_masked and len(names) > 1:
        raise BrittleError(f"{not_masked[0]} is listed as unlearned, so all its overlaps must be NaN")
    return tuple(masked) if unlearned is None else tuple(name for name in names if name in unlearned)


def _square(values: ArrayLike, names: tuple[str, ...], field: str) -> FloatArray:
    """A read-only symmetric copy with one row and one column per name."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise BrittleError(f"{field} must be square, one row and one column per corruption, got shape {array.shape}")
    if len(array) != len(names):
        raise BrittleError(f"there are {len(names)} names for {len(array)} rows of {field}; give one name per row")
    mirrored = array.T
    same = (np.isnan(array) & np.isnan(mirrored)) | (array == mirrored)
    with np.errstate(invalid="ignore"):
        same |= np.abs(array - mirrored) < SAME
    if not same.all():
        i, j = np.argwhere(~same)[0]
        raise BrittleError(
            f"{field} must be symmetric, but {names[i]} with {names[j]} is {array[i, j]:g} and {names[j]} with "
            f"{names[i]} is {array[j, i]:g}; give their mean if they are two estimates"
        )
    lower = np.tril_indices(len(array), -1)
    array[lower] = array.T[lower]
    array.setflags(write=False)
    return array


def distances(scores: FloatArray) -> FloatArray:
    """1 − overlap of every two corruptions, in the condensed form that SciPy clusters."""
    from scipy.spatial.distance import squareform

    dissimilarity = 1 - (scores + scores.T) / 2
    np.fill_diagonal(dissimilarity, 0)
    return np.asarray(squareform(np.maximum(dissimilarity, 0), checks=False))


def average_linkage(condensed: FloatArray) -> FloatArray:
    """The tree of average linkage (UPGMA) over condensed distances, as SciPy writes it."""
    from scipy.cluster.hierarchy import linkage

    return np.asarray(linkage(condensed, method="average"))


Parts = tuple[tuple[str, ...], FloatArray, FloatArray | None, FloatArray | None, tuple[str, ...] | None, str]
"""Names, scores, the ends of the intervals and the unlearned corruptions, if known."""


def write_overlap(path: Path, matrix: OverlapMatrix) -> Path:
    """Write a matrix as .csv or .parquet, by the suffix of the path. A masked entry is an empty cell, or null.

    In Parquet the column `unlearned` says whether `name_a` is unlearned, and `formula` is that of the matrix.
    """
    kind, names, scores = _kind(path), matrix.names, matrix.scores
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary:
        if kind == ".csv":
            columns = {name: scores[:, i] for i, name in enumerate(names)}
            pl.DataFrame({"corruption": names, **columns}, nan_to_null=True).write_csv(temporary)
        else:
            is_unlearned = [name in (matrix.unlearned or ()) for name in names]
            table = _long(names, scores, matrix.low, matrix.high).with_columns(
                pl.Series("unlearned", np.repeat(is_unlearned, len(names))), formula=pl.lit(matrix.formula)
            )
            table.write_parquet(temporary)
    return path


def read_overlap(path: Path) -> Parts:
    """The fields of a matrix from a file, not yet validated."""
    if _kind(path) == ".parquet":
        try:
            return _from_long(pl.read_parquet(path, glob=False, hive_partitioning=False))
        except pl.exceptions.PolarsError as error:
            raise BrittleError(f"the file cannot be read ({error})") from error
    table = read_csv(path)
    names = tuple(table.columns[1:])
    rows = tuple(table.to_series(0))
    if rows != names:
        row, column = next(pair for pair in zip_longest(rows, names) if pair[0] != pair[1])
        raise BrittleError(
            "the first row and the first column must name the same corruptions in the same order, and first differ in "
            f"{column!r} and {row!r}"
        )
    return names, numbers_of(table), None, None, None, ""


def numbers_of(table: pl.DataFrame) -> FloatArray:
    """All columns but the first as numbers; an empty cell is NaN."""
    columns = []
    for name in table.columns[1:]:
        texts = table[name].str.strip_chars()
        texts = texts.set(texts == "", None)
        values = texts.cast(pl.Float64, strict=False)
        wrong = texts.filter(values.is_null() & texts.is_not_null())
        if len(wrong):
            row = table.to_series(0)[int((texts == wrong[0]).arg_max() or 0)]
            raise BrittleError(f"{wrong[0]!r} in the row {row!r} under {name!r} is not a number")
        columns.append(values.fill_null(np.nan).to_numpy())
    return np.column_stack(columns) if columns else np.empty((len(table), 0))


def _long(names: tuple[str, ...], scores: FloatArray, low: FloatArray | None, high: FloatArray | None) -> pl.DataFrame:
    count = len(names)
    unknown = np.full((count, count), np.nan)
    ends = [unknown if end is None else end for end in (low, high)]
    values = {"overlap": scores, "low": ends[0], "high": ends[1]}
    named = {"name_a": np.repeat(names, count), "name_b": np.tile(names, count)}
    return pl.DataFrame(named | {key: value.ravel() for key, value in values.items()}, nan_to_null=True)


def _from_long(table: pl.DataFrame) -> Parts:
    missing = [column for column in ("name_a", "name_b", "overlap") if column not in table.columns]
    if missing:
        raise BrittleError(f"there is no column {', '.join(missing)}; the columns are {', '.join(table.columns)}")
    names = tuple(table["name_a"].unique(maintain_order=True))
    index_of = {name: i for i, name in enumerate(names)}
    only_in_b = sorted(set(table["name_b"]) - set(names))
    if only_in_b or len(table) != len(names) ** 2 or table.select("name_a", "name_b").is_duplicated().any():
        raise BrittleError(
            f"{len(names)} corruptions need one row for each of {len(names) ** 2} ordered pairs, there are "
            f"{len(table)} rows" + (f" and {only_in_b[0]!r} is only in name_b" if only_in_b else "")
        )
    rows_and_columns = [index_of[a] for a in table["name_a"]], [index_of[b] for b in table["name_b"]]

    def square(column: str) -> FloatArray:
        out = np.empty((len(names), len(names)))
        out[rows_and_columns] = table[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return out

    has_ends = {"low", "high"} <= set(table.columns) and table["low"].count() > 0
    ends = (square("low"), square("high")) if has_ends else (None, None)
    has_unlearned = "unlearned" in table.columns
    unlearned = tuple(table.filter("unlearned")["name_a"].unique(maintain_order=True)) if has_unlearned else None
    formula = str(table["formula"][0]) if "formula" in table.columns else ""
    return names, square("overlap"), *ends, unlearned, formula


def _kind(path: Path) -> str:
    if path.suffix not in (".csv", ".parquet"):
        raise BrittleError(f"an overlap matrix is a .csv or a .parquet file, got {path.name!r}; choose one of the two")
    return path.suffix


FEWEST = 4


@dataclass(frozen=True)
class MatrixAgreement:
    """Spearman's correlation and the mean absolute difference over the `pairs` that neither matrix masks."""

    spearman: Estimate
    mean_absolute: Estimate
    pairs: int

    def __str__(self) -> str:
        return f"{self.spearman}, {self.mean_absolute} ({self.pairs} pairs)"


def shared_overlaps(first: OverlapMatrix, second: OverlapMatrix) -> tuple[OverlapMatrix, OverlapMatrix]:
    """Both matrices with the corruptions that they share, in the order of the first."""
    shared = [name for name in first.names if name in second.names]
    if len(shared) < 2:
        raise BrittleError(
            f"the matrices share {len(shared)} corruptions ({', '.join(shared) or 'none'}), too few for an agreement; "
            f"one has {', '.join(first.names[:3])} …, the other {', '.join(second.names[:3])} …"
        )
    return first.subset(shared), second.subset(shared)


def compare_overlaps(
    first: OverlapMatrix, second: OverlapMatrix, *, resamples: int = 1000, seed: int = 0
) -> MatrixAgreement:
    """The agreement of two matrices of the same corruptions in any order.

    Pairs that share a corruption are not independent, so intervals resample corruptions, not pairs. Pairs that one of
    the matrices masks are left out.
    """
    if set(first.names) != set(second.names):
        differing = sorted(set(first.names) ^ set(second.names))
        raise BrittleError(f"both matrices need the same corruptions; only one of them has {', '.join(differing[:3])}")
    a, b = first.scores, second.subset(first.names).scores
    is_known = ~(np.isnan(a) | np.isnan(b)) & ~np.eye(len(a), dtype=bool)
    if is_known.sum() // 2 < FEWEST:
        raise BrittleError(
            f"only {is_known.sum() // 2} pairs are unmasked in both matrices; an agreement needs at least {FEWEST}"
        )
    rng = np.random.Generator(np.random.Philox(seed))
    indices = np.arange(len(a))
    value = _agreement(a, b, is_known, indices)
    drawn = np.array([_agreement(a, b, is_known, rng.choice(indices, len(a))) for _ in range(resamples)])
    low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
    method = f"bootstrap over corruptions, {resamples} resamples, seed {seed}"
    estimates = [
        Estimate(name, float(value[i]), float(low[i]), float(high[i]), n=len(a), method=method, percent=False)
        for i, name in enumerate(("Spearman", "mean absolute difference"))
    ]
    return MatrixAgreement(estimates[0], estimates[1], int(is_known.sum()) // 2)


def _agreement(
    a: FloatArray, b: FloatArray, is_known: NDArray[np.bool_], drawn: NDArray[np.int64]
) -> tuple[float, float]:
    """Spearman and mean absolute difference over pairs of drawn corruptions, without pairs of one and itself."""
    rows, columns = np.triu_indices(len(drawn), 1)
    i, j = drawn[rows], drawn[columns]
    unmasked = is_known[i, j]
    x, y = a[i, j][unmasked], b[i, j][unmasked]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan")
    return float(correlate(mean_ranks(x), mean_ranks(y))), float(np.abs(x - y).mean())
