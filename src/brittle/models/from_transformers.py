"""Any image classifier in the format of Hugging Face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.models.needs import needs
from brittle.models.torch_model import TorchModel


def from_transformers(
    folder_or_id: str | Path, *, name: str | None = None, device: str = "auto", bf16: bool = False
) -> TorchModel:
    """An image classifier from a folder, or from the Hugging Face hub by its id, shown images by its own processor.

    Only safetensors weights are read, and no code that comes with them is run. The processor works in Pillow, also
    where torchvision is installed, so that a model sees the same pixels everywhere. Images that already have the
    final size are neither resized nor cropped.

    Args:
        folder_or_id: what `save_pretrained` wrote, or an id such as "google/vit-base-patch16-224".
        name: what results call it; by default the last part of the folder or id.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 where torch finds it safe.
    """
    needs("torch")
    transformers = needs("transformers")
    place = Path(folder_or_id).expanduser()
    local = place.is_dir()
    if local and not list(place.glob("*.safetensors")):
        raise FileNotFoundError(
            f"the folder {str(folder_or_id)!r} has no .safetensors weights, and others are not read; load it once "
            "where you trust it, and write it again with save_pretrained"
        )
    source = str(place if local else folder_or_id)
    try:
        network, loading = transformers.AutoModelForImageClassification.from_pretrained(
            source, use_safetensors=True, local_files_only=local, trust_remote_code=False, output_loading_info=True
        )
        processor = transformers.AutoImageProcessor.from_pretrained(
            source, backend="pil", local_files_only=local, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        what = "the folder" if local else "there is no folder, and the hub gave no model,"
        raise type(error)(f"{what} {source!r} cannot be used as an image classifier: {reason}") from error
    if loading["missing_keys"]:
        missing = ", ".join(sorted(loading["missing_keys"])[:3])
        raise ValueError(f"{source!r} is no trained classifier: it has no weights {missing}")
    model = TorchModel(network, name or place.name, Processor(processor), device=device, bf16=bf16)
    names = network.config.id2label
    if names != {number: f"LABEL_{number}" for number in names}:
        model.classes = tuple(str(names[number]) for number in sorted(names))
    return model


class Processor:
    """The preprocessing of a Hugging Face image processor."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor

    @property
    def fingerprint(self) -> str:
        """Its configuration."""
        return str(self.processor.to_json_string())

    @property
    def square(self) -> int | None:
        """The side of the square that the network sees; None if it is none, or as large as the images."""
        cropped = _side(getattr(self.processor, "crop_size", None)) if self._does("center_crop") else None
        return cropped or (_side(getattr(self.processor, "size", None)) if self._does("resize") else None)

    @property
    def in_words(self) -> str:
        """Size, crop, mean and std in one line."""
        words = [f"resized to {_side(self.processor.size) or self.processor.size}"] if self._does("resize") else []
        if self._does("center_crop"):
            words.append(f"central {_side(self.processor.crop_size) or self.processor.crop_size}")
        shown = ", ".join(words) or "images at their own size"
        if not self._does("normalize"):
            return shown
        mean, std = (
            " ".join(f"{number:.3g}" for number in numbers)
            for numbers in (self.processor.image_mean, self.processor.image_std)
        )
        return f"{shown}; mean {mean}, std {std}"

    def _does(self, what: str) -> bool:
        return bool(getattr(self.processor, f"do_{what}", False))

    def tensor(self, images: Image, device: str) -> Any:
        """The network's input N×3×H×W."""
        import torch

        as_is = len(images) > 0 and self._call(images[:1]).shape[-2:] == images.shape[1:3]
        shown = self._call(images, do_resize=False, do_center_crop=False) if as_is else self._call(images)
        return torch.from_numpy(np.asarray(shown, np.float32)).to(device)

    def _call(self, images: Image, **options: bool) -> Any:
        shown = self.processor(list(images), return_tensors="np", input_data_format="channels_last", **options)
        return shown["pixel_values"]


def _side(size: Any) -> int | None:
    """The side of a square, or the length of a short side, as processors write it; None if it is something else."""
    known = dict(size) if size is not None else {}
    sides = {known[key] for key in ("shortest_edge", "height", "width") if known.get(key) is not None}
    return int(sides.pop()) if len(sides) == 1 else None
