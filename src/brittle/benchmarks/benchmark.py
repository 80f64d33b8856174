"""A benchmark is a recipe: corruptions, their levels, a seed, a version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._html import html_block, html_table, html_title
from brittle._identity import digest, settings
from brittle._io import atomic_write, file_name, toml_text
from brittle._texts import read_toml_file
from brittle._types import check_seed
from brittle.corruptions import Corruption, Draws, Sample, check_sample, corrupt, get_corruption
from brittle.corruptions.images import batch_ids
from brittle.corruptions.severity import check_severity

Level = float | tuple[float, float]


def check_level(level: Any, corruption: Corruption) -> Level:
    """The level as a float or as a pair of floats; raises if it is invalid."""
    if not isinstance(level, list | tuple):
        return check_severity(level, corruption.highest_severity)
    if len(level) != 2:
        raise BrittleError(f"a range of severities is a pair [low, high], got {level!r} for {corruption.id}")
    low, high = (check_severity(end, corruption.highest_severity) for end in level)
    if low >= high:
        raise BrittleError(f"a range of severities goes from low to high, got {list(level)} for {corruption.id}")
    return low, high


def severity_of(level: Level, seed: int, corruption: Corruption, sample: Sample) -> float:
    """The severity of one sample: the level itself, or a draw for this sample from the range."""
    if not isinstance(level, tuple):
        return level
    return Draws(seed, corruption.id, sample).uniform("severity", *level)


def level_name(level: Level) -> str:
    """1.0 is "1", 2.5 is "2.5", and the range from 1 to 5 is "1-5"."""
    if isinstance(level, tuple):
        return "-".join(map(level_name, level))
    return str(int(level)) if level == int(level) else repr(level)


def ends(level: Level) -> tuple[float, float]:
    """The smallest and the largest severity of a level, the sort key of levels."""
    return level if isinstance(level, tuple) else (level, level)


@dataclass(frozen=True)
class Entry:
    """One corruption of a benchmark: its levels, and the options it is called with.

    A level is a severity, or a pair (low, high): then each sample's severity is drawn uniformly from that range.
    """

    id: str
    levels: tuple[Level, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        corruption = get_corruption(self.id)
        object.__setattr__(self, "id", corruption.id)
        if not self.levels:
            raise BrittleError(f"{corruption.id} has no levels; give it at least one severity")
        object.__setattr__(self, "levels", tuple(check_level(level, corruption) for level in self.levels))
        if len(set(self.levels)) != len(self.levels):
            raise BrittleError(f"{corruption.id} has a level twice: {list(self.levels)}")
        corruption.check_options(self.options)

    @property
    def corruption(self) -> Corruption:
        """The corruption itself."""
        return get_corruption(self.id)

    def to_dict(self) -> dict[str, Any]:
        """The entry as a table of a recipe."""
        if len(self.levels) == 1 and isinstance(self.levels[0], tuple):
            levels: dict[str, Any] = {"uniform": list(self.levels[0])}
        else:
            levels = {"levels": [list(x) if isinstance(x, tuple) else x for x in self.levels]}
        return {"id": self.id, **levels, **({"options": dict(self.options)} if self.options else {})}


def levels_in(table: Mapping[str, Any], where: str) -> tuple[Level, ...] | None:
    """The levels in a table of a recipe: `levels = [1, 2, 3]`, or `uniform = [1, 5]`; None if neither."""
    if "levels" in table and "uniform" in table:
        raise BrittleError(f"{where} has both levels and uniform; give one of them")
    if "uniform" in table:
        if not isinstance(table["uniform"], list):
            raise BrittleError(f"uniform in {where} is a range [low, high], got {table['uniform']!r}")
        return (tuple(table["uniform"]),)
    if "levels" in table and not isinstance(table["levels"], list):
        raise BrittleError(f"levels in {where} is a list of severities, got {table['levels']!r}")
    return tuple(table["levels"]) if "levels" in table else None


CLEAN = "clean"


@dataclass(frozen=True)
class Cell:
    """A unit of work: one corruption at one level. Without a corruption it is the clean data.

    The key names all that changes its pixels: seed, table, storage and options, and the code of a corruption that does
    not come with brittle. Equal cells of different recipes are computed once. Cells of results have no key.
    """

    corruption: str = CLEAN
    level: Level = 0.0
    key: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether the images are shown as they are."""
        return self.corruption == CLEAN

    @property
    def severity(self) -> float:
        """Where the cell stands on the severity axis; the middle of a range that is drawn from."""
        return sum(ends(self.level)) / 2

    @property
    def place(self) -> tuple[str, float]:
        """Corruption and severity, by which results are found and sorted."""
        return self.corruption, self.severity

    @property
    def file_name(self) -> str:
        """A name for the file of this cell, such as imagenet-c.fog@3.5-1f2e3d4c."""
        if self.is_clean:
            return CLEAN
        level = level_name(self.level)
        return f"{file_name(self.corruption)}@{level if len(level) <= 50 else file_name(level)}-{self.key}"

    @property
    def title(self) -> str:
        """What people read: fog 3.5."""
        return CLEAN if self.is_clean else f"{self.corruption.rpartition('/')[2]} {level_name(self.level)}"

    def of(self, data: str) -> str:
        """What its images are called in a sentence: fog 3.5 of 'photos'."""
        return f"{'the clean images' if self.is_clean else self.title} of {data!r}"


