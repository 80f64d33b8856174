"""How often `brittle check` fails a model that is exactly at every bound, by simulation.

    nice -n 10 python perf/check_rates.py [REPETITIONS]

Images are drawn from a population whose accuracies are known: four corruptions at three levels and the clean image, all
right or wrong by a latent difficulty of the image that explains a given share of the variance. Nineteen rules have
the true values as their bounds, so whatever fails, fails by chance. Writes perf/check_rates.json and the table of
docs/how-to/check.md. It takes about fifteen minutes of two cores with 1,000 repetitions, and resumes with
the cases that are missing.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

import brittle
from brittle.datasets import arrays
from brittle.evaluation import Outcome, Results, Rule, Store, check_rules
from brittle.metrics import clopper_pearson

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "check_rates.json", HERE.parent / "docs" / "how-to" / "check.md"
BEGIN, END = "<!-- perf/check_rates.py writes from here -->", "<!-- to here -->"
SEED = 29
CASES = ((50, 0.5), (200, 0.5), (1000, 0.5), (200, 0.9))
"""Numbers of images, and the share of the variance that the difficulty of the image explains."""
WAYS = ("by the point", "each interval alone", "brittle check")

CORRUPTIONS, LEVELS = ("gaussian_noise", "fog", "snow", "contrast"), (1, 3, 5)
CLEAN = 0.95
ACCURACY = {"gaussian_noise": (0.8, 0.6, 0.3), "fog": (0.94, 0.9, 0.75), "snow": (0.85, 0.8, 0.7)}
ACCURACY |= {"contrast": (0.97, 0.9, 0.4)}
RECIPE = brittle.load_benchmark("cifar10-c").cut(CORRUPTIONS, severities=LEVELS)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(201)


def rules(shared: float) -> list[Rule]:
    """Nineteen rules, each with the true value as its bound."""
    found = [Rule("clean accuracy", at_least=CLEAN)]
    overall = np.mean([np.mean(ACCURACY[name]) for name in CORRUPTIONS])
    weather = np.mean([np.mean(ACCURACY[name]) for name in ("fog", "snow")])
    found.append(Rule("accuracy", family=("weather",), at_least=float(weather)))
    for name in CORRUPTIONS:
        mean, where = float(np.mean(ACCURACY[name])), {"corruption": (name,)}
        found += [
            Rule("accuracy", at_least=ACCURACY[name][1], severity=(3, 3), **where),
            Rule("accuracy", at_least=mean, **where),
            Rule("accuracy drop", at_most=CLEAN - mean, **where),
            Rule("failure point", at_least=failure_point(name, 0.2, shared), quantile=0.2, **where),
        ]
    return [*found, Rule("robustness R", at_least=float(overall / CLEAN))]


def failure_point(corruption: str, share: float, shared: float) -> float:
    """The true quantile of the failure points of images that are right when clean, by integrating over difficulties."""
    weights = WEIGHTS / WEIGHTS.sum()
    right = chances(NODES, CLEAN, shared) * weights
    alive, clean = right, right.sum()
    if shared == 1:
        raise ValueError("levels are independent given the difficulty, which must leave something open")
    for level, accuracy in zip(LEVELS, ACCURACY[corruption], strict=True):
        alive = alive * chances(NODES, accuracy, shared)
        if 1 - alive.sum() / clean >= share:
            return float(level)
    raise ValueError(f"fewer than {share} of the images fail under {corruption}")


def chances(difficulty: np.ndarray, accuracy: float, shared: float) -> np.ndarray:
    """How likely an image of this difficulty is right."""
    return np.asarray(ndtr((ndtri(accuracy) - shared**0.5 * difficulty) / (1 - shared) ** 0.5))


def folder_of(images: int, place: Path) -> Store:
    """A run's folder that knows its images and its recipe; rows are made up for each repetition."""
    labels = np.arange(images) % 10
    store = Store(place)
    store.claim_for(arrays(np.zeros((images, 1, 1, 3), np.uint8), labels, name="simulated"))
    store.keep_recipe(RECIPE)
    return store


