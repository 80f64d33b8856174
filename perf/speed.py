"""How fast, and with how much memory? Measures us beside imagecorruptions and writes docs/explanation/speed.md.

    python perf/speed.py [--before CHECKOUT]

Times are CPU milliseconds of one thread, the median of interleaved repetitions, on both sides in the same state of the
allocator (a large array was freed before, which is kind to the peer: see the page). The two are measured both ways: in
turns of 5 ms, and call by call. Run it on a quiet machine.

CHECKOUT is a folder with an earlier state of this project: its times are measured too, in processes that alternate with
ours, and kept in perf/speed.json, from where the page has its column "before".
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

import brittle
from brittle.datasets import photo

sys.path.insert(0, str(Path(__file__).parent))
from marked import section

ROOT = Path(__file__).parent.parent
SEVERITIES = (1, 2, 3, 4, 5)
BENCHMARK = [entry.corruption.name for entry in brittle.load_benchmark("imagenet-c").entries]
EXTRA = [entry.corruption.name for entry in brittle.load_benchmark("imagenet-c-extra").entries]
TWELVE_MEGAPIXELS = (4000, 3000)
KEPT = Path(__file__).with_suffix(".json")
LARGE_SEVERITIES = (3, 5)
"""Large images are corrupted at these severities, and at the strongest where that is another one."""

Pair = tuple[list[float], list[float]]
"""Our and the peer's milliseconds at each severity."""


def main() -> None:
    """Measure everything and write the page."""
    warnings.filterwarnings("ignore")
    cv2.setNumThreads(1)
    if sys.argv[1:2] == ["--before"]:
        KEPT.write_text(json.dumps(before_and_now(Path(sys.argv[2])), indent=1) + "\n")
    before = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    large = [in_a_fresh_process(corruption.id) for corruption in brittle.list_corruptions()]
    warm_allocator()
    tables = {side: (beside_the_peer(side, in_turns), beside_the_peer(side, call_by_call)) for side in (224, 32)}
    page = [
        INTRODUCTION.format(
            machine=machine(), import_ms=import_milliseconds(), speedup=two_threads_speedup(), cv=cv2.__version__
        ),
        *(line for side, both in tables.items() for line in peer_table(side, *both, before.get(str(side), {}))),
        *batches(),
        *large_table(large),
        FOOTNOTES,
        *every_corruption(),
    ]
    file = ROOT / "docs" / "explanation" / "speed.md"
    page += [f"\n{kept}" for name in ("perf/transforms.py", "perf/libraries.py") if (kept := section(file, name))]
    file.write_text("\n".join(page) + "\n", encoding="utf-8")
    print("wrote docs/explanation/speed.md")


def warm_allocator() -> None:
    """From now on the allocator keeps what is freed, for us and for the peer."""
    freed = np.ones(3_750_000)  # 30 MB
    del freed


def beside_the_peer(side: int, measure: Callable[..., list[float]]) -> dict[str, Pair]:
    """For each corruption our and the peer's milliseconds at each severity."""
    from imagecorruptions import corrupt as peer

    image = photo("cat", side)
    table = {}
    for name in BENCHMARK + EXTRA:
        corruption = f"imagenet-c/{name}"
        pairs = [
            measure(
                lambda c=corruption, s=s: brittle.corrupt(image, c, s),
                lambda name=name, s=s: peer(image, corruption_name=name, severity=s),
            )
            for s in SEVERITIES
        ]
        table[name] = ([ours for ours, _ in pairs], [theirs for _, theirs in pairs])
        print(side, measure.__name__, name, *(f"{theirs / ours:.1f}x" for ours, theirs in pairs), flush=True)
    return table


