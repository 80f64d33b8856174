"""What stands on a sheet of the nearest augmentations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.distance import Distances
from brittle.report.figures.sheet import short_names
from brittle.report.nearest_sheet import NearestRow
from brittle.training.augmentation import Scheme, fixed


def nearest_rows(
    image: Image, benchmark: Benchmark, schemes: Mapping[str, Scheme], found: Mapping[str, Distances], *, seed: int = 0
) -> list[NearestRow]:
    """A row for each corruption at its middle level: the image corrupted, and under the nearest of each scheme.

    `found` are the distances of these schemes, sampled with this seed, to this benchmark.
    """
    rows, start = [], 0
    for entry, name in zip(benchmark.entries, short_names(entry.id for entry in benchmark.entries), strict=True):
        middle = (len(entry.levels) - 1) // 2
        place = start + middle
        start += len(entry.levels)
        corrupted = benchmark.apply(image, entry.id, entry.levels[middle], 0)
        nearest = {}
        for spec, scheme in schemes.items():
            shown = fixed(scheme, seed, int(found[spec].nearest[place]))(image[np.newaxis])[0]
            eight_bit = np.clip(np.rint(shown), 0, 255).astype(np.uint8)
            nearest[spec] = (eight_bit, float(found[spec].msd[place]))
        rows.append(NearestRow(name, corrupted, nearest))
    return rows
