"""How far a shift went, and what is left of the class, by CLIP."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._optional import require
from brittle._types import FloatArray, Image
from brittle.datasets import Dataset, UnreadableImage
from brittle.metrics import bootstrap, resampled_means
from brittle.models.diffusion import quiet
from brittle.models.preprocessing import Preprocessing
from brittle.models.torch import find_device
from brittle.sliders.pipeline import shift_folder, shift_words
from brittle.sliders.training import check_whole

Rows = NDArray[np.float32]
"""One vector of length 1 for each image or text, so that products are cosines."""


class Clip:
    """A CLIP from a folder of transformers. CNS-Bench uses openai/clip-vit-base-patch16."""

    def __init__(self, folder: str | Path, *, device: str = "auto") -> None:
        transformers = require("transformers", "sliders")
        self.name, self.device = Path(folder).name, find_device(device)
        self.network = _load(transformers.AutoModel, folder).to(self.device).eval()
        if not hasattr(self.network, "get_text_features"):
            raise BrittleError(f"the folder {str(folder)!r} holds a {type(self.network).__name__}, which is no CLIP")
        self.tokenizer = _load(transformers.AutoTokenizer, folder)
        self.processor = _load(transformers.AutoImageProcessor, folder, backend="pil")

    def images(self, images: Sequence[Image]) -> Rows:
        """What it sees in images, by its own processor."""
        torch = require("torch")
        with torch.inference_mode():
            shown = self.processor(list(images), return_tensors="pt", input_data_format="channels_last").to(self.device)
            return unit_rows(_pooled(self.network.get_image_features(**shown)))

    def texts(self, prompts: Sequence[str]) -> Rows:
        """What it reads in prompts; what is too long for it is cut off."""
        torch = require("torch")
        with torch.inference_mode():
            words = self.tokenizer(list(prompts), padding=True, truncation=True, return_tensors="pt").to(self.device)
            return unit_rows(_pooled(self.network.get_text_features(**words)))


class ImageEncoder:
    """A self-supervised image encoder from a folder of transformers. CNS-Bench uses DINOv2 ViT-L/14 with registers.

    The published preparation is kept: resize to 2 pixels more than the crop, 518 for DINOv2, mean 0.5 and deviation
    0.2; and so is the softmax over the class token before the cosine, without which the published threshold means
    nothing.
    """

    def __init__(
        self, folder: str | Path, *, crop: int | None = None, softmax: bool = True, device: str = "auto"
    ) -> None:
        transformers = require("transformers", "sliders")
        self.name, self.softmax, self.device = Path(folder).name, softmax, find_device(device)
        self.network = _load(transformers.AutoModel, folder).to(self.device).eval()
        side = crop or int(getattr(self.network.config, "image_size", 224))
        self.prepare = Preprocessing((0.5,) * 3, (0.2,) * 3, side + 2, side, "bilinear")

    def images(self, images: Sequence[Image]) -> Rows:
        """The class token, or what the network pools to if it has none."""
        torch = require("torch")
        with torch.inference_mode():
            shown = torch.cat([self.prepare.tensor(np.asarray(image)[None], self.device) for image in images])
            seen = _pooled(self.network(pixel_values=shown.contiguous())).flatten(1).float()
            return unit_rows(seen.softmax(-1) if self.softmax else seen)


def _pooled(given: Any) -> Any:
    if hasattr(given, "pooler_output") and given.pooler_output is not None:
        return given.pooler_output
    return given.last_hidden_state[:, 0] if hasattr(given, "last_hidden_state") else given


def unit_rows(rows: Any) -> Rows:
    """Rows of length 1."""
    rows = rows.double().cpu().numpy()
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _load(kind: Any, folder: str | Path, **options: Any) -> Any:
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r}; give one that transformers' save_pretrained wrote"
        )
    if kind.__name__ == "AutoModel":
        options["use_safetensors"] = True
    try:
        with quiet("transformers"):
            return kind.from_pretrained(str(place), local_files_only=True, trust_remote_code=False, **options)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"the folder {str(folder)!r} cannot be read by {kind.__name__}: {reason}") from error


CONFIG = "open_clip_config.json"
PACKAGE = "open_clip_torch"


class OpenClip:
    """A CLIP from a folder of open_clip: its config, and open_clip_pytorch_model.safetensors or .bin."""

    def __init__(self, folder: str | Path, *, device: str = "auto") -> None:
        place = Path(folder).expanduser()
        self.name, self.device = place.name, find_device(device)
        if not (place / CONFIG).is_file():
            raise FileNotFoundError(f"{str(folder)!r} is no folder of open_clip, since it has no {CONFIG}")
        open_clip = _open_clip()
        spec = f"local-dir:{place.resolve()}"
        try:
            self.network, self.prepare = open_clip.create_model_from_pretrained(spec, device=self.device)
            self.tokenizer = open_clip.get_tokenizer(spec)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise BrittleError(f"the folder {str(folder)!r} cannot be read by open_clip: {reason}") from error
        self.network.eval()

    def images(self, images: Sequence[Image]) -> Rows:
        """What it sees in images, prepared as its config says."""
        torch = require("torch")
        with torch.inference_mode():
            shown = torch.stack([self.prepare(Pil.fromarray(np.asarray(image))) for image in images])
            return unit_rows(self.network.encode_image(shown.to(self.device)))

    def texts(self, prompts: Sequence[str]) -> Rows:
        """What it reads in prompts; what is too long for it is cut off."""
        torch = require("torch")
        with torch.inference_mode():
            return unit_rows(self.network.encode_text(self.tokenizer(list(prompts)).to(self.device)))


def load_clip(folder: str | Path, *, device: str = "auto") -> Clip | OpenClip:
    """The CLIP of a folder that transformers or open_clip wrote; of one with both, that of transformers."""
    place = Path(folder).expanduser()
    if (place / CONFIG).is_file() and not (place / "config.json").is_file():
        return OpenClip(folder, device=device)
    return Clip(folder, device=device)


def _open_clip() -> Any:
    if find_spec("open_clip") is None:
        raise ModuleNotFoundError(
            f"this folder was written by open_clip, which is not installed: pip install {PACKAGE}; or give a folder "
            "of transformers"
        )
    require("torchvision", PACKAGE)  # which open_clip imports first
    return require("open_clip", PACKAGE)


@dataclass(frozen=True)
class ClipPrompts:
    """Prompts for a shift, a class and a class in a shift; {shift} and {name} are filled in.

    The defaults are those of the published code. `underscores` keeps "heavy_snow" as it is, which is what that code's
    command does, and what the published thresholds were chosen with; else underscores become spaces.
    """

    shift: str = "a photo in {shift}"
    name: str = "a photo of a {name}"
    both: str = "a photo of a {name} in {shift}"
    underscores: bool = False

    def texts(self, name: str, shift: str) -> tuple[str, str, str]:
        """The three prompts, in this order."""
        words = shift_folder(shift) if self.underscores else shift_words(shift)
        filled = (text.replace("{shift}", words).replace("{name}", name) for text in (self.shift, self.name, self.both))
        a, b, c = filled
        return a, b, c


PAPER_PROMPTS = ClipPrompts("A picture in {shift}", "A picture of a {name}", "A picture of a {name} in {shift}")
"""As the paper prints them; the third, which it does not print, by analogy."""

CODE_PROMPTS = ClipPrompts(underscores=True)
"""As the published command has them."""


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
    """The scores of every image of a CNS-Bench folder (see `brittle.datasets.cns`).

    Args:
        dataset: has columns shift, seed and scale; its images at scale 0 are the references.
        dino: without it, the fourth score is left out.
        names: of classes by label, for the prompts; by default the words of the class folders.
    """
    check_whole(batch_size=(batch_size, 1))
    missing = [key for key in ("shift", "seed", "scale") if key not in dataset.columns]
    if missing or dataset.labels is None:
        raise BrittleError(f"{dataset.name!r} has no {', '.join(missing or ['labels'])}; read it with cns_bench")
    if not (dataset.columns["scale"] == 0).any():
        raise BrittleError(f"{dataset.name!r} has no images at scale 0, and all others are compared with these")
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
            except UnreadableImage as error:
                broken[str(dataset.ids[index])] = str(error)
        if images:
            by_clip.append(clip.images(images))
            if dino is not None:
                by_dino.append(dino.images(images))
        if progress is not None:
            progress(stop, len(dataset))
    if not kept:
        raise BrittleError(f"none of the {len(dataset)} images of {dataset.name!r} can be read")
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


def _towards(clip: Clip | OpenClip, prompts: ClipPrompts, pairs: list[tuple[str, str]]) -> FloatArray:
    """The three prompts of each image, as CLIP reads them."""
    different = sorted(set(pairs))
    read = clip.texts([text for name, shift in different for text in prompts.texts(name, shift)])
    blocks = read.reshape(len(different), 3, -1)
    place = {pair: i for i, pair in enumerate(different)}
    return np.asarray(blocks[[place[pair] for pair in pairs]], np.float64)


def _to_reference(table: pl.DataFrame, features: Rows) -> FloatArray:
    """The cosine of each image to the one at scale 0 of its trajectory; NaN if that one is missing."""
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

    Δ is 100 × (cosine at this scale − cosine at scale 0 of the same seed). A rising ΔCLIP shift says that the slider
    works, a falling ΔCLIP class that it destroys what it should only shift. Intervals are from a bootstrap over
    trajectories; those that lack a scale are left out. `by` is a column, such as shift or name, for a curve of each
    of its values; None is one curve for all.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    if by is not None and by not in table.columns:
        raise BrittleError(f"there is no column {by!r} to make curves by; there are: {', '.join(table.columns)}")
    rows = []
    for group in [None] if by is None else table[by].unique().sort().to_list():
        mine = table if by is None else table.filter(pl.col(by) == group)
        scales = sorted(mine["scale"].unique().to_list())
        if scales[0] != 0 or len(scales) < 2:
            raise BrittleError(f"a curve needs scale 0 and at least one more, got scales {scales} of {group or 'all'}")
        whole = mine.filter(pl.len().over(TRAJECTORY) == len(scales)).sort(*TRAJECTORY, "scale")
        if whole.is_empty():
            raise BrittleError(f"no trajectory of {group or 'all'} has all scales {scales}")
        for column, measure in MEASURES.items():
            values = whole[column].to_numpy().reshape(-1, len(scales))
            rises = values - values[:, :1]
            drawn = resampled_means(rises, seed=seed, resamples=resamples)
            for place, scale in enumerate(scales):
                mean = bootstrap(
                    rises[:, place],
                    name=measure,
                    seed=seed,
                    resamples=resamples,
                    level=level,
                    percent=False,
                    resampled=drawn[:, place : place + 1],
                    bounded=False,
                )
                rows.append((group or "all", scale, measure, mean.value, mean.low, mean.high, len(values)))
    schema = [by or "shift", "scale", "measure", "value", "low", "high", "trajectories"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def rises_throughout(curves: pl.DataFrame, measure: str = "ΔCLIP shift") -> bool:
    """Whether every curve of a measure rises from each scale to the next."""
    first = curves.columns[0]
    mine = curves.filter(pl.col("measure") == measure).sort(first, "scale")
    steps = [np.diff(part["value"].to_numpy()) for part in mine.partition_by(first)]
    return all((step > 0).all() for step in steps)
