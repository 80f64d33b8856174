"""A CLIP as open_clip writes it, and whichever CLIP a folder holds."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pil

from brittle.arrays import Image
from brittle.models.device import find_device
from brittle.models.needs import needs
from brittle.sliders.encoders import Clip, Rows, unit_rows

CONFIG = "open_clip_config.json"
PACKAGE = "open_clip_torch"


class OpenClip:
    """A CLIP from a folder of open_clip: its config, and open_clip_pytorch_model.safetensors or .bin."""

    def __init__(self, folder: str | Path, *, device: str = "auto") -> None:
        place = Path(folder).expanduser()
        self.name, self.device = place.name, find_device(device)
        if not (place / CONFIG).is_file():
            raise FileNotFoundError(f"{str(folder)!r} is no folder of open_clip, since it has no {CONFIG}")
        open_clip = _open_clip()
        spec = f"local-dir:{place.resolve()}"
        try:
            self.network, self.prepare = open_clip.create_model_from_pretrained(spec, device=self.device)
            self.tokenizer = open_clip.get_tokenizer(spec)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"the folder {str(folder)!r} cannot be read by open_clip: {reason}") from error
        self.network.eval()

    def images(self, images: Sequence[Image]) -> Rows:
        """What it sees in images, prepared as its config says."""
        torch = needs("torch")
        with torch.inference_mode():
            shown = torch.stack([self.prepare(Pil.fromarray(np.asarray(image))) for image in images])
            return unit_rows(self.network.encode_image(shown.to(self.device)))

    def texts(self, prompts: Sequence[str]) -> Rows:
        """What it reads in prompts; what is too long for it is cut off."""
        torch = needs("torch")
        with torch.inference_mode():
            return unit_rows(self.network.encode_text(self.tokenizer(list(prompts)).to(self.device)))


def load_clip(folder: str | Path, *, device: str = "auto") -> Clip | OpenClip:
    """The CLIP of a folder that transformers or open_clip wrote; of one with both, that of transformers."""
    place = Path(folder).expanduser()
    if (place / CONFIG).is_file() and not (place / "config.json").is_file():
        return OpenClip(folder, device=device)
    return Clip(folder, device=device)


def _open_clip() -> Any:
    if find_spec("open_clip") is None:
        raise ModuleNotFoundError(
            f"this folder was written by open_clip, which is not installed: pip install {PACKAGE}; or give a folder "
            "of transformers"
        )
    needs("torchvision", PACKAGE)  # which open_clip imports first
    return needs("open_clip", PACKAGE)
