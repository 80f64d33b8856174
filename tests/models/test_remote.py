"""A model behind HTTP gives what it gives here; one that fails says so in a sentence, and the run resumes."""

import io
import json
import pickle
import socket
import struct
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle.models import from_http, load_model, serve_model
from brittle.models.remote import IDENTITY, PROTOCOL, identity
from tests.errors import naming
from tests.models.networks import images

FAST = {"retries": 1, "wait": 0.01, "timeout": 0.3}
ABOUT = {"protocol": PROTOCOL, "name": "far", "version": "1"}


def colours(batch: np.ndarray) -> np.ndarray:
    return batch.mean((1, 2)) / 255


@contextmanager
def odd_server(answer: Callable[[BaseHTTPRequestHandler, int], None]) -> Iterator[str]:
    """A server that announces a model and answers each batch as it is told; calls are counted from 0."""
    calls = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            send(self, json.dumps(ABOUT).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            calls.append(None)
            answer(self, len(calls) - 1)

        def handle_one_request(self) -> None:
            with suppress(ConnectionError):  # who waits no longer has gone
                super().handle_one_request()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(
    handler: BaseHTTPRequestHandler,
    body: bytes,
    status: int = 200,
    kind: str = "application/json",
    who: str = "1",
    promised: int | None = None,
) -> None:
    handler.send_response(status)
    length = len(body) if promised is None else promised
    for key, value in (("Content-Type", kind), ("Content-Length", str(length)), (IDENTITY, identity("far", who))):
        handler.send_header(key, value)
    handler.end_headers()
    handler.wfile.write(body)


def rows(count: int, value: object = 0.5) -> bytes:
    return json.dumps({"scores": [[value, 1.0]] * count}).encode()


@pytest.mark.parametrize("form", ["npz", "png"])
def test_scores_are_those_of_the_model_behind_the_address(form: str) -> None:
    given = images(5, 8, 6)
    with serve_model(colours, name="mine", max_batch=2) as server:
        model = load_model(f"{server.url},format={form},timeout=5")
        np.testing.assert_array_equal(model.scores(given), colours(given).astype(np.float32))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.scores(given[:1]), model.scores(given[:1]))
        assert (again.key, again.name, model.batch_size) == (model.key, "mine", 2)
        with serve_model(colours, name="mine", version="2") as other:
            assert from_http(other.url).key != from_http(server.url).key


def drip(handler: BaseHTTPRequestHandler, _: int) -> None:
    """Always a little of an answer, so that no pause is as long as the time-out."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(20):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


def cut(handler: BaseHTTPRequestHandler, _: int) -> None:
    send(handler, rows(2), promised=1000)
    handler.close_connection = True


def elsewhere(handler: BaseHTTPRequestHandler, _: int) -> None:
    handler.send_response(302)
    handler.send_header("Location", "http://else.where/scores")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


ODD = {
    "drip": (drip, "0.3 s"),
    "cut": (cut, "broke the connection off"),
    "elsewhere": (elsewhere, "http://else.where/scores"),
    "deep": (lambda h, _: send(h, b"[" * 100_000), "JSON"),
    "huge": (lambda h, _: send(h, rows(2, 1e300)), "infinite"),
    "password": (lambda h, _: send(h, b'{"error": "who is it"}', 401), "token"),
    "html": (lambda h, _: send(h, b"<html>hello</html>", kind="text/html"), "<html>hello</html>"),
    "shape": (lambda h, _: send(h, b'{"scores": [1, 2]}'), "shape (2,)"),
    "length": (lambda h, _: send(h, rows(7)), "shape (7, 2)"),
    "ragged": (lambda h, _: send(h, b'{"scores": [[1, 2], [3]]}'), "scores"),
    "nan": (lambda h, _: send(h, rows(2, float("nan"))), "NaN"),
    "pickle": (lambda h, _: send(h, pickle.dumps([1]), kind="application/x-npz"), "npz"),
    "status": (lambda h, _: send(h, b'{"error": "no memory"}', 500), "no memory"),
    "busy": (lambda h, _: send(h, b"", 503), "503"),
    "changed": (lambda h, _: send(h, rows(2), who="2"), "far/2"),
    "silent": (lambda *_: threading.Event().wait(0.8), "0.3 s"),
    "gone": (lambda h, _: h.connection.shutdown(socket.SHUT_RDWR), "connection"),
}


def zipped(shape: str, kind: str = "<f4", *, flags: int = 0, method: int = 0, content: bytes = bytes(24)) -> bytes:
    """An archive with an array `scores` whose header says what is given, true or not."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    start, whole = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)), io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scores.npy", start + header.encode() + content)
    raw = bytearray(whole.getvalue())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(signature) + place
        raw[at] |= flags
        raw[at + 2] = method or raw[at + 2]
    return bytes(raw)


