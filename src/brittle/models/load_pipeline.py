"""A text-to-image pipeline of diffusers, from its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brittle.models.device import find_device
from brittle.models.needs import needs

EXTRA = "sliders"
PARTS = ("unet", "vae", "text_encoder", "tokenizer", "scheduler")


def load_pipeline(folder: str | Path, *, device: str = "auto", dtype: str = "auto") -> Any:
    """A text-to-image pipeline from a folder that diffusers' `save_pretrained` wrote; nothing is fetched.

    Only safetensors weights are read and no code beside them is run. A safety checker is left out, because it would
    blank images. `dtype` is "float32", "bfloat16" or "auto", which is bfloat16 on GPUs that compute in it.
    """
    torch, diffusers = needs("torch", EXTRA), needs("diffusers", EXTRA)
    place = Path(folder).expanduser()
    index = _index(place)
    device = find_device(device)
    if dtype not in ("auto", "float32", "bfloat16"):
        raise ValueError(f"dtype must be auto, float32 or bfloat16, got {dtype!r}")
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"
    without = {key: None for key in ("safety_checker",) if key in index}
    with quiet():
        try:
            pipeline = diffusers.DiffusionPipeline.from_pretrained(
                str(place),
                dtype=getattr(torch, dtype),
                use_safetensors=True,
                local_files_only=True,
                **without,
            )
        except (OSError, ValueError, KeyError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"the folder {str(folder)!r} cannot be read as a pipeline: {reason}") from error
    return pipeline.to(device)


def as_pipeline(given: Any, *, device: str = "auto", dtype: str = "auto") -> Any:
    """A loaded pipeline as it is, a folder loaded; anything else, or one without the parts we need, raises."""
    if isinstance(given, str | Path):
        return load_pipeline(given, device=device, dtype=dtype)
    lacking = [part for part in PARTS if getattr(given, part, None) is None]
    if lacking:
        raise TypeError(
            f"a pipeline is a Stable Diffusion pipeline of diffusers or its folder; "
            f"this {type(given).__name__} has no {', '.join(lacking)}"
        )
    return given


def _index(place: Path) -> dict[str, Any]:
    if not place.is_dir():
        raise FileNotFoundError(f"there is no folder {str(place)!r}; give one that diffusers' save_pretrained wrote")
    file = place / "model_index.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"the folder {str(place)!r} is no diffusers pipeline, since it has no model_index.json; "
            "give the folder that save_pretrained wrote, not one of its parts"
        )
    try:
        index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{str(file)!r} is damaged: {error}") from error
    lacking = [part for part in PARTS if part not in index]
    if lacking or not isinstance(index.get("_class_name"), str):
        raise ValueError(
            f"the folder {str(place)!r} holds a {index.get('_class_name')!r} without "
            f"{', '.join(lacking) or 'a class'}; a Stable Diffusion pipeline is needed"
        )
    return index


@contextmanager
def quiet(*packages: str) -> Iterator[None]:
    """No progress bars and hints of other libraries while files are read; by default of diffusers and transformers."""
    several = [needs(f"{package}.utils.logging", EXTRA) for package in packages or ("diffusers", "transformers")]
    shown = [(logging.is_progress_bar_enabled(), logging.get_verbosity()) for logging in several]
    try:
        for logging in several:
            logging.disable_progress_bar()
            logging.set_verbosity_error()
        yield
    finally:
        for logging, (was, loud) in zip(several, shown, strict=True):
            logging.set_verbosity(loud)
            if was:
                logging.enable_progress_bar()
