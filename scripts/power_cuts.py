"""Cut the power of a disk while brittle writes to it: what a cut would leave is resumed, and ends the same.

    sudo python scripts/power_cuts.py [VERB …] [--times 3] [--seed 0]

The output lies on an ext4 file system in a loop device. While a verb runs, and once after its end, the device is
copied: a copy holds what has reached the disk, not what the system still keeps in memory. Each copy is mounted, which
replays its journal, and the same command is given again. It needs root, loop devices and mkfs.ext4.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kill_runs import VERBS, call, contents, differences, prepare, start

MEGABYTES = 64
CHOSEN = ("run", "corrupt (folder)", "corrupt (array)", "augment train")


@contextmanager
def mounted(image: Path, place: Path) -> Iterator[Path]:
    """An image of a file system, mounted on a folder."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def cut(name: str, folder: Path, times: int, rng: random.Random) -> str:
    """One verb: copies of its disk while it runs and right after its end, each resumed; a row of the table."""
    place, image, text = folder / "disk", folder / "disk.img", VERBS[name].call
    calm = folder / "calm"
    began = time.monotonic()
    call(folder, text, calm)
    whole = time.monotonic() - began
    with image.open("wb") as file:
        file.truncate(MEGABYTES << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    copies: list[Path] = []
    with mounted(image, place):
        process, began = start(folder, text, place / "out"), time.monotonic()
        for moment in sorted(rng.uniform(0.3, 1.0) * whole for _ in range(times)):
            time.sleep(max(0.0, began + moment - time.monotonic()))
            copies.append(copied(image, folder / f"cut{len(copies)}.img"))
        process.wait()
        copies.append(copied(image, folder / f"cut{len(copies)}.img"))
    kept, same = [], 0
    for copy in copies:
        with mounted(copy, place):
            out = place / "out"
            kept.append(len(contents(out)) if out.exists() else 0)
            call(folder, text, out)
            if contents(out) == contents(calm):
                same += 1
            else:
                print(name, differences(calm, out), file=sys.stderr)
        copy.unlink()
    total = len(contents(calm))
    shutil.rmtree(calm)
    found = ", ".join(f"{count}" for count in kept)
    return f"| {name} | {len(copies)} | {found} of {total} | {same} |"


def copied(image: Path, target: Path) -> Path:
    """The disk as it is at this moment, nearly."""
    subprocess.run(["cp", "--reflink=auto", "--sparse=always", str(image), str(target)], check=True)
    return target


def main(verbs: list[str], times: int, seed: int) -> int:
    """Cut all of them; print a table."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("mount", "mkfs.ext4"))):
        sys.exit("SKIPPED: loop devices need root, mount and mkfs.ext4 (e2fsprogs)")
    failed, rng = False, random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="brittle-cuts-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        prepare(folder)
        print("| verb | cuts | files after the cut | identical after resuming |\n|---|---|---|---|", flush=True)
        for name in verbs or CHOSEN:
            line = cut(name, folder, times, rng)
            failed |= not line.endswith(f"| {times + 1} |")
            print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*", choices=[*CHOSEN, []], metavar="VERB")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(main(**vars(parser.parse_args())))
