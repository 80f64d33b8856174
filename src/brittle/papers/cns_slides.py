"""What CNS-Bench draws, at both scales: sliders, slides, their CLIP scores, labels, and the filter of the slides.

At small scale the bundled demo pipeline draws clothes, and its oracle classifier labels what it drew. At the paper's
scale Stable Diffusion 2.0 draws ImageNet's classes by their learned tokens, and people label. All experiments share
what stands here, and whoever is first makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from brittle._errors import BrittleError
from brittle._io import atomic_write, make_folder
from brittle.datasets import Dataset, cns_bench
from brittle.evaluation import shift_title
from brittle.metrics import published_table
from brittle.papers.experiments import Setting
from brittle.sliders import (
    ORACLE,
    SCALES,
    TINY,
    ChosenPipeline,
    Pick,
    choose_pipeline,
    choose_thresholds,
    find_shifts,
    kept_samples,
    load_demo_pipeline,
    merged_labels,
    ooc_filter,
    oracle_labels,
    pick_sliders,
    published_thresholds,
    read_annotations,
    read_scores,
    sample_sliders,
    sampling_settings,
    score_slides,
    train_sliders,
    training_settings,
)

CLASSES = {"small": ("trouser", "coat", "bag"), "paper": ("random:100",)}
"""The classes that are drawn, as `find_classes` reads them."""

SHIFTS = {
    "small": ("heavy_snow", "heavy_rain", "heavy_fog", "cartoon_style", "graffiti_style"),
    "paper": ("all",),
}
"""The shifts, as `find_shifts` reads them: at small scale those of the figures, of seven that the pipeline knows."""

SEEDS = {"small": 16, "paper": 50}
"""Trajectories of each class and shift."""

SLIDE_SCALES = SCALES
"""The scales of the slides: the published ones."""

LABELLED = ("heavy_snow", "cartoon_style")
"""The shifts of the labelled images."""

LABELLED_SCALES, LABELLED_SEEDS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), 10
"""At small scale the labelled images go twice as far as the others, which lose their class too seldom to label."""

TPR = 0.9
"""The share of out-of-class images that each score must remove."""

DRAWING = ("stable-diffusion-2", "imagenet-star")
ENCODERS = ("clip", "dinov2")
SLIDES = (*DRAWING, *ENCODERS)
"""What the filtered slides need at the scale of the paper."""

ADAPTERS, PUBLISHED, LABELS = "lora-adapters", "cns-bench", "labels"
"""Data that may be given: the published sliders, the published and filtered images, and labels made by hand."""

OPTIONAL: dict[str, tuple[str, ...]] = {ADAPTERS: (), PUBLISHED: SLIDES, LABELS: ()}
"""Of experiments with models on the slides."""


def pipeline_of(setting: Setting) -> str:
    """The folder of the diffusion pipeline, or the name of the bundled one."""
    return TINY if setting.small else setting.path("stable-diffusion-2")


def named_pipeline(setting: Setting, *, tokens: bool = True) -> ChosenPipeline:
    """The pipeline with the names of its classes and, at the paper's scale, their learned tokens."""
    learned = None if setting.small or not tokens else setting.path("imagenet-star")
    return choose_pipeline(pipeline_of(setting), tokens=learned, device=setting.device)


def shifts_of(setting: Setting) -> list[str]:
    """Five shifts of the demo pipeline, or the fourteen published ones."""
    return find_shifts(SHIFTS[setting.scale], TINY if setting.small else "")


def seeds_of(setting: Setting, count: int | None = None) -> range:
    """The seeds of trajectories; those of another seed of the setting are others."""
    number = SEEDS[setting.scale] if count is None else count
    return range(setting.seed * number + 1, (setting.seed + 1) * number + 1)


def draw(
    setting: Setting,
    chosen: ChosenPipeline,
    picks: Sequence[Pick],
    name: str,
    *,
    scales: Sequence[float] | None = None,
    seeds: Sequence[int] | None = None,
) -> Path:
    """Draw slides into a shared folder of this name, by default at the published scales; existing ones are kept."""
    folder = setting.work(name)
    make_folder(folder)
    kind = "png" if setting.small else None
    sample_sliders(
        chosen.base,
        picks,
        folder,
        SLIDE_SCALES if scales is None else scales,
        seeds_of(setting) if seeds is None else seeds,
        names=chosen.names if chosen.named else None,
        engine=setting.engine,
        address=setting.address,
        progress=setting.progress,
        **sampling_settings(pipeline_of(setting), batch_size=12 if setting.small else 6, image_format=kind),
    )
    return folder


def trained_sliders(
    setting: Setting, chosen: ChosenPipeline, classes: Sequence[str], shifts: Sequence[str], name: str = "sliders"
) -> Path:
    """A shared folder with a slider for each class and shift; those that are missing are trained."""
    folder = setting.work(name)
    train_sliders(
        chosen.base,
        chosen.find_classes(classes, seed=setting.seed),
        shifts,
        folder,
        engine=setting.engine,
        address=setting.address,
        progress=setting.progress,
        seed=setting.seed,
        **training_settings(pipeline_of(setting)),
    )
    return folder


@lru_cache(maxsize=2)
def slider_picks(setting: Setting) -> tuple[Pick, ...]:
    """All sliders of the benchmark: trained here, or the published adapters."""
    chosen = named_pipeline(setting)
    if ADAPTERS in setting.paths and not setting.small:
        return tuple(pick_sliders(chosen, setting.path(ADAPTERS)))
    folder = trained_sliders(setting, chosen, CLASSES[setting.scale], shifts_of(setting))
    return tuple(pick_sliders(chosen, folder, classes=CLASSES[setting.scale], seed=setting.seed))


