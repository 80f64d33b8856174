"""Let a network learn by a plan: in full, a little more, or only its batch normalisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.design.overlap_plan import Plan
from brittle.training import Augment, adapt_batchnorm, train


def learn(
    network: Any,
    images: Image,
    labels: Any,
    plan: Plan,
    augment: Augment | None,
    *,
    full: bool,
    checkpoint: Path | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> None:
    """Train a network in place: by the plan's standard recipe if `full`, else as its cheap mode goes on."""
    kept: dict[str, Any] = {"augment": augment, "checkpoint": checkpoint, "progress": progress}
    if full:
        train(network, images, labels, plan.standard, **kept)
        return
    count = min(plan.tuning_images, len(images))
    few = np.arange(count) * len(images) // count
    if plan.mode == "batchnorm":
        adapt_batchnorm(network, images[few], plan.tuning, augment)
    else:
        train(network, images[few], labels[few], plan.tuning, **kept)
