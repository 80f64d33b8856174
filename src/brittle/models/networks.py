"""The networks that come with brittle, and files of weights."""

from __future__ import annotations

import json
import pickle
import platform
import re
import warnings
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle._identity import as_data
from brittle._io import atomic_write
from brittle._optional import model_errors, public_callables, require, run_file
from brittle.models.model import model_source
from brittle.models.preprocessing import (
    CIFAR_MEAN,
    CIFAR_STD,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Preprocessing,
    Sides,
    changed,
)
from brittle.models.torch import TorchModel

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")
WRAPPERS = ("state_dict", "model_state_dict", "model", "network", "net")
"""Keys of the weights in the checkpoints of common training scripts."""

PREFIXES = ("module.", "_orig_mod.")
"""Prefixes that DataParallel and torch.compile add to every name."""


def load_weights(path: str | Path) -> dict[str, Any]:
    """The tensors of a .safetensors or a .pt/.pth file by name, on the CPU.

    A checkpoint that wraps its weights is unwrapped, and names lose the "module." of DataParallel. Only tensors are
    read: a file that holds a pickled model raises, since loading it could run any code.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of weights {str(path)!r}")
    if path.suffix not in SUFFIXES:
        raise BrittleError(f"weights are read from {', '.join(SUFFIXES)} files, got {str(path)!r}")
    state = _safetensors(path) if path.suffix == ".safetensors" else _unwrapped(_pickled(path))
    if not _is_state(state):
        raise BrittleError(
            f"{str(path)!r} holds no named weights; it should hold model.state_dict(), alone or under one "
            f"of {', '.join(WRAPPERS)}"
        )
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return state


def load_into(module: Any, path: str | Path) -> None:
    """Load the weights of a file into a network; every name and shape must match."""
    state, expected = load_weights(path), module.state_dict()
    prefix = f"{next(iter(state)).partition('.')[0]}."
    if not expected.keys() & state.keys() and all(name.startswith(prefix) for name in state):
        state = {name.removeprefix(prefix): value for name, value in state.items()}
    missing, unexpected = (sorted(a.keys() - b.keys()) for a, b in ((expected, state), (state, expected)))
    if missing or unexpected:
        raise BrittleError(
            f"{str(path)!r} holds weights of another network: "
            f"it lacks {_listed(missing)}, and has {_listed(unexpected)} that are unexpected"
        )
    for name, value in state.items():
        if value.shape != expected[name].shape:
            raise BrittleError(
                f"{str(path)!r} holds weights of another network: {name} is {tuple(value.shape)}, and "
                f"{tuple(expected[name].shape)} is expected; does the number of classes differ?"
            )
    module.load_state_dict(state)


def find_weights(start: str | Path, network: str, classes: int) -> Path:
    """The file of weights that `start` names, a file or `demo:NAME`, once it is sure that they fit the network."""
    path = weights_file(start)
    load_into(build_network(network, classes), path)
    return path


def weights_file(start: str | Path) -> Path:
    """The file of weights that a text names: a path, `demo:NAME`, or `tiny:NAME`, a classifier of the demo pipeline."""
    scheme, _, name = str(start).partition(":")
    if scheme == "demo" and name:
        return DEMO_WEIGHTS / f"{name}.safetensors"
    if scheme == "tiny" and name:
        file: Path = import_module("brittle.sliders.demo_pipeline").load_demo_pipeline().weights(name)
        return file
    return Path(start)


def _safetensors(path: Path) -> dict[str, Any]:
    error_type = require("safetensors").SafetensorError
    try:
        state: dict[str, Any] = require("safetensors.torch").load_file(path)
    except error_type as error:
        raise BrittleError(f"{str(path)!r} is not a safetensors file, or it is truncated: {error}") from error
    return state


def _pickled(path: Path) -> Any:
    torch = require("torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickles that raise below
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise BrittleError(
            f"{str(path)!r} holds more than tensors, and loading it could run any code; save only the weights: "
            "torch.save(model.state_dict(), path)"
        ) from error
    except (RuntimeError, EOFError, LookupError, ValueError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        # of a text file pickle reads letters as instructions, and fails in any way
        error = error if isinstance(error, RuntimeError | EOFError) else RuntimeError("it is no file of torch.save")
        reason = str(error).partition("\n")[0] or "it is empty or truncated"
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


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3] + ["…"] * (len(names) > 3))
    return f"{len(names)} names ({shown})" if names else "none"


def save_weights(
    network: Any, path: str | Path, metadata: Mapping[str, str] | None = None, *, half: bool = False
) -> None:
    """Write a network's weights as safetensors, as precise as they are.

    `metadata` is stored in the same file, such as how the network was trained. `load_weights` reads the file. With
    `half` floats are rounded to half precision, which halves the file; so are the weights that come with brittle.
    """
    torch = require("torch")
    path = Path(path)
    if path.suffix != ".safetensors":
        raise BrittleError(f"weights are written to a .safetensors file, got {str(path)!r}")
    tensors = {}
    for name, value in network.state_dict().items():
        numbers = value.detach().cpu().contiguous()
        tensors[name] = numbers.half() if half and numbers.is_floating_point() else numbers
        if not torch.isfinite(tensors[name]).all():
            kind = "finite in half precision" if half else "finite"
            raise BrittleError(f"{name} has values that are not {kind}; nothing is written")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        require("safetensors.torch").save_file(tensors, part, metadata=dict(metadata or {}))


NETWORKS = "small, small:WIDTH, wide-resnet-40-2, timm:NAME, torchvision:NAME or FILE.py:FUNCTION"
WIDE = re.compile(r"wide-resnet-(\d+)-(\d+)")
"""Depth and width; a depth is 6n + 4."""


def build_network(spec: str, classes: int, *, seed: int = 0) -> Any:
    """A new network for images N×3×H×W.

    "small" or "small:WIDTH" is our ResNet for small images, "wide-resnet-40-2" that of AugMix and MSD (or another depth
    and width), "timm:NAME" and "torchvision:NAME" are theirs with new weights, and "FILE.py:FUNCTION" a function of the
    number of classes that returns a `torch.nn.Module`: that code is run, so it must be code that you trust. The initial
    weights depend only on the seed; the state of torch's global generator is kept.
    """
    torch = require("torch")
    family, _, variant = spec.partition(":")
    wide = WIDE.fullmatch(spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if family == "small":
            if variant and not variant.isdecimal():
                raise BrittleError(f"the width of a small network is a whole number, as in small:12; got {spec!r}")
            from brittle.models.small_resnet import WIDTH, SmallResNet

            return SmallResNet(classes, int(variant) if variant else WIDTH)
        if wide is not None:
            depth, width = int(wide[1]), int(wide[2])
            if depth < 10 or depth % 6 != 4 or width < 1:
                raise BrittleError(f"the depth of a wide ResNet is 6n + 4, such as 16, 28 or 40; got {spec!r}")
            from brittle.models.wide_resnet import WideResNet

            return WideResNet(classes, depth, width)
        if family == "timm" and variant:
            from brittle.models.hubs import from_timm

            return from_timm(variant, pretrained=False, classes=classes, device="cpu").module
        if family == "torchvision" and variant:
            from brittle.models.hubs import from_torchvision

            return from_torchvision(variant, weights=None, classes=classes, device="cpu").module
        if is_user_network(spec):
            return _user_network(spec, classes)
    raise BrittleError(f"a network to train is {NETWORKS}, got {spec!r}")


def is_user_network(spec: str) -> bool:
    """Whether a network is a function of a user's file."""
    return ".py:" in spec


