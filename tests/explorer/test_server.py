"""The explorer as a server: its address, its end, its frame in a notebook, and its verb as a process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

import brittle
from brittle._errors import BrittleError
from brittle.datasets import photo
from brittle.explorer import State
from brittle.explorer.server import _listen
from brittle.explorer.state import LoadingModel
from tests.errors import naming
from tests.explorer.conftest import light

pytest.importorskip("uvicorn")


def opener() -> urllib.request.OpenerDirector:
    """A browser of its own, which keeps cookies and knows no proxy."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar()))


def test_the_address_opens_it_and_nothing_else_does() -> None:
    with brittle.explore(light, photo("cat", 64)) as explorer:
        assert explorer.address.startswith("http://127.0.0.1:")
        browser = opener()
        with pytest.raises(HTTPError, match="403"):
            browser.open(f"{explorer.address}/live")
        assert browser.open(explorer.url).status == 200
        page = browser.open(f"{explorer.address}/").read().decode()
        assert "Search 112 corruptions" in page
        explorer.state.loaded.wait(10)
        predictions = json.load(browser.open(f"{explorer.address}/live/predictions?picture=p0"))
        assert predictions["name"] == "light"
    with pytest.raises(URLError):
        opener().open(explorer.url)
    assert "stopped" in repr(explorer)


def test_a_notebook_shows_the_live_page_in_a_frame_without_cookies() -> None:
    explorer = brittle.explore(light, photo("cat", 64))
    try:
        [source] = re.findall(r'<iframe src="([^"]+)"', explorer._repr_html_())
        page = opener().open(unescape(source)).read().decode()
        for address in re.findall(r'(?:src|href)="(/[^"]+)"', page):
            assert opener().open(explorer.address + address).status == 200
    finally:
        explorer.stop()
    assert "iframe" not in explorer._repr_html_()


def test_only_the_loopback_listens() -> None:
    with brittle.explore((), photo("cat", 32)) as explorer:
        others = {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
        for address in (each for each in others if not each.startswith("127.")):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((address, explorer.port), timeout=2)


def test_small_answers_are_sent_at_once() -> None:
    """asyncio switches Nagle's algorithm off, which holds back the second part of an answer for 40 ms, by this."""
    with _listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_a_port_that_is_taken_or_none_is_named() -> None:
    explorer = brittle.explore((), photo("cat", 32))
    with explorer, pytest.raises(BrittleError, match=naming(explorer.port)):
        brittle.explore((), photo("cat", 32), port=explorer.port)
    with pytest.raises(BrittleError, match=naming(65536)):
        brittle.explore((), photo("cat", 32), port=65536)


def test_two_explorers_do_not_mix_up_their_cookies() -> None:
    browser = opener()
    with brittle.explore((), photo("cat", 32)) as first, brittle.explore((), photo("cat", 32)) as second:
        for explorer in (first, second):
            browser.open(explorer.url)
        for explorer in (first, second):
            assert browser.open(f"{explorer.address}/live").status == 200


def test_the_verb_prints_the_address_and_ends_at_an_interrupt() -> None:
    command = [sys.executable, "-m", "brittle", "explore", "--no-browser"]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as verb:
        assert verb.stdout is not None
        url = verb.stdout.readline().split()[0]
        browser = opener()
        browser.open(url)
        page = browser.open(url.partition("?")[0]).read().decode()
        assert time.monotonic() - began < 60
        assert "demo:standard" in page or "demo-standard" in page
        verb.send_signal(signal.SIGINT)
        _, complaints = verb.communicate(timeout=30)
    assert verb.returncode == 0
    assert "Traceback" not in complaints


CALLS = {
    "": (None, [], None, [], {}),
    "photo.jpg -m timm:resnet50 -m net.onnx": (["timm:resnet50", "net.onnx"], ["photo.jpg"], None, [], {}),
    "-m net.onnx -d val/": (["net.onnx"], [], "val/", [], {}),
    "run -m net.onnx -d val/": (["net.onnx"], [], "val/", [Path("run")], {}),
    "cat -m demo:standard,demo:augmix --port 8123": (
        ["demo:standard", "demo:augmix"],
        ["cat"],
        None,
        [],
        {"port": 8123},
    ),
    "--host 0.0.0.0 --no-browser": (None, [], None, [], {"host": "0.0.0.0", "open_browser": False}),
}
"""Command lines, and what they give to `brittle.explore`."""


@pytest.mark.parametrize(("line", "call"), CALLS.items(), ids=CALLS)
def test_the_verb_is_a_call(line: str, call: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from brittle.cli import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "photo.jpg").touch()
    calls = []

    class Ended:
        url, running = "http://127.0.0.1:1/?token=x", False
        state = State(models=[LoadingModel("nowhere.onnx")])

        def wait(self) -> None:
            self.state.models[0].error = "told too late"

    Ended.state.models[0].error = "there is no file"
    Ended.state.loaded.set()

    def record(*given: Any, **more: Any) -> Ended:
        calls.append((given, more))
        return Ended()

    monkeypatch.setattr(brittle.explorer, "explore", record)
    done = CliRunner().invoke(app, ["explore", *line.split()])
    assert done.exit_code == 0, done.output
    assert "http://127.0.0.1:1/?token=x" in done.stdout
    assert "nowhere.onnx: there is no file" in done.stderr
    *given, more = call
    assert calls == [(tuple(given), {"host": "127.0.0.1", "port": 0, "open_browser": True, **more})]


def test_every_example_of_the_verb_is_among_them() -> None:
    from brittle.cli.explore import EXAMPLES

    assert {line.removeprefix("brittle explore").strip() for line, _ in EXAMPLES} < set(CALLS)


def test_words_of_the_verb_are_runs_and_photographs(tmp_path) -> None:
    from brittle.cli.explore import sorted_out

    (tmp_path / "cat.jpg").touch()
    assert sorted_out([str(tmp_path), str(tmp_path / "cat.jpg"), "coffee"]) == (
        [tmp_path],
        [str(tmp_path / "cat.jpg"), "coffee"],
    )
    with pytest.raises(BrittleError, match=naming("nothing.jpg")):
        sorted_out(["nothing.jpg"])
