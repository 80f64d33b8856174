"""What a run costs beyond its parts, how much memory it takes, and how fast large results are read.

    python perf/evaluation.py [overhead] [memory] [threads] [demo] [aggregate]

Writes docs/explanation/evaluation-cost.md. Each measurement runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from marked import section

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "explanation" / "evaluation-cost.md"


def anonymous() -> float:
    """Memory of this process that is its own, in MB: what is mapped from files can be dropped at any time."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this kernel does not tell RssAnon")


class Peak:
    """The largest anonymous memory while a block runs."""

    def __enter__(self) -> Peak:
        self.start = self.most = anonymous()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.over.wait(0.01):
            self.most = max(self.most, anonymous())

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def overhead() -> dict[str, float]:
    """End-to-end time of the bundled model on CIFAR-10-C, beside corrupting alone and inference alone."""
    import brittle
    from brittle._parallel import cores, prefetch
    from brittle.datasets import load_dataset
    from brittle.evaluation import plan
    from brittle.evaluation.cell import Drawn
    from brittle.models import demo_model

    data, recipe, model = load_dataset("demo"), brittle.load_benchmark("cifar10-c"), demo_model("standard")
    images = np.stack(list(data.images()))
    source, cells = Drawn(images, data.ids, recipe), plan(recipe)
    for cell in cells:  # compile and warm up
        source.batch(cell, 0, 8)
    model.scores(images[:128])

    def corrupt() -> None:
        for cell in cells:
            for _ in prefetch(partial(source.batch, cell, size=128), range(0, len(images), 128), cores()):
                pass

    def infer() -> None:
        for _ in cells:
            for start in range(0, len(images), 128):
                model.scores(images[start : start + 128])

    def whole() -> None:
        with tempfile.TemporaryDirectory() as folder:
            brittle.evaluate(model, data, recipe, Path(folder) / "run", batch_size=128)

    times: dict[str, list[float]] = {"corrupt": [], "infer": [], "whole": []}
    for _ in range(3):  # in turns, so that a busy moment hits all alike
        for name, work in (("corrupt", corrupt), ("infer", infer), ("whole", whole)):
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    best = {name: min(each) for name, each in times.items()}
    return {**best, "ratio": best["whole"] / max(best["corrupt"], best["infer"]), "images": len(images) * len(cells)}


def memory(count: int) -> dict[str, float]:
    """Peak memory of a run on so many 64 px images that lie on disk."""
    import brittle
    from brittle.benchmarks import Benchmark, Entry
    from brittle.datasets import load_dataset
    from brittle.models import from_callable

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images.npy"
        images = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(count, 64, 64, 3))
        for start in range(0, count, 1000):
            images[start : start + 1000] = np.random.default_rng(start).integers(0, 256, (1000, 64, 64, 3), np.uint8)
        images.flush()
        del images
        np.save(Path(folder) / "labels.npy", np.arange(count) % 10)
        data = load_dataset(path, labels=Path(folder) / "labels.npy")
        model = from_callable(lambda x: -np.abs(x.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10)), name="tones")
        recipe = Benchmark("two", (Entry("fog", (1, 3)), Entry("gaussian_noise", (2,))))
        brittle.evaluate(model, data.subset(range(64)), recipe, Path(folder) / "warm")
        with Peak() as peak:
            brittle.evaluate(model, data, recipe, Path(folder) / "run")
        return {"images": count, "megabytes": count * 64 * 64 * 3 / 1e6, "start": peak.start, "peak": peak.most}


