"""torchvision, also where its compiled part does not fit the torch beside it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from brittle.models.needs import needs

OPERATIONS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

_kept: list[Any] = []  # an operation lasts as long as the library that defines it


def import_torchvision(install: str | None = None) -> Any:
    """Import torchvision; a CUDA build of it beside a CPU build of torch, which fails to import, is mended.

    Such a build lacks the operation `torchvision::nms`, which only detectors need. It is declared, without a body, and
    the import tried again: classifiers then work. `install` is what to install if it is not there at all.
    """
    try:
        return needs("torchvision", install)
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
    library = needs("torch").library.Library("torchvision", "FRAGMENT")
    for operation in OPERATIONS:
        library.define(f"{operation}{SIGNATURE}")
    _kept.append(library)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    return import_module("torchvision")