ODD_BYTES = {
    "encrypted": zipped("(2, 3)", flags=1),
    "unknown method": zipped("(2, 3)", method=99),
    "of another method": zipped("(2, 3)", method=14),
    "header without end": zipped("(2,"),
    "more than there is": zipped("(1000000000000000, 3)"),
    "objects": zipped("(2, 3)", "|O"),
    "complex": zipped("(2, 1)", "<c16", content=bytes(32)),
    "dates": zipped("(2, 1)", "<M8[D]", content=bytes(16)),
    "no archive": b"PK\x03\x04nothing",
}
ODD_JSON = {
    "nested": b"[" * 100_000,
    "large numbers": b'{"scores": [[1' + b"0" * 400 + b", 1], [1, 1]]}",
    "text": b'{"scores": [["a", "b"], ["c", "d"]]}',
    "bytes": b"\xff",
}


@pytest.mark.parametrize("what", [*ODD_BYTES, *ODD_JSON])
def test_bytes_that_are_no_scores_are_one_sentence(what: str) -> None:
    content, kind = (ODD_BYTES | ODD_JSON)[what], "application/json" if what in ODD_JSON else "application/x-npz"
    with odd_server(lambda h, _: send(h, content, kind=kind)) as url:
        model = from_http(url, **{**FAST, "timeout": 5})
        with pytest.raises(BrittleError, match=naming(url, "scores", kind)):
            model.scores(images(2, 8, 6))


def test_a_small_archive_that_unpacks_to_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brittle.models.remote.LARGEST", 1 << 16)
    bomb = zipped("(2, 50000)", content=bytes(400_000))
    assert len(bomb) < 1 << 12
    with odd_server(lambda h, _: send(h, bomb, kind="application/x-npz")) as url:
        model = from_http(url, **FAST)
        with pytest.raises(BrittleError, match=naming(url, "scores")):
            model.scores(images(2, 8, 6))


def test_an_answer_that_comes_drop_by_drop_is_not_waited_for() -> None:
    def drip(handler: BaseHTTPRequestHandler, _: int) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        with suppress(OSError):
            for _ in range(40):
                handler.wfile.write(b"x")
                time.sleep(0.05)

    began = time.monotonic()
    with odd_server(drip) as url:
        model = from_http(url, **{**FAST, "retries": 0})
        with pytest.raises(BrittleError, match=naming(url, "0.3 s")):
            model.scores(images(2, 8, 6))
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("name", ["\ud800", "", 5, None, ["a"]], ids=repr)
def test_an_announced_name_is_text_that_can_be_kept(name: object) -> None:
    with odd_server(lambda *_: None) as url, pytest.MonkeyPatch.context() as patch:
        patch.setitem(ABOUT, "name", name)
        with pytest.raises(BrittleError, match=naming(url, "name")):
            from_http(url, **FAST)


@pytest.mark.parametrize("place", ["http://a..b", f"http://{'a' * 70}.com", "http://127.0.0.1:1/é"])
def test_an_address_that_cannot_be_written_is_one_sentence(place: str) -> None:
    with pytest.raises(BrittleError, match=naming(place)):
        from_http(place, retries=0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ODD)
