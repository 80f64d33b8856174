"""Long work says how far it is, with a terminal and without one, and why a first use takes its time."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest
from rich.console import Console

from brittle.cli.progress import WorkProgress, duration


def lines_of(seconds: float, step: float, **due: float) -> list[str]:
    """What work of so many seconds writes to a file."""
    log = io.StringIO()
    with WorkProgress(Console(file=log, width=40), **due) as bar:
        task = bar.add_task("fog 3  ", total=1000, unit="images")
        for done in range(1, round(seconds / step) + 1):
            sleep(step)
            bar.update(task, completed=round(1000 * done * step / seconds))
    return log.getvalue().splitlines()


def test_a_log_gets_a_line_for_every_tenth_with_speed_and_time_left() -> None:
    lines = lines_of(2.0, 0.02, first=0.1, every=60, tenth=0.01)
    assert 6 <= len(lines) <= 11
    done = []
    for line in lines[1:]:
        found = re.fullmatch(r"fog 3, ([\d,]+)/1,000 images \((\d+) %\), [\d.,]+ images/s, \d+ s left", line)
        assert found is not None, line
        done.append(int(found[2]))
    assert done == sorted(set(done))


def test_a_step_that_never_ends_is_not_silent() -> None:
    log = io.StringIO()
    with WorkProgress(Console(file=log), first=0.1, every=0.2, tenth=0.1) as bar:
        bar.add_task("finding the batch size", total=None)
        sleep(1.0)
    lines = log.getvalue().splitlines()
    assert 2 <= len(lines) <= 6  # a line every so often, never a flood
    assert set(lines) == {"finding the batch size"}


def test_short_work_writes_nothing() -> None:
    assert lines_of(0.2, 0.02) == []


def test_a_run_without_a_terminal_writes_lines_and_one_in_a_terminal_a_bar(tmp_path: Path) -> None:
    """In a process of its own with a pipe for stderr; the delays are shortened, since a test should be short."""
    code = (
        "import sys, time; from brittle.cli import app, progress\n"
        "progress.WorkProgress.__init__.__kwdefaults__.update(first=0.2, every=0.2, tenth=0.1)\n"
        "app(['run', '-m', 'demo:standard', '-d', 'demo', '-c', 'fog,frost', '-s', '1,2,3', '--limit', '500',"
        "'--batch-size', '20', '-o', 'run'])"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TERM": "dumb"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\S.*, [\d,]+/3,500 images \(\d+ %\)(, [\d.,]+ images/s)?", done.stderr, re.MULTILINE)
    assert not {"\x1b", "\r"} & set(done.stderr)
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    with WorkProgress(screen) as bar:
        bar.update(bar.add_task("fog", total=10, unit="images"), completed=5)
        bar.refresh()
    assert isinstance(screen.file, io.StringIO)
    assert "5/10 images (50 %)" in screen.file.getvalue()


@pytest.mark.parametrize(("seconds", "text"), [(4.4, "4 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    "verb", ["show -c fog,frost --image-size 32", "probe cat -m demo:standard --image-size 32 -c fog --draws 1"]
)
def test_verbs_that_draw_compile_once_and_say_so(verb: str, tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "brittle", *verb.split(), "-o", "sheet.png"]
    told = []
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told.append(done.stderr.count("First use: compiling"))
    assert told == [1, 0]
