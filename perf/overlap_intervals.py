"""Do the intervals of an overlap matrix hold what other trainings give?

    python perf/overlap_intervals.py cifar10:DATA FOLDER [--start WEIGHTS] [--repeats 12]

Fine-tunes each model of a matrix REPEATS times. Groups of a few repetitions are then taken for a matrix of their own,
and each of its intervals is compared with what all the other repetitions give: as an interval over test images alone,
and with the differences between the repetitions in it. Resumable. Writes perf/overlap_intervals.json and the lines of
docs/explanation/overlap.md between its two comments. A quarter of an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from pathlib import Path

import numpy as np

from brittle.datasets import load_dataset
from brittle.design import (
    VanishingGain,
    correct_cubes,
    load_candidates,
    measure_overlap,
    overlap_matrix,
    overlap_with_intervals,
    training_plan,
)

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "explanation" / "overlap.md"
MARKS = ("<!-- perf/overlap_intervals.py -->", "<!-- end -->")
CANDIDATES = ("gaussian", "salt_pepper", "blur", "thumbnail_resize", "obstruction", "rotation", "contrast", "hue")


def held(cubes: np.ndarray, names: list[str], size: int) -> dict[str, float]:
    """How often intervals of `size` repetitions hold the score of all others, and how wide they are."""
    pairs = np.triu_indices(len(names), 1)
    inside: dict[str, list[float]] = {"images": [], "images and trainings": []}
    widths: dict[str, list[float]] = {name: [] for name in inside}
    for start in range(0, len(cubes) - size + 1, size):
        chosen = np.arange(start, start + size)
        others = np.delete(np.arange(len(cubes)), chosen)
        target = overlap_matrix(cubes[others].mean(axis=(0, -1)), names).scores[pairs]
        for title, cube in (("images", cubes[chosen].mean(axis=0)), ("images and trainings", cubes[chosen])):
            matrix = overlap_with_intervals(cube, names)
            assert matrix.low is not None
            assert matrix.high is not None
            low, high = matrix.low[pairs], matrix.high[pairs]
            known = np.isfinite(target) & np.isfinite(low)
            inside[title] += ((low <= target) & (target <= high))[known].tolist()
            widths[title] += (high - low)[known].tolist()
    found: dict[str, float] = {"repetitions": size, "entries": len(inside["images"])}
    for title in inside:
        found |= {title: float(np.mean(inside[title])), f"median width, {title}": float(np.median(widths[title]))}
    return found


def main() -> None:
    """Measure, and write the numbers and the lines of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--start", default="demo:standard")
    parser.add_argument("--network", default="small")
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--train-limit", type=int, default=2_000)
    parser.add_argument("--limit", type=int, default=2_000)
    given = parser.parse_args()
    from brittle.models import find_weights

    warnings.simplefilter("ignore", VanishingGain)
    recipe = load_candidates("cifar10-noc-candidates").cut([f"noc/{name}" for name in CANDIDATES])
    plan = training_plan(network=given.network, train_limit=given.train_limit, repeats=given.repeats, start=given.start)
    training, test = load_dataset(given.data, train=True), load_dataset(given.data).limited(given.limit)
    start = find_weights(given.start, given.network, len(training.classes))
    results = measure_overlap(training, test, recipe, given.folder, plan, start=start, progress=_print)
    cubes = correct_cubes(results, recipe)
    rows = [held(cubes, [entry.id for entry in recipe.entries], size) for size in (2, 3, 4) if 2 * size <= len(cubes)]
    about = {
        "candidates": len(recipe.entries),
        "repeats": given.repeats,
        "images": given.train_limit,
        "test": len(test),
    }
    (HERE / "overlap_intervals.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    lines = [
        f"{len(CANDIDATES)} candidates, {given.repeats} fine-tunings of each model over {given.train_limit:,} images, "
        f"{len(test):,} test images:",
        "",
        "| repetitions of a matrix | entries | 95 % intervals over images hold the score of all other repetitions | "
        "with the trainings in them | median width, before and after |",
        "|---|---|---|---|---|",
        *(
            f"| {row['repetitions']} | {row['entries']} | {row['images']:.0%} | {row['images and trainings']:.0%} | "
            f"{row['median width, images']:.2f}, {row['median width, images and trainings']:.2f} |"
            for row in rows
        ),
    ]
    text = PAGE.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(MARKS[0])}.*?{re.escape(MARKS[1])}", re.S)
    PAGE.write_text(pattern.sub("\n".join([MARKS[0], *lines, MARKS[1]]), text), encoding="utf-8")
    print("\n" + "\n".join(lines))


def _print(what: str, done: int, total: int) -> None:
    print(f"\r{what:<50.50} {done}/{total}", end="", flush=True)


if __name__ == "__main__":
    main()
