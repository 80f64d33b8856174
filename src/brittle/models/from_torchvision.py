"""Any classifier of torchvision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle.datasets.near import nearest
from brittle.models.load_weights import load_into
from brittle.models.needs import needs
from brittle.models.preprocessing import Preprocessing, changed
from brittle.models.resize import Sides
from brittle.models.torch_model import TorchModel


def from_torchvision(
    architecture: str,
    *,
    name: str | None = None,
    weights: str | Path | None = "DEFAULT",
    classes: int | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    size: int | Sides | None = None,
    crop: int | Sides | None = None,
    interpolation: str | None = None,
    device: str = "auto",
    bf16: bool = False,
) -> TorchModel:
    """A classifier that torchvision knows by name, shown images as its published weights want them.

    Args:
        architecture: such as "resnet50".
        name: what results call it; by default the architecture.
        weights: "DEFAULT" for the best published ones, another name of published ones such as "IMAGENET1K_V1", a file,
            or None for random ones. A file is shown images as the default weights are.
        classes: outputs of the last layer, for weights of a file.
        mean: instead of that of its configuration, as are `std`, `size`, `crop` and `interpolation`, see `from_torch`.
        device: "cpu", "cuda", "cuda:1", "mps" or "auto".
        bf16: compute in bfloat16 where torch finds it safe.
    """
    needs("torch")
    models = needs("torchvision.models")
    known = models.list_models(module=models)
    if architecture not in known:
        raise ValueError(f"torchvision has no classifier {architecture!r}; {nearest(architecture, known)}")
    published = models.get_model_weights(architecture)
    from_file = weights is not None and Path(weights).suffix != ""
    chosen = published.DEFAULT if weights is None or from_file else _named(published, str(weights), architecture)
    try:
        network = models.get_model(
            architecture,
            weights=None if weights is None or from_file else chosen,
            **({} if classes is None else {"num_classes": classes}),
        )
    except OSError as error:
        raise OSError(
            f"the weights of {architecture!r} could not be fetched; without a network, give a file of them, "
            f"torchvision:{architecture},weights=FILE, or take random ones, weights=none ({error})"
        ) from error
    if from_file:
        load_into(network, str(weights))
    shown = {"mean": mean, "std": std, "size": size, "crop": crop, "interpolation": interpolation}
    prepare = changed(_preprocessing(chosen), **shown)
    return TorchModel(network, name or architecture, prepare, device=device, bf16=bf16)


def _named(published: Any, weights: str, architecture: str) -> Any:
    names = list(published.__members__)
    if weights not in names:
        raise ValueError(f"{architecture} has the weights {', '.join(names)}, or a file; got {weights!r}")
    return published[weights]


def _preprocessing(weights: Any) -> Preprocessing:
    shown = weights.transforms()
    (size,), (crop,) = shown.resize_size, shown.crop_size
    return Preprocessing(tuple(shown.mean), tuple(shown.std), size, crop, shown.interpolation.value)
