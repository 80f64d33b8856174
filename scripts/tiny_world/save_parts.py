"""Networks to folders of diffusers and transformers, in half precision."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import torch


def save_half(network: Any, folder: Path) -> None:
    """Weights in half precision, and a card that has them computed with in single precision."""
    copy.deepcopy(network).half().save_pretrained(folder)
    single(folder / "config.json")


def save_pipeline(pipeline: Any, folder: Path) -> None:
    """A whole pipeline of diffusers."""
    copy.deepcopy(pipeline).to(torch.float16, silence_dtype_warnings=True).save_pretrained(folder)
    single(folder / "text_encoder" / "config.json")


def single(file: Path) -> None:
    """What is read from half precision is to be computed with in single precision."""
    config = json.loads(file.read_text(encoding="utf-8"))
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        if "dtype" in part:
            part["dtype"] = "float32"
        part.pop("_name_or_path", None)
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def size(folder: Path) -> int:
    """Bytes of all files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
