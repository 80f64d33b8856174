"""Random numbers of a training step, addressed by its number, so that a resumed training draws the same ones."""

from __future__ import annotations

from typing import Any

from brittle.corruptions.draws import Draws, check_seed
from brittle.models.needs import needs


def step_numbers(seed: int, what: str, step: int) -> Any:
    """A generator on the CPU for one step of a training."""
    address = int(Draws(check_seed(seed), what, step).key("torch")[0])
    return needs("torch").Generator().manual_seed(address % 2**63)
