"""Which images to show: sure when clean, wrong as soon as anything happens."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from brittle.benchmarks import Level
from brittle.evaluation.cell import CLEAN
from brittle.report.page.parts import Part


@dataclass(frozen=True)
class Broken:
    """An image that is right when clean, and the lowest level at which it is wrong."""

    sample: str
    label: int
    confidence: float
    corruption: str
    level: Level
    wrong: int
    wrong_confidence: float


def broken_samples(part: Part, model: str, corruptions: list[str], each: int) -> list[list[Broken]]:
    """For each corruption the images that break earliest; of those the ones the model was surest of, no image twice."""
    assert part.benchmark is not None
    rows = part.results.rows.filter((pl.col("model") == model) & pl.col("corruption").is_in([CLEAN, *corruptions]))
    table = rows.select("corruption", "level", "sample", "label", "prediction", "confidence", "correct").collect()
    sure = table.filter((pl.col("corruption") == CLEAN) & pl.col("correct")).select(
        "sample", "label", pl.col("confidence").alias("sure")
    )
    used: set[str] = set()
    found = []
    for corruption in corruptions:
        levels: dict[float, Level] = {
            sum(level) / 2 if isinstance(level, tuple) else level: level
            for level in part.benchmark.entry(corruption).levels
        }
        failed = (
            table.filter(
                (pl.col("corruption") == corruption) & ~pl.col("correct") & pl.col("level").is_in(list(levels))
            )
            .join(sure.select("sample", "sure"), on="sample")
            .sort(["level", "sure", "sample"], descending=[False, True, False])
            .unique("sample", keep="first", maintain_order=True)
            .filter(~pl.col("sample").is_in(sorted(used)))
            .head(each)
        )
        used |= set(failed["sample"])
        found.append(
            [
                Broken(
                    row["sample"],
                    row["label"],
                    row["sure"],
                    corruption,
                    levels[row["level"]],
                    row["prediction"],
                    row["confidence"],
                )
                for row in failed.iter_rows(named=True)
            ]
        )
    return found
