"""Sampled augmentations in the order of their distance to a benchmark, and training with a few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import Image, check_seed
from brittle.corruptions import Draws
from brittle.distance.features import Rows
from brittle.distance.measures import sample_distances
from brittle.distance.transforms import CorruptionFeatures
from brittle.training.augmentation import Scheme, fixed

Choice = Literal["closest", "farthest", "random"]
CHOICES: tuple[Choice, ...] = ("closest", "farthest", "random")


def interleaved_order(distances: ArrayLike) -> NDArray[np.int64]:
    """All samples, the closest first: of every column's ranking the first, then of every column the second, and so on.

    `distances` are samples × columns, see `sample_distances`. A sample that several columns rank high is taken at the
    first of these places, so the first samples of the order are close to some column each, not to all of them (Mintun
    et al., appendix A and the authors' code, which interleaves the rankings of 75 corruptions and severities).

    >>> interleaved_order([[3, 1], [1, 2], [2, 3]]).tolist()
    [1, 0, 2]
    """
    table = np.asarray(distances, np.float64)
    if table.ndim != 2 or not table.size:
        raise BrittleError(f"distances are samples × columns with at least one of each, got shape {table.shape}")
    if np.isnan(table).any():
        raise BrittleError(f"distances must be numbers, and {np.isnan(table).sum()} of {table.size} are NaN")
    places = table.argsort(axis=0, kind="stable").ravel()  # row by row: all first places, then all second ones
    _, first = np.unique(places, return_index=True)
    return np.asarray(places[np.sort(first)], np.int64)


def choose_augmentations(
    augmentations: Rows | ArrayLike, corruptions: CorruptionFeatures, count: int, choice: Choice, *, seed: int = 0
) -> tuple[int, ...]:
    """The numbers of `count` sampled augmentations: those closest to a benchmark, the farthest, or random ones.

    Args:
        augmentations: features of the samples, see `transform_features`.
        corruptions: features of the benchmark, see `corruption_features`.
        count: the number to choose.
        choice: "closest" takes the first of `interleaved_order`, "farthest" the last, "random" any.
        seed: of the random ones; a larger random choice begins with a smaller one.
    """
    if choice not in CHOICES:
        raise BrittleError(f"a choice of augmentations is {', '.join(CHOICES)}; got {choice!r}")
    order = interleaved_order(sample_distances(augmentations, corruptions.means))
    if not 1 <= count <= len(order):
        raise BrittleError(f"choose 1 to {len(order)} of {len(order)} sampled augmentations, got {count}")
    if choice == "random":
        rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
        order = rng.permutation(order)
    return tuple(int(i) for i in (order[-count:][::-1] if choice == "farthest" else order[:count]))


@dataclass(frozen=True)
class ChosenTransforms:
    """A scheme of a few fixed transforms of another one, each image under one of them at random.

    Transform `i` is the one whose features `transform_features` gives in row i for the same scheme and seed.
    """

    takes_stacks: ClassVar[bool] = True

    scheme: Scheme
    numbers: tuple[int, ...]
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.numbers or min(self.numbers) < 0:
            raise BrittleError(f"give the numbers of one transform or more, from 0 upwards; got {self.numbers}")

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """An image, or a stack of images, under the transform that these draws pick."""
        transform = fixed(self.scheme, self.seed, self.numbers[draws.integer("transform", len(self.numbers))])
        return transform(image) if image.ndim == 4 else transform(image[np.newaxis])[0]


def chosen_schemes(
    scheme: Scheme,
    augmentations: Rows | ArrayLike,
    corruptions: CorruptionFeatures,
    counts: Sequence[int],
    *,
    seed: int = 0,
) -> dict[str, ChosenTransforms]:
    """For each number and choice, a scheme of so many sampled augmentations, by names such as `closest 10`.

    The experiment of the MSD paper's appendix A trains a network with each: what do a few similar augmentations gain,
    and what do many dissimilar ones cost? `augmentations` are features of samples of `scheme`, drawn with `seed`.
    """
    return {
        f"{choice} {count}": ChosenTransforms(
            scheme, choose_augmentations(augmentations, corruptions, count, choice, seed=seed), seed
        )
        for choice in CHOICES
        for count in counts
    }
