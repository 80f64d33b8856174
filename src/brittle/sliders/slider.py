"""A slider: the adapter of one class and one shift, and what is known about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittle._io import replacing
from brittle.models.needs import needs

WEIGHTS = "pytorch_lora_weights.safetensors"
CARD = "slider.json"
CHECKPOINT = "training.pt"
"""In the folder of a slider whose training was interrupted."""


@dataclass(frozen=True, eq=False)
class Slider:
    """A trained LoRA adapter.

    Attributes:
        prompt: the class it was trained for, in words or as a token such as "<bald eagle-22>".
        shift: the words of the shift.
        weights: "<layer>.lora_A.weight" (down) and "<layer>.lora_B.weight" (up) to tensors on the CPU.
        rank: of the adapter; `alpha`/`rank` is multiplied to it at scale 1.
        training: how it was trained.
        losses: of each training step.
    """

    prompt: str
    shift: str
    weights: Mapping[str, Any]
    rank: int = 4
    alpha: float = 1.0
    training: Mapping[str, Any] = field(default_factory=dict)
    losses: tuple[float, ...] = ()

    @property
    def layers(self) -> list[str]:
        """The paths of the layers it turns."""
        return sorted({name.rpartition(".lora_")[0] for name in self.weights})

    def save(self, folder: str | Path) -> Path:
        """Write it as a LoRA of diffusers and peft, with a small card `slider.json`.

        `pipeline.load_lora_weights(folder)` of diffusers reads it too; `load_slider` reads it back.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        lora = {"r": self.rank, "lora_alpha": self.alpha, "target_modules": self.layers, "peft_type": "LORA"}
        packed = json.dumps({f"unet.{key}": value for key, value in lora.items()}, indent=2, sort_keys=True)
        tensors = {f"unet.{name}": value.detach().cpu().contiguous() for name, value in self.weights.items()}
        with replacing(place / WEIGHTS) as part:
            metadata = {"format": "pt", "lora_adapter_metadata": packed}
            needs("safetensors.torch").save_file(tensors, part, metadata=metadata)
        card = {
            "prompt": self.prompt,
            "shift": self.shift,
            "rank": self.rank,
            "alpha": self.alpha,
            "training": dict(self.training),
            "losses": list(self.losses),
        }
        with replacing(place / CARD) as part:
            part.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return place
