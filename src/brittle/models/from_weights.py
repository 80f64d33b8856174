"""Networks that brittle trained: weights with all that is needed to test them, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.models.load_weights import load_into, load_weights
from brittle.models.needs import needs
from brittle.models.network import build_network
from brittle.models.preprocessing import Preprocessing, changed
from brittle.models.resize import Sides
from brittle.models.save_weights import save_weights
from brittle.models.torch_model import TorchModel

KEYS = ("network", "classes", "mean", "std")


def save_trained(
    network: Any,
    path: str | Path,
    spec: str,
    classes: Sequence[str],
    mean: Sequence[float],
    std: Sequence[float],
    about: Mapping[str, str] | None = None,
) -> None:
    """Write weights together with what builds the network (see `build_network`) and what it expects of images.

    `about` are further texts, such as how it was trained; `from_weights` makes a model of the file.
    """
    how = {"network": spec, "classes": list(classes), "mean": list(mean), "std": list(std)}
    texts = {key: json.dumps(value) for key, value in how.items()}
    save_weights(network, path, {**texts, **(about or {})})


def from_weights(
    path: str | Path,
    *,
    name: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> TorchModel:
    """A model from a file that `brittle train` or `brittle overlap` wrote; its name is the file's unless given.

    `mean`, `std`, `size`, `crop` and `interpolation` replace those that it was trained with, see `from_torch`.
    """
    path = Path(path)
    load_weights(path)  # a missing or broken file is told here
    with needs("safetensors").safe_open(path, "pt") as file:
        texts = file.metadata() or {}
    lacking = [key for key in KEYS if key not in texts]
    if lacking:
        raise ValueError(
            f"{str(path)!r} holds weights, but not of which network ({', '.join(lacking)} is not written in it); "
            f"write a function that makes it, and give it the weights: FILE.py:FUNCTION,weights={path}"
        )
    spec, classes, *trained = (json.loads(texts[key]) for key in KEYS)
    network = build_network(spec, len(classes))
    load_into(network, path)
    shown = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    prepare = changed(Preprocessing(tuple(trained[0]), tuple(trained[1])), **shown)
    model = TorchModel(network, name or path.stem, prepare, device=device, bf16=bf16)
    model.classes = tuple(classes)
    return model
