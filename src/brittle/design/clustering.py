"""Categories: corruptions grouped by their overlaps."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._io import atomic_write, read_csv, toml_text
from brittle._random import generator
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.design.correlation import check_drops
from brittle.design.matrix import OverlapMatrix, average_linkage, distances

Parts = tuple[dict[str, tuple[str, ...]], float, float, list[dict[str, Any]], Benchmark | None]
"""Members of each category, the correlations within and across, the steps that led there, and the candidates."""

KEYS = ("correlation_within", "correlation_across")
"""How a file spells out SCC and DCC: mean correlations of overlap vectors within a category, and across two."""


def write_categories(
    path: Path,
    members: Mapping[str, tuple[str, ...]],
    scc: float,
    dcc: float,
    steps: list[dict[str, Any]],
    candidates: Benchmark | None = None,
) -> Path:
    """Write categories; the ending says how. In TOML the recipe of the candidates stands below them."""
    kind = _kind(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary:
        if kind == ".csv":
            rows = [(one, name) for name, group in members.items() for one in group]
            pl.DataFrame(rows, schema=["corruption", "category"], orient="row").write_csv(temporary)
        else:
            known = {key: value for key, value in zip(KEYS, (scc, dcc), strict=True) if not math.isnan(value)}
            blocks = [{"name": name, "members": list(group)} for name, group in members.items()]
            recipe = {} if candidates is None else candidates.to_dict()
            entries = recipe.pop("corruption", [])
            written = [{"count": one["count"], KEYS[0]: one["scc"], KEYS[1]: one["dcc"]} for one in steps]
            lists = {"category": blocks, "step": written}
            measured = {"candidates": recipe, "candidate": entries} if recipe else {}
            temporary.write_text(toml_text(known | lists | measured), encoding="utf-8")
    return path


def read_categories(path: Path) -> Parts:
    """The parts of categories, not yet checked for sense."""
    if _kind(path) == ".toml":
        with path.open("rb") as file:
            data = tomllib.load(file)
        blocks = data.get("category", [])
        if not isinstance(blocks, list) or not all(
            isinstance(block, dict) and isinstance(block.get("members"), list) and "name" in block for block in blocks
        ):
            raise BrittleError("write one [[category]] block with a name and a list of members for each category")
        found = {str(block["name"]): tuple(map(str, block["members"])) for block in blocks}
        if len(found) < len(blocks):
            raise BrittleError("two [[category]] blocks have the same name; join them")
        recipe = {**data["candidates"], "corruption": data.get("candidate")} if "candidates" in data else None
        candidates = None if recipe is None else Benchmark.from_dict(recipe, where=f"the candidates of {path.name}")
        within, across = (float(data.get(key, math.nan)) for key in KEYS)
        steps = [{"count": one["count"], "scc": one[KEYS[0]], "dcc": one[KEYS[1]]} for one in data.get("step", [])]
        return found, within, across, steps, candidates
    table = read_csv(path)
    if not {"corruption", "category"} <= set(table.columns):
        raise BrittleError(f"the columns must be corruption and category, got {', '.join(table.columns)}")
    groups = table.group_by("category", maintain_order=True).agg("corruption")
    members = {str(name): tuple(map(str, group)) for name, group in groups.rows()}
    return members, math.nan, math.nan, [], None


def _kind(path: Path) -> str:
    if path.suffix not in (".toml", ".csv"):
        raise BrittleError(f"categories are a .toml or a .csv file, got {path.name!r}; choose one of the two")
    return path.suffix


@dataclass(frozen=True)
class Step:
    """What some number of categories achieves: mean Pearson correlation within (`scc`) and across (`dcc`) them."""

    count: int
    scc: float
    dcc: float


@dataclass(frozen=True)
class Categories:
    """Named groups of corruptions, each corruption in one of them.

    `scc` is the mean Pearson correlation of the overlap vectors of two same-category corruptions, `dcc` of two
    different-category corruptions; NaN if not known. `path` holds both for every number of categories that was tried.
    `candidates`, if known, is the recipe under which the corruptions were measured, with their levels or ranges.
    """

    members: Mapping[str, tuple[str, ...]]
    scc: float = math.nan
    dcc: float = math.nan
    path: tuple[Step, ...] = field(default=(), repr=False)
    candidates: Benchmark | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        members = {str(name): tuple(group) for name, group in self.members.items()}
        if not members or not all(members.values()):
            empty = [name for name, group in members.items() if not group]
            raise BrittleError(f"every category needs a member, got {f'none in {empty[0]!r}' if empty else 'nothing'}")
        everyone = list(chain.from_iterable(members.values()))
        twice = sorted({name for name in everyone if everyone.count(name) > 1})
        if twice:
            raise BrittleError(f"{', '.join(map(repr, twice))} stands in the categories twice; keep it in one of them")
        object.__setattr__(self, "members", members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def names(self) -> tuple[str, ...]:
        """All corruptions, category by category."""
        return tuple(chain.from_iterable(self.members.values()))

    @cached_property
    def _category(self) -> dict[str, str]:
        return {one: name for name, group in self.members.items() for one in group}

    @property
    def smallest(self) -> int:
        """The size of the smallest category: how many representatives every category can have."""
        return min(map(len, self.members.values()))

    def of(self, corruption: str) -> str:
        """The category of a corruption, named with or without the set it comes from."""
        if corruption in self._category:
            return self._category[corruption]
        family, _, plain = str(corruption).rpartition("/")
        alike = [one for one in self.names if one.rpartition("/")[2] == plain and not (family and "/" in one)]
        if len(alike) != 1:
            raise BrittleError(f"no category holds {corruption!r}; {did_you_mean(str(corruption), self.names)}")
        return self._category[alike[0]]

    def renamed(self, names: Sequence[str] | Mapping[str, str]) -> Categories:
        """The same categories under other names: all of them in order, or some of them from old to new."""
        if not isinstance(names, Mapping):
            if len(names) != len(self):
                raise BrittleError(f"there are {len(self)} categories, got {len(names)} names")
            names = dict(zip(self.members, names, strict=True))
        for name in names:
            if name not in self.members:
                raise BrittleError(f"there is no category {name!r}; {did_you_mean(str(name), list(self.members))}")
        new = [names.get(name, name) for name in self.members]
        if len(set(new)) < len(new):
            raise BrittleError(f"two categories cannot share a name, got {', '.join(new)}")
        return replace(self, members=dict(zip(new, self.members.values(), strict=True)))

    def save(self, path: str | Path) -> Path:
        """Write a `.toml`, or a `.csv` with the columns corruption and category, which keeps the members only."""
        steps = [{"count": step.count, "scc": step.scc, "dcc": step.dcc} for step in self.path]
        return write_categories(Path(path), self.members, self.scc, self.dcc, steps, self.candidates)

    @classmethod
    def load(cls, path: str | Path) -> Categories:
        """Read what `save` wrote, or a file of that shape written by hand."""
        try:
            members, scc, dcc, steps, candidates = read_categories(Path(path))
            return cls(members, scc, dcc, tuple(Step(**step) for step in steps), candidates)
        except (ValueError, TypeError, KeyError) as error:
            raise BrittleError(f"{path} does not hold categories: {error}") from error


@dataclass(frozen=True)
class Agreement:
    """Mean Pearson correlation of two corruptions of the same category (`scc`) and of different ones (`dcc`)."""

    scc: float
    dcc: float
    models: int

    def __str__(self) -> str:
        return f"same category {self.scc:.2f}, different categories {self.dcc:.2f} (mean Pearson, {self.models} models)"


def agreement(categories: Categories, robustness: ArrayLike, names: Sequence[str]) -> Agreement:
    """The correlation of the residual robustness of real models within and across categories.

    `robustness` is models × corruptions, the accuracy drop of each model under each corruption; `names` names its
    columns, which must hold every corruption of the categories. Syn2Nat reports 0.67 within and 0.10 across, for 21
    models.
    """
    table, where = check_drops(robustness, names)
    columns = [where(name) for name in categories.names]
    of = {one: label for label, group in enumerate(categories.members.values()) for one in group}
    labels = np.array([of[name] for name in categories.names])
    correlations = vector_correlations(table[:, columns].T, categories.names)
    return Agreement(*mean_correlations(correlations, labels), len(table))


def vector_correlations(vectors: FloatArray, names: Sequence[str]) -> FloatArray:
    """Pearson's correlation of every two rows."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1))
    flat = np.flatnonzero(length <= 1e-12 * np.abs(vectors).max(axis=1))
    if flat.size:
        raise BrittleError(f"all values of {names[flat[0]]} are equal, so nothing correlates with it; leave it out")
    unit = centred / length[:, np.newaxis]
    return np.asarray(np.clip(unit @ unit.T, -1, 1))


