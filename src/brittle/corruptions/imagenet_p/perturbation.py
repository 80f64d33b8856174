"""Perturbation sequences: lazily computed frames of one image."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._types import Image, check_seed
from brittle.corruptions import inputs
from brittle.corruptions.images import Draws, Sample, check_sample
from brittle.corruptions.severity import choose_table

MODULES = ("noise", "blur", "weather", "geometry")
DrawFrame = Callable[[int], Image]
"""A function that computes frame i of a sequence."""


@dataclass(frozen=True, eq=False)
class Perturbation:
    """A named perturbation: its function and its published parameters, the number of frames among them."""

    id: str
    test: bool
    noise: bool
    function: Callable[..., DrawFrame] = field(repr=False)
    tables: Mapping[int, Mapping[str, Any]] = field(repr=False)

    @property
    def name(self) -> str:
        """The part of the id after the source."""
        return self.id.rpartition("/")[2]

    def parameters(self, side: int, difficulty: int = 1) -> dict[str, Any]:
        """The published parameters for an image side; noise has three difficulties, each with its own."""
        table = dict(self.tables[choose_table(frozenset(self.tables), side)[0]])
        if self.noise:
            return {key: value[difficulty - 1] if key != "frames" else value for key, value in table.items()}
        return table


_by_name: dict[str, Perturbation] = {}


def perturbation(
    *, test: bool, noise: bool = False, at224: Mapping[str, Any], **others: Mapping[str, Any]
) -> Callable[[Callable[..., DrawFrame]], Callable[..., DrawFrame]]:
    """Register a perturbation with its parameters for 224 px, and those that differ at32, at64 and at299."""
    tables = {224: dict(at224), **{int(key[2:]): {**at224, **table} for key, table in others.items()}}

    def register(function: Callable[..., DrawFrame]) -> Callable[..., DrawFrame]:
        _by_name[function.__name__] = Perturbation(
            f"imagenet-p/{function.__name__}",
            test,
            noise,
            function,
            {side: tables.get(side, at224) for side in (32, 64, 224, 299)},
        )
        return function

    return register


@cache
def _discover() -> None:
    for module in MODULES:
        importlib.import_module(f"brittle.corruptions.imagenet_p.{module}")


def perturbations(*, test: bool | None = None) -> list[Perturbation]:
    """All perturbations, or the ten of the test, or the four for validation."""
    _discover()
    return [p for p in _by_name.values() if test in (None, p.test)]


def find_perturbation(name: str | Perturbation) -> Perturbation:
    """The perturbation of that name, with or without `imagenet-p/` before it."""
    if isinstance(name, Perturbation):
        return name
    _discover()
    perturbation = _by_name.get(str(name).removeprefix("imagenet-p/"))
    if perturbation is None:
        close = difflib.get_close_matches(str(name), _by_name, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(_by_name)}"
        raise BrittleError(f"there is no perturbation {name!r}; {hint}")
    return perturbation


class Sequence:
    """The frames of one sequence. Each is computed on access; `np.asarray(sequence)` computes them all."""

    def __init__(self, count: int, draw_frame: DrawFrame, finish: Callable[[Image], Any]) -> None:
        self._count, self._draw_frame, self._finish = count, draw_frame, finish

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Any:
        if not -self._count <= index < self._count:
            raise IndexError(f"there are {self._count} frames, got index {index}")
        return self._finish(self._draw_frame(index % self._count))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._count))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        del copy
        return np.stack([np.asarray(frame) for frame in self]).astype(dtype or np.uint8, copy=False)


def sequence(
    image: Any,
    perturbation: str | Perturbation,
    *,
    difficulty: int = 1,
    crop: int | None = None,
    seed: int = 0,
    sample: Sample = 0,
) -> Sequence:
    """A sequence of frames of one image, as in ImageNet-P; it depends on the arguments and on nothing else.

    >>> import brittle
    >>> image = brittle.datasets.photo("cat")
    >>> frames = brittle.sequence(image, "rotate", sample="cat.jpg", crop=224)
    >>> len(frames), frames[0].shape
    (31, (224, 224, 3))

    Args:
        image: H×W×3 or H×W uint8, or a PIL image (L or RGB).
        perturbation: a name such as "rotate" or "imagenet-p/rotate".
        difficulty: 1, 2 or 3, the strength of noise. For other perturbations the difficulty is the step between the
            compared frames, which does not change them: take `frames[::2]`.
        crop: cut each frame to its central crop×crop. ImageNet-P perturbs the image with its short side at 256 px and
            crops to 224, so that small rotations and shifts show no black border.
        seed: the seed of the draws.
        sample: the id of this image.
    """
    chosen = find_perturbation(perturbation)
    if difficulty not in ((1, 2, 3) if chosen.noise else (1,)):
        allowed = "1, 2 or 3" if chosen.noise else "1; skip frames instead"
        raise BrittleError(f"the difficulty of {chosen.id} must be {allowed}, got {difficulty!r}")
    inputs.check(image)
    clean = np.asarray(image)
    if clean.dtype != np.uint8 or clean.ndim not in (2, 3) or (clean.ndim == 3 and clean.shape[2] not in (1, 3)):
        raise BrittleError(
            f"a sequence is made from one H×W or H×W×3 uint8 image, got shape {clean.shape} of {clean.dtype}"
        )
    side = crop or min(clean.shape[:2])
    if side > min(clean.shape[:2]) or side < 1:
        raise BrittleError(
            f"the image has sides {clean.shape[:2]}, so crop must lie between 1 and the smaller, got {crop!r}"
        )
    parameters = chosen.parameters(side, difficulty)
    draws = Draws(check_seed(seed), chosen.id, check_sample(sample))
    prepared = np.array(clean if clean.ndim == 3 else clean[:, :, np.newaxis], order="C")
    frame_count = parameters.pop("frames")
    draw_frame = chosen.function(prepared, draws, **parameters)

    def finish(frame: Image) -> Any:
        top, left = (frame.shape[0] - side) // 2, (frame.shape[1] - side) // 2
        out = frame[top : top + side, left : left + side] if crop else frame
        out = np.array(out if clean.ndim == 3 else out[:, :, 0], order="C")
        if inputs.is_pil(image):
            from PIL import Image as Pil

            return Pil.fromarray(out)
        return out

    return Sequence(frame_count, draw_frame, finish)
