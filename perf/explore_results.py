"""What a page of failures takes out of millions of rows, as the explorer serves it.

    python perf/explore_results.py [--rows 4000000] [--models 2] [--turns 40]

Writes a run of random predictions in the store's own format, on ImageNet-C with 1000 classes, and asks the explorer for
pages of it: in the order of confidence and of failure points, following each other, from the middle, filtered. Times
are those of whole answers: rows, HTML and all. Writes perf/explore_results.json, and the lines of
docs/how-to/browse-results.md between its two comments.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))
from brittle._parallel import cores
from brittle.benchmarks import load_benchmark
from brittle.evaluation import Store, plan
from brittle.evaluation.cell import CellRows
from brittle.explorer import State, create_app
from brittle.models import from_callable
from evaluation import Peak

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "how-to" / "browse-results.md"
MARKS = ("<!-- perf/explore_results.py -->", "<!-- end -->")
CLASSES = 1000


def write_run(folder: Path, rows: int, models: int) -> int:
    """Random predictions of models that get worse with severity; gives the number of rows."""
    recipe, rng = load_benchmark("imagenet-c"), np.random.default_rng(0)
    cells = plan(recipe)
    images = -(-rows // (models * len(cells)))
    store = Store(folder)
    classes = [f"class {i}" for i in range(CLASSES)]
    store.claim({"data": "random", "data_key": "0" * 16, "images": images, "classes": classes})
    store.keep_recipe(recipe)
    samples = [f"n{rng.integers(10**8):08d}/ILSVRC2012_val_{i:08d}.JPEG" for i in range(images)]
    labels, ease = rng.integers(0, CLASSES, images), rng.normal(size=images)
    for model in range(models):
        for cell in cells:
            chance = 1 / (1 + np.exp(0.6 * cell.severity - 1.6 - ease - 0.1 * model))
            wrong = (labels + rng.integers(1, CLASSES, images)) % CLASSES
            predictions = np.where(rng.random(images) < chance, labels, wrong)
            confidences = rng.beta(4, 1.5, images).round(3)  # many are equal
            store.write(
                from_callable(np.asarray, name=f"model-{model}", version="1"),
                cell,
                CellRows(samples, labels, predictions, confidences),
            )
    return images * len(cells) * models


class Turns:
    """Times of answers in milliseconds, on the clock and of the processor, by what was asked for."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.times: dict[str, list[float]] = {}
        self.used: dict[str, list[float]] = {}

    def get(self, name: str, address: str, **query: Any) -> str:
        """Ask, and note the time."""
        begun, used = time.perf_counter(), time.process_time()
        answer = self.client.get(address, params=query or None, headers={"accept": "text/html"})
        self.times.setdefault(name, []).append(1000 * (time.perf_counter() - begun))
        self.used.setdefault(name, []).append(1000 * (time.process_time() - used))
        assert answer.status_code == 200, answer.text
        return answer.text

    def quantiles(self, name: str) -> dict[str, float]:
        """The median, and what 95 of 100 answers take at most."""
        return {
            "p50": round(statistics.median(self.times[name]), 1),
            "p95": round(float(np.quantile(self.times[name], 0.95)), 1),
            "cpu_p50": round(statistics.median(self.used[name]), 1),
            "cpu_p95": round(float(np.quantile(self.used[name], 0.95)), 1),
        }


def _explorer(folder: Path) -> TestClient:
    """An explorer that has shown a page, but nothing of the run."""
    client = TestClient(create_app(State.of(models=[], runs=folder)))
    client.get("/overlap")
    return client


