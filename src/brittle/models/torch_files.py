"""Files of torch that hold a whole network: TorchScript archives, and programs of torch.export."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._identity import digest
from brittle._optional import require
from brittle.models.model import model_source
from brittle.models.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing, Sides
from brittle.models.torch import TorchModel


class TorchFileModel(TorchModel):
    """A classifier in a file of torch. Its key covers the file, the preprocessing and the precision."""

    _channels_last = False  # a traced graph may rely on the order in memory of its example

    def __init__(self, module: Any, content: bytes, name: str, prepare: Preprocessing, *, device: str, bf16: bool):
        key = digest({"prepare": prepare, "bf16": bf16}, content)
        super().__init__(module, name, prepare, device=device, bf16=bf16, key=key)

    def replica(self) -> TorchModel | None:
        """The same graph for another thread, if it keeps no state; a TorchScript archive may, and has none."""
        from brittle.models.exported_program import ExportedGraph

        return copy.copy(self) if isinstance(self.module, ExportedGraph) and self.device == "cpu" else None


def is_torchscript_file(path: Path) -> bool:
    """Whether a file is a TorchScript archive, and not weights."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return False
    require("torch")
    from brittle.models.torchscript import is_torchscript

    return is_torchscript(path.read_bytes())


@model_source("torchscript")
def from_torchscript(
    path: str | Path,
    *,
    name: str | None = None,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    device: str = "auto",
    bf16: bool = False,
) -> TorchFileModel:
    """A classifier from a TorchScript archive, as `torch.jit.save` writes it; only operators on tensors are run.

    Args:
        path: the file.
        name: the name in results; by default the file name.
        mean: of each channel on the scale [0, 1]; `std` likewise. By default those of ImageNet.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and width.
        crop: the side of the central crop.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast.
    """
    path = _existing(path, "TorchScript archive")
    require("torch")
    from brittle.models.torchscript import ScriptNetwork

    content = path.read_bytes()
    prepare = Preprocessing(tuple(mean), tuple(std), size, crop, interpolation)
    module = ScriptNetwork(content, repr(str(path)))
    return TorchFileModel(module, content, name or path.stem, prepare, device=device, bf16=bf16)


@model_source("torch-export")
def from_torch_export(
    path: str | Path,
    *,
    name: str | None = None,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    device: str = "auto",
    bf16: bool = False,
) -> TorchFileModel:
    """A classifier from a file that `torch.export.save` wrote (torch 2.9 or newer), run without torch's own loader.

    Images are resized to the input size of the graph if it is fixed, and batches filled up to the number it takes.

    Args:
        path: the file, FILE.pt2.
        name: the name in results; by default the file name.
        mean: of each channel on the scale [0, 1]; `std` likewise. By default those of ImageNet.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and width.
        crop: the side of the central crop.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 by torch.autocast.
    """
    path = _existing(path, "file of torch.export")
    require("torch")
    from brittle.models.exported_program import ExportedGraph

    content = path.read_bytes()
    module = ExportedGraph(content, repr(str(path)))
    prepare = Preprocessing(tuple(mean), tuple(std), size or (None if crop else module.sides), crop, interpolation)
    if module.sides is not None and prepare.shown != module.sides:
        raise BrittleError(f"{str(path)!r} takes images of {module.sides}; size and crop would give {prepare.shown}")
    return TorchFileModel(module, content, name or path.stem, prepare, device=device, bf16=bf16)


def _existing(path: str | Path, what: str) -> Path:
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no {what} {str(path)!r}")
    return path
