"""Packages that only some models need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from brittle.threads import wait_passively

INSTALL = {
    "torch": "brittle[torch]",
    "safetensors": "brittle[torch]",
    "timm": "brittle[timm]",
    "transformers": "brittle[transformers]",
    "onnxruntime": "brittle[onnx]",
    "torchvision": "torchvision",
}
"""What to install for a package."""


def needs(module: str, install: str | None = None) -> Any:
    """A module that not everybody has, or one sentence that says how to get it."""
    package = module.partition(".")[0]
    wait_passively()  # every one of these packages computes with threads
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # it is there, and lacks something of its own
        raise ModuleNotFoundError(
            f"this model needs {package}, which is not installed: pip install '{install or INSTALL[package]}'",
            name=package,
        ) from error
