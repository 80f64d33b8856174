"""What the live page shows, as pure functions: a picture under a stack of corruptions, and where predictions flip."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._parallel import cores, prefetch
from brittle._types import FloatArray, Image, check_seed
from brittle.corruptions import Corruption, check_severity, corrupt, get_corruption
from brittle.datasets import Dataset, class_name, square
from brittle.evaluation import Classes, checked_scores, infer_with, probabilities
from brittle.explorer.state import MAX_SIDE, Picture
from brittle.models import Model, input_side, output_names, resizes_images

LEAST_SIDE, LAYERS = 16, 6
"""The smallest side of a picture that is corrupted, and the most corruptions that are stacked."""

STEPS = 40
"""The strip along the severity axis has this many steps, and one more severity."""

TOLERANCE = 0.002
"""The precision of a failure point on the strip; the ranking of all corruptions is as precise as `brittle probe`."""

SMALL, BATCH = 64, 4
"""Images of larger sides are shown to a model so many at once: in parallel, and another request need not wait long."""

TOP = 5
"""So many classes of each model are shown."""


class Layer(NamedTuple):
    """One corruption of a stack at its severity."""

    corruption: str
    severity: float


@dataclass(frozen=True)
class View:
    """What is on the screen: a picture, the corruptions over it in their order, the seed, and the side in pixels.

    Without a size the picture is as it is; else it is the central square of that side.
    """

    picture: str
    layers: tuple[Layer, ...] = ()
    seed: int = 0
    size: int | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if len(self.layers) > LAYERS:
            raise BrittleError(f"at most {LAYERS} corruptions are stacked here, got {len(self.layers)}")
        if self.size is not None and not LEAST_SIDE <= self.size <= MAX_SIDE:
            raise BrittleError(f"a side has {LEAST_SIDE} to {MAX_SIDE} px, got {self.size}")
        checked = []
        for name, severity in self.layers:
            corruption = get_corruption(name)
            checked.append(Layer(corruption.id, check_severity(severity, corruption.max_severity)))
        object.__setattr__(self, "layers", tuple(checked))

    def at(self, place: int, severity: float) -> View:
        """The same view with another severity of one layer."""
        changed = self.layers[place]._replace(severity=severity)
        return replace(self, layers=(*self.layers[:place], changed, *self.layers[place + 1 :]))


def parse_view(picture: str, layers: Sequence[str], seed: str = "0", size: str = "") -> View:
    """A view from the texts of an address: each layer is `id:severity`."""
    stack = []
    for text in layers[: LAYERS + 1]:
        name, _, severity = text.rpartition(":")
        stack.append(Layer(name, parse_number("a severity", severity)))
    return View(picture, tuple(stack), _whole("the seed", seed), _whole("the size", size) if size else None)


def parse_number(what: str, text: str) -> float:
    """A real number, which may yet be out of range."""
    try:
        return float(text)
    except ValueError:
        raise BrittleError(f"{what} is a number, got {text[:40]!r}") from None


def _whole(what: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        raise BrittleError(f"{what} is a whole number from 0, got {text[:40]!r}")
    return int(text)


def clean_pixels(picture: Picture, size: int | None) -> Image:
    """The picture before it is corrupted: as it is, or its central square of that side."""
    if size is None:
        if max(picture.pixels.shape[:2]) > MAX_SIDE:
            height, width = picture.pixels.shape[:2]
            raise BrittleError(f"{picture.name!r} has {width}×{height} px; choose a size of at most {MAX_SIDE} px")
        return picture.pixels
    if picture.pixels.shape[:2] == (size, size):
        return picture.pixels
    return square(picture.pixels, size)


def corrupted_pixels(picture: Picture, view: View) -> Image:
    """The picture of a view: every layer over the result of those before it."""
    image = clean_pixels(picture, view.size)
    for name, severity in view.layers:
        image = corrupt(image, name, severity, seed=view.seed, sample=picture.sample)
    return np.asarray(image)


def parameters_in_words(view: View, shape: tuple[int, ...]) -> list[dict[str, Any]]:
    """The physical parameters of each layer at its severity, for an image of that shape."""
    shown = []
    for name, severity in view.layers:
        corruption = get_corruption(name)
        values = corruption.parameters(severity, (shape[0], shape[1])) if severity else {}
        shown.append({"id": name, "severity": severity, "parameters": {key: f"{v:.4g}" for key, v in values.items()}})
    return shown


@dataclass(frozen=True, eq=False)
class Reading:
    """How a model's scores are read: as probabilities, with names, and as the classes of a dataset if there is one."""

    model: Model
    names: Sequence[str]
    classes: Classes
    class_names: Sequence[str]

    @classmethod
    def of(cls, model: Model, dataset: Dataset | None, image: Image, *, from_data: bool) -> Reading:
        """The reading of a model's outputs; a picture that is not of the dataset only borrows its class names."""
        classes = Classes.of(dataset) if from_data and dataset is not None else Classes()
        outputs = checked_scores(model, model_input(model, image)[np.newaxis], classes.outputs).shape[1]
        names = output_names(model, outputs)
        if not names and dataset is not None and len(dataset.classes) == outputs:
            names = list(dataset.classes)
        class_names = list(dataset.classes) if classes.map is not None and dataset is not None else names
        return cls(model, names, classes, class_names)

    def shares(self, images: Sequence[Image]) -> FloatArray:
        """Probabilities, images × outputs; outputs that do not count for the dataset have none."""
        batch = np.stack([model_input(self.model, image) for image in images])
        size = BATCH if max(batch.shape[1:3]) > SMALL else len(batch)
        parts = [batch[start : start + size] for start in range(0, len(batch), size)]
        scores = infer_with([self.model], parts.__getitem__, range(len(parts)), self._scores)
        shares = np.array(probabilities(np.concatenate([part for (part,) in scores])), np.float64)
        if self.classes.subset is not None:
            counted = np.zeros(shares.shape[1], bool)
            counted[self.classes.subset] = True
            shares[:, ~counted] = 0
        return shares

    def _scores(self, model: Model, images: Image, _where: str) -> NDArray[np.float32]:
        return checked_scores(model, images, self.classes.outputs)

    def predicted(self, shares: FloatArray) -> NDArray[np.int64]:
        """The predicted classes, as the dataset numbers them."""
        best = shares.argmax(1)
        return np.asarray(best if self.classes.map is None else self.classes.map[best], np.int64)

    def confidence(self, shares: FloatArray, target: int) -> FloatArray:
        """How sure the model is of one class: its largest output of that class."""
        if self.classes.map is None:
            return shares[:, target] if 0 <= target < shares.shape[1] else np.zeros(len(shares))
        mapped = self.classes.map == target
        return shares[:, mapped].max(1) if mapped.any() else np.zeros(len(shares))

    def top(self, shares: FloatArray) -> list[dict[str, Any]]:
        """The most likely outputs of one image."""
        best = np.argsort(-shares, kind="stable")[:TOP]
        return [{"output": int(i), "name": class_name(int(i), self.names), "share": float(shares[i])} for i in best]

    def name(self, target: int) -> str:
        """What a class is called."""
        return class_name(target, self.class_names)


