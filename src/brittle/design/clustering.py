"""Categories of corruptions: k-means and hierarchical clustering of overlaps."""

from __future__ import annotations

import math
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
from brittle._io import atomic_write, toml_text
from brittle._random import generator
from brittle._texts import read_csv, read_toml_file
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.design.correlation import check_drops
from brittle.design.matrix import OverlapMatrix, average_linkage, distances

Parts = tuple[dict[str, tuple[str, ...]], float, float, list[dict[str, Any]], Benchmark | None]
"""Members of each category, the correlations within and across, the steps of the search, and the candidates."""

KEYS = ("correlation_within", "correlation_across")
"""The keys of SCC and DCC in a file: mean correlations of overlap vectors within a category, and across two."""


def write_categories(
    path: Path,
    members: Mapping[str, tuple[str, ...]],
    scc: float,
    dcc: float,
    steps: list[dict[str, Any]],
    candidates: Benchmark | None = None,
) -> Path:
    """Write categories as .toml, with the recipe of the candidates, or as .csv, by the suffix of the path."""
    kind = _kind(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary:
        if kind == ".csv":
            rows = [(corruption, name) for name, group in members.items() for corruption in group]
            pl.DataFrame(rows, schema=["corruption", "category"], orient="row").write_csv(temporary)
        else:
            correlations = {key: value for key, value in zip(KEYS, (scc, dcc), strict=True) if not math.isnan(value)}
            blocks = [{"name": name, "members": list(group)} for name, group in members.items()]
            recipe = {} if candidates is None else candidates.to_dict()
            entries = recipe.pop("corruption", [])
            step_blocks = [{"count": step["count"], KEYS[0]: step["scc"], KEYS[1]: step["dcc"]} for step in steps]
            lists = {"category": blocks, "step": step_blocks}
            candidate_blocks = {"candidates": recipe, "candidate": entries} if recipe else {}
            temporary.write_text(toml_text(correlations | lists | candidate_blocks), encoding="utf-8")
    return path


def read_categories(path: Path) -> Parts:
    """The fields of `Categories` from a file, not yet validated."""
    if _kind(path) == ".toml":
        data = read_toml_file(path, "categories")
        blocks = data.get("category", [])
        if not isinstance(blocks, list) or not all(
            isinstance(block, dict) and isinstance(block.get("members"), list) and "name" in block for block in blocks
        ):
            raise BrittleError("write one [[category]] block with a name and a list of members for each category")
        members = {str(block["name"]): tuple(map(str, block["members"])) for block in blocks}
        if len(members) < len(blocks):
            names = [str(block["name"]) for block in blocks]
            twice = next(name for name in names if names.count(name) > 1)
            raise BrittleError(f"two [[category]] blocks have the name {twice!r}; join them")
        recipe = {**data["candidates"], "corruption": data.get("candidate")} if "candidates" in data else None
        candidates = None if recipe is None else Benchmark.from_dict(recipe, where=f"the candidates of {path.name}")
        within, across = (float(data.get(key, math.nan)) for key in KEYS)
        steps = [{"count": step["count"], "scc": step[KEYS[0]], "dcc": step[KEYS[1]]} for step in data.get("step", [])]
        return members, within, across, steps, candidates
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
    """A number of categories and its mean Pearson correlations within (`scc`) and across (`dcc`) categories."""

    count: int
    scc: float
    dcc: float


@dataclass(frozen=True)
class Categories:
    """Named groups of corruptions, each corruption in one of them.

    `scc` is the mean Pearson correlation of the overlap vectors of two same-category corruptions, `dcc` of two
    different-category corruptions; NaN if unknown. `path` holds both for every number of categories tried.
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
        corruptions = list(chain.from_iterable(members.values()))
        duplicates = sorted({name for name in corruptions if corruptions.count(name) > 1})
        if duplicates:
            raise BrittleError(f"{', '.join(map(repr, duplicates))} is in two categories; keep it in one of them")
        object.__setattr__(self, "members", members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def names(self) -> tuple[str, ...]:
        """All corruptions, category by category."""
        return tuple(chain.from_iterable(self.members.values()))

    @cached_property
    def _category(self) -> dict[str, str]:
        return {corruption: name for name, group in self.members.items() for corruption in group}

    @property
    def smallest(self) -> int:
        """The size of the smallest category, which is the largest k for `balanced`."""
        return min(map(len, self.members.values()))

    def of(self, corruption: str) -> str:
        """The category of a corruption, named with or without its set ("noc/rain" or "rain")."""
        if corruption in self._category:
            return self._category[corruption]
        family, _, plain = str(corruption).rpartition("/")
        matches = [name for name in self.names if name.rpartition("/")[2] == plain and not (family and "/" in name)]
        if len(matches) != 1:
            raise BrittleError(f"no category contains {corruption!r}; {did_you_mean(str(corruption), self.names)}")
        return self._category[matches[0]]

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
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
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
    table, column_of = check_drops(robustness, names)
    columns = [column_of(name) for name in categories.names]
    label_of = {name: label for label, group in enumerate(categories.members.values()) for name in group}
    labels = np.array([label_of[name] for name in categories.names])
    correlations = vector_correlations(table[:, columns].T, categories.names)
    return Agreement(*mean_correlations(correlations, labels), len(table))


def vector_correlations(vectors: FloatArray, names: Sequence[str]) -> FloatArray:
    """Pearson's correlation of every two rows."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1))
    flat = np.flatnonzero(length <= 1e-12 * np.abs(vectors).max(axis=1))
    if flat.size:
        raise BrittleError(f"all values of {names[flat[0]]} are equal, so its correlation is undefined; leave it out")
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
"""Iterations of k-means from each start; a few dozen corruptions converge within ten."""


def categories(
    overlap: OverlapMatrix, *, count: int | None = None, min_correlation: float = 0.5, starts: int = 100, seed: int = 0
) -> Categories:
    """Categories by k-means on the overlap vectors, as few as make same-category vectors correlate.

    The vector of a corruption is its row of the matrix, with the diagonal 1. K grows from 2 until the mean Pearson
    correlation over all same-category pairs exceeds `min_correlation` (Syn2Nat, section 4: 0.5 gave K = 6), or is
    `count` if given. K-means takes the best of `starts` k-means++ starts; the same seed gives the same categories.
    """
    vectors = _vectors(overlap)
    if starts < 1:
        raise BrittleError(f"k-means needs at least one start, got {starts!r}")

    def cluster(k: int) -> Labels:
        return k_means(vectors, k, starts=starts, rng=generator(seed))

    return _grow(overlap, cluster, count, min_correlation, len(np.unique(vectors, axis=0)))


def hierarchical(
    overlap: OverlapMatrix, *, count: int | None = None, min_correlation: float | None = None
) -> Categories:
    """Categories by average linkage on 1 − overlap: `count` of them, or the fewest that exceed `min_correlation`.

    An alternative to Syn2Nat's k-means: it needs no seed, and groups corruptions that overlap with each other, not
    those that overlap with the same others.
    """
    _vectors(overlap)
    if (count is None) == (min_correlation is None):
        raise BrittleError(f"give either count or min_correlation, got {count!r} and {min_correlation!r}")
    from scipy.cluster.hierarchy import cut_tree

    merges = average_linkage(distances(overlap.scores))

    def cluster(k: int) -> Labels:
        return _in_order(cut_tree(merges, n_clusters=k)[:, 0])

    return _grow(overlap, cluster, count, -1 if min_correlation is None else min_correlation, len(overlap))


def _grow(
    overlap: OverlapMatrix, cluster: Callable[[int], Labels], count: int | None, min_correlation: float, most: int
) -> Categories:
    """Try 2, 3, … categories until the same-category correlation exceeds the minimum, or just `count`."""
    if count is not None and not 1 <= count <= most:
        raise BrittleError(f"{len(overlap)} corruptions ({most} different) make 1 to {most} categories, got {count!r}")
    correlations = vector_correlations(overlap.scores, overlap.names)
    path: list[Step] = []
    for k in range(min(2, count or 2), (count or min(most, len(overlap) - 1)) + 1):
        labels = cluster(k)
        path.append(Step(k, *mean_correlations(correlations, labels)))
        if k == count or (count is None and path[-1].scc > min_correlation):
            groups = {str(c + 1): tuple(np.asarray(overlap.names)[labels == c].tolist()) for c in range(k)}
            return Categories(groups, path[-1].scc, path[-1].dcc, tuple(path), overlap.candidates)
    best = max(path, key=lambda step: step.scc, default=None)
    reason = f"the highest is {best.scc:.3f} at {best.count}" if best else "too few corruptions"
    raise BrittleError(
        f"no number of categories brings the mean same-category correlation above {min_correlation:g} ({reason}); "
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

    No cluster is empty, and clusters are numbered in the order of their first points. It uses SciPy's `kmeans2`, which
    converges long before STEPS iterations on a few dozen points.
    """
    from scipy.cluster.vq import ClusterError, kmeans2

    distinct = len(np.unique(points, axis=0))
    if not 1 <= count <= distinct:
        raise BrittleError(f"{distinct} different points cannot make {count} clusters")
    best, lowest = None, np.inf
    for _ in range(starts):
        try:
            means, labels = kmeans2(points, count, iter=STEPS, minit="++", missing="raise", rng=rng)
        except ClusterError:  # a cluster became empty; try the next start
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
            f"there is no file of categories {str(given)!r}; make one with `brittle design categories`, or give the "
            "published `syn2nat`"
        )
    return published_categories(str(given))


def published_categories(name: str = "syn2nat") -> Categories:
    """The categories of a paper; only "syn2nat" is available.

    Syn2Nat shows its six categories in a figure. Twenty of forty memberships follow from its text and from the order
    of names in its code, the categories of "heterogeneous" and "blurs" by position alone. The first three of each are
    ImageNet-Syn2Nat. The file names its source.
    """
    available = sorted(path.stem for path in FOLDER.glob("*.toml"))
    if name not in available:
        raise BrittleError(f"there are no published categories {name!r}; {did_you_mean(name, available)}")
    return replace(Categories.load(FOLDER / f"{name}.toml"), candidates=load_benchmark(f"{name}-candidates"))


def cluster_corruptions(
    overlap: OverlapMatrix,
    method: str = "k-means",
    *,
    clusters: int | None = None,
    min_correlation: float | None = None,
    seed: int = 0,
) -> Categories:
    """Categories by k-means, as in Syn2Nat, or from a tree; see `categories` and `hierarchical`.

    Give a number of clusters, or the mean correlation that those of a category must exceed, 0.5 by default.
    """
    if method not in ("k-means", "hierarchical"):
        raise BrittleError(f"the method is k-means or hierarchical, got {method!r}")
    if clusters is not None and min_correlation is not None:
        raise BrittleError(f"give `clusters` or `min_correlation`, not both; got {clusters} and {min_correlation:g}")
    bound = 0.5 if min_correlation is None else min_correlation
    if method == "hierarchical":
        return hierarchical(overlap, count=clusters, min_correlation=None if clusters is not None else bound)
    return categories(overlap, count=clusters, min_correlation=bound, seed=seed)
