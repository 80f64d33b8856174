"""Packages that only some users have."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from brittle._parallel import wait_passively

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


def require(module: str, extra: str | None = None) -> Any:
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
            f"this needs {package}, which is not installed: {how_to_install(extra or INSTALL[package])}",
            name=package,
        ) from error


OPERATIONS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

_kept: list[Any] = []  # an operation lasts as long as the library that defines it


def mend_torchvision() -> None:
    """Import torchvision if it is installed; a CUDA build of it beside a CPU build of torch, which fails, is mended.

    Such a build lacks the operation `torchvision::nms`, which only detectors need. It is declared, without a body, and
    the import tried again: classifiers and diffusion pipelines then work. timm, transformers and diffusers import
    torchvision somewhere inside, and name everything but the cause where it fails; so this comes before them. A
    torchvision that cannot be mended is an ImportError that says what to do.
    """
    if "torchvision" in sys.modules:
        return
    try:
        import_module("torchvision")
        return
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise _misfit(error) from error
    except (ImportError, OSError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name in ("torchvision", "torch"):
            return  # there is nothing to mend; who needs it says so
        raise _misfit(error) from error
    library = import_module("torch").library.Library("torchvision", "FRAGMENT")
    for operation in OPERATIONS:
        library.define(f"{operation}{SIGNATURE}")
    _kept.append(library)
    _forget()
    try:
        import_module("torchvision")
    except Exception as error:
        raise _misfit(error) from error


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]


def _misfit(error: Exception) -> ImportError:
    """One sentence about a torchvision that fails at its import."""
    _forget()
    found = []
    for package in ("torchvision", "torch"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(package)
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    return ImportError(
        f"{found[0]} does not fit {found[1]} and cannot be imported ({reason}); install the two from one index, as "
        "pytorch.org pairs them, or remove it where no model of torchvision or timm is used: pip uninstall torchvision",
        name="torchvision",
    )
