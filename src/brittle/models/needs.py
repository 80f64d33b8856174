"""Packages that only some models need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from brittle.models.import_torchvision import mend_torchvision
from brittle.threads import wait_passively

EXTRAS = {
    "torch": "torch safetensors",
    "timm": "torch safetensors timm",
    "transformers": "torch safetensors transformers",
    "onnx": "onnxruntime",
    "ray": "ray",
    "sliders": "torch safetensors transformers diffusers peft accelerate",
}
"""The packages of each extra of ours."""

INSTALL = {
    "torch": "torch",
    "safetensors": "torch",
    "timm": "timm",
    "transformers": "transformers",
    "onnxruntime": "onnx",
    "torchvision": "torchvision",
}
"""The extra that brings a package, or the package itself if none does."""

BESIDE_TORCHVISION = ("torchvision", "timm", "transformers", "diffusers", "peft", "open_clip")
"""Packages that import torchvision where it is installed, and fail where it does not fit torch."""


def how_to_install(extra: str) -> str:
    """What to type for an extra of ours, or for a package of others: it works from a clone and from anywhere else.

    Our own name is left out, as a package index may know it as somebody else's.
    """
    if extra not in EXTRAS:
        return f"pip install {extra}"
    return f"pip install {EXTRAS[extra]} (or in a clone of brittle: pip install '.[{extra}]')"


def needs(module: str, extra: str | None = None) -> Any:
    """A module that not everybody has, or one sentence that says how to get it."""
    package = module.partition(".")[0]
    wait_passively()  # every one of these packages computes with threads
    if package in BESIDE_TORCHVISION:
        mend_torchvision()
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # it is there, and lacks something of its own
        raise ModuleNotFoundError(
            f"this model needs {package}, which is not installed: {how_to_install(extra or INSTALL[package])}",
            name=package,
        ) from error