def inference(how: str, seconds: float = 3) -> dict[str, float]:
    """Images a second of the bundled model: threads that wait "spin" or sleep ("passive"), "one", or "side" by side."""
    if how == "spin":
        os.environ["KMP_BLOCKTIME"] = "200"  # its usual value; brittle leaves an environment alone that says something
    from brittle._parallel import wait_passively

    wait_passively()
    import torch

    from brittle.evaluation.cell import Classes, infer
    from brittle.models import demo_model

    torch.set_num_threads(1 if how == "one" else len(os.sched_getaffinity(0)))
    model = demo_model("standard", device="cpu")
    images = np.random.default_rng(0).integers(0, 256, (64, 32, 32, 3), np.uint8)
    model.scores(images)
    start, shown = time.perf_counter(), 0
    if how == "side":
        batches = infer([model], lambda _: images, range(10_000), Classes())
        for _ in batches:
            shown += len(images)
            if time.perf_counter() - start > seconds:
                batches.close()
    while time.perf_counter() - start < seconds:
        model.scores(images)
        shown += len(images)
    return {"speed": shown / (time.perf_counter() - start), "load": os.getloadavg()[0]}


def threads(turns: int = 5, loops: int = 4) -> dict[str, list[dict[str, float]]]:
    """Speeds in turns, on the machine as it is and beside busy loops."""
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(turns):
        for busy in (0, loops):
            with busy_loops(busy):
                for how in ("spin", "passive", "one", "side"):
                    found.setdefault(f"{how} {'busy' if busy else 'quiet'}", []).append(apart("inference", how))
    return found


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that do nothing, and do not stop doing it."""
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in beside:
            process.kill()


def demo(loops: int = 4) -> dict[str, float]:
    """Seconds of all of `brittle demo`, on the machine as it is and beside busy loops."""
    found = {}
    for name, busy in (("quiet", 0), ("busy", loops)):
        with tempfile.TemporaryDirectory() as folder, busy_loops(busy):
            start = time.perf_counter()
            command = [sys.executable, "-m", "brittle", "demo", "--output", f"{folder}/demo"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found[name] = time.perf_counter() - start
    return found


def aggregate(models: int = 40, cells: int = 75, samples: int = 50_000) -> dict[str, float]:
    """Time and memory of the accuracy table over synthetic rows of many models."""
    import polars as pl

    import brittle
    from brittle.benchmarks import Cell
    from brittle.evaluation.score import scores
    from brittle.evaluation.store import Store

    with tempfile.TemporaryDirectory() as folder:
        recipe = brittle.load_benchmark("imagenet-c")
        store = Store(Path(folder) / "run")
        store.claim({"data": "synthetic", "images": samples, "classes": []})
        store.keep_recipe(recipe)
        rng = np.random.default_rng(0)
        names = [f"ILSVRC2012_val_{i:08d}.JPEG" for i in range(samples)]
        labels = rng.integers(0, 1000, samples)
        for m in range(models):
            for cell in [Cell(), *recipe.cells()][: cells + 1]:
                wrong = rng.random(samples) < 0.1 + 0.1 * cell.severity
                store.write(
                    f"model-{m:02d}",
                    f"model_{m:02d}-{m:016x}",
                    cell,
                    samples=names,
                    labels=labels,
                    predictions=np.where(wrong, (labels + 1) % 1000, labels),
                    confidences=rng.random(samples, np.float32).astype(np.float16).astype(np.float32),
                )
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
        results = brittle.load_results(Path(folder) / "run")
        with Peak() as table_peak:
            start = time.perf_counter()
            table = results.accuracy()
            table_time = time.perf_counter() - start
        assert len(table) == models * (cells + 1)
        with Peak() as score_peak:
            start = time.perf_counter()
            scores(results, recipe, models=["model-00"])
            score_time = time.perf_counter() - start
        return {
            "rows": models * (cells + 1) * samples,
            "gigabytes": size / 1e9,
            "table_seconds": table_time,
            "table_peak": table_peak.most,
            "score_seconds": score_time,
            "score_peak": score_peak.most,
            "polars": pl.__version__,
        }


def apart(what: str, *arguments: object) -> dict[str, float]:
    """One measurement in a new process."""
    code = f"import json, evaluation; print(json.dumps(evaluation.{what}(*{arguments!r})))"
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main(wanted: list[str]) -> None:
    """Measure, and write the page."""
    kept = HERE / "evaluation.json"
    found = json.loads(kept.read_text()) if kept.is_file() else {}
    if "overhead" in wanted:
        found["overhead"] = apart("overhead")
    if "memory" in wanted:
        found["memory"] = [apart("memory", count) for count in (1_000, 10_000, 50_000)]
    if "threads" in wanted:
        found["threads"] = threads()
    if "demo" in wanted:
        found["demo"] = demo()
    if "aggregate" in wanted:
        found["aggregate"] = apart("aggregate")
    kept.write_text(json.dumps(found, indent=1) + "\n")
    kept_section = section(PAGE, "perf/scale.py")
    PAGE.write_text(f"{page(found)}\n{kept_section}\n" if kept_section else page(found))


def page(found: dict) -> str:
    """The page."""
    o, a, d = found["overhead"], found["aggregate"], found["demo"]
    rows = "\n".join(
        f"| {m['images']:,} | {m['megabytes']:,.0f} MB | {m['start']:.0f} MB | {m['peak']:.0f} MB |"
        for m in found["memory"]
    )
    speed = {how: np.median([turn["speed"] for turn in turns]) for how, turns in found["threads"].items()}
    return f"""# What a run costs

