"""How long does the first use take, with nothing compiled yet? Measures fresh processes and writes the page about it.

Each process has an empty folder for what numba compiles. Beside the elapsed seconds stand those of the processors,
which other programs on the machine change little. Run it on a quiet machine:

    python perf/first_use.py                  # all 112 corruptions at 224 px, groups three times: about 6 minutes
    python perf/first_use.py --sizes 32,224   # at both sizes: about 10 minutes
    python perf/first_use.py --only iso_noise,fog --print   # some corruptions, and no page
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from speed import machine

import brittle

ROOT = Path(__file__).parent.parent
BENCHMARK = [entry.corruption.id for entry in brittle.load_benchmark("imagenet-c").entries]
EVERY = [corruption.id for corruption in brittle.list_corruptions()]

FIRST_IMAGE = """
import sys, numpy as np, brittle
side = int(sys.argv[1])
image = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
for name in sys.argv[2:]:
    brittle.corrupt(image, name, 3)
"""

AHEAD = """
import sys
from brittle.corruptions import compile_corruptions
if __name__ == "__main__":
    compile_corruptions(sys.argv[1:])
"""


class Spent(NamedTuple):
    """Seconds on the clock, and of all processors together."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} | {self.processor:.2f}"


Row = tuple[str, list[Spent]]
"""A corruption, and the first image of it at each size."""


def options() -> argparse.Namespace:
    """What is measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="repetitions of commands and groups (the best counts)")
    parser.add_argument("--sizes", default="224", help="sides of the images in pixels, with commas")
    parser.add_argument("--only", default="", help="parts of the ids of corruptions, with commas; no groups")
    parser.add_argument("--print", action="store_true", help="print only, and leave the page as it is")
    return parser.parse_args()


def main() -> None:
    """Measure everything and write the page."""
    asked = options()
    sides = [int(side) for side in asked.sizes.split(",")]
    parts = [part for part in asked.only.split(",") if part]
    groups: list[tuple[str, Spent]] = []
    if not parts:
        groups = [(name, least(asked.repeats, *command)) for name, command in STARTS.items()]
        for title, names in (("the 15 of ImageNet-C", BENCHMARK), (f"all {len(EVERY)}", EVERY)):
            groups.append((f"{title}, one after the other", least(asked.repeats, "-c", FIRST_IMAGE, "224", *names)))
            groups.append((f"{title}, `compile_corruptions`", compiled_ahead(asked.repeats, names)))
        print(*(f"{title}: {spent}" for title, spent in groups), sep="\n", flush=True)
    rows: list[Row] = []
    for name in EVERY:
        if not parts or any(part in name for part in parts):
            rows.append((name, [fresh("-c", FIRST_IMAGE, str(side), name) for side in sides]))
            print(name, *rows[-1][1], flush=True)
    if not asked.print and not parts:
        (ROOT / "docs" / "explanation" / "first-use.md").write_text(page(groups, rows, sides), encoding="utf-8")
        print("wrote docs/explanation/first-use.md")


def page(groups: list[tuple[str, Spent]], rows: list[Row], sides: list[int]) -> str:
    """The page of what was measured: of commands and sets, and of each corruption at each size."""
    slowest, times = max(rows, key=lambda row: max(spent.processor for spent in row[1]))
    lines = [
        INTRODUCTION.format(
            machine=machine(),
            cores=len(os.sched_getaffinity(0)),
            load=os.getloadavg()[2],
            slowest=max(spent.processor for spent in times),
            which=slowest,
        ),
        "| | seconds | of the processors |",
        "|---|---:|---:|",
        *(f"| {title} | {spent} |" for title, spent in groups),
        "\n## The first image of each corruption\n",
        f"| corruption |{''.join(f' {side} px, seconds | of the processors |' for side in sides)}",
        f"|---|{'---:|---:|' * len(sides)}",
        *(f"| {name} | {' | '.join(map(str, row))} |" for name, row in rows),
    ]
    return "\n".join(lines) + "\n"


STARTS = {
    "`import brittle`": ("-c", "import brittle"),
    "`brittle --help`": ("-m", "brittle", "--help"),
    "`brittle list`": ("-m", "brittle", "list"),
}


def fresh(*arguments: str) -> Spent:
    """The time of one process of Python, from its start to its end, that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as kept:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        environment = {**os.environ, "NUMBA_CACHE_DIR": kept}
        subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def least(repeats: int, *arguments: str) -> Spent:
    """The repetition that was disturbed least."""
    return min((fresh(*arguments) for _ in range(repeats)), key=lambda spent: spent.wall)


def compiled_ahead(repeats: int, names: list[str]) -> Spent:
    """The same with all processors at once."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "ahead.py"
        script.write_text(AHEAD, encoding="utf-8")
        return least(repeats, str(script), *names)


INTRODUCTION = """# First use

*Written by `perf/first_use.py` (`make perf`); do not edit.* {machine}, {cores} processors, for which {load:.0f}
programs waited at a time while this was measured. Compare processor seconds: on an idle
machine elapsed seconds are the same, or with `compile_corruptions` the processor seconds divided by the number of
processors.

Corruptions are loops that numba compiles at their first use, and caches on disk. So the first image of a
corruption takes at most {slowest:.1f} s of a processor ({which}), the start of Python and all imports included, and
every later one, also in other processes, the time on the [speed page](speed.md). Commands such as `brittle run` compile
their corruptions on all processors before they start; in Python call `brittle.corruptions.compile_corruptions()`, for
example in a container image. Set `NUMBA_CACHE_DIR` to store compiled code elsewhere than beside the package.
"""

if __name__ == "__main__":
    main()