def model_input(model: Model, image: Image) -> Image:
    """The picture as a model is shown it: reduced to the model's side, unless the model does that itself."""
    side = input_side(model)
    if side is None or resizes_images(model) or image.shape[:2] == (side, side):
        return image
    return square(image, side)


Draw = Callable[[float], Image]
"""The picture at a severity of the layer that is moved."""


@dataclass(frozen=True, eq=False)
class Failure:
    """Where the prediction is first another one: it still held at `held`, and at `failed` it is `prediction`.

    `failed` is 0 if the clean picture is wrong already, and infinite if nothing up to the largest severity is.
    """

    failed: float
    held: float
    prediction: int | None = None
    confidence: float = math.nan


@dataclass(frozen=True, eq=False)
class Strip:
    """A model along the severity axis: its confidence in the target class, and what it predicts."""

    severities: FloatArray
    confidence: FloatArray
    predicted: NDArray[np.int64]
    target: int


def strip(reading: Reading, draw: Draw, highest: float, target: int, *, steps: int = STEPS) -> Strip:
    """A model's confidence in a class at `steps` + 1 severities from 0 on."""
    severities: FloatArray = np.arange(steps + 1, dtype=np.float64) * (highest / steps)
    severities[-1] = highest
    shares = reading.shares(list(prefetch(draw, severities.tolist(), cores())))
    return Strip(severities, reading.confidence(shares, target), reading.predicted(shares), target)