def measure(rows: int, models: int, turns: int) -> dict[str, Any]:
    """The times of all kinds of pages, the first of all pages, and the memory."""
    with tempfile.TemporaryDirectory() as place:
        written = write_run(Path(place) / "run", rows, models)
        files = len(list(Path(place).rglob("*.parquet")))
        asked = Turns(_explorer(Path(place) / "run"))
        asked.get("unread run, first", "/results/failures")
        asked.client = _explorer(Path(place) / "run")
        gc.collect()
        with Peak() as peak:
            asked.get("heat map, first", "/results")
            asked.get("cell, first", "/results/failures", model="model-0", corruption="imagenet-c/fog", level=3)
            asked.get("whole run, first", "/results/failures")
            text = asked.get("warm", "/results/failures")
            total = int(re.search(r"of <b>([\d,]+)</b>", text)[1].replace(",", ""))  # type: ignore[index]
            rng = np.random.default_rng(1)
            for sort in ("surest", "earliest"):
                text = asked.get("warm", "/results/failures", sort=sort)
                for _ in range(turns):
                    following = re.search(r'rel="next" href="([^"]+)"', text)[1].replace("&amp;", "&")  # type: ignore[index]
                    text = asked.get("whole run", following)
                for _ in range(turns):
                    asked.get("whole run", "/results/failures", sort=sort, row=int(rng.integers(1, total)))
            for _ in range(turns):
                label = int(rng.integers(CLASSES))
                asked.get("one class", "/results/failures", label=label, sort="earliest")
                asked.get(
                    "A right, B wrong",
                    "/results/failures",
                    model="model-0",
                    right_by="model-1",
                    row=int(rng.integers(9999)),
                )
                asked.get(
                    "cell",
                    "/results/failures",
                    model="model-0",
                    corruption="imagenet-c/snow",
                    level=int(rng.integers(1, 6)),
                )
            sample = re.search(r"/results/sample\?[^\"]+", text)[0].replace("&amp;", "&")  # type: ignore[index]
            for _ in range(turns // 4):
                asked.get("sample", sample)
                asked.get("heat map", "/results")
            asked.get("compare, first", "/results/compare")
        measured = {"rows": written, "failures": total, "files": files, "models": models, "cores": cores()}
        measured["load"] = os.getloadavg()[0]
        names = ("whole run", "A right, B wrong", "one class", "cell", "sample", "heat map")
        measured["first"] = {
            name: {"clock": round(asked.times[f"{name}, first"][0]), "cpu": round(asked.used[f"{name}, first"][0])}
            for name in ("unread run", "heat map", "cell", "whole run", "compare")
        }
        measured["milliseconds"] = {name: asked.quantiles(name) for name in names}
        return {**measured, "memory_before": round(peak.start), "memory_peak": round(peak.most)}


def lines(measured: dict[str, Any]) -> str:
    """What the page says."""
    rows = "\n".join(
        f"| {name} | {one['p50']:.0f} ms | {one['p95']:.0f} ms | {one['cpu_p95']:.0f} ms |"
        for name, one in measured["milliseconds"].items()
    )
    first = measured["first"]
    return (
        f"Measured by `perf/explore_results.py` on {measured['cores']} cores: {measured['rows']:,} rows of "
        f"{measured['models']} models on ImageNet-C, {measured['failures']:,} of them wrong, in {measured['files']} "
        "files. CPU time does not depend on other work on the machine.\n\n"
        "| a page of … | median | 95 % within | CPU time, 95 % within |\n|---|---:|---:|---:|\n"
        f"{rows}\n\n"
        "As soon as it starts, the explorer reads the run in the background. Before it was read, "
        f"the failures of all cells took {first['unread run']['clock']} ms ({first['unread run']['cpu']} ms of CPU); "
        f"right after the heat map had been shown they took {first['whole run']['clock']} ms, and those of one cell "
        f"{first['cell']['clock']} ms. Other programs ran beside it: {measured['load']:.0f} waited for a core. "
        f"Memory: {measured['memory_before']:,} MB before, {measured['memory_peak']:,} MB at the peak."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--turns", type=int, default=40)
    given = parser.parse_args()
    result = measure(given.rows, given.models, given.turns)
    (HERE / "explore_results.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if PAGE.is_file():
        text = PAGE.read_text(encoding="utf-8")
        between = re.compile(f"({re.escape(MARKS[0])}\n).*?(\n{re.escape(MARKS[1])})", re.S)
        PAGE.write_text(between.sub(lambda m: m[1] + lines(result) + m[2], text), encoding="utf-8")
