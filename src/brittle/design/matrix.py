"""The overlap matrix, its file, and how two of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle._html import html_block, html_table, html_title
from brittle._io import atomic_write, read_csv
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark
from brittle.metrics import Estimate
from brittle.metrics.correlation import correlate, mean_ranks

SAME = 1e-6
"""Two entries that differ by less are the same number, written down twice."""


@dataclass(frozen=True, eq=False)
class OverlapMatrix:
    """Overlapping scores of named corruptions: symmetric, 1 on the diagonal, NaN where one is masked.

    About 0 means that learning one corruption does not help with the other, 1 that it helps as much as learning the
    other itself. `low` and `high`, if known, are the ends of each entry's confidence interval; an infinite `high` says
    that the samples set no upper bound. `candidates`, if known, is the recipe under which the overlaps were measured:
    corruptions, levels or ranges, options, seed and table. `unlearned` names the corruptions that their own models
    hardly learned, whose overlaps are therefore masked; if it is not given, it is those without any known overlap.
    """

    names: tuple[str, ...]
    scores: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    candidates: Benchmark | None = None
    unlearned: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        names = check_names(self.names)
        scores = _square(self.scores, names, "scores")
        if np.isinf(scores).any():
            i, j = np.argwhere(np.isinf(scores))[0]
            raise BrittleError(
                f"the overlap of {names[i]} and {names[j]} is infinite; write NaN for an entry that is not known"
            )
        odd = np.flatnonzero(~(np.abs(np.diagonal(scores) - 1) < SAME))
        if odd.size:
            given = scores[odd[0], odd[0]]
            raise BrittleError(
                f"the overlap of {names[odd[0]]} with itself must be 1, got {given:g}; if these are distances, "
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
        short = [name.rpartition("/")[2] for name in chosen.names]
        short = [name if short.count(name) == 1 else whole for name, whole in zip(short, chosen.names, strict=True)]
        rows = [
            [str(i + 1), escape(short[i]), *("–" if np.isnan(value) else f"{value:.2f}" for value in row)]
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
        """The overlap of two corruptions: `overlap["fog", "contrast"]`, with or without the set they come from."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise BrittleTypeError(f"ask for a pair, such as overlap['fog', 'contrast'], got {pair!r}")
        i, j = self.positions(pair)
        return float(self.scores[i, j])

    def positions(self, names: Sequence[str]) -> list[int]:
        """Where these corruptions stand in the matrix: "noc/rain", or "rain" if no other set has one in it."""
        where = {name: i for i, name in enumerate(self.names)}
        short: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            short.setdefault(name.rpartition("/")[2], []).append(i)
        found = []
        for name in names:
            at = [where[name]] if name in where else short.get(str(name), [])
            if len(at) > 1:
                raise BrittleError(f"{name!r} could be any of {', '.join(self.names[i] for i in at)}; say which")
            if not at:
                known = self.names if "/" in str(name) else list(short)
                raise BrittleError(f"there is no {name!r} in this overlap matrix; {did_you_mean(str(name), known)}")
            found.append(at[0])
        return found

    def masked(self) -> list[tuple[str, str]]:
        """The pairs whose overlap is not known."""
        rows, columns = np.nonzero(np.triu(np.isnan(self.scores), 1))
        return [(self.names[i], self.names[j]) for i, j in zip(rows, columns, strict=True)]

    def subset(self, names: Sequence[str]) -> OverlapMatrix:
        """The same scores for these corruptions only, in this order."""
        places = self.positions(check_names(names))
        at, chosen = np.ix_(places, places), tuple(self.names[i] for i in places)
        low, high = (None if one is None else one[at] for one in (self.low, self.high))
        recipe = self.candidates and replace(self.candidates, entries=tuple(map(self.candidates.entry, chosen)))
        unlearned = tuple(name for name in chosen if name in (self.unlearned or ()))
        return OverlapMatrix(chosen, self.scores[at], low, high, recipe, unlearned)

    def mean_pair(self, names: Sequence[str] | None = None) -> float:
        """The mean overlap over all pairs of different corruptions; NaN if there is no pair or one is masked."""
        chosen = self if names is None else self.subset(names)
        pairs = chosen.scores[np.triu_indices(len(chosen), 1)]
        return float(pairs.mean()) if pairs.size else float("nan")

    def ordered(self) -> list[str]:
        """The names with alike corruptions side by side, for a heat map.

        The leaves of an average-linkage tree on 1 − overlap, branches turned so that the most alike ends meet. A
        masked pair counts as not overlapping here.
        """
        if len(self) < 2:
            return list(self.names)
        from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering

        far = distances(np.nan_to_num(self.scores))
        return [self.names[i] for i in leaves_list(optimal_leaf_ordering(average_linkage(far), far))]

    def save(self, path: str | Path) -> Path:
        """Write a `.csv` (scores only, names in the first row and column) or a `.parquet` (long, with intervals).

        The candidates, if known, go beside it into a recipe: `overlap.candidates.toml` beside `overlap.parquet`.
        """
        path = Path(path)
        recipe = candidates_path(path)
        if self.candidates is None:
            recipe.unlink(missing_ok=True)  # that of the matrix that was here before
        else:
            recipe.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(recipe) as part:
                self.candidates.save(part)
        return write_overlap(path, self.names, self.scores, self.low, self.high, self.unlearned or ())

    @classmethod
    def load(cls, path: str | Path) -> OverlapMatrix:
        """Read what `save` wrote, or any table of that shape."""
        try:
            names, scores, low, high, unlearned = read_overlap(Path(path))
            recipe = candidates_path(Path(path))
            candidates = Benchmark.load(recipe) if recipe.is_file() else None
            return cls(names, scores, low, high, candidates, unlearned)
        except ValueError as error:
            raise BrittleError(f"{path} is not an overlap matrix: {error}") from error


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple: at least one, each once."""
    if isinstance(names, str):
        raise BrittleTypeError(f"give a list of names, got the single word {names!r}")
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise BrittleError(f"{', '.join(map(repr, twice))} is named more than once; name each corruption once")
    if not names or not all(isinstance(name, str) and name for name in names):
        raise BrittleError(f"give one name or more, none empty, got {list(names)!r}")
    return tuple(names)


def names_and_recipe(names: Sequence[str] | Benchmark) -> tuple[tuple[str, ...], Benchmark | None]:
    """The names of corruptions, and the recipe that they come from if that is what was given."""
    if isinstance(names, Benchmark):
        return tuple(entry.id for entry in names.entries), names
    return check_names(names), None


def candidates_path(path: Path) -> Path:
    """Where the recipe of a matrix's candidates is kept."""
    return path.with_suffix(".candidates.toml")


