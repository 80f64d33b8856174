"""What `evaluate` takes: names, modules, functions, arrays and datasets made into our nouns; images decoded once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._io import allocated_array, atomic_write, make_way, missing_or_damaged, warn_damaged
from brittle._parts import sweep
from brittle._types import Image
from brittle.benchmarks import (
    SEQUENCE_BENCHMARKS,
    Benchmark,
    SequenceBenchmark,
    StreamBenchmark,
    is_stream,
    load_benchmark,
    load_sequence_benchmark,
    load_stream_benchmark,
)
from brittle.datasets import StoredSequences, UnreadableImage, arrays, imagenet_names, stored_sequences
from brittle.datasets.dataset import Dataset, no_labels
from brittle.datasets.images import any_image
from brittle.datasets.interop import from_hugging_face, from_torch
from brittle.datasets.load import StoredSet, load_dataset, stored_set
from brittle.evaluation.cell import checked_scores
from brittle.evaluation.records import IMAGES, READ, decoded_files, decoded_images, listed_digest
from brittle.models import wants_classes, with_class_names
from brittle.models.load import wrap_model
from brittle.models.model import Model
from brittle.models.preprocessing import wanted_square


@dataclass(frozen=True)
class Decoded:
    """The images that could be read, which of the dataset they are, and why the others could not be read."""

    images: Image
    kept: NDArray[np.int64]
    skipped: dict[str, str]


def decode(dataset: Dataset, folder: Path, progress: Callable[[int, int], None] | None = None) -> Decoded:
    """Read every image of a dataset into one mapped array in `folder`; what was read before is not read again.

    All images must have one size, since models see them in batches.
    """
    again = "the images are read again"
    damaged = [missing_or_damaged(folder / name, again) for name in (READ, IMAGES)]
    about = decoded_files(folder)
    if not any(damaged) and about is None:
        warn_damaged(folder / READ, again, f"and {IMAGES} do not belong together")
    elif about is not None and about.pixels and about.pixels != pixels_digest(folder, len(about.kept)):
        warn_damaged(folder / IMAGES, again, "is garbled")
        about = None
    if about is None or about.data_key != dataset.key:
        _read_all(dataset, folder, progress)
        about = decoded_files(folder)
    images = decoded_images(folder)
    if about is None or images is None:
        raise FileNotFoundError(f"{str(folder / IMAGES)!r} was removed while a run worked with it; run it again")
    return Decoded(images, np.array(about.kept, np.int64), about.skipped)


def pixels_digest(folder: Path, count: int) -> str:
    """A digest of the first decoded images of a run."""
    digest, images = sha256(), np.load(folder / IMAGES, mmap_mode="r")
    for start in range(0, count, DIGESTED):
        digest.update(np.ascontiguousarray(images[start : min(start + DIGESTED, count)]).data)
    return digest.hexdigest()


DIGESTED = 64
"""Images that are digested at once."""


def image_shape(dataset: Dataset) -> tuple[int, int, int]:
    """The shape of the images: that of the first one that can be read."""
    height, width, channels = first_image(dataset).shape
    return height, width, channels


def fitted(dataset: Dataset, models: Sequence[Model], folder: str | Path | None) -> Dataset:
    """The dataset as models are shown it: photographs of any size at the models' own, classes numbered as by theirs.

    What was asked for, by `prepared` or by an order of classes, stays. Photographs of a run in `folder` keep
    the size they have in it, so that another model can be added. A folder whose classes are ImageNet's is numbered for
    models with 1000 outputs, or for models with just these classes.
    """
    dataset = dataset.prepared_for((folder and _decoded_square(Path(folder))) or wanted_square(models))
    if dataset.other_numbering is None:
        return dataset
    first = first_image(dataset)[np.newaxis]
    closed = [model for model in models if not wants_classes(model)]
    outputs = {checked_scores(model, first, where="the first image").shape[1] for model in closed}
    return dataset.for_outputs(outputs.pop()) if len(outputs) == 1 else dataset


def with_names_of(models: Sequence[Model], dataset: Dataset) -> list[Model]:
    """The models as they are run on a dataset: those that take the names of classes are given its names.

    A dataset that maps ImageNet's 1000 outputs to classes of its own has ImageNet's names.
    """
    names = dataset.classes if dataset.class_map is None else ()
    if dataset.class_map is not None and dataset.outputs == len(imagenet_names()):
        names = imagenet_names()
    return [with_class_names(model, names, dataset.name) for model in models]


def _decoded_square(folder: Path) -> int | None:
    """The side of the images that a run decoded, if they are squares."""
    images = decoded_images(folder)
    if images is None:
        return None
    height, width = images.shape[1:3]
    return int(height) if height == width else None


def first_image(dataset: Dataset) -> Image:
    """The first image that can be read."""
    for index in range(len(dataset)):
        try:
            return dataset.image(index)
        except UnreadableImage:
            continue
    raise BrittleError(f"none of the {len(dataset)} images of {dataset.name!r} can be read")


def _read_all(dataset: Dataset, folder: Path, progress: Callable[[int, int], None] | None) -> None:
    sweep(folder)
    for name in (IMAGES, READ):
        make_way(folder / name)
    with atomic_write(folder / IMAGES) as path:
        kept, skipped = _fill(path, dataset, progress)
    ids = [dataset.ids[i] for i in kept]
    about = {"data_key": dataset.key, "kept": kept, "ids": ids, "skipped": skipped}
    about["pixels"] = pixels_digest(folder, len(kept))
    about["listed"] = listed_digest(about)
    with atomic_write(folder / READ) as path:
        path.write_text(json.dumps(about), encoding="utf-8")


def _fill(
    path: Path, dataset: Dataset, progress: Callable[[int, int], None] | None
) -> tuple[list[int], dict[str, str]]:
    """Write the images to one array; which they are, and why the others could not be read."""
    kept: list[int] = []
    skipped: dict[str, str] = {}
    array: np.memmap[tuple[int, ...], np.dtype[np.uint8]] | None = None
    for index, sample in enumerate(dataset.ids):
        try:
            image = dataset.image(index)
        except UnreadableImage as error:
            skipped[str(sample)] = str(error)
            continue
        if array is None:
            shape = (len(dataset), *image.shape)
            array = allocated_array(path, shape, np.uint8)
        if image.shape != array.shape[1:]:
            raise BrittleError(
                f"{sample!r} of {dataset.name!r} has shape {image.shape} and those before it {array.shape[1:]}; "
                "a model sees batches, so bring all images to one size with "
                "`prepare='imagenet'`"
            )
        array[len(kept)] = image
        kept.append(index)
        if progress is not None:
            progress(index + 1, len(dataset))
    if array is None:
        raise BrittleError(f"none of the {len(dataset)} images of {dataset.name!r} can be read")
    array.flush()
    return kept, skipped


def as_models(given: Any) -> list[Model]:
    """Models from one model or more: a list, or a dictionary whose keys are the names that results call them by."""
    if isinstance(given, Mapping):
        return [wrap_model(model, name=name) for name, model in given.items()]
    if isinstance(given, list | tuple):
        return [wrap_model(model) for model in given]
    return [wrap_model(given)]


def as_dataset(given: Any) -> Dataset:
    """A dataset from its name, a folder, (images, labels), a torch or Hugging Face dataset, or a dataset."""
    if isinstance(given, str | Path | Dataset):
        return load_dataset(given)
    if hasattr(given, "column_names"):
        return from_hugging_face(given)
    if hasattr(given, "batch_sampler"):
        raise BrittleTypeError(f"a {type(given).__name__} gives batches; give the dataset that it reads, its .dataset")
    if isinstance(given, list | tuple) and len(given) == 2 and hasattr(given[0], "ndim"):
        return arrays(*given)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], list):
        return arrays(_stacked(given[0]), given[1])
    if hasattr(given, "ndim") or isinstance(given, tuple):
        raise BrittleTypeError(f"arrays are given as (images, labels), got {_shape(given)}")
    if hasattr(given, "__len__") and hasattr(given, "__getitem__") and not isinstance(given, Mapping):
        return from_torch(given)
    raise BrittleTypeError(
        "data are a name such as 'demo' or 'cifar10:PATH', a folder of images, arrays (images, labels), a torch or "
        f"Hugging Face dataset, or a Dataset; got {type(given).__name__}"
    )


def as_benchmark(given: Any) -> Benchmark | None:
    """A benchmark from its name or its recipe file, or a benchmark; None stays None and means clean images alone."""
    if given is None or isinstance(given, Benchmark):
        return given
    if isinstance(given, str | Path):
        return load_benchmark(given)
    raise BrittleTypeError(
        "a benchmark is a name such as 'imagenet-c', the path of a recipe, a Benchmark, or None for clean images; "
        f"got {given!r} ({type(given).__name__})"
    )


def as_sequence_benchmark(given: Any, data: Any = None) -> SequenceBenchmark | None:
    """A benchmark of sequences from its name, or from published sequences; None if it is of another kind."""
    if isinstance(given, SequenceBenchmark):
        return given
    if isinstance(given, str) and given in SEQUENCE_BENCHMARKS:
        return load_sequence_benchmark(given)
    published = as_stored_sequences(data)
    if published is None:
        return None
    if given is not None:
        raise BrittleError(f"{published.name!r} holds sequences already; leave the benchmark {given!r} out")
    names = set(load_sequence_benchmark(published.scheme).perturbations) & set(published.perturbations)
    chosen = tuple(name for name in published.perturbations if name in names) or published.perturbations
    return SequenceBenchmark(published.scheme, chosen)


def as_stream_benchmark(given: Any) -> StreamBenchmark | None:
    """A stream from its name or its recipe file with a table [stream]; None if it is of another kind."""
    if isinstance(given, StreamBenchmark):
        return given
    return load_stream_benchmark(given) if is_stream(given) else None


def as_stored_sequences(data: Any) -> StoredSequences | None:
    """Published sequences from a text such as "imagenet-p:PATH"; None if it names none."""
    if isinstance(data, StoredSequences):
        return data
    named = isinstance(data, str) and data.partition(":")[0] in SEQUENCE_BENCHMARKS
    return stored_sequences(data) if named else None


def needed_benchmark(given: Any) -> Benchmark:
    """As `as_benchmark`, where clean images alone are not enough."""
    benchmark = as_benchmark(given)
    if benchmark is None:
        raise BrittleTypeError(f"name the corruptions to try by a benchmark such as 'imagenet-c', got {given!r}")
    return benchmark


def as_stored_set(given: Any) -> StoredSet | None:
    """Published corrupted images from a text such as "imagenet-c:PATH"; None if it names none."""
    if isinstance(given, StoredSet):
        return given
    return stored_set(given) if isinstance(given, str | Path) else None


def check(models: Sequence[Model], dataset: Dataset, batch_size: int | None) -> None:
    """Raise unless these models can be run on this dataset."""
    if not models:
        raise BrittleError("name at least one model to run")
    names = [model.name for model in models]
    if len(set(names)) != len(names):
        raise BrittleError(
            f"model names must be unique, got {', '.join(names)}; in Python, give a dictionary {{name: model}}"
        )
    if batch_size is not None and batch_size < 1:
        raise BrittleError(f"batch_size must be at least 1, got {batch_size}")
    if dataset.labels is None:
        raise no_labels(dataset, "so nothing can be right or wrong")


def _stacked(images: Sequence[Any]) -> Image:
    """Images in a list as one array."""
    pixels = [any_image(image) for image in images]
    shapes = sorted({image.shape for image in pixels})
    if len(shapes) != 1:
        raise BrittleError(f"images in a list are of one size, got {' and '.join(map(str, shapes[:3])) or 'no images'}")
    return np.stack(pixels)


def _shape(given: Any) -> str:
    if isinstance(given, tuple):
        return f"a tuple of {len(given)}: {', '.join(type(part).__name__ for part in given) or 'nothing'}"
    return f"one array of shape {tuple(given.shape)} without labels"
