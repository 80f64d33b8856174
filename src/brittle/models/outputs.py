"""What is known of a model from outside: the side of its input, and the names of its classes."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.datasets import imagenet_names
from brittle.datasets.cifar import CIFAR10
from brittle.models.model import Model


def input_side(model: Model) -> int | None:
    """The side of the square images that a model was made for, where that is known."""
    if model.name.startswith("demo-"):
        return 32
    shown = getattr(getattr(model, "prepare", None), "shown", None)
    return None if shown is None else int(min(shown))


def resizes_images(model: Model) -> bool:
    """Whether a model brings images of any size to its own."""
    return getattr(getattr(model, "prepare", None), "shown", None) is not None


def output_names(model: Model, outputs: int) -> list[str]:
    """The class names that a model brings along, those of the bundled ones, and ImageNet's for 1,000 outputs."""
    if getattr(model, "classes", ()):
        return list(model.classes)  # type: ignore[attr-defined]
    if model.name.startswith("demo-"):
        return list(CIFAR10)
    return list(imagenet_names()) if outputs == 1000 else []


def class_name(index: int, names: Sequence[str]) -> str:
    """What a class is called, or its number; a negative one is an output that the data has no class for."""
    if index < 0:
        return "none of the classes"
    return names[index] if index < len(names) else f"class {index}"
