"""Small random results with everything that makes browsing hard: ties, missing samples, unknown confidences, slides."""

import numpy as np
import polars as pl

from brittle.evaluation import Results

COLUMNS = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
LADDERS = {"clean": (0.0,), "imagenet-c/fog": (1.0, 2.5, 5.0), "c-bar/lines": (0.7, 1.4), "noc/hue": (3.0,)}


def random_rows(seed: int, *, models: int = 3, samples: int = 40, classes: int = 4) -> pl.DataFrame:
    """Rows in random order; the last model lacks one corruption, and some samples are missing here and there."""
    rng = np.random.default_rng(seed)
    ids = [f"{rng.integers(1000):03d}/picture {i}.png" for i in range(samples)]
    labels = rng.integers(0, classes, samples)
    rows = []
    for model in range(models):
        for corruption, levels in LADDERS.items():
            if model == models - 1 and corruption == "c-bar/lines":
                continue
            for level in levels:
                for sample, label in zip(ids, labels, strict=True):
                    if rng.random() < 0.03:
                        continue
                    prediction = int(label) if rng.random() < 0.6 else int(rng.integers(classes))
                    confidence = float(np.float32(rng.choice([0.25, 0.5, 0.75, 1.0, rng.random(), np.nan])))
                    same = prediction == label
                    rows.append((f"model-{model}", corruption, level, sample, label, prediction, confidence, same))
    return _table(rows).sample(fraction=1, shuffle=True, seed=seed)


def random_slides(seed: int, *, trajectories: int = 6, models: int = 2) -> pl.DataFrame:
    """Rows of two shifts at four scales; one trajectory lacks its last scale."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in range(models):
        for shift in ("snow", "painting_style"):
            for number in range(trajectories):
                for scale in (0, 500, 1000, 1500)[: 3 if number == 0 else 4]:
                    sample = f"{shift}/022_bald eagle/seed_{number:04d}_scale_{scale}.jpg"
                    right = bool(rng.random() < 0.8 - scale / 3000)
                    rows.append(
                        (f"model-{model}", f"cns/{shift}", scale / 1000, sample, 22, 22 if right else 7, 0.5, right)
                    )
    return _table(rows)


def _table(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    return table.with_columns(pl.col("label", "prediction").cast(pl.Int32), pl.col("confidence").cast(pl.Float32))


def results_of(rows: pl.DataFrame) -> Results:
    """Results without a folder."""
    return Results(rows.lazy())