def draw(rng: np.random.Generator, store: Store, images: int, shared: float, models: int = 1) -> list[Results]:
    """Results of models that have the same accuracies, on the same images."""
    common = rng.standard_normal(images)
    about, found = store.about(), []
    for _ in range(models):
        difficulty = common if models == 1 else (common + rng.standard_normal(images)) / 2**0.5
        cells = [("clean", 0.0, CLEAN)]
        cells += [
            (f"imagenet-c/{c}", float(s), a) for c in CORRUPTIONS for s, a in zip(LEVELS, ACCURACY[c], strict=True)
        ]
        ids = [f"{i:05d}" for i in range(images)]
        frames = [
            pl.DataFrame({"sample": ids, "correct": rng.random(images) < chances(difficulty, accuracy, shared)}).select(
                pl.lit("model").alias("model"),
                pl.lit(corruption).alias("corruption"),
                pl.lit(level).alias("level"),
                "sample",
                pl.lit(0).alias("label"),
                pl.lit(0).alias("prediction"),
                pl.lit(0.5).alias("confidence"),
                "correct",
            )
            for corruption, level, accuracy in cells
        ]
        found.append(Results(pl.concat(frames).lazy(), (about,)))
    return found


def by_the_point(outcomes: list[Outcome]) -> bool:
    """Whether any value is on the wrong side of its bound."""
    return any(
        (one.rule.at_least is not None and one.estimate.value < one.rule.at_least)
        or (one.rule.at_most is not None and one.estimate.value > one.rule.at_most)
        for one in outcomes
    )


def failures(images: int, shared: float, *, against: bool, repetitions: int, seed: int = SEED) -> dict[str, int]:
    """In how many repetitions a rules file whose bounds are the truth fails, by three ways to decide."""
    rng = np.random.default_rng([seed, images, round(100 * shared), against])
    asked = rules(shared)
    if against:
        asked = [replace(r, **{k: 0.0 for k in ("at_least", "at_most") if getattr(r, k) is not None}) for r in asked]
    counts = dict.fromkeys(WAYS, 0)
    single = 1 - 0.05 * len(asked)  # each interval by itself then has the level 95 %
    with tempfile.TemporaryDirectory() as place:
        store = folder_of(images, Path(place) / "run")
        for _ in range(repetitions):
            mine, *others = draw(rng, store, images, shared, 1 + against)
            other = others[0] if against else None
            together = check_rules(mine, asked, other)
            alone = check_rules(mine, asked, other, level=single)
            counts["by the point"] += by_the_point(together)
            counts["each interval alone"] += any(one.verdict == "fails" for one in alone)
            counts["brittle check"] += any(one.verdict == "fails" for one in together)
    return counts


def measure(case: tuple[int, float, bool, int]) -> dict[str, Any]:
    """One row of the table."""
    images, shared, against, repetitions = case
    start = time.process_time()
    counts = failures(images, shared, against=against, repetitions=repetitions)
    row = {"images": images, "shared": shared, "against": against, "repetitions": repetitions, "failures": counts}
    print(row, f"{time.process_time() - start:.0f} s", flush=True)
    return row


def main(repetitions: int) -> None:
    """Measure what is missing, keep it, and write the table."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    rows = [row for row in kept.get("rows", []) if kept.get("seed") == SEED and row["repetitions"] == repetitions]
    done = {(row["images"], row["shared"], row["against"]) for row in rows}
    cases = [(*case, against) for against in (False, True) for case in CASES]
    with get_context("spawn").Pool(2) as pool:
        for row in pool.imap(measure, [(*case, repetitions) for case in cases if case not in done]):
            rows.append(row)
            rows.sort(key=lambda one: cases.index((one["images"], one["shared"], one["against"])))
            found = {"seed": SEED, "rules": len(rules(0.5)), "rows": rows}
            KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write_table()


def write_table() -> None:
    """Put the kept numbers into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = table(json.loads(KEPT.read_text(encoding="utf-8")))
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{after}", encoding="utf-8")


def table(found: dict[str, Any]) -> str:
    """The rates in percent, with Clopper and Pearson's interval of the last."""
    lines = ["| bounds are of | images | shared difficulty | " + " | ".join(WAYS) + " |", "|---" * 6 + "|"]
    for row in found["rows"]:
        shares = [row["failures"][way] / row["repetitions"] for way in WAYS]
        low, high = clopper_pearson(row["failures"][WAYS[-1]], row["repetitions"])
        what = "differences" if row["against"] else "values"
        rates = f"{100 * shares[0]:.1f} % | {100 * shares[1]:.1f} % | **{100 * shares[2]:.1f} %**"
        interval = f"[{100 * low:.1f}, {100 * high:.1f}]"
        lines.append(f"| {what} | {row['images']:,} | {100 * row['shared']:.0f} % | {rates} {interval} |")
    repetitions = found["rows"][0]["repetitions"]
    return "\n".join(
        [
            f"How often a file of {found['rules']} rules fails although the model is exactly at every bound, in "
            f"{repetitions:,} simulated runs each (with the 95 % interval of the last rate):\n",
            *lines,
        ]
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
