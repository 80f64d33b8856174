"""Cut the power of a disk while brittle writes to it: what a cut would leave is resumed, and ends the same.

    sudo python scripts/power_cuts.py [VERB …] [--times 6] [--seed 0] [--mount OPTIONS] [--no-flush]

The output lies on an ext4 file system in a loop device. While a verb runs, and once right after its end, it is stopped
and the device is copied: a copy holds what has reached the disk, not what the system still keeps in memory. Copies are
made until two are equal, so that none is a mixture of two moments. Each copy is mounted, which replays its journal, and
the same command is given again. `--mount data=writeback,noauto_da_alloc` takes away what ext4 does for programs that
flush nothing; `--no-flush` makes every flush of brittle do nothing, to see that these cuts notice it. It needs root,
loop devices and mkfs.ext4.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kill_runs import VERBS, call, contents, differences, prepare, start, state

MEGABYTES = 64
CHOSEN = ("run", "corrupt (folder)", "corrupt (array)", "augment train", "failure-points", "design overlap")
NO_FLUSH = "import os\nos.fsync = os.fdatasync = lambda *_: None\nos.sync = lambda: None\n"


@contextmanager
def mounted(image: Path, place: Path, options: str) -> Iterator[Path]:
    """An image of a file system, mounted on a folder."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", f"loop,{options}".strip(","), str(image), str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def cut(name: str, folder: Path, times: int, rng: random.Random, options: str) -> tuple[str, bool]:
    """One verb: copies of its disk while it runs and right after its end, each resumed; a row of the table."""
    place, image, text = folder / "disk", folder / "disk.img", VERBS[name].call
    calm = folder / "calm" / "out"
    call(folder, text, calm)
    wanted = contents(calm)
    with image.open("wb") as file:
        file.truncate(MEGABYTES << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    copies: list[Path] = []
    with mounted(image, place, options):
        process = start(folder, text, place / "out")
        for _ in range(times):
            wait_for_files(process, place / "out", rng.randint(1, max(1, len(wanted) // times)))
            time.sleep(rng.uniform(0, 0.1))
            if process.poll() is not None:
                break
            os.killpg(process.pid, signal.SIGSTOP)
            copies.append(copied(image, folder / f"cut{len(copies)}.img"))
            os.killpg(process.pid, signal.SIGCONT)
        process.wait()
        copies.append(copied(image, folder / f"cut{len(copies)}.img"))
    kept, torn, same = [], 0, 0
    for copy in copies:
        with mounted(copy, place, options):
            left = contents(place / "out")
            whole = [path for path, digest in left.items() if wanted.get(path) == digest]
            kept.append(len(whole))
            torn += sum(".part" not in path for path in left) - len(whole)
            if left != wanted or VERBS[name].repeatable:
                call(folder, text, place / "out")
            same += contents(place / "out") == wanted
            if contents(place / "out") != wanted:
                print(name, differences(calm, place / "out"), file=sys.stderr)
        copy.unlink()
    shutil.rmtree(calm)
    found = ", ".join(map(str, kept))
    ended = kept[-1] == len(wanted)
    row = f"| {name} | {len(copies) - 1} + 1 | {found} of {len(wanted)} | {torn} | {same} of {len(copies)} |"
    return row, ended and same == len(copies)


def wait_for_files(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    """Wait until so many files were written or the process has ended."""
    seen, written = state(folder), 0
    while written < count and process.poll() is None:
        time.sleep(0.005)
        now = state(folder)
        written, seen = written + len(now - seen), now


def copied(image: Path, target: Path) -> Path:
    """The disk as it is at this moment: read again until nothing has changed in between."""
    before, now = b"", image.read_bytes()
    while before != now:
        before, now = now, image.read_bytes()
    target.write_bytes(now)
    return target


def main(verbs: list[str], times: int, seed: int, mount: str, *, no_flush: bool) -> int:
    """Cut all of them; print a table."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("mount", "mkfs.ext4"))):
        sys.exit("SKIPPED: loop devices need root, mount and mkfs.ext4 (e2fsprogs)")
    failed, rng = False, random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="brittle-cuts-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        prepare(folder)
        if no_flush:
            (folder / "site").mkdir()
            (folder / "site" / "sitecustomize.py").write_text(NO_FLUSH)
            paths = [str(folder / "site"), os.environ.get("PYTHONPATH", "")]
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        print("| verb | cuts | whole files after each | torn files | identical after resuming |\n|---|---|---|---|---|")
        for name in verbs or CHOSEN:
            row, good = cut(name, folder, times, rng, mount)
            failed |= not good
            print(row, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*", choices=[*CHOSEN, []], metavar="VERB")
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mount", default="", help="options of mount, such as data=writeback,noauto_da_alloc")
    parser.add_argument("--no-flush", action="store_true", help="let every flush do nothing, as a control")
    sys.exit(main(**vars(parser.parse_args())))
