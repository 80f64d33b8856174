"""How often the 95 % intervals of scores hold the truth, by simulation, beside a plain percentile bootstrap.

    nice -n 10 python perf/interval_coverage.py [REPETITIONS]

Images are drawn from a population whose accuracies are known: 75 cells (15 corruptions at 5 levels) and the clean
image, all right or wrong by a latent difficulty of the image that explains a given share of the variance. Writes
perf/interval_coverage.json and docs/explanation/intervals.md. It takes about four minutes of one core with 1,000
repetitions, and resumes with the numbers of images that are missing.

The weight of the pseudo-sample (`resampling.PSEUDO_WEIGHT`) was chosen with other seeds than the one used here.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from brittle import metrics
from brittle._types import FloatArray
from brittle.metrics.bounded_means import Fraction, gap_interval, mean_interval

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "interval_coverage.json", HERE.parent / "docs" / "explanation" / "intervals.md"
SEED = 13
SAMPLES = (6, 10, 20, 30, 50, 100, 200, 1000)
SHARED = {"independent cells": 0.0, "correlated": 0.5, "strongly correlated": 0.9, "one difficulty": 1.0}
"""The share of the variance that the difficulty of the image explains."""
PLAIN = (0, 0.001, 0.01, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.99, 0.999, 1)
MIXED = {"0.98–0.995": (0.9975, 0.98, 0.995), "0.5–0.9": (0.95, 0.5, 0.9), "chance": (0.1, 0.1, 0.1)}
"""Clean accuracy, and the first and last of the corruptions' accuracies."""
STATISTICS = ("mean accuracy", "drop", "R", "mCE", "relative mCE", "paired difference")
COLUMNS = ("before", "after", "width before", "width after", "ideal width")
RESAMPLES, WIDTHS_OF_R = 1000, 5

Table = dict[str, dict[str, dict[str, list[list[float | None]]]]]
"""Statistic, correlation, images, then accuracies × `COLUMNS`."""

ALEXNET = metrics.baseline()
BELOW = ALEXNET.of(list(ALEXNET.errors)[:15])
MCE, RELATIVE = 1 / BELOW / 15, 1 / (BELOW - ALEXNET.clean_error) / 15


def accuracies(name: str) -> FloatArray:
    """Clean, then 15 corruptions; the clean image has half the errors."""
    if name in MIXED:
        clean, first, last = MIXED[name]
        return np.r_[clean, np.linspace(last, first, 15)]
    return np.r_[(1 + float(name)) / 2, np.full(15, float(name))]


