"""Do models keep their order along a shift, and does accuracy foretell accuracy?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from brittle.metrics import id_ood_slope, kendall
from brittle.metrics.fraction import fractions
from brittle.metrics.slope import AXES
from brittle.sliders.trajectories import Trajectories


def ranking_table(together: Sequence[Trajectories]) -> pl.DataFrame:
    """Models by accuracy at each scale, and how far each has fallen since scale 0."""
    rows = []
    for part in together:
        accuracy = part.correct.mean(1)
        ranks = 1 + (accuracy[:, None] < accuracy[None]).sum(1)
        for i, scale in enumerate(part.scales):
            for number, model in enumerate(part.models):
                rank = int(ranks[number, i])
                fallen = rank - int(ranks[number, 0])
                rows.append((part.shift, scale, model, float(accuracy[number, i]), rank, fallen))
    table = pl.DataFrame(rows, schema=["shift", "scale", "model", "accuracy", "rank", "fallen"], orient="row")
    return table.sort("shift", "scale", "rank", "model", maintain_order=True)


def agreement_table(together: Sequence[Trajectories], *, level: float) -> pl.DataFrame:
    """Kendall's τ-b of the accuracies at each scale with those at scale 0; null for fewer than three models."""
    rows: list[tuple[str, float, float | None, float | None, float | None, int]] = []
    for part in together:
        accuracy = part.correct.mean(1)
        for i, scale in enumerate(part.scales):
            try:
                tau = kendall(accuracy[:, 0], accuracy[:, i], level=level)
                rows.append((part.shift, float(scale), tau.value, tau.low, tau.high, len(part.models)))
            except ValueError:
                rows.append((part.shift, float(scale), None, None, None, len(part.models)))
    schema = {"shift": pl.String, "scale": pl.Float64, "kendall": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, "models": pl.Int64}, orient="row")


def slope_table(
    together: Sequence[Trajectories],
    models: Sequence[str],
    id_accuracy: Mapping[str, float] | None,
    *,
    axes: str,
    level: float,
) -> pl.DataFrame:
    """The line of accuracy at a scale on ID accuracy, over models; where there is none, there is no row."""
    names = ("shift", "scale", "slope", "low", "high", "intercept", "r_squared")
    schema = {name: pl.String if name == "shift" else pl.Float64 for name in names}
    rows = []
    if axes not in AXES:
        raise ValueError(f"axes must be one of {', '.join(AXES)}, got {axes!r}")
    if id_accuracy is not None:
        lacking = [model for model in models if model not in id_accuracy]
        if lacking:
            raise ValueError(f"there is no ID accuracy of {lacking[0]!r}; id_accuracy has {', '.join(id_accuracy)}")
        fractions([id_accuracy[model] for model in models], "the ID accuracy")
    for part in together if len(models) >= 3 else ():
        accuracy = part.correct.mean(1)[[part.models.index(model) for model in models]]
        known = accuracy[:, 0] if id_accuracy is None else [id_accuracy[model] for model in models]
        for i, scale in enumerate(part.scales):
            if scale == 0 and id_accuracy is None:
                continue  # a line of scale 0 on itself
            try:
                fit = id_ood_slope(known, accuracy[:, i], axes=axes)
            except ValueError:
                continue  # models that are all alike have no slope, nor have 0 and 1 on probit and logit axes
            slope = fit.estimate(level=level)
            line = (slope.value, slope.low, slope.high, fit.intercept, fit.r_squared)
            rows.append((part.shift, float(scale), *line, fit.n))
    return pl.DataFrame(rows, schema={**schema, "models": pl.Int64}, orient="row")