RECIPES = Path(__file__).parent / "recipes"
STREAM_RECIPES = RECIPES / "streams"
STORAGES = ("none", "jpeg85")
LARGEST_NUMBER = 1_000_000
"""The largest version and side of images that a recipe may have."""


@dataclass(frozen=True, repr=False)
class Benchmark:
    """A recipe: the corruptions, their levels and options, and the seed.

    >>> import brittle
    >>> recipe = brittle.Benchmark("two blurs", [
    ...     brittle.benchmarks.Entry("gaussian_blur", [1, 3, 5]),
    ...     brittle.benchmarks.Entry("glass_blur", [(1, 5)]),        # each image at a severity of its own
    ... ])
    >>> recipe
    <Benchmark 'two blurs': 2 corruptions, 4 cells, seed 0>

    `image_size` is the side for which published numbers exist; the recipe runs at any size. `table` forces the
    published parameters of one side on images of any size.
    """

    name: str
    entries: tuple[Entry, ...]
    title: str = ""
    source: str = ""
    version: int = 1
    seed: int = 0
    storage: str = "none"
    image_size: int | None = None
    table: int | None = None

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise BrittleError(f"a benchmark needs a name, a string, got {self.name!r}")
        object.__setattr__(self, "entries", tuple(self.entries))
        if not self.entries:
            raise BrittleError(f"the benchmark {self.name!r} has no corruptions; give it at least one")
        ids = [entry.id for entry in self.entries]
        duplicates = sorted({identity for identity in ids if ids.count(identity) > 1})
        if duplicates:
            raise BrittleError(f"the benchmark {self.name!r} has a corruption twice: {', '.join(duplicates)}")
        if self.storage not in STORAGES:
            raise BrittleError(f"storage must be one of {', '.join(STORAGES)}, got {self.storage!r}")
        object.__setattr__(self, "seed", check_seed(self.seed))
        for name in ("title", "source"):
            if not isinstance(getattr(self, name), str):
                raise BrittleError(f"{name} is a text, got {getattr(self, name)!r}")
        for name in ("version", "image_size"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 1 <= value <= LARGEST_NUMBER):
                raise BrittleError(f"{name} is a whole number from 1 to {LARGEST_NUMBER:,}, got {value!r}")
        for entry in self.entries:
            entry.corruption.parameters(1, self.image_size or 224, table=self.table)

    def __repr__(self) -> str:
        return f"<Benchmark {self.name!r}: {len(self.entries)} corruptions, {len(self)} cells, seed {self.seed}>"

    def _repr_html_(self) -> str:
        levels = sorted({level for entry in self.entries for level in entry.levels}, key=ends)
        rows = [
            [
                escape(entry.id + "".join(f" {key}={value}" for key, value in entry.options.items())),
                escape(entry.corruption.family),
                *("●" if level in entry.levels else "" for level in levels),
            ]
            for entry in self.entries
        ]
        storage = "" if self.storage == "none" else f"stored as {self.storage}"
        facts = f"{len(self.entries)} corruptions", f"{len(self)} cells", f"seed {self.seed}", storage
        head = ["corruption", "family", *map(level_name, levels)]
        title = html_title("Benchmark", self.name, *facts)
        return html_block(title, html_table(head, rows, left=2), note=self.title)

    def __hash__(self) -> int:
        return int(self.hash, 16)

    def __len__(self) -> int:
        return sum(len(entry.levels) for entry in self.entries)

    def cells(self) -> list[Cell]:
        """Every corruption at each of its levels, in the order of the recipe: the units of work."""
        return [self.cell(entry, level) for entry in self.entries for level in entry.levels]

    def cell(self, entry: Entry, level: Level) -> Cell:
        """One entry at one level, with the key of what the recipe and a user's own code do to its pixels."""
        recipe = replace(self, version=1, entries=(replace(entry, levels=(level,)),)).hash
        code = entry.corruption.code
        return Cell(entry.id, level, digest({"recipe": recipe, "code": code}, length=8) if code else recipe[:8])

    @cached_property
    def _by_id(self) -> dict[str, Entry]:
        return {entry.id: entry for entry in self.entries}

    def entry(self, corruption: str | Corruption) -> Entry:
        """The entry of one corruption, by its id, or by its name if only one corruption of the recipe has it."""
        if isinstance(corruption, str) and (known := self._by_id.get(corruption)) is not None:
            return known
        matches = [entry for entry in self.entries if entry.id.endswith(f"/{corruption}")]
        identity = matches[0].id if len(matches) == 1 else get_corruption(corruption).id
        for entry in self.entries:
            if entry.id == identity:
                return entry
        raise BrittleError(
            f"{identity} is not part of {self.name!r}; `brittle list --benchmark {self.name}` lists its corruptions"
        )

    def apply(self, image: Any, corruption: str | Corruption, level: Level, sample: Any) -> Any:
        """One image, or a batch with one sample id each, as this benchmark corrupts it.

        With a range as the level, the severity of each image is drawn, addressed by its sample id.
        """
        entry = self.entry(corruption)
        if isinstance(level, tuple) and isinstance(image, np.ndarray) and image.ndim == 4:
            ids = batch_ids(sample, len(image))
            return np.stack([self.apply(single, corruption, level, i) for single, i in zip(image, ids, strict=True)])
        return corrupt(
            image,
            entry.corruption,
            severity_of(level, self.seed, entry.corruption, check_sample(sample))
            if isinstance(level, tuple)
            else level,
            seed=self.seed,
            sample=sample,
            table=self.table,
            jpeg85=self.storage == "jpeg85",
            **entry.options,
        )

    @cached_property
    def hash(self) -> str:
        """A digest of what the recipe does to pixels: recipes that differ only in names and texts share it."""
        ignored = ("name", "title", "source", "image_size")
        return digest({name: value for name, value in settings(self).items() if name not in ignored})

    def draws_like(self, other: Benchmark) -> bool:
        """Whether two recipes define the same test, whatever their names.

        They have the same corruptions at the same levels, with the same parameters, options and storage. Order, seed,
        version and the folder of textures do not matter.
        """

        def signature(recipe: Benchmark) -> tuple[Any, ...]:
            options = {e.id: {k: v for k, v in e.options.items() if k != "textures"} for e in recipe.entries}
            return {e.id: set(e.levels) for e in recipe.entries}, options, recipe.storage, recipe.table

        return signature(self) == signature(other)

    def cut(
        self,
        corruptions: Sequence[str] | None = None,
        *,
        severities: Sequence[Level] | None = None,
        seed: int | None = None,
    ) -> Benchmark:
        """The recipe with a subset of its corruptions, other severities, or another seed.

        If that changes pixels, its name gets the suffix -custom: published numbers no longer apply.
        """
        entries = tuple(self.entry(name) for name in corruptions) if corruptions else self.entries
        if severities:
            entries = tuple(replace(entry, levels=tuple(severities)) for entry in entries)
        changed = replace(self, entries=entries, seed=self.seed if seed is None else seed)
        if changed.hash == self.hash:
            return self
        return replace(changed, name=f"{self.name}-custom", title=f"Made from {self.name}")

    def with_textures(self, folder: str | Path) -> Benchmark:
        """The same recipe with the images of a folder as the textures of every corruption with textures."""
        from brittle.corruptions.imagenet_c.weather import find_textures

        find_textures(folder)
        textured = [entry for entry in self.entries if "textures" in entry.corruption.options]
        if not textured:
            raise BrittleError(f"no corruption of {self.name!r} has textures; imagenet-c/frost has")
        entries = tuple(
            replace(entry, options={**entry.options, "textures": str(folder)}) if entry in textured else entry
            for entry in self.entries
        )
        return replace(self, entries=entries)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain data, as in a file: without defaults, and levels shared by all corruptions only once."""
        head = {name: value for name, value in settings(self).items() if name != "entries"}
        entries = [entry.to_dict() for entry in self.entries]
        for levels in ("levels", "uniform"):
            if len(entries) > 1 and all(entry.get(levels) == entries[0].get(levels, ()) for entry in entries):
                head[levels] = entries[0][levels]
                entries = [{key: value for key, value in entry.items() if key != levels} for entry in entries]
        return {**head, "corruption": entries}

    @classmethod
    def from_dict(cls, recipe: Mapping[str, Any], where: str = "the recipe") -> Benchmark:
        """A benchmark from plain data; unknown or missing keys raise."""
        head = dict(recipe)
        shared = levels_in(head, where)
        tables = head.pop("corruption", None)
        allowed = {f.name for f in fields(cls)} - {"entries"} | {"levels", "uniform", "corruption"}
        _check_keys(head, allowed, where)
        head = {key: value for key, value in head.items() if key not in ("levels", "uniform")}
        for key in ("name", "title", "source", "version"):
            if not isinstance(head.get(key, ""), str | int if key == "version" else str):
                raise BrittleError(f"{key} in {where} is a text, got {head[key]!r}; put it into quotes")
        if "name" not in head or not isinstance(tables, list):
            raise BrittleError(f"{where} needs a name and at least one [[corruption]] with an id")
        entries = []
        for table in tables:
            if not isinstance(table, Mapping) or not isinstance(table.get("options", {}), Mapping):
                raise BrittleError(
                    f"a corruption of {where} is a table with an id, and its options are a table; got {table!r}"
                )
            _check_keys(table, {"id", "levels", "uniform", "options"}, f"a [[corruption]] of {where}")
            levels = levels_in(table, where) or shared
            if "id" not in table or levels is None:
                raise BrittleError(f"a [[corruption]] of {where} needs an id, and levels here or for the whole recipe")
            entries.append(Entry(table["id"], levels, table.get("options", {})))
        return cls(entries=tuple(entries), **head)

    @classmethod
    def load(cls, path: str | Path) -> Benchmark:
        """Read and check a recipe file."""
        path = Path(path)
        return cls.from_dict(read_toml_file(path, "a recipe"), where=repr(str(path)))

    def save(self, path: str | Path) -> None:
        """Write the recipe so that `load` gives an equal benchmark."""
        with atomic_write(Path(path)) as part:
            part.write_text(toml_text(self.to_dict()), encoding="utf-8")


def _check_keys(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise BrittleError(f"{where} has an unknown key {key!r}; known are: {', '.join(sorted(allowed))}")


def list_benchmarks() -> list[str]:
    """The names of the bundled recipes.

    >>> import brittle
    >>> "cifar10-c" in brittle.list_benchmarks()
    True
    """
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def load_benchmark(name: str | Path) -> Benchmark:
    """A bundled benchmark by its name, or any other by the path of its recipe.

    >>> import brittle
    >>> brittle.load_benchmark("cifar10-c")
    <Benchmark 'cifar10-c': 15 corruptions, 75 cells, seed 0>
    """
    if str(name) in list_benchmarks():
        return Benchmark.load(RECIPES / f"{name}.toml")
    if Path(name).suffix == ".toml":
        return Benchmark.load(name)
    streams = sorted(path.stem for path in STREAM_RECIPES.glob("*.toml"))
    if str(name) in streams:
        raise BrittleError(
            f"{str(name)!r} is a stream, which has an order; `brittle run -b {name}` shows it to models, and "
            "`load_stream_benchmark` loads it"
        )
    close = get_close_matches(str(name), [*list_benchmarks(), *streams], n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(list_benchmarks())}."
    raise BrittleError(f"there is no benchmark {str(name)!r}; {hint} Name your own recipe by its .toml file")
