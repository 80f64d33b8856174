"""Trajectories on disk, in the layout of CNS-Bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from PIL import Image as Pil

from brittle._io import missing_or_damaged, replacing
from brittle.models.load_pipeline import as_pipeline
from brittle.sliders.check_whole import check_whole
from brittle.sliders.pipeline_key import pipeline_key
from brittle.sliders.precision import precision_of
from brittle.sliders.sampling import Progress, Sampling, check_seeds
from brittle.sliders.shifts import SCALES, shift_folder
from brittle.sliders.slide import Draw, check_scales, sliding
from brittle.sliders.slider import Slider
from brittle.sliders.slides_card import check_card, keep_card
from brittle.sliders.two_prompts import prompting

FORMATS: dict[str, dict[str, Any]] = {"jpg": {"format": "JPEG", "quality": 95}, "png": {"format": "PNG"}}
"""How files are written, by what their names end with."""


@dataclass(frozen=True)
class WrittenSlides:
    """What a call did: the class's folder, how many images were drawn, and how many were there before."""

    folder: Path
    drawn: int
    there: int


def write_slides(
    pipeline: Any,
    slider: Slider,
    folder: str | Path,
    scales: Sequence[float] = SCALES,
    seeds: Sequence[int] = range(1, 51),
    *,
    number: int,
    name: str,
    active: float = 0.75,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    file_format: str = "jpg",
    progress: Progress | None = None,
) -> WrittenSlides:
    """Draw what `slide` draws, and write folder/<shift>/<number>_<name>/seed_0001_scale_0500.jpg.

    Images that are there already are not drawn again, so a call that was interrupted goes on where it was; more seeds
    and scales may be added later, but with other settings, or another pipeline, another folder is needed.
    `write_annotations` lists the whole folder afterwards; `brittle.datasets.cns_bench` reads it.

    Args:
        scales: 0, the reference of everything, and others of at least 0; files are named by thousandths.
        number: the class's index, the label of its images; `name` is its name in words.
        file_format: "jpg" as published, or "png", which loses nothing.
    """
    pipeline = as_pipeline(pipeline)
    settings = {"slider": _about(slider), "active": active, **_network(pipeline, slider.prompt)}
    place = slides_place(folder, slider.shift, number, name)
    draw = sliding(pipeline, slider, active=active, sampling=sampling)
    return _write(place, draw, scales, seeds, settings, sampling, batch_size, file_format, progress)


def write_two_prompts(
    pipeline: Any,
    prompt: str,
    shift: str,
    folder: str | Path,
    seeds: Sequence[int] = range(1, 51),
    *,
    number: int,
    name: str,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    file_format: str = "jpg",
    progress: Progress | None = None,
) -> WrittenSlides:
    """Draw what `two_prompts` draws, and write it as `write_slides` does: scale 0 without, scale 1 with the shift."""
    pipeline = as_pipeline(pipeline)
    settings = {"two_prompts": [prompt, shift], **_network(pipeline, prompt)}
    place = slides_place(folder, shift, number, name)
    draw = prompting(pipeline, prompt, shift, sampling=sampling)
    return _write(place, draw, (0.0, 1.0), seeds, settings, sampling, batch_size, file_format, progress)


def _write(
    place: Path,
    drawing: AbstractContextManager[Draw],
    scales: Sequence[float],
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    sampling: Sampling | None,
    batch_size: int,
    file_format: str,
    progress: Progress | None,
) -> WrittenSlides:
    check_whole(batch_size=(batch_size, 1))
    files = slide_files(place, scales, seeds, file_format)
    card = {**settings, "sampling": asdict(sampling or Sampling()), "file_format": file_format}
    check_card(place, card)
    missing = [pair for pair, path in files.items() if missing_or_damaged(path, "it is drawn again")]
    done = len(files) - len(missing)
    if not missing:
        return WrittenSlides(place, 0, done)
    with drawing as draw:
        for start in range(0, len(missing), batch_size):
            pairs = missing[start : start + batch_size]
            images = draw(pairs)
            keep_card(place, card)  # not before, since settings that cannot be drawn with must not bind the folder
            for pair, image in zip(pairs, images, strict=True):
                with replacing(files[pair]) as part:
                    Pil.fromarray(image).save(part, **FORMATS[file_format])
                done += 1
            if progress is not None:
                progress(done, len(files))
    return WrittenSlides(place, len(missing), len(files) - len(missing))


def slide_files(
    place: Path, scales: Sequence[float], seeds: Sequence[int], file_format: str
) -> dict[tuple[int, float], Path]:
    """The file of each seed and scale."""
    if file_format not in FORMATS:
        raise ValueError(f"file_format must be one of {', '.join(FORMATS)}, got {file_format!r}")
    several, at = check_seeds(seeds), _check_named(scales)
    return {
        (seed, s): place / f"seed_{seed:04}_scale_{round(1000 * s):04}.{file_format}" for seed in several for s in at
    }


def slides_place(folder: str | Path, shift: str, number: int, name: str) -> Path:
    """The folder of a shift and a class."""
    words = " ".join(str(name).replace("_", " ").split())
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 999:
        raise ValueError(f"number is the class's index between 0 and 999, got {number!r}")
    if not words.isprintable() or not 0 < len(words.encode()) <= 200 or "/" in words or "\\" in words:
        raise ValueError(f"name is the class in words, without slashes, as 'bald eagle'; got {name!r}")
    return Path(folder) / shift_folder(shift) / f"{number:03}_{words}"


def _check_named(scales: Sequence[float]) -> list[float]:
    at = check_scales(scales)
    if 0.0 not in at:
        raise ValueError(f"scales must have 0, the image that all others are compared with; got {list(scales)}")
    odd = [scale for scale in at if scale < 0 or abs(scale * 1000 - round(scale * 1000)) > 1e-6]
    if odd:
        raise ValueError(f"files are named by thousandths of a scale of at least 0; {odd[0]!r} cannot be, use slide()")
    return at


def _network(pipeline: Any, prompt: str) -> dict[str, Any]:
    return {"network": pipeline_key(pipeline, prompt), "precision": precision_of(pipeline)}


def _about(slider: Slider) -> dict[str, Any]:
    seen = sha256()
    for key in sorted(slider.weights):
        seen.update(key.encode() + slider.weights[key].detach().cpu().float().contiguous().numpy().tobytes())
    about = {"prompt": slider.prompt, "shift": slider.shift, "rank": slider.rank, "alpha": slider.alpha}
    return {**about, "key": seen.hexdigest()[:16]}
