"""One loop for every training of the tiny world: AdamW, a warm-up and a cosine, a running average, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

KEEP_EVERY = 60.0
"""Seconds between two checkpoints."""


def fit(
    network: nn.Module,
    loss: Callable[[torch.Generator], Tensor],
    file: Path,
    *,
    steps: int,
    rate: float,
    decay: float = 0.01,
    ema: float = 0.99,
) -> None:
    """Train a network in place to its running average; goes on from `file` if that is there.

    `loss` computes one batch's loss and draws what it needs from the generator it gets, which depends on the step.
    """
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=decay, betas=(0.9, 0.99))
    mean = torch.optim.swa_utils.AveragedModel(
        network, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(ema), use_buffers=True
    )
    first, losses = 0, []
    if file.is_file():
        state = torch.load(file, weights_only=True)
        network.load_state_dict(state["network"])
        mean.load_state_dict(state["mean"])
        optimiser.load_state_dict(state["optimiser"])
        first = state["step"]
    network.train()
    began = kept = shown = time.monotonic()
    for step in range(first, steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 100) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
        with torch.autocast("cpu", torch.bfloat16):
            now = loss(torch.Generator().manual_seed(step))
        optimiser.zero_grad()
        now.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        mean.update_parameters(network)
        losses.append(now.item())
        last = step == steps - 1
        if time.monotonic() - shown > 15 or last:
            shown = time.monotonic()
            part = losses[-100:]
            print(
                f"{file.stem}: {step + 1}/{steps}, loss {sum(part) / len(part):.4f}, {shown - began:.0f} s", flush=True
            )
        if time.monotonic() - kept > KEEP_EVERY or last:
            kept = time.monotonic()
            state = {"network": network.state_dict(), "mean": mean.state_dict(), "optimiser": optimiser.state_dict()}
            file.parent.mkdir(parents=True, exist_ok=True)
            torch.save({**state, "step": step + 1}, file.with_suffix(".part"))
            file.with_suffix(".part").rename(file)
    network.load_state_dict(mean.module.state_dict())
    network.eval()


def pixels(images: object, places: Tensor) -> Tensor:
    """Chosen uint8 images as N×3×H×W from −1 to 1."""
    chosen = torch.from_numpy(images[places.numpy()])  # type: ignore[index]
    return chosen.permute(0, 3, 1, 2).contiguous().float() / 127.5 - 1
