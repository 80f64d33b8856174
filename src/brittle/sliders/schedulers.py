"""Ways from noise to an image."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from brittle.datasets.near import nearest
from brittle.models.load_pipeline import EXTRA
from brittle.models.needs import needs

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
        kind = getattr(needs("diffusers", EXTRA), SCHEDULERS[scheduler])
        pipeline.scheduler = kind.from_config(before.config)
    try:
        yield
    finally:
        pipeline.scheduler = before


def check_scheduler(scheduler: str | None) -> None:
    """Raise unless it is None or one of the names."""
    if scheduler is not None and scheduler not in SCHEDULERS:
        raise ValueError(f"there is no scheduler {scheduler!r}; {nearest(scheduler, SCHEDULERS)}")
