"""Run fuzzers for long, each in a process of its own, and print what was tried.

    python -m tests.fuzz [NAME …] [--seconds 600] [--seed N]
    python -m tests.fuzz NAME --case '{…}'                  repeat one case, as a failure prints it

The seconds are shared by the fuzzers. The seed is drawn anew unless it is given; it is printed.
"""

import argparse
import faulthandler
import json
import secrets
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from tests.fuzz.calls import CALLS
from tests.fuzz.engine import Fuzzer, fuzz, repeat
from tests.fuzz.files import FILES
from tests.fuzz.outputs import OUTPUTS
from tests.fuzz.pages import PAGES
from tests.fuzz.recipes import RECIPES
from tests.fuzz.run_folders import RUN_FOLDERS

FUZZERS: dict[str, Fuzzer] = {one.name: one for one in (CALLS, FILES, RUN_FOLDERS, RECIPES, OUTPUTS, PAGES)}

LONGEST_CASE = 120.0
"""Seconds after which a case counts as hanging."""


def alone(name: str, seconds: float, seed: int) -> bool:
    """Run one fuzzer in a process of its own, so that a crash or a hang is a finding too."""
    with tempfile.TemporaryDirectory(prefix="brittle-fuzz-") as folder:
        journal = Path(folder, "case")
        command = [sys.executable, "-m", "tests.fuzz", name, "--seconds", f"{seconds}", "--seed", f"{seed}"]
        code = subprocess.run([*command, "--journal", str(journal)], check=False).returncode
        if code not in (0, 1):
            case = journal.read_text() if journal.exists() else "before the first case"
            print(
                f"{name}: the process ended with {code} in\n  python -m tests.fuzz {name} --case '{case}'", flush=True
            )
        return code == 0


def here(fuzzer: Fuzzer, seconds: float, seed: int, journal: Path) -> bool:
    """Run one fuzzer, print its counts and its failures, shrunk."""
    with journal.open("w") as file:

        def before(line: str) -> None:
            file.seek(0)
            file.truncate()
            file.write(line)
            file.flush()
            faulthandler.dump_traceback_later(LONGEST_CASE, exit=True)

        account = fuzz(fuzzer, seed=seed, seconds=seconds, before=before)
        faulthandler.cancel_dump_traceback_later()
    print(f"{fuzzer.name}: {account} (seed {seed})", flush=True)
    for kind, (case, error) in account.failures.items():
        print(f"\n{fuzzer.name}: {kind}\n  {repeat(fuzzer, fuzzer.shrunk(case))}", flush=True)
        traceback.print_exception(error)
    return not account.failures


def main() -> int:
    """Fuzz, or repeat a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*FUZZERS, []], help="by default all")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--case", help="one line of JSON")
    parser.add_argument("--journal", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    faulthandler.enable()
    names = given.names or list(FUZZERS)
    if given.case is not None:
        print(FUZZERS[names[0]].run(json.loads(given.case)))
        return 0
    seed = secrets.randbelow(2**32) if given.seed is None else given.seed
    if given.journal is not None:
        return 0 if here(FUZZERS[names[0]], given.seconds, seed, given.journal) else 1
    failed = [name for name in names if not alone(name, given.seconds / len(names), seed)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
