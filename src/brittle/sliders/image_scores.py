"""How much of the class and of the shift is in each image: the numbers that measuring and filtering start from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from brittle.datasets import BrokenImage, Dataset
from brittle.metrics.fraction import Floats
from brittle.sliders.check_whole import check_whole
from brittle.sliders.clip_prompts import ClipPrompts
from brittle.sliders.encoders import Clip, ImageEncoder, Rows
from brittle.sliders.open_clip_encoder import OpenClip

FILTER_SCORES = ("CLIP_class", "CLIP_class_shift", "CLIP_ref", "DINO_ref_no_head")
"""The four scores of the out-of-class filter, by their published names."""

TRAJECTORY = ["shift", "label", "seed"]
"""What names one picture on its way."""


@dataclass(frozen=True, eq=False)
class ImageScores:
    """A table with one row an image, and the images that could not be read.

    Columns: sample, shift, label, name, seed, scale; CLIP_shift, CLIP_class, CLIP_class_shift, which are 100 times the
    cosine of image and prompt; CLIP_ref and DINO_ref_no_head, the cosines to the image at scale 0, which are null where
    that image is missing.
    """

    table: pl.DataFrame
    broken: Mapping[str, str] = field(default_factory=dict)


def image_scores(
    dataset: Dataset,
    clip: Clip | OpenClip,
    dino: ImageEncoder | None = None,
    *,
    prompts: ClipPrompts | None = None,
    names: Mapping[int, str] | None = None,
    batch_size: int = 32,
    progress: Callable[[int, int], None] | None = None,
) -> ImageScores:
    """The scores of every image of a CNS-Bench folder (see `brittle.datasets.cns_bench`).

    Args:
        dataset: has columns shift, seed and scale; its images at scale 0 are the references.
        dino: without it, the fourth score is left out.
        names: of classes by label, for the prompts; by default the words of the class folders.
    """
    check_whole(batch_size=(batch_size, 1))
    missing = [key for key in ("shift", "seed", "scale") if key not in dataset.columns]
    if missing or dataset.labels is None:
        raise ValueError(f"{dataset.name!r} has no {', '.join(missing or ['labels'])}; read it with cns_bench")
    if not (dataset.columns["scale"] == 0).any():
        raise ValueError(f"{dataset.name!r} has no images at scale 0, and all others are compared with these")
    labels = dataset.labels.tolist()
    called = [
        (names or {}).get(label) or class_name(str(sample)) for sample, label in zip(dataset.ids, labels, strict=True)
    ]
    kept: list[int] = []
    broken: dict[str, str] = {}
    by_clip: list[Rows] = []
    by_dino: list[Rows] = []
    for start in range(0, len(dataset), batch_size):
        images = []
        stop = min(start + batch_size, len(dataset))
        for index in range(start, stop):
            try:
                images.append(dataset.image(index))
                kept.append(index)
            except BrokenImage as error:
                broken[str(dataset.ids[index])] = str(error)
        if images:
            by_clip.append(clip.images(images))
            if dino is not None:
                by_dino.append(dino.images(images))
        if progress is not None:
            progress(stop, len(dataset))
    if not kept:
        raise ValueError(f"none of the {len(dataset)} images of {dataset.name!r} can be read")
    shifts = [str(dataset.columns["shift"][i]) for i in kept]
    table = pl.DataFrame(
        {
            "sample": [str(dataset.ids[i]) for i in kept],
            "shift": shifts,
            "label": [labels[i] for i in kept],
            "name": [called[i] for i in kept],
            "seed": [int(dataset.columns["seed"][i]) for i in kept],
            "scale": [float(dataset.columns["scale"][i]) for i in kept],
        }
    )
    features = np.concatenate(by_clip)
    towards = _towards(clip, prompts or ClipPrompts(), [(called[i], s) for i, s in zip(kept, shifts, strict=True)])
    words = 100 * np.einsum("nd,nkd->nk", features, towards)
    for place, name in enumerate(("CLIP_shift", "CLIP_class", "CLIP_class_shift")):
        table = table.with_columns(pl.Series(name, words[:, place].astype(np.float64)))
    table = table.with_columns(pl.Series("CLIP_ref", _to_reference(table, features), nan_to_null=True))
    if dino is not None:
        rows = np.concatenate(by_dino)
        table = table.with_columns(pl.Series("DINO_ref_no_head", _to_reference(table, rows), nan_to_null=True))
    return ImageScores(table.sort("shift", "label", "seed", "scale"), broken)


def class_name(sample: str) -> str:
    """ "painting_style/022_bald eagle/seed_…" is a bald eagle."""
    parts = sample.split("/")
    folder = parts[-2] if len(parts) > 1 else parts[-1]
    return re.sub(r"^\d+_", "", folder).replace("_", " ")


def _towards(clip: Clip | OpenClip, prompts: ClipPrompts, pairs: list[tuple[str, str]]) -> Floats:
    """The three prompts of each image, as CLIP reads them."""
    different = sorted(set(pairs))
    read = clip.texts([text for name, shift in different for text in prompts.texts(name, shift)])
    blocks = read.reshape(len(different), 3, -1)
    place = {pair: i for i, pair in enumerate(different)}
    return np.asarray(blocks[[place[pair] for pair in pairs]], np.float64)


def _to_reference(table: pl.DataFrame, features: Rows) -> Floats:
    """The cosine of each image to the one at scale 0 of its trajectory; NaN if that one is missing."""
    keys = table.select(TRAJECTORY).rows()
    reference = {key: i for i, (key, scale) in enumerate(zip(keys, table["scale"], strict=True)) if scale == 0}
    rows = np.array([reference.get(key, -1) for key in keys])
    cosines = np.einsum("nd,nd->n", features.astype(np.float64), features[rows].astype(np.float64))
    cosines[rows == np.arange(len(rows))] = 1.0
    return np.asarray(np.where(rows < 0, np.nan, cosines))
