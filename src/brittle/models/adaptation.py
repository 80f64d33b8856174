"""Models that adapt to what they are shown, and can forget it; batch normalisation by statistics of test images."""

from __future__ import annotations

import copy
from typing import Any, Protocol, runtime_checkable

from brittle._errors import BrittleError, BrittleTypeError
from brittle._identity import digest
from brittle._optional import require
from brittle._types import Image
from brittle.models.model import Model, Scores, model_source
from brittle.models.torch import TorchModel


@runtime_checkable
class AdaptiveModel(Model, Protocol):
    """A model whose scores depend on the batches it was shown before, and that can forget them.

    `evaluate` resets it at the start of each stream, and before each cell of an ordinary benchmark.
    """

    def reset(self) -> None:
        """Forget all batches."""
        ...


def reset_model(model: Model) -> None:
    """Let a model forget what it was shown, if it adapts."""
    if isinstance(model, AdaptiveModel):
        model.reset()


class _Statistics:
    """The mean and variance of one layer: those of training, mixed with those of the images it is shown."""

    def __init__(self, layer: Any, prior: float, memory: float) -> None:
        self.source = layer.running_mean.clone(), layer.running_var.clone()
        self.prior, self.memory = prior, memory
        self.seen: tuple[Any, Any] | None = None

    def __call__(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        batch = inputs[0].float()
        axes = [axis for axis in range(batch.ndim) if axis != 1]
        now = batch.mean(axes), batch.var(axes, unbiased=False)
        if self.seen is not None and self.memory > 0:
            pairs = zip(self.seen, now, strict=True)
            now = tuple(self.memory * old + (1 - self.memory) * new for old, new in pairs)
        self.seen = now
        share = self.prior / (self.prior + len(batch))
        for held, source, seen in zip((layer.running_mean, layer.running_var), self.source, now, strict=True):
            held.copy_(share * source + (1 - share) * seen)


class BatchNormAdapted:
    """A network whose batch normalisation takes mean and variance from the images it is shown, not from training.

    With a `prior` of N the statistics of training count like N images (Schneider et al., 2020); 0 takes the batch alone
    (Nado et al., 2020). `memory` is the share of the statistics that is kept from batch to batch; 0 keeps nothing, so
    that only the present batch counts. Nothing is trained.
    """

    def __init__(self, model: TorchModel, *, prior: float = 0.0, memory: float = 0.0) -> None:
        torch = require("torch")
        if not isinstance(model, TorchModel):
            raise BrittleTypeError(f"batch normalisation is adapted in torch networks, got {model!r}")
        if prior < 0:
            raise BrittleError(f"prior counts images of training, so it is at least 0, got {prior}")
        if not 0 <= memory < 1:
            raise BrittleError(f"memory is the share that is kept from batch to batch, from 0 to under 1, got {memory}")
        self.prior, self.memory = prior, memory
        self._network = copy.copy(model)
        self._network.module = copy.deepcopy(model.module)
        kinds = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
        layers = [layer for layer in self._network.module.modules() if isinstance(layer, kinds)]
        self._layers = [layer for layer in layers if layer.track_running_stats]
        if not self._layers:
            raise BrittleError(
                f"{model.name!r} has no batch normalisation with statistics, so there is nothing to adapt; networks "
                "with layer normalisation, such as vision transformers, adapt in other ways"
            )
        self._statistics = [_Statistics(layer, prior, memory) for layer in self._layers]
        for layer, statistics in zip(self._layers, self._statistics, strict=True):
            layer.register_forward_pre_hook(statistics)
        settings = "".join(f"-{name}-{value:g}" for name, value in (("prior", prior), ("memory", memory)) if value)
        self.name = f"{model.name}-bn-adapt{settings}"
        self.key = digest({"model": model.key, "prior": prior, "memory": memory}, length=16)
        self.device, self.origin, self.prepare = model.device, model.origin, model.prepare

    def scores(self, images: Image) -> Scores:
        """Logits of a batch, by its own statistics."""
        return self._network.scores(images)

    def reset(self) -> None:
        """Forget all batches."""
        for layer, statistics in zip(self._layers, self._statistics, strict=True):
            statistics.seen = None
            layer.running_mean.copy_(statistics.source[0])
            layer.running_var.copy_(statistics.source[1])


@model_source("bn-adapt")
def adapt_batch_norm(
    model: str | TorchModel, *, prior: float = 0.0, memory: float = 0.0, device: str = "auto", bf16: bool = False
) -> BatchNormAdapted:
    """A network with batch normalisation that adapts to the test images: "bn-adapt:demo:standard,prior=16".

    >>> import brittle, numpy as np
    >>> model = brittle.load_model("bn-adapt:demo:standard", device="cpu")
    >>> model.scores(np.stack(list(brittle.load_dataset("demo").limited(8).images()))).shape
    (8, 10)

    Args:
        model: the text of a torch network, such as timm:resnet50, or the network.
        prior: the number of images that the statistics of training count as; 0 takes those of the batch alone.
        memory: the share of the statistics that is kept from batch to batch, from 0 to under 1.
        device: as for `load_model`.
        bf16: as for `load_model`.
    """
    from brittle.models.load import load_model

    loaded: Any = load_model(model, device=device, bf16=bf16) if isinstance(model, str) else model
    return BatchNormAdapted(loaded, prior=float(prior), memory=float(memory))
