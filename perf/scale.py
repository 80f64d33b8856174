"""What large runs, large sets and odd images take.

    python perf/scale.py [report] [scores] [list] [rain]

A report of 20 models × 76 cells × 10,000 rows; scores with intervals of a million samples in 16 cells; a folder of a
million files; a picture of 1 × 100,000 pixels in rain. Each runs in a process of its own. Writes perf/scale.json, and
the lines of docs/explanation/evaluation-cost.md between its two comments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from marked import write_section

from evaluation import PAGE, Peak

HERE = Path(__file__).parent


def report(folder: Path) -> Callable[[], object]:
    """The whole page of 20 models on ImageNet-C, 10,000 images each."""
    from explore_results import write_run

    from brittle.evaluation import load_results
    from brittle.report import write_report

    write_run(folder / "run", 20 * 76 * 10_000, 20)
    return lambda: write_report(load_results(folder / "run"), folder / "report.html")


def scores(folder: Path) -> Callable[[], object]:
    """Accuracies with intervals of one model on a million samples, clean and under three corruptions."""
    from brittle.benchmarks import Benchmark, Entry
    from brittle.evaluation import Store, load_results, plan
    from brittle.evaluation.cell import CellRows
    from brittle.models import from_callable

    recipe = Benchmark("three", tuple(Entry(name, (1, 2, 3, 4, 5)) for name in ("fog", "snow", "contrast")))
    rng, count = np.random.default_rng(0), 1_000_000
    store = Store(folder / "run")
    classes = [f"class {i}" for i in range(1000)]
    store.claim({"data": "random", "data_key": "0" * 16, "images": count, "classes": classes})
    store.keep_recipe(recipe)
    names, labels = [f"{i:07d}.JPEG" for i in range(count)], rng.integers(0, 1000, count)
    model = from_callable(np.asarray, name="model", version="1")
    for cell in plan(recipe):
        predictions = np.where(rng.random(count) < 0.9 - 0.1 * cell.severity, labels, 0)
        store.write(model, cell, CellRows(names, labels, predictions, rng.random(count).round(3)))
    return lambda: load_results(folder / "run").scores()


def listing(folder: Path) -> Callable[[], object]:
    """The names and classes of a million files in a thousand folders."""
    from brittle.datasets import load_dataset

    for number in range(1000):
        place = folder / "images" / f"class{number:04d}"
        place.mkdir(parents=True)
        for image in range(1000):
            (place / f"{image:04d}.png").touch()
    return lambda: load_dataset(str(folder / "images"))


def rain(folder: Path) -> Callable[[], object]:
    """One very wide picture under the corruption that took most memory."""
    import brittle

    del folder
    image = np.zeros((1, 100_000, 3), np.uint8)
    brittle.corrupt(image[:, :64], "syn2nat/random_rain", 3)
    return lambda: brittle.corrupt(image, "syn2nat/random_rain", 3)


KINDS = {
    "report": (report, "report of 20 models × 76 cells × 10,000 rows"),
    "scores": (scores, "scores with intervals, 1,000,000 samples × 16 cells"),
    "list": (listing, "listing 1,000,000 files in 1,000 folders"),
    "rain": (rain, "`syn2nat/random_rain` on 1 × 100,000 px"),
}


BEFORE = {"report": "111 s, 476 MB", "scores": "28 s, 1,400 MB", "list": "–", "rain": "4,100 MB"}
"""What each took when this was first measured, on a machine of this kind."""


def measure(name: str) -> dict[str, float]:
    """The time and the memory of one kind, in this process."""
    with tempfile.TemporaryDirectory() as place:
        work = KINDS[name][0](Path(place))
        clock, before = time.perf_counter(), os.times()
        with Peak() as peak:
            work()
        after = os.times()
        spent = after.user + after.system - before.user - before.system
        return {"seconds": time.perf_counter() - clock, "processor": spent, "megabytes": peak.most - peak.start}


def main() -> None:
    """Measure each kind in a process of its own, and write what was found."""
    wanted = sys.argv[1:] or list(KINDS)
    if wanted[0] == "--one":
        print(json.dumps(measure(wanted[1])))
        return
    file = HERE / "scale.json"
    found = json.loads(file.read_text()) if file.is_file() else {}
    for name in wanted:
        done = subprocess.run([sys.executable, __file__, "--one", name], check=True, capture_output=True, text=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, {key: round(value, 1) for key, value in found[name].items()}, flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n")
    lines = [
        "## Large runs, large sets and odd images",
        "",
        "Each in a process of its own (`python perf/scale.py`); memory is the additional memory of the work.",
        "",
        "| | seconds | of the processor | memory, MB | before |",
        "|---|---|---|---|---|",
    ]
    for name, one in found.items():
        numbers = f"{one['seconds']:.1f} | {one['processor']:.1f} | {one['megabytes']:.0f}"
        lines.append(f"| {KINDS[name][1]} | {numbers} | {BEFORE[name]} |")
    write_section(PAGE, "perf/scale.py", lines)


if __name__ == "__main__":
    main()