def network_key(spec: str) -> str | None:
    """A digest of the file that builds a user's network; None for all others, which their name identifies."""
    if not is_user_network(spec):
        return None
    path = Path(spec.rpartition(":")[0]).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no Python file {str(path)!r}")
    return sha256(path.read_bytes()).hexdigest()[:12]


def network_normalisation(spec: str) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Mean and standard deviation that a network is made for: those of its configuration, or of CIFAR-10 for ours."""
    family, _, variant = spec.partition(":")
    if family == "timm" and variant:
        from brittle.models.hubs import from_timm

        prepare = from_timm(variant, pretrained=False, device="cpu").prepare
        return _three(prepare.mean), _three(prepare.std)  # type: ignore[attr-defined]
    if family == "torchvision" and variant:
        return IMAGENET_MEAN, IMAGENET_STD
    if family == "small" or WIDE.fullmatch(spec):
        return CIFAR_MEAN, CIFAR_STD
    raise BrittleError(
        f"{spec!r} does not say how it normalises images; normalise by the dataset, or give mean and std"
    )


def _three(numbers: Sequence[float]) -> tuple[float, float, float]:
    first, second, third = map(float, numbers)
    return first, second, third


def _user_network(spec: str, classes: int) -> Any:
    """The module that a function of a file returns for a number of classes."""
    torch = require("torch")
    file, _, name = spec.rpartition(":")
    module = run_file(file)
    if not hasattr(module, name):
        raise BrittleError(f"{file!r} has no {name!r}; {did_you_mean(name, public_callables(module))}")
    with model_errors(spec, "while it was made"):
        network = getattr(module, name)(classes)
    if not isinstance(network, torch.nn.Module):
        raise BrittleTypeError(f"{spec!r} returned {network!r}; a network to train is a torch.nn.Module")
    return network


KEYS = ("network", "classes", "mean", "std")


def save_trained(
    network: Any,
    path: str | Path,
    spec: str,
    classes: Sequence[str],
    mean: Sequence[float],
    std: Sequence[float],
    about: Mapping[str, Any] | None = None,
    *,
    half: bool = False,
) -> None:
    """Write weights together with the spec of the network (see `build_network`), its classes and its normalisation.

    `about` is further metadata, such as how it was trained; `size` and `crop` in it are those of its preprocessing.
    `from_weights` loads a model from the file; `half` is as in `save_weights`.
    """
    metadata = {"network": spec, "classes": classes, "mean": mean, "std": std, **(about or {})}
    metadata["made_with"] = made_with()
    save_weights(network, path, {key: json.dumps(as_data(value)) for key, value in metadata.items()}, half=half)


def made_with() -> dict[str, Any]:
    """What the last bits of trained weights depend on beside the settings: torch, its threads, and the processor.

    Convolutions and normalisations add the shares of threads, so another number of threads rounds in other places.
    """
    torch = require("torch")
    about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "processor": platform.machine()}
    return {**about, "capability": torch.backends.cpu.get_cpu_capability()}


def trained_metadata(path: str | Path) -> dict[str, Any]:
    """What `save_trained` wrote beside weights: network, classes, mean, std, and perhaps size and crop.

    It is empty for a file that does not say which network it is of.
    """
    if Path(path).suffix != ".safetensors" or not Path(path).is_file():
        return {}
    try:
        texts = _texts(Path(path))
    except require("safetensors").SafetensorError:
        return {}  # `load_weights` says what is wrong with the file
    if not set(KEYS) <= texts.keys():
        return {}
    return {key: _json_text(texts[key]) for key in (*KEYS, "size", "crop") if key in texts}


def _texts(path: Path) -> dict[str, str]:
    with require("safetensors").safe_open(path, "pt") as file:
        return dict(file.metadata() or {})


def _json_text(text: str, otherwise: Any = None) -> Any:
    """A value of JSON; something else if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