def before_and_now(checkout: Path, rounds: int = 3) -> dict[str, dict[str, list[float]]]:
    """For each side and corruption the milliseconds for five severities, before and now: the least of all rounds."""
    least: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for which, folder in enumerate((checkout, ROOT)):
            environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
            done = subprocess.run(
                [sys.executable, __file__, "--alone"], env=environment, capture_output=True, text=True, check=True
            )
            for side, table in json.loads(done.stdout).items():
                for name, spent in table.items():
                    kept = least.setdefault(side, {}).setdefault(name, [float("inf")] * 2)
                    kept[which] = min(kept[which], spent)
    return least


def alone() -> None:
    """Print the milliseconds for five severities of each corruption, for `before_and_now`."""
    cv2.setNumThreads(1)
    warm_allocator()
    found = {}
    for side in (224, 32):
        image = photo("cat", side)
        calls = {
            name: [partial(brittle.corrupt, image, f"imagenet-c/{name}", s) for s in SEVERITIES]
            for name in BENCHMARK + EXTRA
        }
        found[side] = {name: sum(in_turns(call, seconds=0.1)[0] for call in calls[name]) for name in calls}
    print(json.dumps(found))


def call_by_call(*calls: Callable[[], object], seconds: float = 0.2) -> list[float]:
    """The median CPU time of each call, each called once in turn, so that it finds what the other left in the cache."""
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 15:
        for call, spent in zip(calls, times, strict=True):
            start = time.thread_time()
            call()
            spent.append(time.thread_time() - start)
    return [float(np.median(spent)) * 1e3 for spent in times]


def in_turns(*calls: Callable[[], object], seconds: float = 0.3) -> list[float]:
    """The median CPU time of each call. The calls take turns of at least 5 ms, so that each finds its own cache."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 7:
        for call, spent in zip(calls, times, strict=True):
            count, start = 0, time.thread_time()
            while (elapsed := time.thread_time() - start) < 5e-3:
                for _ in range(8):
                    call()
                count += 8
            spent.append(elapsed / count)
    return [float(np.median(spent)) * 1e3 for spent in times]


def peer_table(side: int, turns: dict[str, Pair], calls: dict[str, Pair], before: dict[str, list[float]]) -> list[str]:
    """Milliseconds summed over the five severities, both ways, beside what they were before."""
    ours, theirs = ([sum(sum(way[name][i]) for name in BENCHMARK) for way in (turns, calls)] for i in (0, 1))
    lines = [
        f"\n## {side} px: the 15 × 5 pass takes {ours[0]:.1f} ms, {theirs[0] / ours[0]:.1f} times less than "
        f"imagecorruptions; call by call {theirs[1] / ours[1]:.1f} times\n",
        "Milliseconds for five severities. *Least* is the smallest ratio at any severity.\n",
        "| corruption | before | now | imagecorruptions | times faster | least | call by call: now | imagecorruptions "
        "| times faster | least |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in turns:
        extra = " (extra)" if name in EXTRA else ""
        old = f"{before[name][0]:.2f}" if name in before else "–"
        lines.append(f"| {name}{extra} | {old} | {_columns(*turns[name])} | {_columns(*calls[name])} |")
    old = f"{sum(before[name][0] for name in BENCHMARK):.1f}" if before else "–"
    sums = [f"**{a:.1f}** | **{b:.1f}** | **{b / a:.1f}** | " for a, b in zip(ours, theirs, strict=True)]
    lines.append(f"| **all 15** | **{old}** | {sums[0]} | {sums[1]} |")
    if before:
        now = sum(before[name][1] for name in BENCHMARK)
        lines.append(
            f"\n*Before* was measured in processes that alternated with ours, in which *now* took {now:.1f} ms."
        )
    return lines


def _columns(ours: list[float], theirs: list[float]) -> str:
    least = min(b / a for a, b in zip(ours, theirs, strict=True))
    return f"{sum(ours):.2f} | {sum(theirs):.2f} | {sum(theirs) / sum(ours):.1f} | {least:.1f}"


def batches(count: int = 64) -> list[str]:
    """What a batch of CIFAR's size costs beside its kernels: the functions called on checked images."""
    from brittle.corruptions import Draws

    image = photo("cat", 32)
    batch = np.stack([image] * count)
    spent = np.zeros(2)
    for name in BENCHMARK:
        chosen = brittle.get_corruption(f"imagenet-c/{name}")
        for severity in SEVERITIES:
            parameters = chosen.parameters(severity, 32)

            def kernels(chosen=chosen, parameters=parameters) -> None:  # type: ignore[no-untyped-def]
                for i in range(count):
                    chosen.function(batch[i], Draws(0, chosen.id, i), **parameters)

            spent += in_turns(partial(brittle.corrupt, batch, chosen, severity), kernels, seconds=0.1)
    total, inner = spent / count
    return [
        f"\n## A batch of {count} images of 32 px costs {total / inner:.2f} times its kernels\n",
        f"The 15 × 5 pass takes {total:.2f} ms an image in a batch, of which the corruptions' own functions take "
        f"{inner:.2f} ms.",
    ]


