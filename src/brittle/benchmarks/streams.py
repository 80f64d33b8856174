"""A benchmark as a stream: cells shown batch after batch, in one order, to models that adapt while they are tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._identity import digest, settings
from brittle._io import atomic_write, file_name, toml_text
from brittle._random import generator
from brittle._texts import read_toml_file
from brittle.benchmarks.benchmark import STREAM_RECIPES, Benchmark, Cell, Level, ends

ORDERS = ("continual", "gradual", "mixed")
LABELS = ("shuffled", "correlated")
RESETS = ("start", "segment")


class Batch(NamedTuple):
    """The images of one step: their segment, and for each image its cell and its number in the data."""

    segment: int
    cells: NDArray[np.int32]
    images: NDArray[np.int64]


@dataclass(frozen=True)
class StreamBenchmark:
    """A recipe with an order in which its cells are shown.

    >>> from brittle.benchmarks import load_stream_benchmark
    >>> stream = load_stream_benchmark("cifar10-c-continual")
    >>> [cell.title for cell in stream.segments()[:2]]
    ['gaussian_noise 5', 'shot_noise 5']

    A segment is one pass over all images. `order` says which there are:

    - continual: one for each corruption at each level, in the order of the recipe;
    - gradual: the levels of each corruption up and down again, 1 2 3 4 5 4 3 2 1, then those of the next;
    - mixed: a single one, in which all cells are shuffled together.

    In a segment `labels` are shuffled, or correlated: images of a class come in clusters. The images of each class
    are divided over as many slots as there are classes, by shares from a Dirichlet distribution with this
    `concentration`; slots follow each other, shuffled inside. Batches do not reach across segments. Models that adapt
    are `reset` at the start of the stream alone, or at each segment.
    """

    benchmark: Benchmark
    order: str = "continual"
    labels: str = "shuffled"
    concentration: float = 0.1
    batch_size: int = 200
    reset: str = "start"

    def __post_init__(self) -> None:
        for name, allowed in (("order", ORDERS), ("labels", LABELS), ("reset", RESETS)):
            if getattr(self, name) not in allowed:
                raise BrittleError(f"{name} of a stream is one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        if not isinstance(self.batch_size, int) or isinstance(self.batch_size, bool) or self.batch_size < 1:
            raise BrittleError(f"batch_size of a stream is a whole number of at least 1, got {self.batch_size!r}")
        if not isinstance(self.concentration, float | int) or not 1e-3 <= self.concentration <= 1e6:
            raise BrittleError(f"concentration is a number from 0.001 to 1,000,000, got {self.concentration!r}")
        if self.order == "gradual" and any(len(entry.levels) < 2 for entry in self.benchmark.entries):
            raise BrittleError(
                "a gradual stream goes up and down through levels, so each corruption needs at least two"
            )

    @property
    def name(self) -> str:
        """The name of the recipe."""
        return self.benchmark.name

    @property
    def hash(self) -> str:
        """A digest of pixels and order."""
        order = {key: value for key, value in settings(self).items() if key != "benchmark"}
        return digest({"recipe": replace(self.benchmark, version=1).hash, **order}, length=16)

    @property
    def file_name(self) -> str:
        """A name for the files of this stream."""
        return f"{file_name(self.name)}-{self.hash[:8]}"

    def segments(self) -> list[Cell]:
        """The cell of each segment; a mixed stream has one segment with all cells, and none here."""
        if self.order == "mixed":
            return []
        cells = []
        for entry in self.benchmark.entries:
            levels: Sequence[Level] = entry.levels
            if self.order == "gradual":
                levels = sorted(levels, key=ends)
                levels = [*levels, *levels[-2::-1]]
            cells += [self.benchmark.cell(entry, level) for level in levels]
        return cells

    def batches(self, labels: NDArray[Any]) -> list[Batch]:
        """What is shown, step by step, of images with these labels; cells have their place in `benchmark.cells()`."""
        labels = np.asarray(labels)
        cells = self.benchmark.cells()
        places = {(cell.corruption, cell.level): place for place, cell in enumerate(cells)}
        segments = [np.array([places[cell.corruption, cell.level]]) for cell in self.segments()]
        made = []
        for number, shown in enumerate(segments or [np.arange(len(cells))]):
            pairs = np.arange(len(shown) * len(labels))
            order = self._ordered(labels[pairs % len(labels)], number)
            for start in range(0, len(order), self.batch_size):
                part = order[start : start + self.batch_size]
                made.append(Batch(number, shown[part // len(labels)].astype(np.int32), part % len(labels)))
        return made

    def _ordered(self, labels: NDArray[Any], segment: int) -> NDArray[np.int64]:
        rng = generator(int(digest({"stream": self.benchmark.seed, "segment": segment}, length=16), 16))
        shuffled = np.argsort(rng.random(len(labels)), kind="stable")
        if self.labels == "shuffled":
            return shuffled
        classes = np.unique(labels)
        slots: list[list[NDArray[np.int64]]] = [[] for _ in classes]
        for one in classes:
            members = shuffled[labels[shuffled] == one]
            shares = _dirichlet(rng, self.concentration, len(classes))
            cuts = np.round(np.cumsum(shares)[:-1] * len(members)).astype(int)
            for slot, part in zip(slots, np.split(members, cuts), strict=True):
                slot.append(part)
        ordered = []
        for slot in slots:
            together = np.concatenate(slot)
            ordered.append(together[np.argsort(rng.random(len(together)), kind="stable")])
        return np.concatenate(ordered)

    def cut(
        self,
        corruptions: Sequence[str] | None = None,
        *,
        severities: Sequence[Level] | None = None,
        seed: int | None = None,
        batch_size: int | None = None,
    ) -> StreamBenchmark:
        """The stream with a subset of its corruptions, other severities, another seed or batch size."""
        recipe = self.benchmark.cut(corruptions, severities=severities, seed=seed)
        changed = replace(self, benchmark=recipe, batch_size=batch_size or self.batch_size)
        if changed.hash != self.hash and recipe.name == self.name and not self.name.endswith("-custom"):
            changed = replace(changed, benchmark=replace(recipe, name=f"{self.name}-custom"))
        return changed

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain data, its order as the table `stream`."""
        order = {key: value for key, value in settings(self).items() if key != "benchmark"}
        recipe = self.benchmark.to_dict()
        corruptions = recipe.pop("corruption")
        return {**recipe, "stream": {"order": self.order, **order}, "corruption": corruptions}

    @classmethod
    def from_dict(cls, recipe: Mapping[str, Any], where: str = "the recipe") -> StreamBenchmark:
        """A stream from plain data; unknown or missing keys raise."""
        head = dict(recipe)
        stream = head.pop("stream", None)
        if not isinstance(stream, Mapping):
            raise BrittleError(f"{where} has no table [stream]; it is a recipe of cells alone")
        allowed = ("order", "labels", "concentration", "batch_size", "reset")
        for key in stream:
            if key not in allowed:
                raise BrittleError(f"[stream] of {where} has an unknown key {key!r}; known are: {', '.join(allowed)}")
        return cls(Benchmark.from_dict(head, where), **stream)

    @classmethod
    def load(cls, path: str | Path) -> StreamBenchmark:
        """Read and check a recipe file with a table [stream]."""
        return cls.from_dict(read_toml_file(Path(path), "a recipe"), where=repr(str(path)))

    def save(self, path: str | Path) -> None:
        """Write the recipe so that `load` gives an equal stream."""
        with atomic_write(Path(path)) as part:
            part.write_text(toml_text(self.to_dict()), encoding="utf-8")


