"""Files of weights: read them, write them."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._optional import require

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