def two_threads_speedup() -> float:
    """How much more two threads do than one, over the 15 × 5 pass at 224 px."""
    image = photo("cat", 224)
    jobs = [(name, s, sample) for sample in range(8) for name in BENCHMARK for s in SEVERITIES]

    def seconds(threads: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            start = time.perf_counter()
            list(pool.map(lambda job: brittle.corrupt(image, f"imagenet-c/{job[0]}", job[1], sample=job[2]), jobs))
            return time.perf_counter() - start

    return min(seconds(1) for _ in range(3)) / min(seconds(2) for _ in range(3))


Large = tuple[str, list[float], float]
"""A corruption, its seconds at each severity, and its extra megabytes."""


def in_a_fresh_process(name: str) -> Large:
    """The numbers of a 12-megapixel image; the peak of a process never falls, so each corruption has its own."""
    twelve_megapixels()  # which the process inherits
    with get_context("fork").Pool(1) as pool:
        row: Large = pool.apply(large_image, (name,))
    print(name, *(f"{seconds:.2f}" for seconds in row[1]), flush=True)
    return row


@cache
def twelve_megapixels() -> np.ndarray:
    return cv2.resize(photo("cat", 224), TWELVE_MEGAPIXELS, interpolation=cv2.INTER_CUBIC)


def large_image(name: str) -> Large:
    """The best of two calls at each severity, with as many threads as there are by default."""
    cv2.setNumThreads(-1)
    image, strongest = twelve_megapixels(), brittle.get_corruption(name).max_severity
    severities = [*LARGE_SEVERITIES, *([strongest] if strongest not in LARGE_SEVERITIES else [])]
    for severity in severities:
        brittle.corrupt(image[:64, :64], name, severity)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best = []
    for severity in severities:
        spent = []
        for _ in range(2):
            start = time.perf_counter()
            brittle.corrupt(image, name, severity)
            spent.append(time.perf_counter() - start)
        best.append(min(spent))
    return name, best, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def large_table(rows: list[Large]) -> list[str]:
    """All corruptions."""
    slow = [f"`{name}` ({max(seconds):.1f} s)" for name, seconds, _ in rows if max(seconds) > 1]
    lines = [
        "\n## 12 megapixels (4000 × 3000)\n",
        f"Seconds on the clock, the best of two, with the default threads on {os.cpu_count()} processors (load at the "
        f"end of all measurements: {os.getloadavg()[1]:.1f}). The strongest severity is given where it is not 5.",
        f"Over one second: {', '.join(slow) or 'none'}.\n",
        "| corruption | severity 3 | 5 | strongest | extra memory, MB |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, (three, five, *more), megabytes in rows:
        strongest = f"{more[0]:.2f}" if more else ""
        lines.append(f"| {name} | {three:.2f} | {five:.2f} | {strongest} | {megabytes:.0f} |")
    return lines


def every_corruption() -> list[str]:
    """Each corruption of each set once, at its largest severity, and what the sets take together."""
    spent: dict[tuple[str, int], float] = {}
    for corruption in brittle.list_corruptions():
        for side in (224, 32):
            image = photo("cat", side)
            call = partial(brittle.corrupt, image, corruption, corruption.max_severity)
            spent[corruption.id, side] = in_turns(call, seconds=0.15)[0]
    rows = [f"| {c.id} | {spent[c.id, 224]:.2f} | {spent[c.id, 32]:.3f} |" for c in brittle.list_corruptions()]
    lines = [
        "\n## Every set, each corruption once at its largest severity\n",
        "| set | corruptions | ms at 224 px | at 32 px | before |",
    ]
    lines.append("|---|---:|---:|---:|---|")
    for source in dict.fromkeys(c.source for c in brittle.list_corruptions()):
        members = [c.id for c in brittle.list_corruptions(source=source)]
        totals = [sum(spent[name, side] for name in members) for side in (224, 32)]
        lines.append(f"| {source} | {len(members)} | {totals[0]:.1f} | {totals[1]:.2f} | {BEFORE.get(source, '–')} |")
    ten = brittle.load_benchmark("imagenet-c-bar")
    image = photo("cat", 224)
    total = sum(
        in_turns(partial(ten.apply, image, cell.corruption, cell.level, 0), seconds=0.15)[0] for cell in ten.cells()
    )
    lines.append(f"| imagenet-c-bar, 10 × 5 levels | {len(ten)} | {total:.1f} | – | {BEFORE['imagenet-c-bar']} |")
    return [*lines, "\n*Before*: the time of the authors' own code, measured once on a machine of this kind.\n",
            "| corruption | ms at 224 px | ms at 32 px |", "|---|---:|---:|", *rows]  # fmt: skip


BEFORE = {"c-bar": "53.5 s", "imagenet-c-bar": "109 s", "imagenet-c": "6.7 s for 15 × 5 levels"}


def import_milliseconds() -> float:
    """Wall-clock time of `import brittle` in a fresh process, without the start of Python."""
    code = "import time; t = time.perf_counter(); import brittle; print((time.perf_counter() - t) * 1e3)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)
    ]
    return float(np.median(runs))


def machine() -> str:
    model = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return f"{model[0] if model else platform.processor()}, Python {platform.python_version()}, NumPy {np.__version__}"


INTRODUCTION = """# Speed

*Written by `perf/speed.py` (`make perf`); do not edit.* One thread, median CPU time, a photograph,
both libraries alternating in one process. {machine}, OpenCV {cv}. Absolute times differ between
machines; compare the ratios.

- `import brittle` takes {import_ms:.0f} ms: Numba and OpenCV load with the first corruption, and compiled kernels are
  cached on disk.
- Two threads do {speedup:.2f} times the work of one: all kernels release the GIL.
"""

FOOTNOTES = """
## How to read this

The peer is `imagecorruptions-imaug` 1.1.5, the fork of imagecorruptions that runs on a current stack. It uses its
224 px parameters at every size; we use the published 32 px ones at 32 px, which have up to twice as many zoom layers.
The peer profits from a warm allocator: in a fresh process its large temporaries are paged in again on every call,
which costs it up to another half of its time and us little. The tables show the warm state.

The two alternate in turns of at least 5 ms, as in real use, where one library is called many times in a row. In the
columns *call by call* they alternate at every call, so each finds the cache filled by the other. At 32 px, where our
calls take some 10 µs, this costs us more than the peer.

The limits at 224 px: `zoom_blur` reads every pixel 11 to 16 times; `elastic_transform` warps twice and
smooths two fields; `glass_blur` moves pixels one after the other, in an order that is part of its definition;
`jpeg_compression` computes what libjpeg-turbo computes, without writing and reading the codes of a file. Noise is
drawn by hashing a counter, four normal variates per hash, so drawing costs less than the noise's own arithmetic.
"""

if __name__ == "__main__":
    if sys.argv[1:] == ["--alone"]:
        alone()
    else:
        main()