def draw(
    rng: np.random.Generator, accuracy: FloatArray, shared: float, difficulty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Right or wrong of the clean image, and the errors of 15 corruptions (means over 5 levels)."""
    limit = ndtri(accuracy)
    if shared == 1:
        right = difficulty[..., np.newaxis] < limit
        return right[..., 0].astype(float), 1 - right[..., 1:].astype(float)
    limits, place = np.unique(limit, return_inverse=True)
    chances = ndtr((limits - shared**0.5 * difficulty[..., np.newaxis]) / (1 - shared) ** 0.5).astype(np.float32)
    clean = rng.random(difficulty.shape, dtype=np.float32) < chances[..., place[0]]
    chance = chances[..., place[1:]]
    wrong = np.zeros(chance.shape, dtype=np.uint8)
    for _ in range(5):
        wrong += rng.random(chance.shape, dtype=np.float32) >= chance
    return clean.astype(float), wrong / 5


def simulate(
    rng: np.random.Generator, n: int, accuracy: FloatArray, shared: float, repetitions: int
) -> dict[str, FloatArray]:
    """What the statistics need of each image, samples × repetitions."""
    found: dict[str, list[FloatArray]] = {key: [] for key in ("clean", "right", "mce", "relative", "other")}
    block = max(1, 60_000 // n)
    for start in range(0, repetitions, block):
        size = (min(block, repetitions - start), n)
        common = rng.standard_normal(size)
        ours, theirs = ((common + rng.standard_normal(size)) / 2**0.5 for _ in range(2))
        clean, errors = draw(rng, accuracy, shared, ours)
        _, other = draw(rng, accuracy, shared, theirs)
        mine = (clean, 1 - errors.mean(-1), errors @ MCE, errors @ RELATIVE, 1 - other.mean(-1))
        for key, values in zip(found, mine, strict=True):
            found[key].append(values.T)
    return {key: np.concatenate(values, axis=1) for key, values in found.items()}


def percentiles(drawn: FloatArray) -> FloatArray:
    """np.quantile(drawn, [0.025, 0.975], axis=0) of 1,000 resamples, in a third of the time."""
    near = np.partition(np.ascontiguousarray(drawn.T, dtype=np.float32), (24, 25, 974, 975), axis=1)
    return np.array(
        [0.025 * near[:, 24] + 0.975 * near[:, 25], 0.975 * near[:, 974] + 0.025 * near[:, 975]], dtype=float
    )


def measure(
    rng: np.random.Generator, weights: FloatArray, accuracy: FloatArray, shared: float, repetitions: int
) -> dict[str, list[float]]:
    """For each statistic: coverage and mean width before and after, and the width of a known variance."""
    n = weights.shape[1]
    seen = simulate(rng, n, accuracy, shared, repetitions)
    drawn = {key: (weights @ values.astype(np.float32) / n).astype(float) for key, values in seen.items()}
    clean, mean, errors, total = accuracy[0], accuracy[1:].mean(), 1 - accuracy[1:], RELATIVE.sum()
    found = {}

    def keep(
        name: str, truth: float, parts: tuple[FloatArray, FloatArray], most: tuple[float, float], many: FloatArray
    ) -> None:
        values = parts[0] - parts[1]
        plain = percentiles(many)
        low, high = mean_interval(parts[0], 0, most[0]) if most[1] == 0 else gap_interval(*parts, *most)
        wide = np.minimum(low, plain[0]), np.maximum(high, plain[1])
        covered = [100 * np.mean((a <= truth + 1e-6) & (b >= truth - 1e-6)) for a, b in (plain, wide)]
        ideal = 2 * 1.96 * values.std() / n**0.5
        found[name] = [*covered, np.mean(plain[1] - plain[0]), np.mean(wide[1] - wide[0]), ideal]

    nothing = np.zeros(())
    keep("mean accuracy", mean, (seen["right"], nothing), (1, 0), drawn["right"])
    keep("drop", clean - mean, (seen["clean"], seen["right"]), (1, 1), drawn["clean"] - drawn["right"])
    keep("mCE", errors @ MCE, (seen["mce"], nothing), (MCE.sum(), 0), drawn["mce"])
    rise = (seen["relative"], total * (1 - seen["clean"]))
    truth = errors @ RELATIVE - total * (1 - clean)
    keep("relative mCE", truth, rise, (total, total), drawn["relative"] - total * (1 - drawn["clean"]))
    keep("paired difference", 0.0, (seen["right"], seen["other"]), (1, 1), drawn["right"] - drawn["other"])
    found["R"] = ratio(mean / clean, clean, seen, drawn)
    return {name: found[name] for name in STATISTICS}


def ratio(truth: float, clean: float, seen: dict[str, FloatArray], drawn: dict[str, FloatArray]) -> list[float]:
    """R, where it is defined: before only if no resample divides by 0."""
    defined, steady = seen["clean"].any(axis=0), (drawn["clean"] > 0).all(axis=0)
    low, high = gap_interval(seen["right"], truth * seen["clean"], 1, truth)  # Fieller's test of the truth
    many = drawn["right"][:, steady] / drawn["clean"][:, steady]
    plain = percentiles(many) if steady.any() else np.full((2, 0), np.nan)
    held = (plain[0] <= truth + 1e-6) & (plain[1] >= truth - 1e-6)
    covered = (low <= 1e-6) & (high >= -1e-6)
    covered[steady] |= held
    widths = []
    for i in np.flatnonzero(steady)[:WIDTHS_OF_R]:
        form = Fraction(0.0, np.array([0.0, 1.0]), 0.0, np.array([1.0, 0.0]))
        ends = form.interval(np.column_stack([seen["clean"][:, i], seen["right"][:, i]]))
        place = int(steady[:i].sum())
        widths.append(max(ends[1], plain[1][place]) - min(ends[0], plain[0][place]))
    ideal = 2 * 1.96 * (seen["right"] - truth * seen["clean"]).std() / clean / len(seen["clean"]) ** 0.5
    before = 100 * held.mean() if steady.any() else np.nan
    wide = np.mean(widths) if widths else np.nan
    return [
        before,
        100 * covered[defined].mean(),
        np.mean(plain[1] - plain[0]) if steady.any() else np.nan,
        wide,
        ideal,
    ]


def main(repetitions: int) -> None:
    """Measure, keep, and write the page."""
    names = [*map(str, PLAIN), *MIXED]
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    resumed = (kept.get("seed"), kept.get("repetitions"), kept.get("accuracies")) == (SEED, repetitions, names)
    table: Table = kept["table"] if resumed else {}
    start = time.process_time() - (kept["seconds"] if resumed else 0)
    for number, n in enumerate(SAMPLES):
        if table and str(n) in table["R"][list(SHARED)[-1]]:
            continue
        weights = (metrics.resampled_means(np.eye(n, dtype=bool), resamples=RESAMPLES) * n).astype(np.float32)
        for kind, (words, shared) in enumerate(SHARED.items()):
            for place, name in enumerate(names):
                rng = np.random.default_rng([SEED, number, kind, place])
                rows = measure(rng, weights, accuracies(name), shared, repetitions)
                for statistic, values in rows.items():
                    short = [None if np.isnan(x) else float(f"{x:.3g}") for x in values]
                    table.setdefault(statistic, {}).setdefault(words, {}).setdefault(str(n), []).append(short)
        print(f"n = {n}: {time.process_time() - start:.0f} s", flush=True)
        found = {
            "seed": SEED,
            "repetitions": repetitions,
            "seconds": round(time.process_time() - start),
            "accuracies": names,
            "columns": COLUMNS,
            "table": table,
        }
        KEPT.write_text(json.dumps(found) + "\n", encoding="utf-8")
    PAGE.write_text(page(json.loads(KEPT.read_text(encoding="utf-8"))), encoding="utf-8")


def page(found: dict) -> str:
    """docs/explanation/intervals.md, all numbers from the simulation."""
    table, names = found["table"], found["accuracies"]
    samples = [n for n in SAMPLES if str(n) in table["R"][list(SHARED)[-1]]]

    def cells(statistic: str, n: int, chosen: list[str] = names) -> np.ndarray:
        rows = [[table[statistic][kind][str(n)][names.index(name)] for name in chosen] for kind in SHARED]
        return np.array(rows, dtype=float)  # kinds × accuracies × columns

    def line(first: object, numbers: list[str]) -> str:
        return f"| {first} | " + " | ".join(numbers) + " |"

    def lowest(values: np.ndarray) -> str:
        before, after = np.nanmin(values[..., 0]), np.nanmin(values[..., 1])
        return f"{before:.0f} → **{after:.1f}**"

    by_n = [line(f"{n:,}", [lowest(cells(s, n)) for s in STATISTICS]) for n in samples]
    by_accuracy = [
        line(name, [lowest(np.concatenate([cells(s, n, [name]) for n in samples])) for s in STATISTICS])
        for name in names
    ]

    def factor(n: int, kind: int, column: int) -> str:
        inner = [name for name in names if name not in ("0", "1")]
        values = np.concatenate([cells(s, n, inner)[kind] for s in STATISTICS])
        with np.errstate(all="ignore"):
            return f"{np.nanmedian(values[:, column] / values[:, 4]):.2f}"

    kinds = range(len(SHARED))
    widths = [line(f"{n:,}", [f"{factor(n, k, 2)} → {factor(n, k, 3)}" for k in kinds]) for n in samples]
    high, certain = "0.98–0.995", "0.999"
    hard = [
        line(
            f"{n} images, {name}",
            [
                f"{np.nanmin(cells(s, n, [name])[..., 0]):.0f} → {np.nanmin(cells(s, n, [name])[..., 1]):.1f}, width "
                f"{np.nanmean(cells(s, n, [name])[1, :, 2]):.3f} → {np.nanmean(cells(s, n, [name])[1, :, 3]):.3f}"
                for s in STATISTICS
            ],
        )
        for n, name in ((50, high), (30, certain))
        if n in samples
    ]
    head = line("", list(STATISTICS)) + "\n" + "|---" * (len(STATISTICS) + 1) + "|"
    every = [cells(s, n)[..., 1] for s in STATISTICS for n in samples]
    return f"""# How far to trust an interval

Every score of brittle comes with a 95 % interval. This page describes the method, its measured coverage, and its
limits.

## What the interval is

- **The bootstrap resamples images.** All corrupted copies of an image stay together, because they are correlated:
  75 cells of 50 images are not 3,750 independent predictions.
- **Single cells and clean accuracy** are k correct of n: they have Wilson's interval.
- **Means over cells, error, drop, R, mCE, relative mCE and paired differences** have a bootstrap interval: images
  are resampled with replacement 1,000 times, from a fixed seed, and the interval is the middle 95 % of the scores.
  This alone is too narrow with few images, and if all predictions are correct it has no width: six correct images
  would give "100.0–100.0".
- So the interval is **widened to reflect the number of images**. Each image has a share of correct cells. Wilson's
  interval (with continuity correction) of their mean is computed at the effective sample size: the number of single
  predictions with the same variance. If the cells of an image are always all correct or all wrong, this is the
  number of images; if cells are independent, it is larger. A small weight represents an unseen image that is wrong
  everywhere. For ratios (R), Fieller's method is used with the same parts. Six correct images give 51.7–100.0.
- Differences of three or more models have simultaneous intervals, and are widened in the same way.
- None of this changes the point value.

## How often it holds

`perf/interval_coverage.py` draws images from populations whose true scores are known, {found["repetitions"]:,} times
for each of {len(names)} accuracies × {len(SHARED)} kinds of correlation × {len(samples)} numbers of images, and counts
how often the interval covers the true score. The weight of the unseen image was chosen with other random numbers.
Tables show the *worst* case: the lowest coverage in percent, plain percentile bootstrap → brittle's. With
{found["repetitions"]:,} repetitions a true 95 % is measured as 93.6 to 96.4. The lowest of all is
**{min(np.nanmin(x) for x in every):.1f} %**, the mean {np.mean([np.nanmean(x) for x in every]):.1f} %.

By number of images, over all accuracies and correlations:

{head}
{chr(10).join(by_n)}

By accuracy of the cells (clean images have half the errors), over all numbers of images and correlations:

{head}
{chr(10).join(by_accuracy)}

R is undefined without a correct clean image; such draws are left out, and the plain bootstrap also fails if a
resample has none.

## How wide it is

Median width over accuracies and scores, as a multiple of the ideal 2 × 1.96 standard errors of a known variance;
plain percentile bootstrap → brittle's. A value below 1 is too narrow.

{line("images", list(SHARED))}
{"|---" * (len(SHARED) + 1)}|
{chr(10).join(widths)}

Intervals for independent cells are too wide: few images cannot exclude an image that fails everywhere, so the
interval stays near that of a single cell until there are many images.

Two cases in which the plain bootstrap fails badly (coverage in percent, and mean width with correlated cells):

{head}
{chr(10).join(hard)}

## When not to trust it

- The images must be a random sample of the images of your application. Frames of one video, or several crops of one
  photograph, count once.
- The interval covers *other images of the same kind*, not another training of the model, another seed of the
  corruptions or another camera.
- With fewer than about 20 images it is valid but too wide to decide anything.
- A type of image rarer than about 3 in n may be absent from your sample; no interval covers it.
- Overlap matrices, MSD and balance have their own intervals, described on their pages.

The simulation takes {found["seconds"] / 60:.0f} minutes of one core: `nice -n 10 python perf/interval_coverage.py`
(the same command resumes it).
"""


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
