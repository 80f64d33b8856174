"""How often the leak check is right, and how often the intervals of MSD hold, on data that nothing was tuned on.

    python perf/leak_check.py cifar10:FOLDER [--images 32] [--samples 300]

The margin, the blocks and the kind of interval were chosen on CIFAR-10-C and training images. Here everything is
other: test images, the corruptions of C-bar, other seeds. Writes perf/leak_check.json, which
docs/explanation/distance.md quotes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import brittle
from brittle.datasets import load_dataset
from brittle.distance import (
    NEUTRAL,
    CorruptionFeatures,
    corruption_features,
    distances,
    feature_images,
    leak_check,
    transform_features,
)
from brittle.models import demo_model
from brittle.training import Corrupted
from brittle.training.augmentation import AugMix, FlipCrop, Mixture, RandomAffine

KEPT = Path(__file__).parent / "leak_check.json"
SEED = 711


def main(data: str, images: int, samples: int, folder: str | None) -> None:
    """Measure, print and keep."""
    model, shown = demo_model("standard"), feature_images(load_dataset(data), images, seed=SEED)
    whole = brittle.load_benchmark("cifar10-c-bar")
    recipe = replace(whole, entries=tuple(replace(e, levels=e.levels[::2]) for e in whole.entries))
    names = [entry.id for entry in recipe.entries]
    cells = corruption_features(model, shown, recipe, samples=15, folder=folder)

    def features(scheme: object, count: int, seed: int) -> np.ndarray:
        return np.asarray(transform_features(model, shown, scheme, samples=count, seed=seed, folder=folder))  # type: ignore[arg-type]

    references = {name: features(scheme, samples, SEED) for name, scheme in NEUTRAL.items()}
    found: dict[str, object] = {
        "images": images,
        "samples": samples,
        "benchmark": whole.name,
        "corruptions": len(names),
    }

    detected, nearer, blamed, pairs = [], [], [], 0
    for name in names:
        other = replace(recipe, seed=SEED)  # its draws are not those of the benchmark
        cheat = Mixture((FlipCrop(), Corrupted(other, [name], share=1.0)))
        check = leak_check(features(cheat, samples, SEED + 1), references, cells)
        detected.append(name in check.leaked)
        nearer.append(name in check.nearer)
        blamed += [f"{name} → {one}" for one in check.leaked if one != name]
        pairs += len(names) - 1
        row = next(leak for leak in check.leaks if leak.corruption == name)
        print(f"{name}: leaked {row.leaked}, covered {row.covered:.2f}, p {row.p_leaked:.4f}; others {check.leaked}")
    found |= {
        "trained_leaked": sum(detected),
        "trained_nearer": sum(nearer),
        "others_leaked": len(blamed),
        "others": pairs,
        "which": blamed,
        "missed": [name for name, hit in zip(names, detected, strict=True) if not hit],
    }

    innocent = {
        "affine, other strengths": RandomAffine(8, 0.08, 0.08),
        "augmix:shear_x+rotate": AugMix(("shear_x", "rotate")),
    }
    alarms = {}
    for name, scheme in innocent.items():
        check = leak_check(features(scheme, samples, SEED + 2), references, cells)
        alarms[name] = {"leaked": len(check.leaked), "nearer": len(check.nearer)}
    found["innocent"] = alarms

    pool = features(FlipCrop(), 2 * samples, SEED + 3)
    rng = np.random.default_rng(SEED)
    trials, any_nearer, any_leaked = 200, 0, 0
    for _ in range(trials):
        order = rng.permutation(len(pool))
        mine, theirs = pool[order[:samples]], pool[order[samples:]]
        check = leak_check(mine, {"same": theirs}, cells, permutations=999, seed=int(rng.integers(2**31)))
        any_nearer, any_leaked = any_nearer + bool(check.nearer), any_leaked + bool(check.leaked)
    found["same_scheme"] = {"trials": trials, "any_nearer": any_nearer, "any_leaked": any_leaked}

    found["coverage"] = coverage(model, shown, recipe, features(AugMix(), 3 * samples, SEED + 4), samples // 3, folder)
    KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1, ensure_ascii=False))


def coverage(model: object, shown: object, recipe: object, pool: np.ndarray, few: int, folder: str | None) -> dict:
    """How often 95 % intervals from a few samples hold the mean of what such samples give; many stand for all.

    15 samples of each corruption at its middle level, drawn from 60, and a few augmentations, drawn from a pool.
    """
    middle = replace(recipe, entries=tuple(replace(e, levels=e.levels[1:2]) for e in recipe.entries))  # type: ignore
    many = corruption_features(model, shown, middle, samples=60, folder=folder)  # type: ignore[arg-type]
    rng, trials, rows = np.random.default_rng(SEED), 150, []
    for trial in range(trials):
        drawn = CorruptionFeatures(many.cells, many.values[:, rng.integers(0, 60, 15)])
        mine = distances(pool[rng.integers(0, len(pool), few)], drawn, seed=trial)
        rows.append(
            np.stack(
                [
                    [t["msd"], t["msd_low"], t["msd_high"], t["mmd"], t["mmd_low"], t["mmd_high"]]
                    for t in mine.by_corruption().iter_rows(named=True)
                ]
            )
        )
    table = np.array(rows)
    held = {}
    for place, name in ((0, "msd"), (3, "mmd")):
        truth = table[:, :, place].mean(0)
        inside = (table[:, :, place + 1] <= truth) & (truth <= table[:, :, place + 2])
        held[name] = round(float(inside.mean()), 3)
        held[f"{name}_lowest"] = round(float(inside.mean(0).min()), 3)
    return {"trials": trials, "augmentations": few, "corruption_samples": 15, **held}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--folder", help="Where features are kept.")
    given = parser.parse_args()
    main(given.data, given.images, given.samples, given.folder)
