"""Leave out images that no longer show their class."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from brittle.sliders.image_scores import TRAJECTORY, ImageScores
from brittle.sliders.ooc_thresholds import Thresholds


def ooc_filter(
    scores: ImageScores | pl.DataFrame,
    thresholds: Thresholds,
    *,
    least: int = 2,
    scales: Sequence[float] | None = None,
) -> pl.DataFrame:
    """The table of scores with columns `passes`, `passed` and `kept`.

    An image passes a score if it is greater than the threshold; a score that is missing is not passed. It has
    `passed` if it passes `least` of them: two of four, as in the published code. It is `kept` if it and all others
    of its trajectory passed: at `scales`, by default all scales that the shift has. `least=1` with one threshold,
    {"CLIP_class": …}, is the naive filter.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    lacking = [name for name in thresholds if name not in table.columns]
    if lacking or not thresholds:
        raise ValueError(
            f"there is no score {', '.join(lacking) or '(no thresholds given)'} among {', '.join(table.columns)}"
        )
    if not 1 <= least <= len(thresholds):
        raise ValueError(f"least is how many of {len(thresholds)} scores must pass, between 1 and that; got {least!r}")
    passes = pl.sum_horizontal([(pl.col(name) > value).fill_null(False) for name, value in thresholds.items()])
    table = table.with_columns(passes.alias("passes")).with_columns((pl.col("passes") >= least).alias("passed"))
    if scales is not None:
        wanted = pl.lit(len(set(scales)))
        counted = pl.col("passed") & pl.col("scale").is_in([float(scale) for scale in scales])
    else:
        wanted = pl.col("scale").n_unique().over("shift")
        counted = pl.col("passed")
    whole = counted.sum().over(TRAJECTORY) == wanted
    return table.with_columns((whole & counted).alias("kept"))


def kept_samples(filtered: pl.DataFrame) -> list[str]:
    """The ids of the images that are kept; if there are none, that is an error."""
    found = filtered.filter("kept")["sample"].to_list()
    if not found:
        passed = int(filtered["passed"].sum())
        raise ValueError(
            f"no trajectory is left: {passed} of {len(filtered)} images passed, but in no trajectory all of them; "
            "choose other thresholds, a smaller `least`, or fewer scales"
        )
    return found
