"""Pipelines, classes, shifts, seeds and sliders by their names, as a command line or a script gives them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, did_you_mean
from brittle.datasets import cns_bench
from brittle.models import load_clip
from brittle.sliders.clip import (
    CODE_PROMPTS,
    PAPER_PROMPTS,
    ClipPrompts,
    ImageEncoder,
    ImageScores,
    image_scores,
)
from brittle.sliders.demo_pipeline import (
    DEMO_CLASSES,
    DEMO_SAMPLING,
    DEMO_SHIFTS,
    DEMO_TRAINING,
    load_demo_pipeline,
)
from brittle.sliders.filtering import published_thresholds as filter_of_the_paper
from brittle.sliders.filtering import read_thresholds
from brittle.sliders.pipeline import (
    Base,
    TargetClass,
    check_precision,
    class_names,
    find_class,
    published_shifts,
    shift_folder,
)
from brittle.sliders.sampling import Sampling
from brittle.sliders.slider import find_sliders
from brittle.sliders.trajectory_files import UNSHIFTED, Pick

TINY = "tiny"
"""The name of the bundled demo pipeline."""


def demo_part(part: str) -> Path:
    """A folder of the bundled demo pipeline: `pipeline`, `clip` or `encoder`."""
    return load_demo_pipeline().folder / part


def find_classes(
    classes: Sequence[str], names: Sequence[str], tokens: Sequence[str] | None = None, *, seed: int = 0
) -> list[TargetClass]:
    """Classes by number or name, of all the class names; `all` are all of them, `random:100` a hundred of them.

    Random ones are drawn by `seed`, of those that have a token if there are tokens.
    """
    texts: list[str] = []
    for text in classes:
        kind, colon, count = str(text).partition(":")
        if kind != "random" or not colon:
            texts.append(text)
            continue
        known = [number for number in range(len(names)) if tokens is None or (number < len(tokens) and tokens[number])]
        if not count.isdecimal() or not 1 <= int(count) <= len(known):
            raise BrittleError(f"random classes are random:N with N from 1 to {len(known)}, got {text!r}")
        drawn = np.random.default_rng(seed).choice(known, int(count), replace=False)
        texts += [str(number) for number in sorted(drawn.tolist())]
    if texts == ["all"]:
        texts = list(map(str, range(len(names))))
    return [find_class(text, names, tokens) for text in texts]


def find_shifts(shifts: Sequence[str], pipeline: str = "", *, any_shift: bool = False) -> list[str]:
    """Shifts by name, as folder names; `all` are all that are published, or that the demo pipeline has."""
    known = DEMO_SHIFTS if pipeline == TINY else published_shifts()
    folders = [shift_folder(shift) for shift in shifts]
    if folders == ["all"]:
        return list(known)
    for shift in folders:
        if shift not in known and not any_shift:
            kind = "bundled" if pipeline == TINY else "published"
            raise BrittleError(
                f"there is no {kind} shift {shift!r}; {did_you_mean(shift, known)} Others: `any_shift=True`"
            )
    return folders


def parse_seeds(text: str) -> list[int]:
    """The seeds of a text: "50" is 1 to 50, as published; "3,7,10-12" are those."""
    parts = [f"1-{text.strip()}"] if text.strip().isdecimal() else [part.strip() for part in text.split(",")]
    ends = [re.fullmatch(r"(\d+)(?:-(\d+))?", part) for part in parts if part]
    ranges = [range(int(end[1]), int(end[2] or end[1]) + 1) for end in ends if end is not None]
    if not ranges or len(ranges) < len(ends) or not all(ranges):
        raise BrittleError(f"seeds are a number such as 50, or 3,7,10-12; got {text!r}")
    return list(dict.fromkeys(seed for each in ranges for seed in each))


def clip_prompts(prompts: str) -> ClipPrompts:
    """The wording of CLIP's prompts: `words`, or `paper` and `code` as published there."""
    known = {"words": ClipPrompts(), "paper": PAPER_PROMPTS, "code": CODE_PROMPTS}
    if prompts not in known:
        raise BrittleError(f"prompts are one of {', '.join(known)}, got {prompts!r}")
    return known[prompts]


def training_settings(
    pipeline: str,
    *,
    steps: int | None = None,
    batch_size: int | None = None,
    strength: float | None = None,
    lora_rank: int | None = None,
    lora_alpha: float | None = None,
    lr: float | None = None,
    denoising_steps: int | None = None,
    image_size: int | None = None,
) -> dict[str, Any]:
    """The settings of `train_sliders` for a pipeline: those of the demo pipeline, or published; None keeps them.

    >>> from brittle.sliders import training_settings
    >>> training_settings("sd2/", lr=1e-4, lora_rank=8)
    {'rank': 8, 'learning_rate': 0.0001}
    """
    settings = {
        "steps": steps,
        "batch_size": batch_size,
        "strength": strength,
        "rank": lora_rank,
        "alpha": lora_alpha,
        "learning_rate": lr,
        "denoising_steps": denoising_steps,
        "size": image_size,
    }
    return {**(DEMO_TRAINING if pipeline == TINY else {}), **_given(settings)}


