"""The runs that are browsed in: those on the same images together, with their names, levels and pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock, Thread
from time import sleep

from brittle._errors import BrittleError, did_you_mean
from brittle._types import Image
from brittle.benchmarks import CLEAN, Benchmark, Cell, Level, ends
from brittle.datasets import Dataset, StoredSet, UnreadableImage, class_name, stored_set
from brittle.evaluation import SHIFT, Results, Run, Store, decoded_ids, decoded_images, load_results, same_images
from brittle.explorer.browse import FailureQuery, HeatRow, PairedCell, failures, heat_map, paired_cells
from brittle.explorer.ladders import Ladders
from brittle.explorer.session import encoded, thumbnail
from brittle.explorer.state import Recent
from brittle.report import Pictures

RUN_FILE, CELLS = "run.toml", "cells"
"""A folder with this file holds a run, and this folder its rows."""

SIDE = 320
"""Larger pictures are reduced to this side."""

PICTURE_BYTES = 64 * 2**20
"""So many bytes of pictures that were drawn are kept."""

WARM = 30_000_000
"""Runs of up to so many rows are read in the background as soon as somebody looks at them."""


class NotFoundError(BrittleError):
    """Something that was asked for by a name or a number, and that these runs do not have."""


def load_runs(folders: Sequence[Path]) -> list[BrowsedRuns]:
    """The runs in these folders, those on the same images together; folders without a run are left out."""
    holding = [folder for folder in folders if (folder / RUN_FILE).is_file()]
    if not holding:
        return []
    return [BrowsedRuns(results) for results in same_images(load_results(*holding))]


def folders_state(folders: Sequence[Path]) -> list[tuple[str, int]]:
    """What changes when cells or models are added to runs: the times at which their folders changed."""
    watched = [path for folder in folders for path in (folder, *sorted((folder / CELLS).glob("*")))]
    return [(str(path), path.stat().st_mtime_ns) for path in watched if path.is_dir()]


class BrowsedRuns:
    """Runs on the same images: their rows, and what people read and see of them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.ladders = Ladders(results)
        self._drawn: Recent[tuple[bytes, str]] = Recent(PICTURE_BYTES, weigh=lambda picture: len(picture[0]))
        self._compared: Recent[dict[str, dict[float, PairedCell]]] = Recent(32)
        self._warm = False
        self._lock = Lock()

    @property
    def runs(self) -> tuple[Run, ...]:
        """What each run says about itself."""
        return self.results.runs

    @property
    def title(self) -> str:
        """The name of the images."""
        return next((run.data for run in self.runs if run.data), "Results")

    @property
    def folders(self) -> list[str]:
        """The names of the folders, without where they are."""
        return [run.folder.resolve().name for run in self.runs]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, if they are known."""
        return next((run.classes for run in self.runs if run.classes), ())

    def class_name(self, number: int) -> str:
        """What people call a class."""
        return class_name(number, self.classes)

    @cached_property
    def heat(self) -> dict[tuple[str, str], HeatRow]:
        """The heat map by model and corruption."""
        return {(row.model, row.corruption): row for row in heat_map(self.ladders.accuracy())}

    @cached_property
    def models(self) -> list[str]:
        """The models, the best mean over the corruptions that all of them have first."""
        names = sorted({model for model, _ in self.heat})
        shared = [c for c in self.corruptions if all((model, c) in self.heat for model in names)] or [CLEAN]
        rows = {model: [self.heat[model, c].mean for c in shared if (model, c) in self.heat] for model in names}
        return sorted(names, key=lambda model: (-math.fsum(rows[model]), model))

    @cached_property
    def corruptions(self) -> list[str]:
        """The corruptions in the order of the recipes that were run, others after them; without the clean images."""
        names = {corruption for _, corruption in self.heat} - {CLEAN}
        order = [entry.id for recipe in self.recipes for entry in recipe.entries]
        return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))

    @property
    def shifts(self) -> list[str]:
        """The corruptions that are shifts of slides."""
        return [name for name in self.corruptions if name.startswith(SHIFT)]

    @property
    def images(self) -> int:
        """The number of images of the largest cell."""
        return max(cell.n or 0 for row in self.heat.values() for cell in row.cells.values())

    @cached_property
    def recipes(self) -> list[Benchmark]:
        """The recipes that were run."""
        return [recipe for run in self.runs for recipe in Store(run.folder).recipes()]

    @cached_property
    def _levels(self) -> dict[tuple[str, float], tuple[Benchmark, Level]]:
        """Each cell's recipe, and its level, which may be a range of which rows know the middle."""
        return {
            Cell(entry.id, level).place: (recipe, level)
            for recipe in reversed(self.recipes)
            for entry in recipe.entries
            for level in entry.levels
        }

    def level_name(self, corruption: str, severity: float) -> str:
        """A level as people read it: "clean", "2.5", or "1–5" for a range."""
        if corruption == CLEAN:
            return CLEAN
        level = self._levels[corruption, severity][1] if (corruption, severity) in self._levels else severity
        return "–".join(f"{end:.4g}" for end in dict.fromkeys(ends(level)))

    def family(self, corruption: str) -> str:
        """The family of a corruption, if it is known."""
        known = (recipe.entry(corruption) for recipe in self.recipes if corruption in {e.id for e in recipe.entries})
        entry = next(known, None)
        return "" if entry is None else entry.corruption.family

    def compared(self, first: str, second: str) -> dict[str, dict[float, PairedCell]]:
        """Two models cell by cell."""
        return self._compared.once((first, second), lambda: paired_cells(self.ladders, first, second))

    def check(self, *, model: str | None = None, corruption: str | None = None, level: float | None = None) -> None:
        """Raise NotFoundError unless these are known."""
        known = {"model": self.models, "corruption": [CLEAN, *self.corruptions]}
        for what, name in (("model", model), ("corruption", corruption)):
            if name is not None and name not in known[what]:
                raise NotFoundError(f"There is no {what} {name[:80]!r} here; {did_you_mean(name[:80], known[what])}")
        if level is not None:
            rows = [row for (_, name), row in self.heat.items() if name == corruption]
            if not any(level in row.cells for row in rows):
                raise NotFoundError(f"{corruption} was not run at level {level:g}.")

    def warm_up(self) -> None:
        """Read and sort all rows in the background, once, so that failures are there when they are asked for."""
        with self._lock:
            if self._warm or sum(cell.n or 0 for row in self.heat.values() for cell in row.cells.values()) > WARM:
                return
            self._warm = True
        Thread(target=self._read_all, name="brittle-explore-read", daemon=True).start()

    def _read_all(self) -> None:
        with suppress(BrittleError, OSError):  # a page that needs the rows says what is wrong
            for _ in self.ladders.each(self.ladders.pairs()):
                sleep(0.002)  # whoever waits for the lock goes first
            failures(self.ladders, FailureQuery(), size=1)

    @cached_property
    def _pictures(self) -> dict[str, Pictures]:
        """The clean images of the runs that kept them, by the hash of each recipe; "" for any of them."""
        albums: dict[str, Pictures] = {}
        for run in self.runs:
            images = decoded_images(run.folder)
            if images is None:
                continue
            for recipe in Store(run.folder).recipes():
                with suppress(OSError, ValueError, KeyError):
                    albums.setdefault(recipe.hash, Pictures(images, decoded_ids(run.folder), recipe))
        return albums | ({"": next(iter(albums.values()))} if albums else {})

    @cached_property
    def _stored(self) -> StoredSet | None:
        """The published set of pictures that was run, if it is where it was then."""
        for run in self.runs:
            for call in reversed(run.calls):
                if run.stored and call.folder and Path(call.folder).is_dir():
                    with suppress(ValueError, OSError):
                        return stored_set(f"{run.stored}:{call.folder}")
        return None

    @cached_property
    def _datasets(self) -> dict[tuple[str, float], tuple[Dataset, dict[str, int]]]:
        return {}

    def can_draw(self, corruption: str) -> bool:
        """Whether there are pictures of a corruption, or of the clean images."""
        if self._stored is not None and corruption != CLEAN:
            return any(cell.corruption == corruption for cell in self._stored.cells)
        if corruption == CLEAN:
            return bool(self._pictures)
        recipes = [recipe for (name, _), (recipe, _) in self._levels.items() if name == corruption]
        albums = [self._pictures[recipe.hash] for recipe in recipes if recipe.hash in self._pictures]
        return any(album.drawable(corruption) for album in albums)

    def picture(self, sample: str, corruption: str, severity: float) -> Image:
        """A sample as the models saw it; NotFoundError if there is no such picture.

        Ids are looked up among those of the run; none ever becomes a path.
        """
        if self._stored is not None and corruption != CLEAN:
            return self._stored_picture(sample, corruption, severity)
        recipe, level = self._levels.get((corruption, severity), (None, severity))
        album = self._pictures.get("" if corruption == CLEAN or recipe is None else recipe.hash)
        if album is None or sample not in album.place or (recipe is None and corruption != CLEAN):
            raise NotFoundError("There is no picture of this sample in the folder of the run.")
        if corruption == CLEAN:
            return album.clean(sample)
        if not album.drawable(corruption):
            raise NotFoundError(f"The code of {corruption} is not loaded; give it by --import to see pictures.")
        return album.corrupted(sample, corruption, level)

    def _stored_picture(self, sample: str, corruption: str, severity: float) -> Image:
        place = corruption, severity
        with self._lock:
            if place not in self._datasets:
                assert self._stored is not None
                cells = {cell.place: read for cell, read in self._stored.cells.items()}
                if place not in cells:
                    raise NotFoundError(f"The pictures of {corruption} at {severity:g} are not there.")
                dataset = cells[place]()
                self._datasets[place] = dataset, {str(name): i for i, name in enumerate(dataset.ids)}
        dataset, places = self._datasets[place]
        if sample not in places:
            raise NotFoundError("There is no such picture in the set that was run.")
        try:
            return dataset.image(places[sample])
        except UnreadableImage as error:
            raise NotFoundError(f"This picture cannot be read: {error}") from error

    def encoded(self, sample: str, corruption: str, severity: float) -> tuple[bytes, str]:
        """The bytes of a picture for the browser, and their kind."""
        return self._drawn.once(
            (sample, corruption, severity), lambda: encoded(thumbnail(self.picture(sample, corruption, severity), SIDE))
        )
