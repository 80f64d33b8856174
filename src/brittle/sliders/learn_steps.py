"""The steps of a training: one loss after the other, kept now and then."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int, float], None]
"""Called with (steps done, steps in all, the loss) after each step."""


def learn_steps(
    optimiser: Any,
    loss_of: Callable[[int], Any],
    losses: list[float],
    steps: int,
    *,
    keep: Callable[[], None] | None,
    keep_every: int,
    after: Callable[[], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Take the steps that `losses` lacks, and add theirs to it; a loss that is no number raises.

    Args:
        loss_of: the loss of a step by its number, to go down from.
        keep: called every `keep_every` steps and at the end, to save what was learnt.
        after: called after each step, to bring what is learnt back to where it may be.
    """
    for step in range(len(losses), steps):
        loss = loss_of(step)
        value = float(loss.item())
        if not math.isfinite(value):
            raise ValueError(
                f"the loss of step {step + 1} is {value}; train with a smaller learning rate, or in float32"
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if after is not None:
            after()
        losses.append(value)
        if keep is not None and (len(losses) % keep_every == 0 or len(losses) == steps):
            keep()
        if progress is not None:
            progress(len(losses), steps, value)
