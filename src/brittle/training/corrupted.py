"""Train on what will be tested: a share of the images is corrupted, each at a severity of its own."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.arrays import Image
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions.draws import Draws


class Corrupted:
    """An augmentation that corrupts half of the images by a benchmark, as NOC trains.

    For each image and epoch a coin is thrown, a corruption is picked, then one of its levels (a range gives each image
    its own severity). Half of a batch is corrupted on average, as in the authors' code.
    """

    def __init__(self, benchmark: Benchmark, corruptions: Sequence[str] | None = None, *, share: float = 0.5) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"the share of corrupted images is between 0 and 1, got {share}")
        self.benchmark, self.share = benchmark, share
        self.entries: list[Entry] = (
            list(benchmark.entries) if corruptions is None else [benchmark.entry(name) for name in corruptions]
        )

    def __call__(self, image: Image, draws: Draws) -> Image:
        """The image, corrupted or not."""
        if draws.uniform("corrupted") >= self.share:
            return image
        entry = self.entries[draws.integer("corruption", len(self.entries))]
        level = entry.levels[draws.integer("level", len(entry.levels))]
        corrupted: Image = self.benchmark.apply(image, entry.id, level, draws.name)
        return corrupted

    def __repr__(self) -> str:
        names = ", ".join(entry.id for entry in self.entries)
        return f"Corrupted({self.benchmark.hash}, {names}, share={self.share})"
