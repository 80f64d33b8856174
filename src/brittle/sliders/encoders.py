"""Networks that see how alike images and words are: CLIP, and DINOv2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.models.device import find_device
from brittle.models.load_pipeline import EXTRA, quiet
from brittle.models.needs import needs
from brittle.models.preprocessing import Preprocessing

Rows = NDArray[np.float32]
"""One vector of length 1 for each image or text, so that products are cosines."""


class Clip:
    """A CLIP from a folder of transformers. CNS-Bench uses openai/clip-vit-base-patch16."""

    def __init__(self, folder: str | Path, *, device: str = "auto") -> None:
        transformers = needs("transformers", EXTRA)
        self.name, self.device = Path(folder).name, find_device(device)
        self.network = _load(transformers.AutoModel, folder).to(self.device).eval()
        if not hasattr(self.network, "get_text_features"):
            raise ValueError(f"the folder {str(folder)!r} holds a {type(self.network).__name__}, which is no CLIP")
        self.tokenizer = _load(transformers.AutoTokenizer, folder)
        self.processor = _load(transformers.AutoImageProcessor, folder, backend="pil")

    def images(self, images: Sequence[Image]) -> Rows:
        """What it sees in images, by its own processor."""
        torch = needs("torch")
        with torch.inference_mode():
            shown = self.processor(list(images), return_tensors="pt", input_data_format="channels_last").to(self.device)
            return unit_rows(_pooled(self.network.get_image_features(**shown)))

    def texts(self, prompts: Sequence[str]) -> Rows:
        """What it reads in prompts; what is too long for it is cut off."""
        torch = needs("torch")
        with torch.inference_mode():
            words = self.tokenizer(list(prompts), padding=True, truncation=True, return_tensors="pt").to(self.device)
            return unit_rows(_pooled(self.network.get_text_features(**words)))


class ImageEncoder:
    """A self-supervised image encoder from a folder of transformers. CNS-Bench uses DINOv2 ViT-L/14 with registers.

    The published preparation is kept: resize to 2 pixels more than the crop, 518 for DINOv2, mean 0.5 and deviation
    0.2; and so is the softmax over the class token before the cosine, without which the published threshold means
    nothing.
    """

    def __init__(
        self, folder: str | Path, *, crop: int | None = None, softmax: bool = True, device: str = "auto"
    ) -> None:
        transformers = needs("transformers", EXTRA)
        self.name, self.softmax, self.device = Path(folder).name, softmax, find_device(device)
        self.network = _load(transformers.AutoModel, folder).to(self.device).eval()
        side = crop or int(getattr(self.network.config, "image_size", 224))
        self.prepare = Preprocessing((0.5,) * 3, (0.2,) * 3, side + 2, side, "bilinear")

    def images(self, images: Sequence[Image]) -> Rows:
        """The class token, or what the network pools to if it has none."""
        torch = needs("torch")
        with torch.inference_mode():
            shown = torch.cat([self.prepare.tensor(np.asarray(image)[None], self.device) for image in images])
            seen = _pooled(self.network(pixel_values=shown.contiguous())).flatten(1).float()
            return unit_rows(seen.softmax(-1) if self.softmax else seen)


def _pooled(given: Any) -> Any:
    if hasattr(given, "pooler_output") and given.pooler_output is not None:
        return given.pooler_output
    return given.last_hidden_state[:, 0] if hasattr(given, "last_hidden_state") else given


def unit_rows(rows: Any) -> Rows:
    """Rows of length 1."""
    rows = rows.double().cpu().numpy()
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _load(kind: Any, folder: str | Path, **options: Any) -> Any:
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r}; give one that transformers' save_pretrained wrote"
        )
    if kind.__name__ == "AutoModel":
        options["use_safetensors"] = True
    try:
        with quiet("transformers"):
            return kind.from_pretrained(str(place), local_files_only=True, trust_remote_code=False, **options)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"the folder {str(folder)!r} cannot be read by {kind.__name__}: {reason}") from error