def test_an_odd_answer_is_one_sentence(kind: str) -> None:
    answer, named = ODD[kind]
    with odd_server(answer) as url:
        model = from_http(url, **FAST)
        with pytest.raises(BrittleError) as caught:
            model.scores(images(2, 8, 6))
    assert named in str(caught.value)
    assert url in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nobody_at_the_address_and_a_page_that_is_no_model() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(BrittleError, match=f"{port} refused the connection"):
        from_http(f"http://127.0.0.1:{port}", **FAST)
    with odd_server(lambda *_: None) as url, pytest.MonkeyPatch.context() as patch:
        patch.setitem(ABOUT, "protocol", "other")
        with pytest.raises(BrittleError, match="is no model"):
            from_http(url, **FAST)
    for bad in ("http://", "http://h:x", "http://u@h/", "http://h/?a"):
        with pytest.raises(BrittleError):
            from_http(bad)


@pytest.mark.parametrize(
    ("field", "value"), [("name", "x" * 500), ("name", "a\0b"), ("version", "1\n2"), ("max_batch", True)]
)
def test_what_a_server_announces_is_checked(field: str, value: object) -> None:
    with odd_server(lambda *_: None) as url, pytest.MonkeyPatch.context() as patch:
        patch.setitem(ABOUT, field, value)
        with pytest.raises(BrittleError, match=field) as caught:
            from_http(url, **FAST)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_server_without_encryption_is_not_taken_for_one_that_is_off() -> None:
    with odd_server(lambda *_: None) as url, pytest.raises(BrittleError, match="encryption"):
        load_model(url.replace("http:", "https:"), **FAST)


def test_a_token_is_asked_for_and_kept_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "s3cret")
    monkeypatch.setenv("THEIRS", "other")
    with serve_model(colours, name="mine", token="OURS") as server:
        model = load_model(f"{server.url},token=OURS")
        assert model.scores(images(2, 8, 6)).shape == (2, 3)
        assert "s3cret" not in repr(model) + model.preprocessing_text + repr(server)
        for wrong in ({}, {"token": "THEIRS"}):
            with pytest.raises(BrittleError, match="401"):
                from_http(server.url, **wrong)
        with pytest.raises(BrittleError, match="'NO_SUCH' is not set"):
            from_http(server.url, token="NO_SUCH")


def test_an_address_may_hold_any_letters() -> None:
    with odd_server(lambda h, _: send(h, rows(2))) as url:
        assert from_http(f"{url}/modèle 1", **FAST).scores(images(2, 8, 6)).shape == (2, 2)


def test_a_short_failure_is_tried_again() -> None:
    with odd_server(lambda h, call: send(h, b"", 503) if call == 0 else send(h, rows(2))) as url:
        assert from_http(url, **FAST).scores(images(2, 8, 6)).shape == (2, 2)


def test_finished_cells_are_kept_and_a_run_resumes(tmp_path: Path) -> None:
    data = (images(4, 32, 32), [0, 1, 0, 1])
    broken = threading.Event()

    def answer(handler: BaseHTTPRequestHandler, call: int) -> None:
        counted.append(call)
        send(handler, b"<html>", 500) if broken.is_set() and call >= 3 else send(handler, rows(4))

    counted: list[int] = []
    broken.set()
    with odd_server(answer) as url:
        with pytest.raises(brittle.models.ModelError, match="500"):
            brittle.evaluate(from_http(url, **FAST), data, "imagenet-c-extra", tmp_path / "run")
        broken.clear()
        kept = len(counted) - 1
        results = brittle.evaluate(from_http(url, **FAST), data, "imagenet-c-extra", tmp_path / "run")
    cells = 1 + len(brittle.load_benchmark("imagenet-c-extra").cells())
    assert kept >= 2
    assert len(counted) == cells + 1
    assert results.rows.collect().height == 4 * cells