def _in_order(candidates: Benchmark, names: tuple[str, ...]) -> Benchmark:
    """The candidates in the order of the matrix, which must be of these corruptions and no others."""
    ids = {entry.id for entry in candidates.entries}
    if ids != set(names):
        odd = sorted(ids ^ set(names))
        raise BrittleError(
            f"the candidates {candidates.name!r} and the matrix must name the same corruptions; {odd[0]} is in one of "
            "them only"
        )
    return replace(candidates, entries=tuple(map(candidates.entry, names)))


def _unlearned(given: Sequence[str] | None, names: tuple[str, ...], scores: FloatArray) -> tuple[str, ...]:
    """The corruptions whose overlaps are all masked, as said or as the matrix shows."""
    alone = np.isnan(scores).sum(axis=1) == len(names) - 1
    masked = [name for name, unknown in zip(names, alone, strict=True) if unknown and len(names) > 1]
    odd = sorted(set(given or ()) - set(masked))
    if odd and len(names) > 1:
        raise BrittleError(f"{odd[0]} was hardly learned by its own model, so its overlaps must be NaN")
    return tuple(masked) if given is None else tuple(name for name in names if name in given)


def _square(values: ArrayLike, names: tuple[str, ...], what: str) -> FloatArray:
    """A read-only symmetric copy with one row and one column a name."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise BrittleError(f"{what} must be square, one row and one column a corruption, got shape {array.shape}")
    if len(array) != len(names):
        raise BrittleError(f"there are {len(names)} names for {len(array)} rows of {what}; give one name a row")
    mirrored = array.T
    same = (np.isnan(array) & np.isnan(mirrored)) | (array == mirrored)
    with np.errstate(invalid="ignore"):
        same |= np.abs(array - mirrored) < SAME
    if not same.all():
        i, j = np.argwhere(~same)[0]
        raise BrittleError(
            f"{what} must be symmetric, but {names[i]} with {names[j]} is {array[i, j]:g} and {names[j]} with "
            f"{names[i]} is {array[j, i]:g}; give the mean of both if they are two estimates"
        )
    lower = np.tril_indices(len(array), -1)
    array[lower] = array.T[lower]
    array.setflags(write=False)
    return array


def distances(scores: FloatArray) -> FloatArray:
    """1 − overlap of every two corruptions, in the condensed form that SciPy clusters."""
    from scipy.spatial.distance import squareform

    far = 1 - (scores + scores.T) / 2
    np.fill_diagonal(far, 0)
    return np.asarray(squareform(np.maximum(far, 0), checks=False))


def average_linkage(condensed: FloatArray) -> FloatArray:
    """The tree of average linkage (UPGMA) over condensed distances, as SciPy writes it."""
    from scipy.cluster.hierarchy import linkage

    return np.asarray(linkage(condensed, method="average"))


Parts = tuple[tuple[str, ...], FloatArray, FloatArray | None, FloatArray | None, tuple[str, ...] | None]
"""Names, scores, the ends of the intervals and the corruptions that were hardly learned, if they are known."""


def write_overlap(
    path: Path,
    names: tuple[str, ...],
    scores: FloatArray,
    low: FloatArray | None,
    high: FloatArray | None,
    unlearned: tuple[str, ...] = (),
) -> Path:
    """Write a matrix; the ending says how. A masked entry is an empty cell, or null.

    In Parquet the column `unlearned` says whether the model of `name_a` hardly learned it.
    """
    kind = _kind(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary:
        if kind == ".csv":
            columns = {name: scores[:, i] for i, name in enumerate(names)}
            pl.DataFrame({"corruption": names, **columns}, nan_to_null=True).write_csv(temporary)
        else:
            hardly = [name in unlearned for name in names]
            long = _long(names, scores, low, high).with_columns(pl.Series("unlearned", np.repeat(hardly, len(names))))
            long.write_parquet(temporary)
    return path


def read_overlap(path: Path) -> Parts:
    """The parts of a matrix, not yet checked for sense."""
    if _kind(path) == ".parquet":
        try:
            return _from_long(pl.read_parquet(path, glob=False, hive_partitioning=False))
        except pl.exceptions.PolarsError as error:
            raise BrittleError(f"it cannot be read ({error})") from error
    table = read_csv(path)
    names = tuple(table.columns[1:])
    if tuple(table.to_series(0)) != names:
        raise BrittleError("the first row and the first column must name the same corruptions in the same order")
    return names, numbers_of(table), None, None, None


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
    where = {name: i for i, name in enumerate(names)}
    strangers = sorted(set(table["name_b"]) - set(names))
    if strangers or len(table) != len(names) ** 2 or table.select("name_a", "name_b").is_duplicated().any():
        raise BrittleError(
            f"{len(names)} corruptions need one row for each of {len(names) ** 2} ordered pairs, there are "
            f"{len(table)} rows" + (f" and {strangers[0]!r} is only in name_b" if strangers else "")
        )
    at = [where[a] for a in table["name_a"]], [where[b] for b in table["name_b"]]

    def square(column: str) -> FloatArray:
        out = np.empty((len(names), len(names)))
        out[at] = table[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return out

    has_ends = {"low", "high"} <= set(table.columns) and table["low"].count() > 0
    ends = (square("low"), square("high")) if has_ends else (None, None)
    known = "unlearned" in table.columns
    unlearned = tuple(table.filter("unlearned")["name_a"].unique(maintain_order=True)) if known else None
    return names, square("overlap"), *ends, unlearned


def _kind(path: Path) -> str:
    if path.suffix not in (".csv", ".parquet"):
        raise BrittleError(f"an overlap matrix is a .csv or a .parquet file, got {path.name!r}; choose one of the two")
    return path.suffix


FEWEST = 4


@dataclass(frozen=True)
class MatrixAgreement:
    """Spearman's correlation and the mean absolute difference over the `pairs` that both matrices know."""

    spearman: Estimate
    mean_absolute: Estimate
    pairs: int

    def __str__(self) -> str:
        return f"{self.spearman}, {self.mean_absolute} ({self.pairs} pairs)"


