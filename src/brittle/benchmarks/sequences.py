"""A benchmark of sequences, such as ImageNet-P: which perturbations, at which difficulty, with which seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from brittle._errors import BrittleError
from brittle._identity import digest
from brittle._types import check_seed
from brittle.benchmarks.benchmark import Cell
from brittle.corruptions.imagenet_p import Perturbation, find_perturbation, perturbations

SEQUENCE_BENCHMARKS = ("imagenet-p", "cifar10-p")
"""Both have the ten test perturbations; the size of the images chooses the published parameters and frame counts."""


@dataclass(frozen=True)
class SequenceBenchmark:
    """Perturbations whose sequences are shown to models frame by frame; by default the ten of ImageNet-P's test.

    A difficulty of 2 or 3 compares frames that many steps apart; noise is stronger instead.
    """

    name: str = "imagenet-p"
    perturbations: tuple[str, ...] = ()
    difficulty: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        names = self.perturbations or tuple(perturbation.id for perturbation in perturbations(test=True))
        ids = tuple(find_perturbation(name).id for name in names)
        duplicates = sorted({name for name in ids if ids.count(name) > 1})
        if duplicates:
            raise BrittleError(f"the benchmark {self.name!r} has a perturbation twice: {', '.join(duplicates)}")
        if self.difficulty not in (1, 2, 3):
            raise BrittleError(f"difficulty must be 1, 2 or 3, got {self.difficulty!r}")
        object.__setattr__(self, "perturbations", ids)
        object.__setattr__(self, "seed", check_seed(self.seed))

    def cells(self) -> list[Cell]:
        """One unit of work for each perturbation; its level is the difficulty."""
        return [self.cell(find_perturbation(name)) for name in self.perturbations]

    def cell(self, perturbation: Perturbation) -> Cell:
        """The unit of work of one perturbation; frames other than noise do not depend on the difficulty."""
        drawn = {"perturbation": perturbation.id, "seed": self.seed, "difficulty": self.difficulty}
        return Cell(perturbation.id, float(self.difficulty), digest(drawn, length=8))

    def cut(
        self, perturbations: Sequence[str] = (), *, seed: int | None = None, difficulty: int | None = None
    ) -> SequenceBenchmark:
        """The benchmark with some of its perturbations, with another seed, or at another difficulty."""
        return replace(
            self,
            perturbations=tuple(perturbations) or self.perturbations,
            seed=self.seed if seed is None else seed,
            difficulty=self.difficulty if difficulty is None else difficulty,
        )


def load_sequence_benchmark(name: str, *, difficulty: int = 1) -> SequenceBenchmark:
    """A benchmark of sequences by its name.

    >>> from brittle.benchmarks import load_sequence_benchmark
    >>> len(load_sequence_benchmark("imagenet-p").perturbations)
    10
    """
    if name not in SEQUENCE_BENCHMARKS:
        raise BrittleError(f"a benchmark of sequences is one of {', '.join(SEQUENCE_BENCHMARKS)}, got {name!r}")
    return SequenceBenchmark(name, difficulty=difficulty)