@lru_cache(maxsize=2)
def slides(setting: Setting) -> Path:
    """The folder of all slides before the filter, or that of the published images."""
    if _is_published(setting):
        return Path(setting.path(PUBLISHED))
    return draw(setting, named_pipeline(setting), slider_picks(setting), "slides")


def _is_published(setting: Setting) -> bool:
    return PUBLISHED in setting.paths and not setting.small


@lru_cache(maxsize=2)
def two_prompt_slides(setting: Setting) -> Path:
    """The baseline: the shift in the prompt instead of a slider, for the classes and shifts of the labelled images."""
    picks = [Pick(pick.one, pick.shift) for pick in slider_picks(setting) if pick.shift in LABELLED]
    return draw(setting, named_pipeline(setting), picks, "two-prompts")


@lru_cache(maxsize=2)
def labelled_slides(setting: Setting) -> Path:
    """The slides that are labelled: at small scale others than those of the benchmark, with other seeds."""
    if not setting.small:
        return slides(setting)
    picks = [pick for pick in slider_picks(setting) if pick.shift in LABELLED]
    seeds = [1000 + seed for seed in seeds_of(setting, LABELLED_SEEDS)]
    return draw(setting, named_pipeline(setting), picks, "labelled", scales=LABELLED_SCALES, seeds=seeds)


@lru_cache(maxsize=8)
def scores_of(setting: Setting, folder: Path, *, reference: bool = True) -> pl.DataFrame:
    """CLIP's scores of every slide of a folder and, with `reference`, the image encoder's; computed once."""
    file = setting.work("scores") / f"{folder.name}{'' if reference else '-clip'}.csv"
    if file.is_file():
        return read_scores(file)
    encoder = (TINY if setting.small else setting.path("dinov2")) if reference else None
    scores = score_slides(
        folder,
        TINY if setting.small else setting.path("clip"),
        encoder,
        prompts="words" if setting.small else "code",
        device=setting.device,
        progress=counted(setting, f"scores of {folder.name}"),
    )
    make_folder(file.parent)
    with atomic_write(file) as part:
        scores.table.write_csv(part)
    return scores.table


def counted(setting: Setting, title: str) -> Callable[[int, int], None] | None:
    """The progress of a setting for functions that count without a title."""
    told = setting.progress
    return None if told is None else lambda done, total: told(title, done, total)


@lru_cache(maxsize=2)
def slide_labels(setting: Setting) -> dict[str, str]:
    """The label of each labelled slide: by the oracle classifier, or by people who agree."""
    data = cns_bench(labelled_slides(setting))
    if setting.small:
        return oracle_labels(data, load_demo_pipeline().classifier(ORACLE, device=setting.device))
    return merged_labels(slide_annotations(setting, data))


def slide_annotations(setting: Setting, data: Dataset) -> pl.DataFrame:
    """The labels of all annotators: of a file, or of all CSV and JSON files of a folder."""
    path = Path(setting.path(LABELS))
    files = sorted(each for each in path.iterdir() if each.suffix in (".csv", ".json")) if path.is_dir() else [path]
    if not files:
        raise BrittleError(f"{str(path)!r} has no labels; give a CSV or JSON file for each annotator")
    return read_annotations(*files, samples=[str(sample) for sample in data.ids])


@lru_cache(maxsize=2)
def filter_thresholds(setting: Setting) -> dict[str, float]:
    """The thresholds of the filter: chosen by the labels or, at the paper's scale without any, the published ones."""
    if not setting.small and LABELS not in setting.paths:
        return published_thresholds()
    return choose_thresholds(scores_of(setting, labelled_slides(setting)), slide_labels(setting), tpr=TPR)


@lru_cache(maxsize=2)
def kept_slides(setting: Setting) -> tuple[str, ...] | None:
    """The slides that the filter keeps; None are all, as of the published images, which are filtered already."""
    if _is_published(setting):
        return None
    return tuple(kept_samples(ooc_filter(scores_of(setting, slides(setting)), filter_thresholds(setting))))


def differences(setting: Setting, *more: str) -> list[str]:
    """What was done otherwise than in the paper, in sentences."""
    if not setting.small:
        drawn = "the images are the published ones" if _is_published(setting) else "classes are drawn at random again"
        return [drawn, *more]
    count = len(shifts_of(setting)) * len(CLASSES["small"]) * SEEDS["small"]
    return [
        "clothes of Fashion-MNIST at 32 px, drawn by the bundled demo pipeline, in place of ImageNet by Stable "
        "Diffusion 2.0",
        f"{len(CLASSES['small'])} classes, {len(shifts_of(setting))} shifts and {count:,} trajectories in place of 100 "
        "classes and 14 shifts",
        *more,
    ]


def filter_note(setting: Setting) -> str:
    """How the slides were filtered, as a sentence for `differs`."""
    if _is_published(setting):
        return "the published images are filtered already"
    folder, kept = slides(setting), kept_slides(setting)
    share = f"the filter keeps {len(kept or ()):,} of {len(cns_bench(folder)):,} images"
    by = "the oracle classifier's labels" if setting.small else "labels" if LABELS in setting.paths else "the paper"
    return f"{share}, by thresholds of {by}"


def rows_of(table: pl.DataFrame, *columns: str) -> list[dict[str, Any]]:
    """Rows of a table as an `Outcome` takes them, all columns or these; shifts are in words."""
    rows = table.select(columns or table.columns).to_dicts()
    return [row | {"shift": shift_title(row["shift"])} if "shift" in row else row for row in rows]


def published_number(quantity: str) -> float:
    """A number of the running text, by its name in the table cns-in-text."""
    table = published_table("cns-in-text")
    return float(table.numbers("value")[table.text("quantity").index(quantity)])
