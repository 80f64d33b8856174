"""What the features of augmentations cost beyond inference alone, in one run on the same images.

    python perf/distance.py [--samples 1000] [--images 100] [--turns 3] [--augmentation augmix]

Each turn looks at so many augmentations of so many images, and then shows the model as many images without augmenting
anything; the two take turns, so that a busy moment hits both. Writes perf/distance.json, and the line in
docs/explanation/distance.md between its two comments. Wall time is what a user waits, CPU time what does not depend on
other work on the machine.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from brittle._parallel import cores
from brittle.datasets import load_dataset
from brittle.distance import feature_images, transform_features
from brittle.distance.transforms import BATCH
from brittle.models import demo_model
from brittle.training.augmentation import scheme_by_name
from evaluation import Peak

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "explanation" / "distance.md"
MARKS = ("<!-- perf/distance.py -->", "<!-- end -->")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(augmentation: str, samples: int, images: int, turns: int) -> dict[str, object]:
    """The best wall and CPU times of some turns, their ratio, and the memory."""
    model, scheme = demo_model("standard"), scheme_by_name(augmentation)
    shown = feature_images(load_dataset("demo"), images)
    batch = np.concatenate([shown.pixels] * -(-BATCH // images))[:BATCH]

    def features() -> None:
        transform_features(model, shown, scheme, samples=samples)

    def inference() -> None:
        for start in range(0, samples * images, BATCH):
            model.features(batch[: min(BATCH, samples * images - start)])

    transform_features(model, shown, scheme, samples=2)  # compile and warm up
    model.features(batch)
    times: dict[str, list[tuple[float, float]]] = {"features": [], "inference": []}
    with Peak() as peak:
        for _ in range(turns):
            for name, work in (("features", features), ("inference", inference)):
                times[name].append(timed(work))
    found: dict[str, object] = {"augmentation": augmentation, "samples": samples, "images": images, "cores": cores()}
    best = {
        f"{name}_{kind}": min(t[i] for t in mine)
        for name, mine in times.items()
        for i, kind in enumerate(("wall", "cpu"))
    }
    found |= {key: round(value, 3) for key, value in best.items()}
    found["images_per_second"] = round(samples * images / best["features_wall"])
    for kind in ("wall", "cpu"):
        found[f"ratio_{kind}"] = round(best[f"features_{kind}"] / best[f"inference_{kind}"], 3)
    return {**found, "memory_before": round(peak.start), "memory_peak": round(peak.most)}


def line(found: dict) -> str:
    """What the page says."""
    return (
        f"Measured by `perf/distance.py`, {found['samples']:,} augmentations ({found['augmentation']}) of "
        f"{found['images']} images with `demo:standard`, {found['cores']} cores: "
        f"**{found['images_per_second']:,} images/s**, {found['ratio_wall']:.2f} × the wall time and "
        f"{found['ratio_cpu']:.2f} × the CPU time of inference alone; memory {found['memory_before']:,} MB before, "
        f"{found['memory_peak']:,} MB at the peak."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--augmentation", default="augmix")
    given = parser.parse_args()
    result = measure(given.augmentation, given.samples, given.images, given.turns)
    (HERE / "distance.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if PAGE.is_file():
        text = PAGE.read_text(encoding="utf-8")
        between = re.compile(f"({re.escape(MARKS[0])}\n).*?(\n{re.escape(MARKS[1])})", re.S)
        PAGE.write_text(between.sub(lambda m: m[1] + line(result) + m[2], text), encoding="utf-8")
