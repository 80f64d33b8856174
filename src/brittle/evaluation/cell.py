"""A cell is a unit of work: one corruption at one level over one dataset, drawn batch by batch and shown to models."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, ModelError
from brittle._optional import model_errors
from brittle._parallel import cores, prefetch, side_by_side, torch_threads
from brittle._types import Image
from brittle.benchmarks import Benchmark, Cell
from brittle.datasets.dataset import Dataset
from brittle.models import as_array
from brittle.models.model import Model, Scores


def plan(benchmark: Benchmark | None) -> list[Cell]:
    """The clean data first, then every cell of the recipe, if there is one."""
    return [Cell(), *(benchmark.cells() if benchmark else ())]


@dataclass(frozen=True, eq=False)
class CellRows:
    """The predictions of one model for the samples of one cell, in their order.

    What follows the confidences is of the label: its probability, whether it is among the five best classes, and the
    sum of the squares of all probabilities, which its Brier score needs. It is None where it is not known.
    """

    samples: Sequence[str]
    labels: NDArray[np.integer[Any]]
    predictions: NDArray[np.integer[Any]]
    confidences: NDArray[np.floating[Any]]
    label_probabilities: NDArray[np.floating[Any]] | None = None
    labels_in_top5: NDArray[np.bool_] | None = None
    square_sums: NDArray[np.floating[Any]] | None = None

    @property
    def accuracy(self) -> float:
        """The share of right predictions; NaN without samples."""
        return float((self.predictions == self.labels).mean()) if len(self.labels) else math.nan


@dataclass(frozen=True, eq=False)
class Drawn:
    """Clean images, and the recipe that corrupts them when they are asked for."""

    images: Image
    ids: Sequence[str | int]
    benchmark: Benchmark | None

    def __len__(self) -> int:
        return len(self.images)

    def batch(self, cell: Cell, start: int, size: int) -> Image:
        """The images of a cell from `start` on, at most `size` of them; what they hold does not depend on the size."""
        part = slice(start, start + size)
        clean = np.array(self.images[part])
        if cell.is_clean or self.benchmark is None:
            return clean
        corrupted: Image = self.benchmark.apply(clean, cell.corruption, cell.level, self.ids[part])
        return corrupted


LEAST, LEAST_OF_LARGE = ((64, 64), (256, 32)), 8
"""Images of up to 64 px a side are shown at least 64 at once, up to 256 px at least 32, and larger ones at least 8."""

GAIN, TURNS, LONGEST = 1.2, 5, 0.3
"""The gain of speed that makes doubling worth it, how often it is measured, and the most seconds of a batch that is
doubled at all: what takes longer keeps the processor busy."""

OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "failed to allocate memory")


class _Spent(NamedTuple):
    """What a batch took: seconds on the clock, and seconds of this process on all processors."""

    clock: float
    processor: float


def best_batch_size(model: Model, image_shape: Sequence[int], *, limit: int = 256) -> int:
    """A batch size at which a model is fast: at least 64, or 32 above 64 px, doubled while that is clearly faster.

    The model is shown black images of `image_shape` (height, width, 3). A size and its double are timed in turns, and
    the median of five comparisons decides, so that one interruption does not; models on the CPU are timed by the
    processor time they use, which other programs do not change. A model that runs out of memory is shown fewer images.
    A model whose batch size is fixed has its own answer.
    """
    if limit < 1:
        raise BrittleError(f"limit must be at least 1, got {limit}")
    fixed = getattr(model, "batch_size", None)
    if fixed is not None:
        return int(fixed)
    size = min(least_batch_size(image_shape), limit)
    spent = _spent(model, size, image_shape)
    while spent is None and size > 1:
        size //= 2
        spent = _spent(model, size, image_shape)
    if spent is None:
        raise MemoryError(f"the model {model.name!r} runs out of memory on one image of shape {tuple(image_shape)}")
    while 2 * size <= limit and _doubling_pays(model, size, image_shape):
        size *= 2
    return size


def common_batch_size(models: Sequence[Model], image_shape: Sequence[int], images: int) -> int:
    """The batch size at which these models are shown so many images: the smallest of those that suit each.

    Where there is little to show nothing is measured. Models whose batch size is fixed split batches themselves.
    """
    least = least_batch_size(image_shape)
    free = [model for model in models if getattr(model, "batch_size", None) is None]
    if not free or images <= 8 * least:
        return least
    return min(best_batch_size(model, image_shape, limit=min(256, images)) for model in free)


def least_batch_size(image_shape: Sequence[int]) -> int:
    """How many images of this shape (height, width, 3) are shown at once at least, if memory lasts."""
    return next((count for side, count in LEAST if max(image_shape[:2]) <= side), LEAST_OF_LARGE)


def _doubling_pays(model: Model, size: int, image_shape: Sequence[int]) -> bool:
    on_cpu = getattr(model, "device", "cpu") == "cpu"
    gains = []
    for _ in range(TURNS + 1):
        few = _spent(model, size, image_shape)
        if few is None or few.clock > LONGEST:
            return False
        many = _spent(model, 2 * size, image_shape)
        if many is None:
            return False
        once, twice = (few.processor, many.processor) if on_cpu else (few.clock, many.clock)
        gains.append(2 * once / twice if twice > 0 else 1.0)
    return statistics.median(gains[1:]) >= GAIN  # the first turn warms up


def _spent(model: Model, size: int, image_shape: Sequence[int]) -> _Spent | None:
    """What a batch takes; None if memory does not last."""
    images = np.zeros((size, *image_shape), np.uint8)
    try:
        with model_errors(model.name, f"on {size} black images, shown to find a batch size"):
            clock, processor = time.perf_counter(), time.process_time()
            model.scores(images)
            return _Spent(time.perf_counter() - clock, time.process_time() - processor)
    except ModelError as error:
        if not _is_out_of_memory(error.__cause__):
            raise
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
            sys.modules["torch"].cuda.empty_cache()
        return None


def _is_out_of_memory(error: BaseException | None) -> bool:
    message = str(error).lower() if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or any(phrase in message for phrase in OUT_OF_MEMORY)


Predictions = tuple[NDArray[np.int32], NDArray[np.float32]]
"""The predicted class of each image, and its probability."""


@dataclass(frozen=True, eq=False)
class Classes:
    """How a dataset reads a model's outputs.

    A dataset may count only some of them (`subset`: the rest are masked before the best is taken), or map each output
    to a class (`map`: an output that means none of them is always wrong). Where the number of classes
    is unknown, the largest label gives the least number of outputs.
    """

    outputs: int | None = None
    subset: NDArray[np.int64] | None = None
    map: NDArray[np.int64] | None = None
    largest_label: int | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> Classes:
        """Those of a dataset."""
        counted = dataset.outputs is not None or dataset.class_map is not None or dataset.labels is None
        largest = None if counted or dataset.labels is None else int(dataset.labels.max())
        return cls(dataset.outputs, dataset.class_subset, dataset.class_map, largest)


def checked_scores(model: Model, images: Image, classes: int | None = None, *, where: str = "") -> Scores:
    """The scores of a batch, or an error with what is wrong with them; `where` names what is shown."""
    with model_errors(model.name, f"on {where or f'{len(images)} images'}"):
        given = as_array(model.scores(np.array(images)))  # its own copy, which it may write to
    if given.dtype.kind not in "biuf":
        raise BrittleError(
            f"the model {model.name!r} gave scores of {given.dtype}; they are real numbers, one for each class"
        )
    scores: Scores = given.astype(np.float32)
    if scores.ndim != 2 or len(scores) != len(images):
        raise BrittleError(
            f"the model {model.name!r} gave scores of shape {scores.shape} for {len(images)} images; "
            "it must give one row of class scores for each"
        )
    if classes is not None and scores.shape[1] != classes:
        raise BrittleError(
            f"the model {model.name!r} gives {scores.shape[1]} scores an image, but the data has labels of {classes} "
            "classes; is it a model for other data?"
        )
    if not np.isfinite(scores).all():
        raise BrittleError(
            f"the model {model.name!r} gave scores that are not numbers; check its weights and its dtype"
        )
    return scores


def probabilities(scores: Scores) -> Scores:
    """Scores as probabilities: as they are if every row already is one, else their softmax.

    The sum of a row may be off by what rounding does to it, which depends on the type the model computed them in.
    """
    if (scores >= 0).all() and (np.abs(scores.sum(1, dtype=np.float64) - 1) <= _rounding(scores)).all():
        return scores
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True), np.float32)


def _rounding(scores: Scores) -> float:
    """How far rounding can move the sum of probabilities: numbers of bfloat16 have 8 bits, of float16 11 bits."""
    bits = np.ascontiguousarray(scores, np.float32).view(np.uint32)
    if not (bits & 0xFFFF).any():
        return 2.0**-7
    return 1e-3 if (bits & 0x1FFF).any() else 2.0**-9


def predict(model: Model, images: Image, classes: Classes, *, where: str = "") -> Predictions:
    """The predictions of one batch, as the dataset numbers its classes; `where` names what is shown if it fails."""
    if not len(images):
        return np.empty(0, np.int32), np.empty(0, np.float32)
    return best_classes(_scores(model, images, classes, where), classes)


def _scores(model: Model, images: Image, classes: Classes, where: str) -> Scores:
    """The scores of a batch, which must have one for every label."""
    scores = checked_scores(model, images, classes.outputs, where=where)
    if classes.largest_label is not None and classes.largest_label >= scores.shape[1]:
        raise BrittleError(
            f"the model {model.name!r} gives {scores.shape[1]} scores an image, so labels are 0 to "
            f"{scores.shape[1] - 1}, but the data has the label {classes.largest_label}"
        )
    return scores


def best_classes(scores: Scores, classes: Classes) -> Predictions:
    """The class of the highest score of each row, as the dataset numbers its classes, and its probability."""
    shares = probabilities(scores)
    if classes.subset is not None:
        shares = shares[:, classes.subset]
        best: NDArray[Any] = classes.subset[shares.argmax(1)]
    else:
        best = shares.argmax(1)
    if classes.map is not None:
        best = classes.map[best]
    return best.astype(np.int32), shares.max(1).astype(np.float32)


class LabelledPredictions(NamedTuple):
    """Predictions of images whose labels are known; all but the first two are of the label, as in `CellRows`."""

    predictions: NDArray[np.int32]
    confidences: NDArray[np.float32]
    label_probabilities: NDArray[np.float32]
    labels_in_top5: NDArray[np.bool_]
    square_sums: NDArray[np.float32]


def predict_labelled(
    model: Model, images: Image, labels: NDArray[np.integer[Any]], classes: Classes, *, where: str = ""
) -> LabelledPredictions:
    """The predictions of one batch, and what its scores say of the labels."""
    if not len(images):
        empty = np.empty(0, np.float32)
        return LabelledPredictions(np.empty(0, np.int32), empty, empty, np.empty(0, bool), empty)
    scores = _scores(model, images, classes, where)
    predictions, confidences = best_classes(scores, classes)
    return LabelledPredictions(predictions, confidences, *label_scores(scores, labels, predictions, classes))


TOP = 5


def label_scores(
    scores: Scores, labels: NDArray[np.integer[Any]], predictions: NDArray[np.int32], classes: Classes
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.float32]]:
    """The probability of each label, whether it is among the five best classes, and the sum of squared probabilities.

    Where outputs are mapped to classes, the probability of a class is the sum over its outputs, and the five best
    classes are those of the five best outputs. Equal scores rank in the order of the classes, as for the prediction.
    """
    shares = probabilities(scores)
    outputs = np.arange(scores.shape[1]) if classes.subset is None else np.asarray(classes.subset)
    shares, scores = shares[:, outputs], scores[:, outputs]
    means = outputs if classes.map is None else np.asarray(classes.map)[outputs]  # the class of each output
    is_label = means == np.asarray(labels)[:, np.newaxis]
    best = np.where(is_label, scores, -np.inf).argmax(1)[:, np.newaxis]  # the best output of the label
    score = np.take_along_axis(scores, best, axis=1)
    before = (scores > score) | ((scores == score) & (np.arange(len(outputs)) < best))
    in_top5 = is_label.any(1) & (before.sum(1) < TOP) | (predictions == labels)
    of_label = np.where(is_label, shares, 0).sum(1, dtype=np.float64)
    by_class = shares.astype(np.float64)
    if classes.map is not None:
        by_class = by_class @ (means[:, np.newaxis] == np.unique(means))
    squares = np.square(by_class).sum(1)
    return of_label.astype(np.float32), np.asarray(in_top5, bool), squares.astype(np.float32)


Item = TypeVar("Item")
Answer = TypeVar("Answer")
Shown = TypeVar("Shown")


def infer(
    models: Sequence[Model],
    draw: Callable[[Item], Image],
    items: Sequence[Item],
    classes: Classes,
    *,
    threads: int | None = None,
    where: str | Callable[[Item], str] = "",
) -> Iterator[list[Predictions]]:
    """The predictions of every model on `draw(item)`, for each item in order; see `infer_with`."""

    def read(model: Model, images: Image, place: str) -> Predictions:
        return predict(model, images, classes, where=place)

    return infer_with(models, draw, items, read, threads=threads, where=where)


def infer_labelled(
    models: Sequence[Model],
    draw: Callable[[Item], tuple[Image, NDArray[np.integer[Any]]]],
    items: Sequence[Item],
    classes: Classes,
    *,
    threads: int | None = None,
    where: str | Callable[[Item], str] = "",
) -> Iterator[list[LabelledPredictions]]:
    """The predictions of every model on the images that `draw(item)` gives with their labels; see `infer_with`."""

    def read(model: Model, drawn: Any, place: str) -> LabelledPredictions:
        images, labels = drawn
        return predict_labelled(model, images, labels, classes, where=place)

    return infer_with(models, draw, items, read, threads=threads, where=where)


def infer_with(
    models: Sequence[Model],
    draw: Callable[[Item], Shown],
    items: Sequence[Item],
    read: Callable[[Model, Shown, str], Answer],
    *,
    threads: int | None = None,
    where: str | Callable[[Item], str] = "",
) -> Iterator[list[Answer]]:
    """`read(model, images, where)` of every model on `draw(item)`, for each item in order; models share what was drawn.

    Networks on the CPU are shown batches in parallel, each by one thread that draws it and computes
    alone: faster than one batch computed by all threads, which wait for each other after every layer, and on a busy
    machine much faster. Other models are shown one batch after the other while threads draw the next ones.
    If a model fails, the error names what it was shown: `where`, or what `where` returns for the item.
    """

    def place(item: Item) -> str:
        return where if isinstance(where, str) else where(item)

    workers, each = side_by_side(threads)
    copies = replicas(models, min(workers, len(items)))
    if copies is None:
        with torch_threads(threads):
            for item, images in zip(items, prefetch(draw, items, threads or cores()), strict=True):
                yield [read(model, images, place(item)) for model in models]
        return
    free: SimpleQueue[list[Model]] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def draw_and_predict(item: Item) -> list[Answer]:
        images, replica = draw(item), free.get()
        try:
            return [read(model, images, place(item)) for model in replica]
        finally:
            free.put(replica)

    with torch_threads(each):
        yield from prefetch(draw_and_predict, items, len(copies), torch=each)


def replicas(models: Sequence[Model], count: int) -> list[list[Model]] | None:
    """The same models so many times, each for one thread; None unless all of them can be had more than once."""
    if count < 2 or not all(hasattr(model, "replica") for model in models):
        return None
    copies = [[model.replica() for model in models] for _ in range(count)]  # type: ignore[attr-defined]
    return None if any(model is None for copy in copies for model in copy) else copies


Batch = TypeVar("Batch", bound=tuple[NDArray[Any], ...])


def joined(batches: Sequence[Batch]) -> Batch:
    """The predictions of batches, concatenated."""
    parts = [np.concatenate(part) for part in zip(*batches, strict=True)]
    kind: Any = type(batches[0])
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)  # type: ignore[no-any-return]
