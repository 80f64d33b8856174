"""Generate images at the scales of a slider, or with two prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittle._errors import BrittleError, did_you_mean
from brittle._optional import require
from brittle._types import Image
from brittle.models.diffusion import as_pipeline
from brittle.models.preprocessing import resize
from brittle.sliders.pipeline import NEGATIVE_PROMPT, SCALES, check_prompt, shift_text
from brittle.sliders.slider import Slider, scheduled_scales, slider_on
from brittle.sliders.training import check_integers

SCHEDULERS = {
    "ddim": "DDIMScheduler",
    "unipc": "UniPCMultistepScheduler",
    "dpm++": "DPMSolverMultistepScheduler",
    "euler": "EulerDiscreteScheduler",
}
"""Classes of diffusers by name. Published images used the checkpoint's scheduler or UniPC; which is not stated."""


@contextmanager
def with_scheduler(pipeline: Any, scheduler: str | None) -> Iterator[None]:
    """Replace a pipeline's scheduler inside the block; None keeps the checkpoint's."""
    original = pipeline.scheduler
    check_scheduler(scheduler)
    if scheduler is not None:
        scheduler_class = getattr(require("diffusers", "sliders"), SCHEDULERS[scheduler])
        pipeline.scheduler = scheduler_class.from_config(original.config)
    try:
        yield
    finally:
        pipeline.scheduler = original


def check_scheduler(scheduler: str | None) -> None:
    """Raise unless it is None or a name in `SCHEDULERS`."""
    if scheduler is not None and scheduler not in SCHEDULERS:
        raise BrittleError(f"there is no scheduler {scheduler!r}; {did_you_mean(scheduler, SCHEDULERS)}")


StepProgress = Callable[[int, int], None]
"""Called with (images done, images in all) after each batch."""

PUBLISHED_SIDE = 256


@dataclass(frozen=True)
class Sampling:
    """Sampling settings; the defaults are those of the published images.

    Args:
        prompt: {} is replaced by the class name or token.
        negative_prompt: the prompt that guidance leads away from.
        guidance: the guidance scale; 1 or less is no guidance.
        steps: number of scheduler steps.
        scheduler: a name in `SCHEDULERS`; None is the checkpoint's.
        size: generated size in pixels; None is the checkpoint's.
        side: output size in pixels, after resizing; None is 256 or, if that is less, the generated size.
    """

    prompt: str = "a picture of a {}"
    negative_prompt: str = NEGATIVE_PROMPT
    guidance: float = 7.5
    steps: int = 50
    scheduler: str | None = None
    size: int | None = None
    side: int | None = None

    def __post_init__(self) -> None:
        check_scheduler(self.scheduler)
        if self.prompt.count("{}") != 1:
            raise BrittleError(
                f"prompt has one {{}} where the class goes, as 'a picture of a {{}}'; got {self.prompt!r}"
            )
        check_integers(steps=(self.steps, 1))
        for option, value in (("size", self.size), ("side", self.side)):
            if value is not None:
                check_integers(**{option: (value, 1)})

    def prompt_of(self, name: str) -> str:
        """The prompt for a class."""
        return self.prompt.replace("{}", name)


def draw_images(pipeline: Any, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling) -> Image:
    """One image for each prompt and seed, in one batch, N×side×side×3.

    The noise of a seed is drawn on the CPU, so it is the same on every device; it differs between precisions, and
    published images are drawn in bfloat16. The last bits of an image depend on the batch size, as with every network.
    """
    torch = require("torch")
    for prompt in set(prompts):
        check_prompt(pipeline, prompt)
    if getattr(pipeline, "safety_checker", None) is not None:
        raise BrittleError("the pipeline's safety checker would blank images; load it with brittle's load_pipeline")
    with with_scheduler(pipeline, sampling.scheduler), _no_progress_bar(pipeline):
        drawn = pipeline(
            prompt=list(prompts),
            negative_prompt=[sampling.negative_prompt] * len(prompts),
            guidance_scale=sampling.guidance,
            num_inference_steps=sampling.steps,
            eta=0.0,
            height=sampling.size,
            width=sampling.size,
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            output_type="np",
        ).images
    if not np.isfinite(drawn).all():
        invalid = sorted({seed for seed, image in zip(seeds, drawn, strict=True) if not np.isfinite(image).all()})
        raise BrittleError(f"the images of seeds {invalid} are not finite; try a smaller scale, or dtype='float32'")
    images: Image = np.rint(drawn * 255).astype(np.uint8)
    side = sampling.side or min(PUBLISHED_SIDE, images.shape[1])
    return resize(images, (side, side), "bicubic")


def check_seeds(seeds: Sequence[int]) -> list[int]:
    """Seeds as a list of ints; raise unless they are distinct whole numbers of at least 0."""
    values = list(seeds)
    valid = all(isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0 for seed in values)
    if not values or not valid or len(set(values)) != len(values):
        raise BrittleError(f"seeds are distinct whole numbers of at least 0, as range(1, 51); got {seeds!r}")
    return [int(seed) for seed in values]


