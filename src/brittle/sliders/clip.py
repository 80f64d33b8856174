"""CLIP and DINOv2 scores of generated images: how strong the shift is, and whether the class is still visible."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._optional import require
from brittle._types import FloatArray, Image
from brittle.datasets import Dataset, UnreadableImage
from brittle.metrics import bootstrap, resampled_means
from brittle.models import (
    Clip,
    Embeddings,
    OpenClip,
    Preprocessing,
    find_device,
    load_pretrained,
    pooled,
    unit_vectors,
)
from brittle.sliders.pipeline import shift_folder, shift_text
from brittle.sliders.training import check_integers


class ImageEncoder:
    """A self-supervised image encoder in the format of transformers. CNS-Bench uses DINOv2 ViT-L/14 with registers.

    The published preprocessing is kept: resize to 2 pixels more than the crop, 518 for DINOv2, mean 0.5 and standard
    deviation 0.2; and so is the softmax over the class token before the cosine, without which the published threshold
    is meaningless.
    """

    def __init__(
        self, folder: str | Path, *, crop: int | None = None, softmax: bool = True, device: str = "auto"
    ) -> None:
        transformers = require("transformers", "sliders")
        self.name, self.softmax, self.device = Path(folder).name, softmax, find_device(device)
        self.network = load_pretrained(transformers.AutoModel, folder).to(self.device).eval()
        side = crop or int(getattr(self.network.config, "image_size", 224))
        self.prepare = Preprocessing((0.5,) * 3, (0.2,) * 3, side + 2, side, "bilinear")

    def images(self, images: Sequence[Image]) -> Embeddings:
        """The class token, or the pooled output if the network has none."""
        torch = require("torch")
        with torch.inference_mode():
            inputs = torch.cat([self.prepare.tensor(np.asarray(image)[None], self.device) for image in images])
            features = pooled(self.network(pixel_values=inputs.contiguous())).flatten(1).float()
            return unit_vectors(features.softmax(-1) if self.softmax else features)


@dataclass(frozen=True)
class ClipPrompts:
    """Prompt templates for a shift, a class and a class in a shift, with the placeholders {shift} and {name}.

    The defaults are those of the published code. `underscores` keeps "heavy_snow" as it is, as the published command
    does and as the published thresholds were chosen; otherwise underscores become spaces.
    """

    shift: str = "a photo in {shift}"
    name: str = "a photo of a {name}"
    both: str = "a photo of a {name} in {shift}"
    underscores: bool = False

    def texts(self, name: str, shift: str) -> tuple[str, str, str]:
        """The prompts of the shift, of the class and of both."""
        noun = shift_folder(shift) if self.underscores else shift_text(shift)
        filled = (text.replace("{shift}", noun).replace("{name}", name) for text in (self.shift, self.name, self.both))
        of_shift, of_class, of_both = filled
        return of_shift, of_class, of_both


PAPER_PROMPTS = ClipPrompts("A picture in {shift}", "A picture of a {name}", "A picture of a {name} in {shift}")
"""The prompts printed in the paper; the third, which it does not print, is by analogy."""

CODE_PROMPTS = ClipPrompts(underscores=True)
"""The prompts of the published command."""


FILTER_SCORES = ("CLIP_class", "CLIP_class_shift", "CLIP_ref", "DINO_ref_no_head")
"""The four scores of the out-of-class filter, by their published names."""

TRAJECTORY = ["shift", "label", "seed"]
"""The columns that identify a trajectory: the images of one seed at all scales."""


@dataclass(frozen=True, eq=False)
class ImageScores:
    """A table with one row per image, and the `unreadable` images with their errors.

    Columns: sample, shift, label, name, seed, scale; CLIP_shift, CLIP_class, CLIP_class_shift: 100 times the cosine of
    image and prompt; CLIP_ref and DINO_ref_no_head: the cosine to the image at scale 0, null where that is missing.
    """

    table: pl.DataFrame
    unreadable: Mapping[str, str] = field(default_factory=dict)


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
    """The scores of every image of a CNS-Bench folder (see `brittle.datasets.cns`).

    Args:
        dataset: has columns shift, seed and scale; its images at scale 0 are the references.
        dino: without it, DINO_ref_no_head is left out.
        names: class names by label, for the prompts; by default from the names of the class folders.
    """
    check_integers(batch_size=(batch_size, 1))
    missing = [key for key in ("shift", "seed", "scale") if key not in dataset.columns]
    if missing or dataset.labels is None:
        raise BrittleError(f"{dataset.name!r} has no {', '.join(missing or ['labels'])}; read it with cns_bench")
    if not (dataset.columns["scale"] == 0).any():
        raise BrittleError(f"{dataset.name!r} has no images at scale 0, which all others are compared with")
    labels = dataset.labels.tolist()
    class_names = [
        (names or {}).get(label) or class_name(str(sample)) for sample, label in zip(dataset.ids, labels, strict=True)
    ]
    readable: list[int] = []
    unreadable: dict[str, str] = {}
    clip_features: list[Embeddings] = []
    dino_features: list[Embeddings] = []
    for start in range(0, len(dataset), batch_size):
        images = []
        stop = min(start + batch_size, len(dataset))
        for index in range(start, stop):
            try:
                images.append(dataset.image(index))
                readable.append(index)
            except UnreadableImage as error:
                unreadable[str(dataset.ids[index])] = str(error)
        if images:
            clip_features.append(clip.images(images))
            if dino is not None:
                dino_features.append(dino.images(images))
        if progress is not None:
            progress(stop, len(dataset))
    if not readable:
        raise BrittleError(f"none of the {len(dataset)} images of {dataset.name!r} can be read")
    shifts = [str(dataset.columns["shift"][i]) for i in readable]
    table = pl.DataFrame(
        {
            "sample": [str(dataset.ids[i]) for i in readable],
            "shift": shifts,
            "label": [labels[i] for i in readable],
            "name": [class_names[i] for i in readable],
            "seed": [int(dataset.columns["seed"][i]) for i in readable],
            "scale": [float(dataset.columns["scale"][i]) for i in readable],
        }
    )
    features = np.concatenate(clip_features)
    pairs = [(class_names[i], shift) for i, shift in zip(readable, shifts, strict=True)]
    prompt_features = _prompt_features(clip, prompts or ClipPrompts(), pairs)
    cosines = 100 * np.einsum("nd,nkd->nk", features, prompt_features)
    for column, name in enumerate(("CLIP_shift", "CLIP_class", "CLIP_class_shift")):
        table = table.with_columns(pl.Series(name, cosines[:, column].astype(np.float64)))
    table = table.with_columns(pl.Series("CLIP_ref", _reference_cosines(table, features), nan_to_null=True))
    if dino is not None:
        features = np.concatenate(dino_features)
        table = table.with_columns(pl.Series("DINO_ref_no_head", _reference_cosines(table, features), nan_to_null=True))
    return ImageScores(table.sort("shift", "label", "seed", "scale"), unreadable)


def class_name(sample: str) -> str:
    """The class name in a sample id: "bald eagle" of "painting_style/022_bald eagle/seed_…"."""
    parts = sample.split("/")
    folder = parts[-2] if len(parts) > 1 else parts[-1]
    return re.sub(r"^\d+_", "", folder).replace("_", " ")


def _prompt_features(clip: Clip | OpenClip, prompts: ClipPrompts, pairs: list[tuple[str, str]]) -> FloatArray:
    """CLIP's embeddings of the three prompts of each (class, shift) pair."""
    unique = sorted(set(pairs))
    embeddings = clip.texts([text for name, shift in unique for text in prompts.texts(name, shift)])
    triples = embeddings.reshape(len(unique), 3, -1)
    index = {pair: i for i, pair in enumerate(unique)}
    return np.asarray(triples[[index[pair] for pair in pairs]], np.float64)


