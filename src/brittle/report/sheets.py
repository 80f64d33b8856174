"""Sheets of pictures: corruptions, slides, flips, failures and the nearest augmentations, all on the same grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.benchmarks import Benchmark, Entry, Level, ends, level_name, load_benchmark, severity_of
from brittle.corruptions import Corruption, corrupt, get_corruption, list_corruptions
from brittle.corruptions.severity import check_severity
from brittle.datasets import Dataset, UnreadableImage, class_name, load_photo
from brittle.datasets.images import square
from brittle.plots import FAMILY_COLOURS, MODEL_COLOURS
from brittle.report.grid import GREY, INK, RIGHT, WRONG, Column, Row, Tile, picture_grid
from brittle.report.theme import count, short_name

if TYPE_CHECKING:
    from brittle.distance import Distances
    from brittle.evaluation import FailureSummary, PhotoProbe, SearchedFolder
    from brittle.training.augmentation import Scheme

ClassName = Callable[[int], str]


def contact_sheet(
    image: Image,
    corruptions: Sequence[str | Corruption | Entry],
    severities: Sequence[float] | None = None,
    *,
    seed: int = 0,
    size: int = 224,
    thumb: int = 112,
    table: int | None = None,
    headings: Sequence[str] | None = None,
    samples: Sequence[int] | None = None,
    progress: Callable[[], None] | None = None,
) -> Pil.Image:
    """Corruptions as rows, severities as columns, the clean picture first.

    Args:
        image: the photograph, H×W×3; its central square is used.
        corruptions: names, or entries of a benchmark, whose levels and options are then used.
        severities: the same for all rows; a corruption that does not reach one of them leaves an empty place.
            By default an entry is shown at its levels and a name at five even steps up to its largest severity.
        seed: the benchmark's seed; each picture is `corrupt(photograph, …, seed=seed)`.
        size: the side in pixels at which pictures are corrupted.
        thumb: the side in pixels at which they are shown; a larger one shows each pixel as a square.
        table: the published table to use whatever the size, as in `corrupt`.
        headings: over the columns, instead of their severities.
        samples: a sample id for each row, instead of 0, for other draws.
        progress: called after each picture.
    """
    if not corruptions or (severities is not None and not severities):
        raise BrittleError("a contact sheet needs at least one corruption and one severity")
    for name, side in (("size", size), ("thumb", thumb)):
        if side < 8:
            raise BrittleError(f"{name} must be at least 8 px, got {side}")
    entries = [
        c if isinstance(c, Entry) else Entry(get_corruption(c).id, _even_steps(get_corruption(c))) for c in corruptions
    ]
    levels = [tuple(severities) if severities is not None else entry.levels for entry in entries]
    clean = square(image, size)

    def cell(entry: Entry, level: Level, sample: int) -> Tile:
        if ends(level)[1] > entry.corruption.highest_severity:
            return Tile(None)
        severity = severity_of(level, seed, entry.corruption, sample)
        picture = corrupt(clean, entry.corruption, severity, seed=seed, sample=sample, table=table, **entry.options)
        if progress is not None:
            progress()
        return Tile(picture)

    shared = levels[0] if len(set(levels)) == 1 else None
    sources = list(dict.fromkeys(entry.corruption.source for entry in entries))
    rows = []
    for entry, steps, sample in zip(entries, levels, samples or [0] * len(entries), strict=True):
        corruption = entry.corruption
        tiles = [Tile(clean), *(cell(entry, level, sample) for level in steps)]
        note = "" if shared else "  ".join(map(level_name, steps))  # the heading cannot say it for all
        colour, source = FAMILY_COLOURS.get(corruption.family, INK), corruption.source if len(sources) > 1 else ""
        rows.append(Row(corruption.name, tiles, note, corruption.family, source, colour))
    most = max(map(len, levels))
    numbers = headings or [level_name(shared[i]) if shared else str(i + 1) for i in range(most)]
    word = "" if headings else "severity " if shared else "level "
    columns = [Column("clean"), *(Column(f"{word}{n}", n, apart=i == 0) for i, n in enumerate(numbers))]
    title = count(len(rows), "corruption") + (f",  {most} severities" if most > 1 and headings is None else "")
    how = f"{size} px  ·  seed {seed}"
    return picture_grid(title, rows, columns, notes=["  ·  ".join([*sources[: len(sources) == 1], how])], thumb=thumb)


def corruption_sheet(
    photo: str | Path | Image = "cat",
    corruptions: Sequence[str | Corruption | Entry] = (),
    severities: Sequence[float] = (),
    *,
    source: str | None = None,
    benchmark: str | Path | None = None,
    image_size: int = 224,
    seed: int | None = None,
    thumb: int = 112,
    progress: Callable[[int, int], None] | None = None,
) -> Pil.Image:
    """The contact sheet of a photograph under corruptions by name, by their published set, or of a benchmark.

    >>> from brittle.report import corruption_sheet
    >>> corruption_sheet("cat", ["saturate"], [1, 5], image_size=32, thumb=32).mode
    'RGB'

    Args:
        photo: a file, a bundled photograph, `cat` or `coffee`, or pixels.
        corruptions: by default all, of the source or of the benchmark.
        severities: by default five steps up to the largest of each, or the levels of the benchmark.
        benchmark: a recipe, whose levels, options and seed are then used.
        image_size: the side in pixels at which pictures are corrupted.
        thumb: the side in pixels at which they are shown.
        progress: called after each picture with how many are drawn, and of how many.
    """
    rows = sheet_rows(corruptions, severities, source=source, benchmark=benchmark)
    recipe = None if benchmark is None else load_benchmark(benchmark)
    image = load_photo(photo) if isinstance(photo, str | Path) else photo
    done, total = 0, len(rows) * (len(severities) or 5)

    def drawn() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    if seed is None:
        seed = 0 if recipe is None else recipe.seed
    table = None if recipe is None else recipe.table
    return contact_sheet(
        image, rows, severities or None, seed=seed, size=image_size, thumb=thumb, table=table, progress=drawn
    )


def sheet_rows(
    corruptions: Sequence[str | Corruption | Entry] = (),
    severities: Sequence[float] = (),
    *,
    source: str | None = None,
    benchmark: str | Path | None = None,
) -> list[Entry] | list[Corruption]:
    """The rows of `corruption_sheet`: entries of a benchmark, else corruptions; some row must reach each severity."""
    rows: list[Entry] | list[Corruption]
    if benchmark is not None:
        recipe = load_benchmark(benchmark)
        names = [row.id if isinstance(row, Entry | Corruption) else row for row in corruptions]
        rows = [recipe.entry(name) for name in names] or list(recipe.entries)
    elif corruptions and all(isinstance(row, Entry) for row in corruptions):
        rows = [row for row in corruptions if isinstance(row, Entry)]
    else:
        named = [row.corruption if isinstance(row, Entry) else get_corruption(row) for row in corruptions]
        rows = named or list_corruptions(source=source)
    largest = max((row.corruption if isinstance(row, Entry) else row).max_severity for row in rows)
    for severity in severities:
        check_severity(severity, largest)
    return rows


def _even_steps(corruption: Corruption) -> tuple[float, ...]:
    return tuple(corruption.max_severity * step / 5 for step in range(1, 6))


def slide_sheet(
    dataset: Dataset,
    *,
    seed: int | None = None,
    most: int = 12,
    thumb: int = 112,
    predictions: Mapping[str, tuple[str, bool]] | None = None,
) -> Pil.Image:
    """One trajectory of each class in each shift, of a dataset that `cns_bench` read.

    Args:
        seed: of the trajectories; by default the first of each that has the most scales.
        most: rows; further ones are left out.
        thumb: the side of pictures in pixels.
        predictions: by sample what to write below a picture, and whether that is right.
    """
    places: dict[tuple[str, str, int], dict[float, int]] = {}
    for i, sample in enumerate(map(str, dataset.ids)):
        number = int(dataset.columns["seed"][i])
        if seed in (None, number):
            key = (str(dataset.columns["shift"][i]), sample.split("/")[-2], number)
            places.setdefault(key, {})[float(dataset.columns["scale"][i])] = i
    if not places:
        raise BrittleError(f"{dataset.name!r} has no trajectory of seed {seed}")
    chosen: dict[tuple[str, str], dict[float, int]] = {}
    for (shift, name, _), steps in sorted(places.items(), key=lambda item: (*item[0][:2], -len(item[1]), item[0][2])):
        chosen.setdefault((shift, name), steps)
    shown = list(chosen.items())[:most]
    scales = sorted({scale for _, steps in shown for scale in steps})

    def tile(index: int | None) -> Tile:
        text, right = (predictions or {}).get("" if index is None else str(dataset.ids[index]), ("", True))
        captions = [(text, RIGHT if right else WRONG)] if predictions else []
        try:
            return Tile(None if index is None else dataset.image(index), captions)
        except UnreadableImage:
            return Tile(None, captions)

    rows = [
        Row(shift.replace("_", " "), [tile(steps.get(scale)) for scale in scales], name.partition("_")[2])
        for (shift, name), steps in shown
    ]
    columns = [Column(f"scale {scale:g}", f"{scale:g}") for scale in scales]
    return picture_grid(count(len(rows), "trajectory", "trajectories"), rows, columns, thumb=thumb)


def flip_sheet(probed: PhotoProbe, *, photo: str = "one photograph", thumb: int = 112) -> Pil.Image:
    """What flips each model on a photograph, from `probe_photo`.

    Of one model: the clean picture, the strongest that leaves the prediction, the first flipped. Of several, for each
    model and corruption the weakest picture that flips it, or the strongest one if none does: the bar below it is its
    severity on the corruption's axis, in the model's colour; corruptions stand in the order of what flips some model
    first.
    """
    draw = _flips_of_one if len(probed.probes) == 1 else _flips_of_many
    return draw(probed, photo, thumb)


def _flips_of_one(probed: PhotoProbe, photo: str, thumb: int) -> Pil.Image:
    [(model, probe)] = probed.probes.items()
    image, recipe, names = probed.image, probed.benchmark, probed.classes[model]
    clean = class_name(probe.prediction, names)
    rows = []
    for flip in probe.flips:
        corruption = recipe.entry(flip.corruption).corruption
        held = recipe.apply(image, flip.corruption, flip.held, flip.draw) if flip.held else image
        tiles = [
            _judged(image, "clean", clean, probe.confidence, right=True),
            _judged(held, f"severity {flip.held:.2f}", clean, flip.held_confidence, right=True),
        ]
        note = f"never up to {corruption.max_severity:g}"
        if flip.becomes is not None:
            flipped, note = recipe.apply(image, flip.corruption, flip.median, flip.draw), f"flips at {flip.median:.2f}"
            where, prediction = f"severity {flip.median:.2f}", class_name(flip.becomes, names)
            tiles.append(_judged(flipped, where, prediction, flip.confidence, right=False))
        rows.append(Row(corruption.name, tiles, note))
    draws = f"the middle one of {probe.draws} draws" if probe.draws > 1 else "one draw"
    notes = (
        f"{model} takes the clean photograph ({image.shape[0]} px) for {_sure(clean, probe.confidence)}.",
        "Below each picture its severity, the prediction and its confidence; "
        f"the most brittle corruption first; {draws}.",
    )
    columns = [Column("clean"), Column("last unchanged"), Column("first flipped")]
    return picture_grid(f"What flips {model} on {photo}", rows, columns, notes=notes, thumb=thumb)


def _judged(image: Image | None, where: str, prediction: str, confidence: float, *, right: bool) -> Tile:
    return Tile(image, [(where, GREY), (_sure(prediction, confidence), RIGHT if right else WRONG)])


def _sure(prediction: str, confidence: float) -> str:
    return prediction if math.isnan(confidence) else f"{prediction} {100 * confidence:.0f} %"


def failure_sheet(
    searched: SearchedFolder, summaries: Sequence[FailureSummary], class_name: ClassName, *, rows: int = 12
) -> Pil.Image:
    """Images of one model at their failure points: an early and a typical one for the most brittle corruptions."""
    made: list[Row] = []
    for summary in summaries:
        tiles = []
        for one in summary.examples():
            for place, (at, label, sure, right) in enumerate(one.steps):
                where = f"severity {at:.2f}" if place else "clean"
                image = searched.image(summary, one.sample, at)
                tiles.append(_judged(image, where, class_name(label), sure, right=right))
        if tiles and len(made) < rows:
            half = summary.half
            note = "" if half is None else f"half fail below {half.value:.2f}"
            if half is not None and math.isinf(half.value):
                note = f"{100 * summary.never:.0f} % never fail"
            made.append(Row(short_name(summary.corruption), tiles, note))
    if not made:
        raise BrittleError("no image that is right when clean ever fails, so there is nothing to draw")
    notes = (
        "Left an image that fails early, right a typical one: clean, at the last severity that is right, and at its "
        "failure point.",
        "Below each picture its severity, the prediction and its confidence. The most brittle corruption first.",
    )
    strip = ("clean", "just before", "failure point")
    columns = [Column(name, apart=i == 3) for i, name in enumerate(strip * 2)][: max(len(row.tiles) for row in made)]
    return picture_grid(f"Where {summaries[0].model} fails", made, columns, notes=notes)


def _flips_of_many(probed: PhotoProbe, photo: str, thumb: int) -> Pil.Image:
    recipe = probed.benchmark
    longest = {entry.id: entry.corruption.max_severity for entry in recipe.entries}
    flips = {model: {flip.corruption: flip for flip in probe.flips} for model, probe in probed.probes.items()}
    order = sorted(longest, key=lambda c: min(one[c].median / longest[c] for one in flips.values()))
    colours = dict(zip(flips, cycle(MODEL_COLOURS), strict=False))
    rows = []
    for corruption in order:
        tiles = [Tile(probed.image)]
        for model, probe in probed.probes.items():
            flip = flips[model][corruption]
            severity, never = min(flip.median, longest[corruption]), flip.becomes is None
            where = f"never up to {severity:g}" if never else f"severity {severity:.2f}"
            label = probe.prediction if flip.becomes is None else flip.becomes
            sure = flip.held_confidence if never else flip.confidence
            text = _sure(class_name(label, probed.classes[model]), sure)
            captions = [(where, GREY), (text, GREY if never else INK)]
            picture = recipe.apply(probed.image, corruption, severity, flip.draw)
            tiles.append(Tile(picture, captions, (severity / longest[corruption], colours[model])))
        rows.append(Row(recipe.entry(corruption).corruption.name, tiles))
    columns = [Column("clean")]
    for model, probe in probed.probes.items():
        sees = f"sees {class_name(probe.prediction, probed.classes[model])}, {100 * probe.confidence:.0f} %"
        columns.append(Column(model, note=sees, colour=colours[model]))
    benchmark = "" if recipe.name == "custom" else f" of {recipe.name}"
    title = f"What flips predictions for {photo}: {count(len(order), 'corruption')}{benchmark}"
    note = (
        "Each picture is the weakest that flips the model, with its severity, what it is taken for and how surely; "
        "if none does, the strongest."
    )
    return picture_grid(title, rows, columns, notes=[note], thumb=thumb)


def nearest_sheet(
    image: Image,
    benchmark: Benchmark,
    schemes: Mapping[str, Scheme],
    distances: Mapping[str, Distances],
    *,
    seed: int = 0,
    thumb: int = 96,
) -> Pil.Image:
    """Corruptions at their middle levels as rows: the clean picture, the corrupted one, the nearest of each scheme.

    `distances` are those of these schemes, sampled with this seed, to this benchmark; they stand below the pictures.
    """
    from brittle.training.augmentation import fixed

    rows, start = [], 0
    alone = len({entry.id.rpartition("/")[0] for entry in benchmark.entries}) == 1
    for entry in benchmark.entries:
        middle = (len(entry.levels) - 1) // 2
        place, start = start + middle, start + len(entry.levels)
        tiles = [Tile(image), Tile(benchmark.apply(image, entry.id, entry.levels[middle], 0))]
        for spec, scheme in schemes.items():
            shown = fixed(scheme, seed, int(distances[spec].nearest[place]))(image[np.newaxis])[0]
            eight_bit = np.clip(np.rint(shown), 0, 255).astype(np.uint8)
            tiles.append(Tile(eight_bit, [(f"{distances[spec].msd[place]:.2f}", GREY)]))
        rows.append(Row(short_name(entry.id) if alone else entry.id, tiles))
    columns = [Column("clean"), Column("corrupted"), *(Column(name, apart=i == 0) for i, name in enumerate(schemes))]
    title = "The nearest sampled augmentation of each corruption"
    note = "One picture, each corruption at its middle level; numbers are distances to the mean corruption."
    return picture_grid(title, rows, columns, notes=[note], thumb=thumb)
