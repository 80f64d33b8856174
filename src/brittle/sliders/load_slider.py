"""Sliders from disk: our own, and the published adapters of CNS-Bench."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from brittle.models.load_weights import load_weights
from brittle.models.needs import needs
from brittle.sliders.placement import slider_layers
from brittle.sliders.slider import CARD, WEIGHTS, Slider

PREFIX = "lora_unet_"
ENDS = {".lora_down.weight": "lora_A", ".lora_up.weight": "lora_B"}
NAME = re.compile(r"(?P<shift>.+?)_class_(?P<number>\d+)(?:_alpha.*)?")
"""`cartoon_style_class_002_alpha1.0_rank4_noxattn`."""


def load_slider(folder: str | Path) -> Slider:
    """A slider that `Slider.save` wrote; its `slider.json` must be beside the weights."""
    place = Path(folder).expanduser()
    for name in (WEIGHTS, CARD):
        if not (place / name).is_file():
            raise FileNotFoundError(
                f"{str(folder)!r} is no slider, since it has no {name}; give the folder that Slider.save wrote, "
                "or read a published .pt file with load_published_slider"
            )
    try:
        card = json.loads((place / CARD).read_text(encoding="utf-8"))
        prompt, shift, rank, alpha = (card[key] for key in ("prompt", "shift", "rank", "alpha"))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the card {str(place / CARD)!r} is damaged: {error!r}") from error
    weights = {name.removeprefix("unet."): value for name, value in load_weights(place / WEIGHTS).items()}
    return Slider(prompt, shift, weights, rank, alpha, card.get("training", {}), tuple(card.get("losses", ())))


def load_published_slider(path: str | Path, pipeline: Any, *, prompt: str, shift: str | None = None) -> Slider:
    """A `.pt` adapter of CNS-Bench or of concept sliders, such as `cartoon_style_class_002_…_last.pt`.

    Names in such a file have lost their dots, so the pipeline it was trained on is needed to find the layers again.
    Only numbers are read: a file that holds code is refused.

    Args:
        path: the file; its layers are `lora_unet_<layer>.lora_down.weight`, `.lora_up.weight` and `.alpha`.
        pipeline: a Stable Diffusion 2 pipeline, for the published ones.
        prompt: the class the adapter is for, a token such as "<tiger shark-3>".
        shift: by default what the file's name says.
    """
    needs("torch")
    file = Path(path)
    if shift is None:
        found = NAME.match(file.stem)
        if found is None:
            raise ValueError(
                f"the name {file.name!r} does not say which shift it is, as heavy_snow_class_002 does; give shift="
            )
        shift = found["shift"].replace("_", " ")
    state = load_weights(file)
    paths = {PREFIX + path.replace(".", "_"): path for path in slider_layers(pipeline.unet)}
    weights: dict[str, Any] = {}
    alphas, ranks = set(), set()
    for name, value in state.items():
        bare, dot, end = name.partition(".")
        if bare not in paths:
            raise ValueError(
                f"{str(path)!r} is no slider of this pipeline: it turns {bare!r}, which is none of the UNet's "
                f"{len(paths)} layers; load the pipeline it was trained on"
            )
        if end == "alpha":
            alphas.add(float(value))
        elif dot + end in ENDS:
            weights[f"{paths[bare]}.{ENDS[dot + end]}.weight"] = value.float()
            ranks.add(int(value.shape[0] if end.startswith("lora_down") else value.shape[1]))
        else:
            raise ValueError(f"{str(path)!r} holds {name!r}; a slider holds lora_down, lora_up and alpha only")
    if len(ranks) != 1 or len(alphas) > 1:
        raise ValueError(f"{str(path)!r} mixes ranks {sorted(ranks)} or alphas {sorted(alphas)}; a slider has one each")
    [rank] = ranks
    return Slider(prompt, shift, weights, rank, alphas.pop() if alphas else float(rank), {"file": file.name})
