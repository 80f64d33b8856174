"""What a benchmark says about corruptions that are not in it (NOC, sections 3.2 and 5.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from brittle.design.overlap_matrix import OverlapMatrix, check_names


@dataclass(frozen=True)
class Coverage:
    """For each corruption asked about, the members of the benchmark that cover it and by how much, strongest first.

    `unknown` are corruptions that nothing covers as far as is known, but that have a masked overlap with a member.
    """

    covered_by: Mapping[str, Mapping[str, float]]
    threshold: float
    unknown: tuple[str, ...] = ()

    @property
    def covered(self) -> list[str]:
        """The corruptions that some member covers."""
        return [name for name, members in self.covered_by.items() if members]

    @property
    def uncovered(self) -> list[str]:
        """The corruptions that no member is known to cover."""
        return [name for name, members in self.covered_by.items() if not members]

    @property
    def share(self) -> float:
        """Covered corruptions as a fraction of those asked about; NOC's coverage is their number."""
        return len(self.covered) / len(self.covered_by)

    def __str__(self) -> str:
        text = f"{len(self.covered)} of {len(self.covered_by)} covered (overlap > {self.threshold:g})"
        return f"{text}, {len(self.unknown)} unknown" if self.unknown else text


def coverage(
    overlap: OverlapMatrix, benchmark: Sequence[str], *, of: Sequence[str], threshold: float = 0.3
) -> Coverage:
    """Which of the corruptions `of` overlap by more than the threshold with at least one member of the benchmark.

    NOC finds that every corruption of ImageNet-C overlaps by more than 0.3 with one of ImageNet-NOC, while hue and
    border of the latter overlap with none of ImageNet-C. A member covers itself. A masked overlap covers nothing.
    """
    if not math.isfinite(threshold):
        raise ValueError(f"the threshold is a finite overlap, such as 0.3, got {threshold!r}")
    members, asked = check_names(benchmark), check_names(of)
    scores = overlap.scores[np.ix_(overlap.positions(asked), overlap.positions(members))]
    found: dict[str, dict[str, float]] = {}
    for name, row in zip(asked, scores, strict=True):
        order = np.argsort(-np.nan_to_num(row), kind="stable")
        found[name] = {members[i]: float(row[i]) for i in order if row[i] > threshold}
    unknown = tuple(name for name, row in zip(asked, scores, strict=True) if np.isnan(row).any() and not found[name])
    return Coverage(found, float(threshold), unknown)
