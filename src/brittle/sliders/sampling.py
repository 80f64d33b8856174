"""Draw an image along a slider."""

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
from brittle.sliders.pipeline import NEGATIVE_PROMPT, SCALES, check_prompt, shift_words
from brittle.sliders.slider import Slider, late, slider_on
from brittle.sliders.training import check_whole

SCHEDULERS = {
    "ddim": "DDIMScheduler",
    "unipc": "UniPCMultistepScheduler",
    "dpm++": "DPMSolverMultistepScheduler",
    "euler": "EulerDiscreteScheduler",
}
"""By name. The published images were made with the checkpoint's own, or with UniPC; which one is not stated."""


@contextmanager
def scheduled(pipeline: Any, scheduler: str | None) -> Iterator[None]:
    """A pipeline with another scheduler for a while; None leaves the checkpoint's own."""
    before = pipeline.scheduler
    check_scheduler(scheduler)
    if scheduler is not None:
        kind = getattr(require("diffusers", "sliders"), SCHEDULERS[scheduler])
        pipeline.scheduler = kind.from_config(before.config)
    try:
        yield
    finally:
        pipeline.scheduler = before


def check_scheduler(scheduler: str | None) -> None:
    """Raise unless it is None or one of the names."""
    if scheduler is not None and scheduler not in SCHEDULERS:
        raise BrittleError(f"there is no scheduler {scheduler!r}; {did_you_mean(scheduler, SCHEDULERS)}")


StepProgress = Callable[[int, int], None]
"""Called with (images done, images in all) after each batch."""

PUBLISHED_SIDE = 256


@dataclass(frozen=True)
class Sampling:
    """The settings of the published images, unless you change them.

    Args:
        prompt: {} becomes the class, in words or as a token.
        negative_prompt: what guidance leads away from.
        guidance: how strongly; 1 or less is none.
        steps: of the scheduler.
        scheduler: a name of `SCHEDULERS`; None is the checkpoint's own.
        size: of the generated images in pixels; None is the checkpoint's own.
        side: of the images that come out; None is 256 or, if that is less, the generated size.
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
        check_whole(steps=(self.steps, 1))
        for option, value in (("size", self.size), ("side", self.side)):
            if value is not None:
                check_whole(**{option: (value, 1)})

    def words(self, name: str) -> str:
        """The prompt for a class."""
        return self.prompt.replace("{}", name)


def draw_images(pipeline: Any, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling) -> Image:
    """One image for each prompt and seed, in one batch, N×side×side×3.

    The noise of a seed is drawn on the CPU, so it is the same on every device; it is another one in another precision,
    as published images are drawn in bfloat16. The last bits of an image depend on the size of its batch, as with every
    network.
    """
    torch = require("torch")
    for prompt in set(prompts):
        check_prompt(pipeline, prompt)
    if getattr(pipeline, "safety_checker", None) is not None:
        raise BrittleError("the pipeline's safety checker would blank images; load it with brittle's load_pipeline")
    with scheduled(pipeline, sampling.scheduler), _quiet(pipeline):
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
        lost = sorted({seed for seed, image in zip(seeds, drawn, strict=True) if not np.isfinite(image).all()})
        raise BrittleError(f"the images of seeds {lost} are not numbers; try a smaller scale, or dtype='float32'")
    images: Image = np.rint(drawn * 255).astype(np.uint8)
    side = sampling.side or min(PUBLISHED_SIDE, images.shape[1])
    return resize(images, (side, side), "bicubic")


def check_seeds(seeds: Sequence[int]) -> list[int]:
    """Seeds as distinct whole numbers of at least 0."""
    found = list(seeds)
    good = all(isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0 for seed in found)
    if not found or not good or len(set(found)) != len(found):
        raise BrittleError(f"seeds are distinct whole numbers of at least 0, as range(1, 51); got {seeds!r}")
    return [int(seed) for seed in found]


@contextmanager
def _quiet(pipeline: Any) -> Iterator[None]:
    before = getattr(pipeline, "_progress_bar_config", None)
    pipeline.set_progress_bar_config(disable=True)
    try:
        yield
    finally:
        pipeline.set_progress_bar_config(**(before or {}))


Draw = Callable[[Sequence[tuple[int, float]]], Image]
"""One batch of images for pairs of seed and scale."""


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

    The same seed gives the same noise at every scale, so one row is one picture on its way. Any real scale will do,
    negative ones too. With a batch of 1, images at scale 0 are those of the plain pipeline, bit for bit; larger
    batches, which mix scales and seeds, may differ in the last bit of a colour, and are faster on a GPU.

    Args:
        pipeline: a Stable Diffusion pipeline of diffusers, or its folder.
        active: the slider is on where the timestep is at most this share of all timesteps, and off in the noisier ones
            before, where the composition of an image is decided.
        sampling: prompts, guidance, steps and scheduler.
    """
    drawing = sliding(as_pipeline(pipeline), slider, active=active, sampling=sampling)
    return draw_all(drawing, scales, seeds, batch_size, progress)


