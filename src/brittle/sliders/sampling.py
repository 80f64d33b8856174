"""How images are drawn from a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.models.needs import needs
from brittle.models.resize import resize
from brittle.sliders.check_whole import check_whole
from brittle.sliders.prompt_words import check_prompt
from brittle.sliders.schedulers import check_scheduler, scheduled
from brittle.sliders.shifts import NEGATIVE_PROMPT

Progress = Callable[[int, int], None]
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
            raise ValueError(f"prompt has one {{}} where the class goes, as 'a picture of a {{}}'; got {self.prompt!r}")
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
    torch = needs("torch")
    for prompt in set(prompts):
        check_prompt(pipeline, prompt)
    if getattr(pipeline, "safety_checker", None) is not None:
        raise ValueError("the pipeline's safety checker would blank images; load it with brittle's load_pipeline")
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
        raise ValueError(f"the images of seeds {lost} are not numbers; try a smaller scale, or dtype='float32'")
    images: Image = np.rint(drawn * 255).astype(np.uint8)
    side = sampling.side or min(PUBLISHED_SIDE, images.shape[1])
    return resize(images, (side, side), "bicubic")


def check_seeds(seeds: Sequence[int]) -> list[int]:
    """Seeds as distinct whole numbers of at least 0."""
    found = list(seeds)
    good = all(isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0 for seed in found)
    if not found or not good or len(set(found)) != len(found):
        raise ValueError(f"seeds are distinct whole numbers of at least 0, as range(1, 51); got {seeds!r}")
    return [int(seed) for seed in found]


@contextmanager
def _quiet(pipeline: Any) -> Iterator[None]:
    before = getattr(pipeline, "_progress_bar_config", None)
    pipeline.set_progress_bar_config(disable=True)
    try:
        yield
    finally:
        pipeline.set_progress_bar_config(**(before or {}))
