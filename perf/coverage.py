"""How often the 95 % intervals of scores hold the truth, by simulation, beside a plain percentile bootstrap.

    nice -n 10 python perf/coverage.py [REPETITIONS]

Images are drawn from a population whose accuracies are known: 75 cells (15 corruptions at 5 levels) and the clean
image, all right or wrong by a latent difficulty of the image that explains a given share of the variance. Writes
perf/coverage.json and docs/intervals.md. It takes about ten minutes of one core with 1,000 repetitions.

The weight of the imagined sample (`mean_interval.UNSEEN`) was chosen with other seeds than the one used here.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from brittle import metrics
from brittle.metrics.fraction import Floats
from brittle.metrics.mean_interval import Fraction, gap_interval, mean_interval

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "coverage.json", HERE.parent / "docs" / "intervals.md"
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

ALEXNET = metrics.baseline()
BELOW = ALEXNET.of(list(ALEXNET.errors)[:15])
MCE, RELATIVE = 1 / BELOW / 15, 1 / (BELOW - ALEXNET.clean_error) / 15


def accuracies(name: str) -> Floats:
    """Clean, then 15 corruptions; the clean image has half the errors."""
    if name in MIXED:
        clean, first, last = MIXED[name]
        return np.r_[clean, np.linspace(last, first, 15)]
    return np.r_[(1 + float(name)) / 2, np.full(15, float(name))]


def draw(rng: np.random.Generator, accuracy: Floats, shared: float, difficulty: Floats) -> tuple[Floats, Floats]:
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


def simulate(rng: np.random.Generator, n: int, accuracy: Floats, shared: float, repetitions: int) -> dict[str, Floats]:
    """What the statistics need of each image, samples × repetitions."""
    found: dict[str, list[Floats]] = {key: [] for key in ("clean", "right", "mce", "relative", "other")}
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


def measure(
    rng: np.random.Generator, weights: Floats, accuracy: Floats, shared: float, repetitions: int
) -> dict[str, list[float]]:
    """For each statistic: coverage and mean width before and after, and the width of a known variance."""
    n = weights.shape[1]
    seen = simulate(rng, n, accuracy, shared, repetitions)
    drawn = {key: (weights @ values.astype(np.float32) / n).astype(float) for key, values in seen.items()}
    clean, mean, errors, total = accuracy[0], accuracy[1:].mean(), 1 - accuracy[1:], RELATIVE.sum()
    found = {}

    def keep(name: str, truth: float, parts: tuple[Floats, Floats], most: tuple[float, float], many: Floats) -> None:
        values = parts[0] - parts[1]
        plain = np.quantile(many, [0.025, 0.975], axis=0)
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


def ratio(truth: float, clean: float, seen: dict[str, Floats], drawn: dict[str, Floats]) -> list[float]:
    """R, where it is defined: before only if no resample divides by 0."""
    defined, steady = seen["clean"].any(axis=0), (drawn["clean"] > 0).all(axis=0)
    low, high = gap_interval(seen["right"], truth * seen["clean"], 1, truth)  # Fieller's test of the truth
    many = drawn["right"][:, steady] / drawn["clean"][:, steady]
    plain = np.quantile(many, [0.025, 0.975], axis=0) if steady.any() else np.full((2, 0), np.nan)
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
    start = time.process_time()
    table: dict[str, dict[str, dict[str, list[list[float | None]]]]] = {}
    names = [*map(str, PLAIN), *MIXED]
    for number, n in enumerate(SAMPLES):
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


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