def failure_of(reading: Reading, draw: Draw, shown: Strip, *, tolerance: float = TOLERANCE) -> Failure:
    """The first failure of a strip, halved down to the tolerance as in `evaluation.failures.search.bisect`."""
    wrong = np.flatnonzero(shown.predicted != shown.target)
    if not wrong.size:
        return Failure(math.inf, float(shown.severities[-1]))
    first = int(wrong[0])
    prediction, sure = int(shown.predicted[first]), math.nan
    if first == 0:
        return Failure(0.0, 0.0, prediction)
    held, failed = float(shown.severities[first - 1]), float(shown.severities[first])
    for _ in range(math.ceil(math.log2((failed - held) / tolerance) - 1e-9)):
        middle = (held + failed) / 2
        shares = reading.shares([draw(middle)])
        if int(reading.predicted(shares)[0]) == shown.target:
            held = middle
        else:
            failed, prediction, sure = middle, int(reading.predicted(shares)[0]), float(shares.max())
    return Failure(failed, held, prediction, sure)


@dataclass(frozen=True, eq=False)
class Break:
    """A corruption and where it flips the prediction for the clean picture."""

    corruption: Corruption
    failure: Failure


def breaks(
    reading: Reading,
    picture: Picture,
    view: View,
    corruptions: Sequence[Corruption],
    *,
    tolerance: float = 0.05,
) -> Iterator[Break]:
    """Where each corruption alone flips the prediction for the clean picture, one after the other as they are found.

    Whole severities are tried upwards and the step below the first failure is halved, as in `brittle probe`.
    """
    clean = clean_pixels(picture, view.size)
    target = int(reading.predicted(reading.shares([clean]))[0])

    def search(corruption: Corruption) -> Break:
        def draw(severity: float) -> Image:
            return np.asarray(corrupt(clean, corruption, severity, seed=view.seed, sample=picture.sample))

        highest = corruption.max_severity
        severities = np.arange(highest + 1, dtype=np.float64)
        shares = reading.shares([draw(severity) for severity in severities.tolist()])
        shown = Strip(severities, reading.confidence(shares, target), reading.predicted(shares), target)
        return Break(corruption, failure_of(reading, draw, shown, tolerance=tolerance))

    yield from prefetch(search, corruptions, cores())


def python_code(picture: Picture, view: View, data: str | None, model: Model | None, text: str | None) -> str:
    """Python that makes the pixels of a view, and the scores of a model if it has a text."""
    lines = ["import brittle", ""]
    if picture.from_data:
        lines.append(f"data = {data or '…  # your dataset'}")
    elif picture.python == "image":
        lines.append("image = …  # your picture, H×W×3 of uint8")
    made = picture.python if view.size is None else f"brittle.datasets.square({picture.python}, {view.size})"
    if made != "image":
        lines.append(f"image = {made}")
    for name, severity in view.layers:
        lines.append(
            f"image = brittle.corrupt(image, {name!r}, {severity!r}, seed={view.seed}, sample={picture.sample!r})"
        )
    if model is not None and text is not None:
        side, shape = input_side(model), picture.pixels.shape[:2] if view.size is None else (view.size, view.size)
        reduced = side is not None and not resizes_images(model) and shape != (side, side)
        shown = f"brittle.datasets.square(image, {side})" if reduced else "image"
        lines.append(f"scores = brittle.load_model({text!r}).scores({shown}[None])")
    return "\n".join(lines) + "\n"


def shell_command(picture: Picture, view: View) -> str:
    """A command line that writes the pixels of a view to a file; "" for a picture that no command can name."""
    if not picture.shell:
        return ""
    source, *options = picture.shell
    command = ["brittle", "corrupt", source, "picture.png", *options]
    if "--sample" not in options:
        command += ["--sample", str(picture.sample)]
    if view.size is not None:
        command += ["--image-size", str(view.size)]
    for name, severity in view.layers:
        command += ["-c", name, "-s", repr(severity)]
    return shlex.join([*command, "--seed", str(view.seed)])
