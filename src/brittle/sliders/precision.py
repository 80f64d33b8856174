"""The numbers a network is trained in: float32, or bfloat16 where a GPU computes in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from brittle.models.needs import needs

PRECISIONS = ("auto", "float32", "bfloat16")


def find_precision(precision: str, pipeline: Any) -> str:
    """ "auto" is bfloat16 on GPUs that compute in it, and for pipelines that were loaded so; else float32."""
    torch = needs("torch")
    check_precision(precision)
    held = precision_of(pipeline)
    if precision == "float32" and held != "float32":
        raise ValueError(f"precision is float32, and the pipeline was loaded in {held}; load it with dtype='float32'")
    if precision != "auto":
        return precision
    able = torch.device(pipeline.device).type == "cuda" and torch.cuda.is_bf16_supported()
    return "bfloat16" if able or held != "float32" else "float32"


def check_precision(precision: str) -> None:
    """Raise unless it is one of the three words."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be auto, float32 or bfloat16, got {precision!r}")


def precision_of(pipeline: Any) -> str:
    """What the numbers of a pipeline's UNet are."""
    return str(pipeline.unet.dtype).removeprefix("torch.")


def in_precision(precision: str, device: Any) -> Callable[[], AbstractContextManager[Any]]:
    """Autocast to bfloat16, or nothing; for forward passes, since backward ones follow what these did."""
    torch = needs("torch")
    return lambda: torch.autocast(
        torch.device(device).type, dtype=torch.bfloat16, enabled=precision == "bfloat16", cache_enabled=False
    )
