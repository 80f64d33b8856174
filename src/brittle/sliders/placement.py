"""Which layers of a UNet a slider turns."""

from __future__ import annotations

from typing import Any

INSIDE = ("Attention", "ResnetBlock2D", "Downsample2D", "Upsample2D", "DownBlock2D", "UpBlock2D")
SKIPPED = ("attn2", "time_embed")
KINDS = ("Linear", "Conv2d")


def slider_layers(unet: Any) -> list[str]:
    """The paths of the layers that get an adapter: "noxattn, c3lier" of concept sliders, as in CNS-Bench.

    Linear and Conv2d inside self-attention, residual blocks and the layers that change resolution; neither
    cross-attention nor time embedding, so that what the prompt says and when stays as it was. The projection of the
    time embedding inside residual blocks (`time_emb_proj`) is not called time_embed, and has an adapter.
    """
    found = set()
    for path, block in unet.named_modules():
        if type(block).__name__ not in INSIDE:
            continue
        for below, layer in block.named_modules():
            whole = f"{path}.{below}" if path else below
            if type(layer).__name__ in KINDS and not any(word in whole for word in SKIPPED):
                found.add(whole)
    if not found:
        raise ValueError(
            f"a {type(unet).__name__} has no layers a slider could turn; give a UNet2DConditionModel of diffusers"
        )
    return sorted(found)