def mean_correlations(correlations: FloatArray, labels: NDArray[np.int64]) -> tuple[float, float]:
    """The mean over same-category pairs and over different-category pairs, NaN where there are none."""
    same = labels[:, np.newaxis] == labels
    return _mean(correlations[same & ~np.eye(len(labels), dtype=bool)]), _mean(correlations[~same])


def _mean(pairs: FloatArray) -> float:
    return float(pairs.mean()) if pairs.size else float("nan")


Labels = NDArray[np.int64]

STEPS = 100
"""Steps of k-means from each start; a few dozens of corruptions settle within ten."""


def categories(
    overlap: OverlapMatrix, *, count: int | None = None, min_correlation: float = 0.5, starts: int = 100, seed: int = 0
) -> Categories:
    """Categories by k-means on the overlap vectors, as few as make same-category vectors alike.

    The vector of a corruption is its row of the matrix, its own 1 included. K grows from 2 until the mean Pearson
    correlation over all same-category pairs exceeds `min_correlation` (Syn2Nat, section 3: 0.5 gave K = 6), or is
    `count` if you give one. K-means is the best of `starts` k-means++ starts; the same seed gives the same categories.
    """
    vectors = _vectors(overlap)
    if starts < 1:
        raise BrittleError(f"k-means needs at least one start, got {starts!r}")

    def split(k: int) -> Labels:
        return k_means(vectors, k, starts=starts, rng=generator(seed))

    return _grow(overlap, split, count, min_correlation, len(np.unique(vectors, axis=0)))


