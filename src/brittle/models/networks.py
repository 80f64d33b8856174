"""The networks that come with brittle, and files of weights."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._identity import as_data
from brittle._io import atomic_write
from brittle._optional import require
from brittle.models.model import model_source
from brittle.models.preprocessing import CIFAR_MEAN, CIFAR_STD, Preprocessing, Sides, changed
from brittle.models.torch import TorchModel

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")
WRAPPERS = ("state_dict", "model_state_dict", "model", "network", "net")
"""What training scripts call the weights inside a checkpoint."""

PREFIXES = ("module.", "_orig_mod.")
"""What DataParallel and torch.compile put before every name."""


def load_weights(path: str | Path) -> dict[str, Any]:
    """The tensors of a .safetensors or a .pt/.pth file by name, on the CPU.

    A checkpoint that wraps its weights is unwrapped, and names lose the "module." of DataParallel. Only numbers are
    read: a file that holds a whole pickled model is refused, since opening it could run any code.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of weights {str(path)!r}")
    if path.suffix not in SUFFIXES:
        raise BrittleError(f"weights are read from {', '.join(SUFFIXES)} files, got {str(path)!r}")
    state = _safetensors(path) if path.suffix == ".safetensors" else _unwrapped(_pickled(path))
    if not _is_state(state):
        raise BrittleError(
            f"{str(path)!r} holds no weights by name; it should hold what model.state_dict() gives, alone or under one "
            f"of {', '.join(WRAPPERS)}"
        )
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return state


def load_into(module: Any, path: str | Path) -> None:
    """Give a network the weights of a file; every name must fit."""
    state, wanted = load_weights(path), module.state_dict()
    prefix = f"{next(iter(state)).partition('.')[0]}."
    if not wanted.keys() & state.keys() and all(name.startswith(prefix) for name in state):
        state = {name.removeprefix(prefix): value for name, value in state.items()}
    missing, unknown = (sorted(a.keys() - b.keys()) for a, b in ((wanted, state), (state, wanted)))
    if missing or unknown:
        raise BrittleError(
            f"{str(path)!r} holds weights of another network: "
            f"it lacks {_some(missing)}, and has {_some(unknown)} that are not in this one"
        )
    for name, value in state.items():
        if value.shape != wanted[name].shape:
            raise BrittleError(
                f"{str(path)!r} holds weights of another network: {name} is {tuple(value.shape)}, and "
                f"{tuple(wanted[name].shape)} is needed; is the number of classes another one?"
            )
    module.load_state_dict(state)


def _safetensors(path: Path) -> dict[str, Any]:
    error_type = require("safetensors").SafetensorError
    try:
        state: dict[str, Any] = require("safetensors.torch").load_file(path)
    except error_type as error:
        raise BrittleError(f"{str(path)!r} is not a safetensors file, or it is cut off: {error}") from error
    return state


def _pickled(path: Path) -> Any:
    torch = require("torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickles of a kind that is refused a moment later
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise BrittleError(
            f"{str(path)!r} holds more than numbers, and opening it could run any code; save the weights alone: "
            "torch.save(model.state_dict(), path)"
        ) from error
    except (RuntimeError, EOFError) as error:
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"{str(path)!r} cannot be read as torch weights: {reason}") from error


def _unwrapped(state: Any) -> Any:
    if isinstance(state, dict) and not _is_state(state):
        return next((state[name] for name in WRAPPERS if isinstance(state.get(name), dict)), state)
    return state


def _is_state(state: Any) -> bool:
    torch = require("torch")
    return (
        isinstance(state, dict)
        and len(state) > 0
        and all(isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items())
    )


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3] + ["…"] * (len(names) > 3))
    return f"{len(names)} names ({shown})" if names else "none"


def save_weights(network: Any, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a network's weights as safetensors, its real numbers in half precision.

    `metadata` are texts that are kept beside them, such as how the network was trained. `load_weights` reads the file.
    """
    torch = require("torch")
    path = Path(path)
    if path.suffix != ".safetensors":
        raise BrittleError(f"weights are written to a .safetensors file, got {str(path)!r}")
    halves = {}
    for name, value in network.state_dict().items():
        numbers = value.detach().cpu().contiguous()
        halves[name] = numbers.half() if numbers.is_floating_point() else numbers
        if not torch.isfinite(halves[name]).all():
            raise BrittleError(f"{name} has numbers that half precision cannot hold; nothing is written")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        require("safetensors.torch").save_file(halves, part, metadata=dict(metadata or {}))


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


@model_source("weights")
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


@model_source("demo")
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
