"""Several models on one photograph: at which size it is shown, what they see, and what flips that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle._types import Image
from brittle.benchmarks import Benchmark
from brittle.datasets import load_photo, read_class_names, square
from brittle.evaluation.failures.probing import Probe, probe
from brittle.evaluation.inputs import needed_benchmark
from brittle.models import Model, input_side, output_names, with_class_names, wrap_model


@dataclass(frozen=True)
class PhotoProbe:
    """The photograph as it was corrupted, and for each model by its name what flips it and its class names."""

    image: Image
    benchmark: Benchmark
    probes: Mapping[str, Probe]
    classes: Mapping[str, Sequence[str]]


def photo_side(models: Sequence[Model], image_size: int | None = None) -> int:
    """The side at which a photograph is corrupted: as given, else the largest that a model was trained on, else 224."""
    known = [side for side in map(input_side, models) if side]
    return image_size if image_size is not None else max(known, default=224)


def probe_photo(
    photo: Any,
    model: Any,
    benchmark: str | Path | Benchmark = "imagenet-c",
    *,
    image_size: int | None = None,
    classes: Sequence[str] | str | Path = (),
    draws: int = 5,
    tolerance: float = 0.05,
    progress: Callable[[], None] | None = None,
) -> PhotoProbe:
    """Find what flips the prediction of one or more models for a photograph; see `probe`.

    Args:
        photo: a file, `cat` or `coffee`, or an H×W×3 array. Its central square is brought to `image_size`.
        model: a model as for `evaluate`, or a list of them.
        benchmark: the corruptions that are tried.
        image_size: the side in pixels; by default the largest that a model was trained on, else 224.
        classes: class names in the order of the outputs, or a text file of them; by default those that models come
            with, and those of ImageNet for 1,000 outputs.
        draws: the number of seeds that are tried.
        tolerance: the precision of severities.
        progress: called after each corruption of each model.
    """
    models = [wrap_model(each) for each in (model if isinstance(model, list | tuple) else [model])]
    recipe = needed_benchmark(benchmark)
    pixels = load_photo(photo) if isinstance(photo, str | Path) else photo
    image = square(pixels, photo_side(models, image_size))
    names = read_class_names(classes) if isinstance(classes, str | Path) else list(classes)
    models = [with_class_names(each, names, "the photograph") if names else each for each in models]
    probes = {
        each.name: probe(each, image, recipe, draws=draws, tolerance=tolerance, progress=progress) for each in models
    }
    return PhotoProbe(image, recipe, probes, {each.name: names or _output_names(each, image) for each in models})


def _output_names(model: Model, image: Image) -> list[str]:
    """The class names of a model that is shown an image to count its outputs."""
    return output_names(model, model.scores(image[None]).shape[1])
