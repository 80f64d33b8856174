"""The size of the images that are trained on."""

from __future__ import annotations

from typing import Any


def training_side(pipeline: Any, size: int | None, published: int) -> int:
    """The side of images in pixels that a UNet takes: by default the published one, or the checkpoint's if smaller."""
    factor = int(pipeline.vae_scale_factor)
    if size is None:
        return min(published, int(pipeline.unet.config.sample_size) * factor)
    step = factor * 2 ** (len(pipeline.unet.config.down_block_types) - 1)
    if not isinstance(size, int) or size < step or size % step:
        raise ValueError(f"size is in pixels and a multiple of {step} for this checkpoint, got {size!r}")
    return size
