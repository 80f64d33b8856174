"""Packages that only some models need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from brittle.models.import_torchvision import mend_torchvision

INSTALL = {
    "torch": "brittle[torch]",
    "safetensors": "brittle[torch]",
    "timm": "brittle[timm]",
    "transformers": "brittle[transformers]",
    "onnxruntime": "brittle[onnx]",
    "torchvision": "torchvision",
}
"""What to install for a package."""

BESIDE_TORCHVISION = ("torchvision", "timm", "transformers", "diffusers", "peft", "open_clip")
"""Packages that import torchvision where it is installed, and fail where it does not fit torch."""


def needs(module: str, install: str | None = None) -> Any:
    """A module that not everybody has, or one sentence that says how to get it."""
    package = module.partition(".")[0]
    if package in BESIDE_TORCHVISION:
        mend_torchvision()
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # it is there, and lacks something of its own
        raise ModuleNotFoundError(
            f"this model needs {package}, which is not installed: pip install '{install or INSTALL[package]}'",
            name=package,
        ) from error
