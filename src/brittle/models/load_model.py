"""A model from a short text, as on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brittle.datasets.near import nearest
from brittle.models.demo_models import demo_model
from brittle.models.diffusion_folder import diffusion_folder
from brittle.models.from_function import from_function
from brittle.models.from_onnx import from_onnx
from brittle.models.from_timm import from_timm
from brittle.models.from_torchvision import from_torchvision
from brittle.models.from_transformers import from_transformers
from brittle.models.from_weights import from_weights
from brittle.models.model import Model

SCHEMES: dict[str, Callable[..., Model]] = {
    "demo": demo_model,
    "timm": from_timm,
    "torchvision": from_torchvision,
    "transformers": from_transformers,
    "onnx": from_onnx,
    "weights": from_weights,
    "torch": from_function,
    "diffusion": diffusion_folder,
}
"""What makes the model of each scheme."""

FORMS = (
    "demo:standard, demo:augmix, timm:NAME, torchvision:NAME, transformers:FOLDER_OR_ID, FILE.onnx, "
    "FILE.safetensors, FILE.py:FUNCTION, torch:MODULE:FUNCTION, diffusion:FOLDER:PROMPTS.txt"
)


def load_model(spec: str | Path | Model, *, device: str = "auto", bf16: bool = False, **options: Any) -> Model:
    """A model by a text: "demo:standard", "timm:resnet50", "net.onnx", "nets.py:make", and more.

    Args:
        spec: demo:NAME, timm:NAME, torchvision:NAME, transformers:FOLDER_OR_ID, onnx:FILE or just FILE.onnx,
            weights:FILE or just FILE.safetensors for a network that brittle trained, FILE.py:FUNCTION or
            torch:MODULE:FUNCTION, diffusion:FOLDER:PROMPTS.txt. A model is given back as it is.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 where torch finds it safe; an ONNX file has its own precision.
        options: those of the function that makes the model, such as checkpoint="net.safetensors" or size=224.
    """
    if not isinstance(spec, str | Path):
        if not isinstance(spec, Model):
            raise TypeError(f"a model is a text such as timm:resnet50, or has name, key and scores; got {spec!r}")
        if options:
            raise TypeError(f"a model that is there already takes no options, got {', '.join(options)}")
        return spec
    scheme, rest = _parts(spec)
    maker = SCHEMES[scheme]
    known = [key for key, part in inspect.signature(maker).parameters.items() if part.kind == part.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise TypeError(f"{scheme} has no option {option!r}; it has: {', '.join(known)}")
    if bf16 and "bf16" not in known:
        raise ValueError(f"{str(spec)!r} has its own precision; leave bf16 out")
    how = {"device": device, **({"bf16": bf16} if "bf16" in known else {})}
    return maker(rest, **how, **options)


def _parts(spec: str | Path) -> tuple[str, str]:
    text = str(spec)
    scheme, colon, rest = text.partition(":")
    if Path(text).suffix == ".onnx" and scheme not in SCHEMES:
        return "onnx", text
    if Path(text).suffix == ".safetensors" and scheme not in SCHEMES:
        return "weights", text
    if ".py:" in text and scheme not in SCHEMES:
        return "torch", text
    if not colon or len(scheme) == 1:  # one letter is a drive
        hint = f"did you mean {text}:…?" if text in SCHEMES else _hint(text)
        raise ValueError(f"{text!r} does not say what kind of model it is; {hint}")
    if scheme not in SCHEMES:
        raise ValueError(f"there is no kind of model {scheme!r}; {nearest(scheme, SCHEMES)}")
    if not rest:
        raise ValueError(f"{text!r} has no name; write one of {FORMS}")
    return scheme, rest


def _hint(text: str) -> str:
    if Path(text).is_dir():
        return f"a folder of Hugging Face is transformers:{text}"
    if Path(text).is_file():
        return f"for weights, write the function that makes the network, FILE.py:FUNCTION, and give weights={text!r}"
    return f"write one of {FORMS}"
