"""Weights to a small file that holds nothing but numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle._io import replacing
from brittle.models.needs import needs


def save_weights(network: Any, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a network's weights as safetensors, its real numbers in half precision.

    `metadata` are texts that are kept beside them, such as how the network was trained. `load_weights` reads the file.
    """
    torch = needs("torch")
    path = Path(path)
    if path.suffix != ".safetensors":
        raise ValueError(f"weights are written to a .safetensors file, got {str(path)!r}")
    halves = {}
    for name, value in network.state_dict().items():
        numbers = value.detach().cpu().contiguous()
        halves[name] = numbers.half() if numbers.is_floating_point() else numbers
        if not torch.isfinite(halves[name]).all():
            raise ValueError(f"{name} has numbers that half precision cannot hold; nothing is written")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        needs("safetensors.torch").save_file(halves, part, metadata=dict(metadata or {}))