Measured by `perf/evaluation.py` on two cores; times are the best of three turns.

## Beyond its parts

The bundled model on the bundled 1,000 images through `cifar10-c`: {o["images"]:,} images.

| | seconds |
|---|---|
| corrupting alone, two threads | {o["corrupt"]:.1f} |
| inference alone, two threads | {o["infer"]:.1f} |
| `brittle.evaluate`, everything kept on disk | {o["whole"]:.1f} |

The whole takes **{o["ratio"]:.2f} ×** the longer part. On the CPU threads corrupt a batch and compute with it, several
batches side by side; on a GPU threads corrupt the next batches while the model evaluates the current one.

## Beside other work

When a network computes one batch with several threads, these wait for each other after every layer. By default torch's
threads wait by spinning, and on a busy machine the spinning threads take processor time from the threads that they
wait for. On the CPU brittle therefore evaluates several batches in parallel, each with one thread that never waits: two
for each processor, at most eight. Tasks that need one batch after the other (training, features, failure points of few
images) use threads that sleep while they wait (`GOMP_SPINCOUNT=0`, `OMP_WAIT_POLICY=PASSIVE`, `KMP_BLOCKTIME=0`). The
command line and `load_model` set these variables before torch is loaded, unless one of the three is already set.

The bundled model on batches of 64 images, on two idle processors, then beside four busy loops;
medians of {len(found["threads"]["one quiet"])} interleaved turns of three seconds:

| threads of torch | images a second | with four busy loops |
|---|---|---|
| two for one batch, spinning (torch's default) | {speed["spin quiet"]:.0f} | {speed["spin busy"]:.0f} |
| two for one batch, sleeping | {speed["passive quiet"]:.0f} | {speed["passive busy"]:.0f} |
| one for one batch | {speed["one quiet"]:.0f} | {speed["one busy"]:.0f} |
| four for four batches side by side (brittle's default) | {speed["side quiet"]:.0f} | {speed["side busy"]:.0f} |

The whole `brittle demo` takes {d["quiet"]:.0f} s, and {d["busy"]:.0f} s beside four busy loops:
**{d["busy"] / d["quiet"]:.1f} ×** as long.

`--workers` (`-j`) sets the total number of threads. The command line also makes glibc keep freed memory for the next
layer (unless a `MALLOC_` variable is set): with photographs of 224 px, half of the time was spent on new allocations.

## Memory

A run over 64 px images on disk. Memory counts only pages that the process owns; the system can drop pages mapped from
files.

| images | their size | before | peak |
|---|---|---|---|
{rows}

## Reading large results

{a["rows"]:,} synthetic rows of 40 models ({a["gigabytes"]:.1f} GB of Parquet): `results.accuracy()` takes
**{a["table_seconds"]:.1f} s** and {a["table_peak"]:.0f} MB. The scores of one model with bootstrap intervals
(50,000 samples, 75 cells, 1,000 resamples) take {a["score_seconds"]:.1f} s and {a["score_peak"]:.0f} MB.
"""


if __name__ == "__main__":
    main(sys.argv[1:] or ["overhead", "memory", "threads", "demo", "aggregate"])