def sampling_settings(
    pipeline: str,
    *,
    active: float | None = None,
    guidance: float | None = None,
    denoising_steps: int | None = None,
    scheduler: str | None = None,
    image_size: int | None = None,
    output_size: int | None = None,
    batch_size: int | None = None,
    image_format: str | None = None,
) -> dict[str, Any]:
    """The settings of `sample_sliders` for a pipeline: those of the demo pipeline, or published; None keeps them.

    >>> from brittle.sliders import sampling_settings
    >>> settings = sampling_settings("sd2/", denoising_steps=20, image_format="png")
    >>> settings["sampling"].steps, settings["file_format"]
    (20, 'png')
    """
    drawn = _given(
        {
            "guidance": guidance,
            "steps": denoising_steps,
            "scheduler": scheduler,
            "size": image_size,
            "side": output_size,
        }
    )
    sampling = replace(DEMO_SAMPLING if pipeline == TINY else Sampling(), **drawn)
    file_format = "jpg" if image_format == "jpeg" else image_format
    return {"sampling": sampling, **_given({"active": active, "batch_size": batch_size, "file_format": file_format})}


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True)
class ChosenPipeline:
    """A pipeline that is opened when it is used, and the names of all classes; `named` if they are not ImageNet's."""

    base: Base
    names: tuple[str, ...]
    named: bool

    def tokens(self) -> tuple[str, ...] | None:
        """The learned tokens of the classes, if there are any."""
        return None if self.base.tokens is None else self.base.token_names()

    def find_classes(self, classes: Sequence[str], *, seed: int = 0) -> list[TargetClass]:
        """Classes by number or name; `all` are all, `random:100` a hundred that `seed` draws."""
        return find_classes(classes, self.names, self.tokens(), seed=seed)


def choose_pipeline(
    pipeline: str,
    *,
    tokens: str | Path | None = None,
    classes: str | Path | None = None,
    device: str = "auto",
    dtype: str = "auto",
) -> ChosenPipeline:
    """The diffusion pipeline of a folder, or the bundled one, `tiny`.

    `tokens` is a folder of learned class tokens; `classes` a text file of class names, ImageNet's by default.
    """
    check_precision(dtype)
    is_tiny = pipeline == TINY
    folder = str(demo_part("pipeline")) if is_tiny else pipeline
    base = Base(folder, None if tokens is None else str(tokens), device, dtype)
    names = DEMO_CLASSES if is_tiny and classes is None else class_names(classes)
    return ChosenPipeline(base, names, is_tiny or classes is not None)


def pick_sliders(
    chosen: ChosenPipeline,
    sliders: str | Path | None,
    *,
    classes: Sequence[str] = (),
    shifts: Sequence[str] = (),
    two_prompts: bool = False,
    any_shift: bool = False,
    unshifted: bool = False,
    seed: int = 0,
) -> list[Pick]:
    """What `sample_sliders` draws: the sliders of a folder, all or those of some classes and shifts.

    With `two_prompts` the shift is in the prompt instead of a slider, the baseline; then a folder is not required, and
    classes and shifts are. With `unshifted` images of classes at scale 0 are drawn, without any slider. `seed` draws
    random classes, see `find_classes`.
    """
    if unshifted:
        targets = chosen.find_classes(classes, seed=seed)
        if sliders is not None or two_prompts or shifts or not targets:
            raise BrittleError(
                "images at scale 0 alone need a --class, and no sliders, no --shift and no --two-prompts"
            )
        return [Pick(target, UNSHIFTED) for target in targets]
    if sliders is None:
        if not two_prompts:
            raise BrittleError(
                "say where the sliders are, as in `brittle slide sample PIPELINE SLIDERS`, or `two_prompts=True`, or "
                "`scales=(0,)` for images without a shift"
            )
        pipeline = TINY if chosen.base.folder == str(demo_part("pipeline")) else ""
        folders = find_shifts(shifts, pipeline, any_shift=any_shift)
        targets = chosen.find_classes(classes, seed=seed)
        if not targets or not folders:
            raise BrittleError("two prompts without sliders need `classes` and `shifts`")
        return [Pick(target, shift) for shift in folders for target in targets]
    numbers = [target.number for target in chosen.find_classes(classes, seed=seed)]
    tokens = chosen.tokens()
    return [
        Pick(find_class(str(slider.number), chosen.names, tokens), slider.shift, None if two_prompts else slider)
        for slider in find_sliders(sliders, shifts=list(shifts), numbers=numbers)
    ]


def score_slides(
    slides: str | Path,
    clip: str | Path,
    dino: str | Path | None = None,
    *,
    prompts: str = "words",
    batch_size: int = 32,
    device: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> ImageScores:
    """The scores of every image of a folder of slides; see `image_scores`.

    `clip` and `dino` are folders of models, or `tiny` for those of the demo pipeline; `prompts` as for `clip_prompts`.
    """
    if not Path(slides).is_dir():
        raise FileNotFoundError(f"there is no folder of slides {str(slides)!r}; `brittle slide sample` makes one")
    wording, dataset = clip_prompts(prompts), cns_bench(slides)
    model = load_clip(demo_part("clip") if clip == TINY else clip, device=device)
    encoder = None
    if dino is not None:
        encoder = ImageEncoder(demo_part("encoder") if dino == TINY else dino, device=device)
    return image_scores(dataset, model, encoder, prompts=wording, batch_size=batch_size, progress=progress)


def load_thresholds(
    thresholds: str | Path | None = None, *, published_thresholds: bool = False
) -> tuple[dict[str, float], int]:
    """The thresholds of a filter and how many scores must pass: of a file, of the demo pipeline (`tiny`), or published.

    Without any of these there are none yet, and two scores must pass.
    """
    if published_thresholds and thresholds is not None:
        raise BrittleError(
            f"thresholds are either the published ones or those of a file, got both; leave {str(thresholds)!r} out, or "
            "the published thresholds"
        )
    if thresholds is not None:
        return load_demo_pipeline().thresholds() if thresholds == TINY else read_thresholds(thresholds)
    return (filter_of_the_paper() if published_thresholds else {}), 2