def _reference_cosines(table: pl.DataFrame, features: Embeddings) -> FloatArray:
    """The cosine of each image to the image at scale 0 of its trajectory; NaN if that is missing."""
    keys = table.select(TRAJECTORY).rows()
    reference = {key: i for i, (key, scale) in enumerate(zip(keys, table["scale"], strict=True)) if scale == 0}
    rows = np.array([reference.get(key, -1) for key in keys])
    cosines = np.einsum("nd,nd->n", features.astype(np.float64), features[rows].astype(np.float64))
    cosines[rows == np.arange(len(rows))] = 1.0
    return np.asarray(np.where(rows < 0, np.nan, cosines))


MEASURES = {"CLIP_shift": "ΔCLIP shift", "CLIP_class": "ΔCLIP class"}


def shift_curves(
    scores: ImageScores | pl.DataFrame,
    *,
    by: str | None = "shift",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """ΔCLIP to the prompts of shift and class at each scale: the mean, its interval, and the number of trajectories.

    Δ is 100 × (cosine at this scale − cosine at scale 0 of the same seed). A rising ΔCLIP shift shows that the slider
    works, a falling ΔCLIP class that it destroys the class. Intervals are from a bootstrap over trajectories, and null
    for a single one; incomplete trajectories are left out. `by` is a column, such as shift or name, with one curve for
    each of its values; None is one curve for all.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    if by is not None and by not in table.columns:
        raise BrittleError(f"there is no column {by!r} to make curves by; there are: {', '.join(table.columns)}")
    rows = []
    for group in [None] if by is None else table[by].unique().sort().to_list():
        selected = table if by is None else table.filter(pl.col(by) == group)
        scales = sorted(selected["scale"].unique().to_list())
        if scales[0] != 0 or len(scales) < 2:
            raise BrittleError(f"a curve needs scale 0 and at least one more, got scales {scales} of {group or 'all'}")
        complete = selected.filter(pl.len().over(TRAJECTORY) == len(scales)).sort(*TRAJECTORY, "scale")
        if complete.is_empty():
            raise BrittleError(f"no trajectory of {group or 'all'} has all scales {scales}")
        for score, measure in MEASURES.items():
            values = complete[score].to_numpy().reshape(-1, len(scales))
            deltas = values - values[:, :1]
            resampled_deltas = resampled_means(deltas, seed=seed, resamples=resamples)
            for column, scale in enumerate(scales):
                mean = bootstrap(
                    deltas[:, column],
                    name=measure,
                    seed=seed,
                    resamples=resamples,
                    level=level,
                    percent=False,
                    resampled=resampled_deltas[:, column : column + 1],
                    bounded=False,
                )
                ends = (mean.low, mean.high) if len(values) > 1 else (None, None)
                rows.append((group or "all", scale, measure, mean.value, *ends, len(values)))
    numbers = dict.fromkeys(("value", "low", "high"), pl.Float64)
    schema = {by or "shift": None, "scale": pl.Float64, "measure": pl.String, **numbers, "trajectories": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def with_baseline(curves: pl.DataFrame, baseline: pl.DataFrame, name: str = "two prompts") -> pl.DataFrame:
    """The curves of sliders and of a baseline such as two prompts in one table, for one figure (CNS-Bench, Fig 3).

    Both are of `shift_curves`; measures of the baseline are called "ΔCLIP shift, two prompts". Shifts that only the
    baseline has are left out.
    """
    group = curves.columns[0]
    if baseline.columns != curves.columns:
        raise BrittleError(f"curves by {group!r} cannot stand beside a baseline by {baseline.columns[0]!r}")
    shared = baseline.filter(pl.col(group).is_in(curves[group].unique().to_list()))
    if shared.is_empty():
        both = ", ".join(curves[group].unique().sort().to_list()), ", ".join(baseline[group].unique().sort().to_list())
        raise BrittleError(f"the baseline has {both[1]}, and none of {both[0]}; draw it for the same ones")
    return pl.concat([curves, shared.with_columns(pl.format("{}, {}", "measure", pl.lit(name)).alias("measure"))])


def rises_throughout(curves: pl.DataFrame, measure: str = "ΔCLIP shift") -> bool:
    """Whether every curve of a measure rises from each scale to the next."""
    group = curves.columns[0]
    selected = curves.filter(pl.col("measure") == measure).sort(group, "scale")
    steps = [np.diff(curve["value"].to_numpy()) for curve in selected.partition_by(group)]
    return all((step > 0).all() for step in steps)
