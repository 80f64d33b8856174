"""The activations that a classifier decides by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brittle.models.needs import needs


def last_linear_input(module: Any, logits: Callable[[], Any], name: str) -> Any:
    """What the last linear layer is given while `logits()` runs, N×features.

    That layer is the last to be run, not to be defined, of those that give a row of class scores for each image.
    """
    torch = needs("torch")
    seen: list[tuple[Any, Any]] = []

    def keep(_: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if output.ndim == 2:
            seen.append((inputs[0], output.shape))

    hooks = [layer.register_forward_hook(keep) for layer in module.modules() if isinstance(layer, torch.nn.Linear)]
    try:
        shape = logits().shape
    finally:
        for hook in hooks:
            hook.remove()
    for given, gave in reversed(seen):
        if gave == shape:
            return given
    raise ValueError(
        f"{name!r} has no features to show: none of its {len(hooks)} torch.nn.Linear layers gives its class scores, so "
        "nobody knows which layer comes before the last"
    )