def _dirichlet(rng: np.random.Generator, concentration: float, count: int) -> NDArray[np.float64]:
    """Shares that add up to 1; from uniform numbers alone, so that they are the same in every version of NumPy."""
    from scipy.special import gammaincinv

    drawn = gammaincinv(concentration, rng.random(count))
    return np.asarray(drawn / drawn.sum()) if drawn.sum() > 0 else np.eye(1, count)[0]


def list_streams() -> list[str]:
    """The names of the bundled streams."""
    return sorted(path.stem for path in STREAM_RECIPES.glob("*.toml"))


def is_stream(name: object) -> bool:
    """Whether a text names a bundled stream, or a recipe file with a table [stream]."""
    if not isinstance(name, str | Path):
        return False
    if str(name) in list_streams():
        return True
    return Path(name).suffix == ".toml" and Path(name).is_file() and "stream" in read_toml_file(Path(name), "a recipe")


def load_stream_benchmark(name: str | Path) -> StreamBenchmark:
    """A bundled stream by its name, or any other by the path of its recipe."""
    if str(name) in list_streams():
        return StreamBenchmark.load(STREAM_RECIPES / f"{name}.toml")
    if Path(name).suffix == ".toml":
        return StreamBenchmark.load(name)
    close = get_close_matches(str(name), list_streams(), n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(list_streams())}."
    raise BrittleError(f"there is no stream {str(name)!r}; {hint} Name your own recipe by its .toml file")