@contextmanager
def _no_progress_bar(pipeline: Any) -> Iterator[None]:
    config = getattr(pipeline, "_progress_bar_config", None)
    pipeline.set_progress_bar_config(disable=True)
    try:
        yield
    finally:
        pipeline.set_progress_bar_config(**(config or {}))


Draw = Callable[[Sequence[tuple[int, float]]], Image]
"""Draws one batch of images for pairs of seed and scale."""


def draw_trajectory(
    pipeline: Any,
    slider: Slider,
    scales: Sequence[float] = SCALES,
    seeds: Sequence[int] = range(1, 51),
    *,
    active: float = 0.75,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    progress: StepProgress | None = None,
) -> Image:
    """The images of each seed at each scale, seeds × scales × side × side × 3.

    The same seed gives the same noise at every scale, so one row is one trajectory. Any real scale is allowed, also a
    negative one. With a batch of 1, images at scale 0 are those of the plain pipeline, bit for bit; larger batches mix
    scales and seeds, may differ in the last bit of a colour, and are faster on a GPU.

    Args:
        pipeline: a Stable Diffusion pipeline of diffusers, or its folder.
        active: the slider is on at timesteps up to this share of all timesteps, and off at the noisier ones, where the
            composition of an image is decided.
        sampling: prompts, guidance, steps and scheduler.
    """
    drawing = slider_draw(as_pipeline(pipeline), slider, active=active, sampling=sampling)
    return draw_all(drawing, scales, seeds, batch_size, progress)


@contextmanager
def slider_draw(
    pipeline: Any, slider: Slider, *, active: float = 0.75, sampling: Sampling | None = None
) -> Iterator[Draw]:
    """Load the slider on the pipeline; yields a function that draws a batch of (seed, scale) pairs."""
    if not 0 <= active <= 1:
        raise BrittleError(f"active is a share of the timesteps between 0 and 1, got {active!r}")
    settings = sampling or Sampling()
    prompt = settings.prompt_of(slider.prompt)
    timesteps = int(pipeline.scheduler.config.num_train_timesteps)
    with slider_on(pipeline, slider) as adapter:

        def draw(pairs: Sequence[tuple[int, float]]) -> Image:
            seeds, scales = [seed for seed, _ in pairs], [scale for _, scale in pairs]
            with scheduled_scales(adapter, scales, active=active, timesteps=timesteps):
                return draw_images(pipeline, [prompt] * len(pairs), seeds, settings)

        yield draw


def draw_all(
    drawing: AbstractContextManager[Draw],
    scales: Sequence[float],
    seeds: Sequence[int],
    batch_size: int,
    progress: StepProgress | None,
) -> Image:
    """Draw every seed at every scale, batch by batch."""
    scale_list, seed_list = check_scales(scales), check_seeds(seeds)
    check_integers(batch_size=(batch_size, 1))
    pairs = [(seed, scale) for seed in seed_list for scale in scale_list]
    images: list[Image] = []
    with drawing as draw:
        for start in range(0, len(pairs), batch_size):
            images.extend(draw(pairs[start : start + batch_size]))
            if progress is not None:
                progress(len(images), len(pairs))
    return np.stack(images).reshape(len(seed_list), len(scale_list), *images[0].shape)


def check_scales(scales: Sequence[float]) -> list[float]:
    """Scales as a list of floats; raise unless they are distinct and finite."""
    values = [float(scale) for scale in scales]
    if not values or not all(map(math.isfinite, values)) or len(set(values)) != len(values):
        raise BrittleError(f"scales are distinct numbers, as 0, 0.5, 1, 1.5, 2, 2.5; got {scales!r}")
    return values


TWO_SCALES = (0.0, 1.0)
"""Without the shift, and with it."""


def two_prompts(
    pipeline: Any,
    name: str,
    shift: str,
    seeds: Sequence[int] = range(1, 51),
    *,
    sampling: Sampling | None = None,
    batch_size: int = 1,
    progress: StepProgress | None = None,
) -> Image:
    """ "2P" of CNS-Bench: each seed with "a picture of a NAME" and with "… in SHIFT", seeds × 2 × side × side × 3.

    The published script puts no space before "in"; here there is one.
    """
    drawing = two_prompt_draw(as_pipeline(pipeline), name, shift, sampling=sampling)
    return draw_all(drawing, TWO_SCALES, seeds, batch_size, progress)


@contextmanager
def two_prompt_draw(pipeline: Any, name: str, shift: str, *, sampling: Sampling | None = None) -> Iterator[Draw]:
    """Yields a function that draws a batch of (seed, scale) pairs: scale 0 is without the shift, 1 with it."""
    settings = sampling or Sampling()
    plain = settings.prompt_of(name)
    prompts = dict(zip(TWO_SCALES, (plain, f"{plain} in {shift_text(shift)}"), strict=True))

    def draw(pairs: Sequence[tuple[int, float]]) -> Image:
        return draw_images(pipeline, [prompts[scale] for _, scale in pairs], [seed for seed, _ in pairs], settings)

    yield draw
