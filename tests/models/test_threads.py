"""Threads wait asleep, and one number sets them all."""

import json
import os
import subprocess
import sys

import pytest
import torch

from brittle import BrittleError
from brittle._parallel import PASSIVE_WAIT, check_threads, cores, torch_threads, use_threads
from tests.errors import naming

CODE = """
import json, os, sys
{first}
from brittle._optional import require
require("torch")
print(json.dumps({{name: os.environ.get(name) for name in {names}}}))
"""


def environment(first: str = "", **given: str) -> dict[str, str | None]:
    """What OpenMP is told in a fresh process by the time torch is loaded."""
    kept = {name: value for name, value in os.environ.items() if name not in PASSIVE_WAIT}
    code = CODE.format(first=first, names=list(PASSIVE_WAIT))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **given}, capture_output=True, text=True, check=True
    )
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


def test_waiting_threads_sleep_unless_somebody_said_otherwise() -> None:
    assert environment() == PASSIVE_WAIT
    asked = environment(OMP_WAIT_POLICY="ACTIVE")
    assert asked == {**dict.fromkeys(PASSIVE_WAIT), "OMP_WAIT_POLICY": "ACTIVE"}
    assert environment("import torch") == dict.fromkeys(PASSIVE_WAIT)  # too late, so nothing is changed


def test_the_command_line_says_so_first() -> None:
    code = "import sys, os; from brittle.cli import main; sys.argv = ['brittle', '--version']\ntry: main()\n"
    code += "except SystemExit: pass\nprint(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)"
    kept = {name: value for name, value in os.environ.items() if name not in PASSIVE_WAIT}
    done = subprocess.run([sys.executable, "-c", code], env=kept, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"


def test_torch_computes_with_so_many_threads_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("brittle._parallel._thread_count", None)
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with torch_threads(None):
        assert torch.get_num_threads() == before
    try:
        use_threads(before + 2)
        assert torch.get_num_threads() == before + 2
        assert cores() == before + 2
        assert os.environ["OMP_NUM_THREADS"] == str(before + 2)
    finally:
        torch.set_num_threads(before)
    with pytest.raises(BrittleError, match=naming(1, 0)):
        check_threads(0)
