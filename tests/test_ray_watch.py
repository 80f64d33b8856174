"""A head or a node of a Ray cluster that falls silent is named; what was never reached is not missed."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import brittle._ray as ours
from brittle._errors import RunError
from tests.errors import naming


@contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def cluster(head: int, *nodes: tuple[str, int]) -> SimpleNamespace:
    """What `Watch` asks of Ray: the address of the head, and the nodes that Ray takes for alive."""
    known = [{"NodeManagerAddress": host, "NodeManagerPort": port, "Alive": True} for host, port in nodes]
    context = SimpleNamespace(gcs_address=f"127.0.0.1:{head}")
    return SimpleNamespace(get_runtime_context=lambda: context, nodes=lambda: known)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "WAIT", 0.0)
    monkeypatch.setattr(ours, "SILENCE", 0.0)


def check(watch: ours.Watch) -> None:
    watch._next = 0.0
    watch.check(3, 9)


def test_a_silent_head_is_named_with_what_is_done() -> None:
    with listening() as port:
        watch = ours.Watch(cluster(port))
        check(watch)
    with pytest.raises(RunError, match=naming(f"127.0.0.1:{port}", 3, 9, "resumes")):
        check(watch)
    assert not watch.is_connected  # so nothing more is asked of it


def test_a_silent_node_is_named_unless_ray_knows_that_it_is_gone() -> None:
    with listening() as head:
        with listening() as port:
            ray = cluster(head, ("127.0.0.1", port))
            watch = ours.Watch(ray)
        with pytest.raises(RunError, match=naming("127.0.0.1", 3, 9, "resumes")):
            check(watch)
        assert watch.is_connected
        ray.nodes()[0]["Alive"] = False
        check(watch)
        assert watch.answered == {"head"}


def test_what_never_answered_is_not_watched() -> None:
    with listening() as closed:
        pass
    watch = ours.Watch(cluster(closed, ("127.0.0.1", closed)))
    check(watch)
    assert watch.answered == set()


def test_silence_is_counted_from_the_first_question_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(ours, "SILENCE", 25.0)
    monkeypatch.setattr(ours, "monotonic", lambda: clock[0])
    with listening() as port:
        watch = ours.Watch(cluster(port))
    clock[0] = 600.0  # so long a result was written
    check(watch)
    clock[0] += 26.0
    with pytest.raises(RunError, match=naming(26, "resumes")):
        check(watch)


@pytest.mark.parametrize(("lost", "code"), [(True, 2), (False, -6)])
def test_what_a_lost_head_left_behind_cannot_crash_the_end_of_the_command_line(lost: bool, code: int) -> None:
    script = f"""
import atexit, os, sys
import brittle._ray as ours
from brittle.cli import main
atexit.register(os.abort)
ours._abandoned = {lost}
sys.argv = ["brittle", "run", "-m", "demo:standard", "-d", "demo", "-c", "fog", "--limit", "nonsense"]
try:
    main()
except SystemExit:
    sys.exit(1)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == code
    assert "--limit" in ended.stderr
