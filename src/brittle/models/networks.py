"""Small networks that are trained here, and the bundled ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._identity import as_data
from brittle._optional import require
from brittle.models.preprocessing import CIFAR_MEAN, CIFAR_STD, Preprocessing, Sides, changed
from brittle.models.torch import TorchModel
from brittle.models.weights import load_into, load_weights, save_weights


def build_network(spec: str, classes: int, *, seed: int = 0) -> Any:
    """A new network: "small" or "small:WIDTH" (our ResNet for small images), or "timm:NAME".

    The initial weights depend on the seed alone; torch's global generator is left as it was.
    """
    torch = require("torch")
    kind, _, rest = spec.partition(":")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "small":
            if rest and not rest.isdecimal():
                raise BrittleError(f"the width of a small network is a whole number, as in small:12; got {spec!r}")
            from brittle.models.small_resnet import WIDTH, SmallResNet

            return SmallResNet(classes, int(rest) if rest else WIDTH)
        if kind == "timm" and rest:
            from brittle.models.hubs import from_timm

            return from_timm(rest, pretrained=False, classes=classes, device="cpu").module
    raise BrittleError(f"a network to train is small, small:WIDTH or timm:NAME, got {spec!r}")


KEYS = ("network", "classes", "mean", "std")


def save_trained(
    network: Any,
    path: str | Path,
    spec: str,
    classes: Sequence[str],
    mean: Sequence[float],
    std: Sequence[float],
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write weights together with what builds the network (see `build_network`) and what it expects of images.

    `about` is further data, such as how it was trained; `from_weights` makes a model of the file.
    """
    how = {"network": spec, "classes": classes, "mean": mean, "std": std, **(about or {})}
    save_weights(network, path, {key: json.dumps(as_data(value)) for key, value in how.items()})


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
    with require("safetensors").safe_open(path, "pt") as file:
        texts = file.metadata() or {}
    lacking = [key for key in KEYS if key not in texts]
    if lacking:
        raise BrittleError(
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


DEMO_MODELS = ("standard", "augmix")
DEMO_WEIGHTS = Path(__file__).parent / "demo_weights"


def demo_model(
    which: str, *, device: str = "auto", bf16: bool = False, folder: str | Path = DEMO_WEIGHTS
) -> TorchModel:
    """A bundled network for 32×32 images: "standard", trained with flips and crops, or "augmix", with AugMix as well.

    `folder` holds the weights, <which>.safetensors; by default the package's own.
    """
    if which not in DEMO_MODELS:
        raise BrittleError(f"the demo models are {' and '.join(DEMO_MODELS)}, got {which!r}")
    path = Path(folder) / f"{which}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"there are no weights {str(path)!r}; is the package installed completely?")
    require("torch")
    from brittle.models.small_resnet import SmallResNet

    network = SmallResNet()
    load_into(network, path)
    return TorchModel(network, f"demo-{which}", Preprocessing(CIFAR_MEAN, CIFAR_STD), device=device, bf16=bf16)
