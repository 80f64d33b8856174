"""Kill a run ten times at random moments, hard, and see that its rows are those of a run left in peace.

    python scripts/kill_runs.py [--times 10] [--seed 0]

Each attempt is `brittle run` in a process of its own, ended by SIGKILL after a random time; the last one may finish.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

import brittle

COMMAND = [sys.executable, "-m", "brittle", "run", "-m", "demo:standard", "-m", "demo:augmix", "-d", "demo"]
RECIPE = ["--limit", "200", "-b", "cifar10-c", "--batch-size", "64"]


def main(times: int, seed: int) -> None:
    """Run, kill, compare."""
    screen, moments = Console(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        calm, torn = Path(folder) / "calm", Path(folder) / "torn"
        start = time.monotonic()
        subprocess.run([*COMMAND, *RECIPE, "-o", str(calm)], check=True, capture_output=True)
        whole = time.monotonic() - start
        start = time.monotonic()
        subprocess.run([*COMMAND, *RECIPE, "-o", str(calm)], check=True, capture_output=True)
        idle = time.monotonic() - start  # starting up and printing scores, with nothing to compute
        screen.print(f"in peace: {whole:.0f} s, {cells(calm)} cells; with nothing to do: {idle:.0f} s")
        killed = 0
        while killed < times:
            process = subprocess.Popen([*COMMAND, *RECIPE, "-o", str(torn)], stdout=subprocess.DEVNULL)
            try:
                process.wait(moments.uniform(0.2, 1.0) * idle + moments.uniform(0, 2 / times) * (whole - idle))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                killed += 1
                screen.print(f"kill {killed}: {cells(torn)} cells are there")
            else:
                screen.print("it finished before the next kill; starting anew in another folder")
                torn = torn.with_name(f"{torn.name}x")
        subprocess.run([*COMMAND, *RECIPE, "-o", str(torn)], check=True, capture_output=True)
        a, b = (rows(path) for path in (calm, torn))
        same = a.equals(b)
        leftovers = list(torn.rglob("*.part"))
        screen.print(f"{len(a):,} rows and {len(b):,} rows: {'identical' if same else 'DIFFERENT'}")
        screen.print(f"states of the calls: {[s['state'] for s in brittle.load_results(torn).runs[0]['calls']]}")
        if not same:
            sys.exit(1)
        screen.print(f"half-written files left behind, never read: {len(leftovers)}")


def cells(folder: Path) -> int:
    """How many cells a run has finished."""
    return len(list(folder.glob("cells/*/*.parquet")))


def rows(folder: Path):
    """All rows in one order."""
    return brittle.load_results(folder).rows.sort("model", "corruption", "level", "sample").collect()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
