"""The pipeline that many sliders share, opened once in each process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from brittle.models.load_pipeline import load_pipeline
from brittle.sliders.class_token import load_tokens


@dataclass(frozen=True)
class Base:
    """Where a pipeline lies, with which class tokens, and on what it runs; on a cluster every node needs the folders.

    Args:
        folder: what diffusers' `save_pretrained` wrote.
        tokens: an encoder folder with learnt class tokens, such as `encoder_root_imagenet`.
        device: "cpu", "cuda", … or "auto".
        dtype: "float32", "bfloat16" or "auto".
    """

    folder: str
    tokens: str | None = None
    device: str = "auto"
    dtype: str = "auto"

    def pipeline(self) -> Any:
        """The loaded pipeline."""
        return _opened(self)[0]

    def token_names(self) -> tuple[str, ...] | None:
        """The tokens by class number, if there are any."""
        return _opened(self)[1]


@lru_cache(maxsize=1)
def _opened(base: Base) -> tuple[Any, tuple[str, ...] | None]:
    pipeline = load_pipeline(base.folder, device=base.device, dtype=base.dtype)
    return pipeline, None if base.tokens is None else load_tokens(pipeline, Path(base.tokens).expanduser())


def wants_gpu(ray: Any, device: str) -> bool:
    """Whether work on a cluster takes a GPU: if it was asked for, or if there are any."""
    return device.startswith("cuda") or (device == "auto" and ray.cluster_resources().get("GPU", 0) > 0)
