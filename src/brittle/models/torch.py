"""A torch network as a model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._identity import canonical, class_digest, code_digest
from brittle._optional import require
from brittle._types import Image
from brittle.models.model import Scores
from brittle.models.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Prepare, Preprocessing, Sides

DEVICES = ("cpu", "cuda", "mps")


def find_device(device: str) -> str:
    """An available device: "auto" is CUDA if available, else Apple's MPS, else the CPU."""
    torch = require("torch")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device_type, _, index = device.partition(":")
    if device_type not in DEVICES or (index and (not index.isdecimal() or device_type != "cuda")):
        raise BrittleError(f"device must be auto, cpu, mps, cuda or cuda:<number>, got {device!r}")
    if device_type == "cuda" and not torch.cuda.is_available():
        raise BrittleError(f"there is no CUDA device here, but {device!r} was requested; use device='cpu' or 'auto'")
    if device_type == "cuda" and index and int(index) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise BrittleError(f"there is no {device!r}; the {count} CUDA devices here are cuda:0 to cuda:{count - 1}")
    if device_type == "mps" and not torch.backends.mps.is_available():
        raise BrittleError("there is no MPS device here, but 'mps' was requested; use device='cpu' or 'auto'")
    return device


def last_linear_input(module: Any, logits: Callable[[], Any], name: str) -> Any:
    """The input of the last linear layer while `logits()` runs, N×features.

    That is the layer that runs last (not the one defined last) among those whose output has the shape of the class
    scores.
    """
    torch = require("torch")
    calls: list[tuple[Any, Any]] = []

    def record(_: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if output.ndim == 2:
            calls.append((inputs[0], output.shape))

    hooks = [layer.register_forward_hook(record) for layer in module.modules() if isinstance(layer, torch.nn.Linear)]
    try:
        shape = logits().shape
    finally:
        for hook in hooks:
            hook.remove()
    for features, output_shape in reversed(calls):
        if output_shape == shape:
            return features
    raise BrittleError(
        f"{name!r} has no features: none of its {len(hooks)} torch.nn.Linear layers gives its class scores, so "
        "the penultimate layer is unknown"
    )


class TorchModel:
    """A classifier in torch, with its preprocessing.

    The key covers the weights, the classes of the layers with their plain settings (strides, slopes, rates), the code
    of those classes and hooks that are not of an installed package, the preprocessing and the precision, but not the
    device.
    A pickle of it holds the weights on the CPU; when loaded, it moves to the requested device, or with "auto" to the
    best available one.
    """

    classes: tuple[str, ...] = ()
    """The class names, if the file of the model has them."""

    def __init__(
        self,
        module: Any,
        name: str,
        prepare: Prepare,
        *,
        device: str = "auto",
        bf16: bool = False,
        version: str | None = None,
        key: str | None = None,
    ) -> None:
        self.name = name
        self.origin = ""
        self.prepare = prepare
        self.bf16 = bf16
        self._requested_device = device
        self.device = find_device(device)
        self.module = self._to_device(module)
        self.key = _key(module, prepare, bf16, version) if key is None else key

    def __repr__(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.module.parameters())
        kind = f"{type(self.module).__name__} with {parameters:,} parameters"
        return f"<TorchModel {self.name!r}: {kind}, on {self.device}{', bf16' if self.bf16 else ''}>"

    def scores(self, images: Image) -> Scores:
        """Logits of a batch."""
        scores: Scores = self._logits(images).float().cpu().numpy()
        return scores

    def features(self, images: Image) -> NDArray[np.float32]:
        """The input of the last linear layer, one row per image."""
        inputs = last_linear_input(self.module, lambda: self._logits(images), self.name)
        features: NDArray[np.float32] = inputs.float().cpu().numpy()
        return features

    def replica(self) -> TorchModel | None:
        """A copy for another thread: it shares the weights, but not the layers, which may keep state.

        None on devices other than the CPU, for modules with hooks or a replaced `forward`, whose state would be shared,
        and for modules whose weights cannot be shared by copies.
        """
        if self.device != "cpu" or any(map(_added_code, self.module.modules())):
            return None
        shared = {id(weight): weight for weight in (*self.module.parameters(), *self.module.buffers())}
        try:
            module = copy.deepcopy(self.module, dict(shared))
        except Exception:  # a module of any kind may refuse to be copied; then one thread uses it
            return None
        if not all(id(weight) in shared for weight in (*module.parameters(), *module.buffers())):
            return None
        model = object.__new__(type(self))
        model.__dict__.update(self.__dict__, module=module)
        return model

    def _logits(self, images: Image) -> Any:
        torch = require("torch")
        device_type = self.device.partition(":")[0]
        with torch.inference_mode(), torch.autocast(device_type, dtype=torch.bfloat16, enabled=self.bf16):
            batch = self.prepare.tensor(images, self.device)
            output = self.module(batch if self._channels_last else batch.contiguous())
        if hasattr(output, "logits"):
            output = output.logits
        if isinstance(output, tuple | list) and output:
            output = output[0]
        if not isinstance(output, torch.Tensor):
            raise BrittleTypeError(
                f"the network of {self.name!r} gives a {type(output).__name__}; it must give a tensor of class scores"
            )
        return output

    @property
    def _channels_last(self) -> bool:
        return self.device == "cpu" or (self.bf16 and self.device.startswith("cuda"))

    def _to_device(self, module: Any) -> Any:
        torch = require("torch")
        module = module.eval().to(self.device)
        return module.to(memory_format=torch.channels_last) if self._channels_last else module

    def __getstate__(self) -> dict[str, Any]:
        module = self.module if self.device == "cpu" else copy.deepcopy(self.module).cpu()
        return {**self.__dict__, "module": module}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.device = find_device(self._requested_device)
        self.module = self._to_device(self.module)


def _key(module: Any, prepare: Prepare, bf16: bool, version: str | None) -> str:
    torch = require("torch")
    layers = [(name, type(layer).__name__, _settings(layer)) for name, layer in module.named_modules()]
    description = {"layers": layers, "prepare": prepare, "bf16": bf16, "version": version}
    digest = sha256(canonical(description).encode())
    digest.update(class_digest(*(type(layer) for layer in module.modules())).encode())
    for layer in module.modules():
        for function in _added_code(layer):
            digest.update((code_digest(function) or repr(type(function))).encode())
    for name, value in sorted(module.state_dict().items()):
        if isinstance(value, torch.Tensor):
            numbers = value.detach().cpu().contiguous()
            digest.update(f"{name} {numbers.dtype} {tuple(numbers.shape)}".encode())
            digest.update(numbers.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def _added_code(layer: Any) -> list[Any]:
    """The code that was added to a layer beyond its class: hooks, and a replaced `forward`."""
    replaced = [layer.__dict__["forward"]] if "forward" in layer.__dict__ else []
    return [*replaced, *layer._forward_hooks.values(), *layer._forward_pre_hooks.values()]


def _settings(layer: Any) -> list[tuple[str, Any]]:
    """The numbers of a layer that are not weights: strides, slopes, rates."""
    numbers = (bool, int, float)
    return sorted(
        (name, value)
        for name, value in vars(layer).items()
        if name != "training"
        and not name.startswith("_")
        and (isinstance(value, numbers) or (isinstance(value, tuple) and all(isinstance(x, numbers) for x in value)))
    )


def from_torch(
    module: Any,
    *,
    name: str,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str = "bilinear",
    device: str = "auto",
    bf16: bool = False,
    version: str | None = None,
) -> TorchModel:
    """A model from a `torch.nn.Module` that takes N×3×H×W and returns logits.

    The module is put into evaluation mode and moved to the device.

    Args:
        module: the network, with its weights.
        name: the name in results.
        mean: of each channel on the scale [0, 1]; `std` likewise. By default those of ImageNet.
        size: resize images to this side first, or their shorter side if there is a `crop`; a pair is height and
            width. By default images keep their size.
        crop: the side of the central crop.
        interpolation: nearest, bilinear, bicubic, lanczos, box or hamming.
        device: "cpu", "cuda", "cuda:1", "mps", or "auto" for the best available.
        bf16: compute in bfloat16 where torch finds it safe: fast on recent GPUs, slow on most CPUs.
        version: part of the key, for changes that neither weights nor code show.
    """
    torch = require("torch")
    if not isinstance(module, torch.nn.Module):
        raise BrittleTypeError(f"a torch model is a torch.nn.Module, got {module!r} ({type(module).__name__})")
    prepare = Preprocessing(tuple(mean), tuple(std), size, crop, interpolation)
    return TorchModel(module, name, prepare, device=device, bf16=bf16, version=version)