@contextmanager
def sliding(pipeline: Any, slider: Slider, *, active: float = 0.75, sampling: Sampling | None = None) -> Iterator[Draw]:
    """A function that draws a batch of (seed, scale) pairs, while the slider is on the pipeline."""
    if not 0 <= active <= 1:
        raise BrittleError(f"active is a share of the timesteps between 0 and 1, got {active!r}")
    how = sampling or Sampling()
    words = how.words(slider.prompt)
    timesteps = int(pipeline.scheduler.config.num_train_timesteps)
    with slider_on(pipeline, slider) as adapter:

        def draw(pairs: Sequence[tuple[int, float]]) -> Image:
            seeds, scales = [seed for seed, _ in pairs], [scale for _, scale in pairs]
            with late(adapter, scales, active=active, timesteps=timesteps):
                return draw_images(pipeline, [words] * len(pairs), seeds, how)

        yield draw


def draw_all(
    drawing: AbstractContextManager[Draw],
    scales: Sequence[float],
    seeds: Sequence[int],
    batch_size: int,
    progress: StepProgress | None,
) -> Image:
    """Every seed at every scale, batch by batch."""
    at, several = check_scales(scales), check_seeds(seeds)
    check_whole(batch_size=(batch_size, 1))
    pairs = [(seed, scale) for seed in several for scale in at]
    found: list[Image] = []
    with drawing as draw:
        for start in range(0, len(pairs), batch_size):
            found.extend(draw(pairs[start : start + batch_size]))
            if progress is not None:
                progress(len(found), len(pairs))
    return np.stack(found).reshape(len(several), len(at), *found[0].shape)


def check_scales(scales: Sequence[float]) -> list[float]:
    """Scales as distinct finite numbers."""
    found = [float(scale) for scale in scales]
    if not found or not all(map(math.isfinite, found)) or len(set(found)) != len(found):
        raise BrittleError(f"scales are distinct numbers, as 0, 0.5, 1, 1.5, 2, 2.5; got {scales!r}")
    return found


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
    drawing = prompting(as_pipeline(pipeline), name, shift, sampling=sampling)
    return draw_all(drawing, TWO_SCALES, seeds, batch_size, progress)


@contextmanager
def prompting(pipeline: Any, name: str, shift: str, *, sampling: Sampling | None = None) -> Iterator[Draw]:
    """A function that draws a batch of (seed, scale) pairs, where scale 0 is without the shift and 1 with it."""
    how = sampling or Sampling()
    plain = how.words(name)
    prompts = dict(zip(TWO_SCALES, (plain, f"{plain} in {shift_words(shift)}"), strict=True))

    def draw(pairs: Sequence[tuple[int, float]]) -> Image:
        return draw_images(pipeline, [prompts[scale] for _, scale in pairs], [seed for seed, _ in pairs], how)

    yield draw