def compare_overlaps(
    first: OverlapMatrix, second: OverlapMatrix, *, resamples: int = 1000, seed: int = 0
) -> MatrixAgreement:
    """The agreement of two matrices, whose corruptions may stand in another order.

    Pairs that share a corruption are not independent, so intervals draw whole corruptions again, not pairs. Pairs that
    one of the matrices masks are left out.
    """
    if set(first.names) != set(second.names):
        odd = sorted(set(first.names) ^ set(second.names))
        raise BrittleError(f"both matrices need the same corruptions; only one of them has {', '.join(odd[:3])}")
    a, b = first.scores, second.subset(first.names).scores
    known = ~(np.isnan(a) | np.isnan(b)) & ~np.eye(len(a), dtype=bool)
    if known.sum() // 2 < FEWEST:
        raise BrittleError(f"both matrices know only {known.sum() // 2} pairs; an agreement needs at least {FEWEST}")
    rng = np.random.Generator(np.random.Philox(seed))
    everyone = np.arange(len(a))
    value = _agreement(a, b, known, everyone)
    drawn = np.array([_agreement(a, b, known, rng.choice(everyone, len(a))) for _ in range(resamples)])
    low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
    method = f"bootstrap over corruptions, {resamples} resamples, seed {seed}"
    both = [
        Estimate(name, float(value[i]), float(low[i]), float(high[i]), n=len(a), method=method, percent=False)
        for i, name in enumerate(("Spearman", "mean absolute difference"))
    ]
    return MatrixAgreement(both[0], both[1], int(known.sum()) // 2)


def _agreement(
    a: FloatArray, b: FloatArray, known: NDArray[np.bool_], chosen: NDArray[np.int64]
) -> tuple[float, float]:
    """Of the pairs among chosen corruptions; one that was drawn twice makes no pair with itself."""
    rows, columns = np.triu_indices(len(chosen), 1)
    i, j = chosen[rows], chosen[columns]
    pairs = known[i, j]
    x, y = a[i, j][pairs], b[i, j][pairs]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan")
    return float(correlate(mean_ranks(x), mean_ranks(y))), float(np.abs(x - y).mean())