@model_source("weights")
def from_weights(
    path: str | Path,
    *,
    name: str | None = None,
    network: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> TorchModel:
    """A model from a file that `brittle augment train` or `brittle design overlap` wrote, named after it by default.

    `mean`, `std`, `size`, `crop` and `interpolation` replace those of its training, see `from_torch`. A file does not
    make code run: if its network is a function of a Python file, say by `network` that you mean that code.
    """
    path = Path(path)
    load_weights(path)  # raises on a missing or damaged file
    metadata = _texts(path)
    missing = [key for key in KEYS if key not in metadata]
    if missing:
        raise BrittleError(
            f"{str(path)!r} holds weights, but not their network (its metadata lacks {', '.join(missing)}); "
            f"write a function that builds it, and give it the weights: FILE.py:FUNCTION,weights={path}"
        )
    spec, classes, *normalisation = (_json_text(metadata[key]) for key in KEYS)
    lists = all(isinstance(value, list) for value in (classes, *normalisation))
    if not isinstance(spec, str) or not lists or not all(isinstance(name, str) for name in classes):
        raise BrittleError(
            f"{str(path)!r} says that its network is {spec!r}, its classes {classes!r} and its normalisation "
            f"{normalisation!r}; they must be a text, a list of texts and lists, as `brittle augment train` writes them"
        )
    if is_user_network(spec) and network is None:
        raise BrittleError(
            f"the network of {str(path)!r} is built by the code of {spec}; if you trust it, write {path},network={spec}"
        )
    module = build_network(network or spec, len(classes))
    load_into(module, path)
    overrides = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    texts = (metadata.get(key, "null") for key in ("size", "crop"))
    trained_size, trained_crop = (_json_text(text, text[:40]) for text in texts)
    try:
        prepare = Preprocessing(tuple(normalisation[0]), tuple(normalisation[1]), trained_size, trained_crop)
    except (ValueError, TypeError) as error:
        raise BrittleError(f"{str(path)!r} does not say how its network sees images: {error}") from error
    prepare = changed(prepare, **overrides)
    model = TorchModel(module, name or path.stem, prepare, device=device, bf16=bf16)
    model.classes = tuple(classes)
    return model


DEMO_MODELS = ("standard", "augmix")
DEMO_WEIGHTS = Path(__file__).parent / "demo_weights"


@model_source("demo")
def demo_model(
    which: str, *, device: str = "auto", bf16: bool = False, folder: str | Path = DEMO_WEIGHTS
) -> TorchModel:
    """A bundled network for 32×32 images: "standard", trained with flips and crops, or "augmix", also with AugMix.

    `folder` holds the weights, <which>.safetensors; by default those of the package.
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
