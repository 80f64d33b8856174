"""Any classifier in an ONNX file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle.models.needs import needs
from brittle.models.onnx_model import INPUT_TYPES, OnnxModel, session_options
from brittle.models.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from brittle.models.resize import Sides

LAYOUTS = ("auto", "NCHW", "NHWC")
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "mps": "CoreMLExecutionProvider"}


def from_onnx(
    path: str | Path,
    *,
    name: str | None = None,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    layout: str = "auto",
    device: str = "auto",
    providers: Sequence[str] | None = None,
) -> OnnxModel:
    """A classifier from an ONNX file with one image input, run by onnxruntime.

    A graph that takes uint8 is shown images as they are, without `mean` and `std`; one of a fixed size is shown images
    of that size.

    Args:
        path: the file.
        name: what results call it; by default the file's name.
        mean: of each channel on the scale [0, 1]; `std` likewise. Those of ImageNet unless told otherwise.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and width.
        crop: show the central part of this side.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        layout: "NCHW" or "NHWC", if the graph does not say which axis has the 3 channels.
        device: "cpu", "cuda" or "auto", for the usual providers.
        providers: those of onnxruntime, in order, instead of a device.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no ONNX file {str(path)!r}")
    runtime = needs("onnxruntime")
    chosen = _providers(runtime, device, providers)
    try:
        session = runtime.InferenceSession(str(path), session_options(runtime), providers=chosen)
    except Exception as error:  # onnxruntime has an exception for each status, none of them public
        reason = str(error).partition("\n")[0]
        raise ValueError(f"onnxruntime cannot open {str(path)!r}: {reason}") from error
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in INPUT_TYPES:
        found = ", ".join(f"{given.name}: {given.type} {given.shape}" for given in inputs)
        raise ValueError(
            f"{str(path)!r} must take one batch of images, four axes of {', '.join(INPUT_TYPES)}; it takes {found}"
        )
    channels_first = _channels_first(path, inputs[0].shape, layout)
    sides = inputs[0].shape[2:] if channels_first else inputs[0].shape[1:3]
    if all(isinstance(side, int) for side in sides) and size is None and crop is None:
        size = tuple(sides)
    prepare = Preprocessing(tuple(mean), tuple(std), size, crop, interpolation)
    for wanted, shown in zip(sides, prepare.shown or sides, strict=True):
        if isinstance(wanted, int) and wanted != shown:
            raise ValueError(f"{str(path)!r} takes images of {tuple(sides)}; size and crop would give {prepare.shown}")
    return OnnxModel(session, path, name or path.stem, prepare, channels_first=channels_first)


def _channels_first(path: Path, shape: list[Any], layout: str) -> bool:
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    first, last = shape[1] == 3, shape[3] == 3
    if layout == "auto" and first == last:
        raise ValueError(f"{str(path)!r} takes {shape}, which does not tell the channels; give layout='NCHW' or 'NHWC'")
    wrong = shape[3 if layout == "NHWC" else 1]
    if layout != "auto" and isinstance(wrong, int) and wrong != 3:
        raise ValueError(f"{str(path)!r} takes {shape}, which has not 3 channels as {layout}")
    return first if layout == "auto" else layout == "NCHW"


def _providers(runtime: Any, device: str, providers: Sequence[str] | None) -> list[Any]:
    """Those that were asked for, or those of a device, with the CPU for what it cannot do."""
    available = runtime.get_available_providers()
    for provider in providers or ():
        if provider not in available:
            raise ValueError(f"this onnxruntime has no {provider!r}; it has: {', '.join(available)}")
    if providers:
        return list(providers)
    kind, _, index = device.partition(":")
    if kind == "auto":
        kind = "cuda" if PROVIDERS["cuda"] in available else "cpu"
    if kind not in PROVIDERS or (index and not (index.isdecimal() and kind == "cuda")):
        raise ValueError(f"device must be auto, cpu, mps, cuda or cuda:<number>, got {device!r}; or give providers")
    if PROVIDERS[kind] not in available:
        raise ValueError(f"this onnxruntime cannot use {device!r}; it has: {', '.join(available)}")
    options = {"device_id": index} if index else {}
    return [(PROVIDERS[kind], options)] + ([] if kind == "cpu" else [PROVIDERS["cpu"]])