def hierarchical(
    overlap: OverlapMatrix, *, count: int | None = None, min_correlation: float | None = None
) -> Categories:
    """Categories by average linkage on 1 − overlap: `count` of them, or the first number whose correlation suffices.

    Beside Syn2Nat's k-means: it needs no seed, and two corruptions come together because they overlap with each other,
    not because they overlap with the same others.
    """
    _vectors(overlap)
    if (count is None) == (min_correlation is None):
        raise BrittleError(f"give either count or min_correlation, got {count!r} and {min_correlation!r}")
    from scipy.cluster.hierarchy import cut_tree

    merges = average_linkage(distances(overlap.scores))

    def split(k: int) -> Labels:
        return _in_order(cut_tree(merges, n_clusters=k)[:, 0])

    return _grow(overlap, split, count, -1 if min_correlation is None else min_correlation, len(overlap))


def _grow(
    overlap: OverlapMatrix, split: Callable[[int], Labels], count: int | None, min_correlation: float, most: int
) -> Categories:
    """Try 2, 3, … categories until same-category vectors are alike, or as many as asked for."""
    if count is not None and not 1 <= count <= most:
        raise BrittleError(f"{len(overlap)} corruptions ({most} different) make 1 to {most} categories, got {count!r}")
    correlations = vector_correlations(overlap.scores, overlap.names)
    path: list[Step] = []
    for k in range(min(2, count or 2), (count or min(most, len(overlap) - 1)) + 1):
        labels = split(k)
        path.append(Step(k, *mean_correlations(correlations, labels)))
        if k == count or (count is None and path[-1].scc > min_correlation):
            groups = {str(c + 1): tuple(np.asarray(overlap.names)[labels == c].tolist()) for c in range(k)}
            return Categories(groups, path[-1].scc, path[-1].dcc, tuple(path), overlap.candidates)
    best = max(path, key=lambda step: step.scc, default=None)
    found = f"the highest is {best.scc:.3f} at {best.count}" if best else "there are too few corruptions"
    raise BrittleError(
        f"no number of categories brings the mean same-category correlation above {min_correlation:g} ({found}); "
        "lower min_correlation or give a count"
    )


def _vectors(overlap: OverlapMatrix) -> FloatArray:
    masked = overlap.masked()
    if masked:
        a, b = masked[0]
        raise BrittleError(
            f"the overlap of {a} and {b} is masked ({len(masked)} pairs are), so they have no overlap vector; leave "
            "such corruptions out with overlap.subset(...)"
        )
    return overlap.scores


def k_means(points: FloatArray, count: int, *, starts: int, rng: np.random.Generator) -> Labels:
    """The cluster of each point, with the lowest sum of squared distances to the means over all k-means++ starts.

    No cluster is empty, and clusters are numbered in the order of their first points. It is SciPy's `kmeans2`, whose
    steps stop changing anything long before STEPS for the few dozens of points that corruptions are.
    """
    from scipy.cluster.vq import ClusterError, kmeans2

    different = len(np.unique(points, axis=0))
    if not 1 <= count <= different:
        raise BrittleError(f"{different} different points cannot make {count} clusters")
    best, lowest = None, np.inf
    for _ in range(starts):
        try:
            means, labels = kmeans2(points, count, iter=STEPS, minit="++", missing="raise", rng=rng)
        except ClusterError:  # a cluster became empty; another start does better
            continue
        cost = float(((points - means[labels]) ** 2).sum())
        if cost < lowest * (1 - 1e-12):
            best, lowest = labels, cost
    if best is None:
        raise BrittleError(
            f"none of {starts} starts of k-means made {count} clusters; give more starts or fewer clusters"
        )
    return _in_order(best)


def _in_order(labels: NDArray[Any]) -> Labels:
    """Labels numbered in the order in which they first occur."""
    _, first, cluster = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[first.argsort()] = np.arange(len(first))
    return np.asarray(rank[cluster])


FOLDER = Path(__file__).parent / "published"


def load_categories(given: str | Path) -> Categories:
    """Categories from a file, or published ones by their name."""
    path = Path(given)
    if path.is_file():
        return Categories.load(path)
    if path.suffix:
        raise FileNotFoundError(
            f"there is no file of categories {str(given)!r}; `brittle categories` makes one, `syn2nat` are published "
            "ones"
        )
    return published_categories(str(given))


def published_categories(name: str = "syn2nat") -> Categories:
    """The categories of a paper; "syn2nat" is all there is.

    Syn2Nat drew its six categories as a picture. Twenty of forty memberships follow from its text and from the order
    of names in its code, the categories of "heterogeneous" and "blurs" by position alone. The first three of each are
    ImageNet-Syn2Nat. The file names its source.
    """
    known = sorted(path.stem for path in FOLDER.glob("*.toml"))
    if name not in known:
        raise BrittleError(f"there are no published categories {name!r}; {did_you_mean(name, known)}")
    return replace(Categories.load(FOLDER / f"{name}.toml"), candidates=load_benchmark(f"{name}-candidates"))
