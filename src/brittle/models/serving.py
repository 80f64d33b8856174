"""A small server that shows one model to `brittle` elsewhere; the protocol is in docs/how-to/remote-models.md."""

from __future__ import annotations

import hmac
import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._optional import what_failed
from brittle._types import Image
from brittle.models.load import wrap_model
from brittle.models.remote import BATCH, FORMATS, IDENTITY, PROTOCOL, identity, secret_in

LARGEST = 1 << 30
"""Bytes of a request that are read at most."""


class ModelServer:
    """One model on one address, served by threads of this process until `close`; a context manager."""

    def __init__(self, model: Any, *, version: str, host: str, port: int, max_batch: int, token: str = "") -> None:
        self.model, self.version, self.max_batch, self._token = model, version, max_batch, token
        self._lock = threading.Lock()
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(self))
        except (OSError, OverflowError) as error:
            raise BrittleError(f"cannot listen on {host}:{port}: {error}") from error
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<ModelServer of {self.model.name!r}, version {self.version!r}, at {self.url}>"

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def about(self) -> dict[str, Any]:
        """What the model announces."""
        classes = list(getattr(self.model, "classes", ()))
        about = {"protocol": PROTOCOL, "name": self.model.name, "version": self.version, "max_batch": self.max_batch}
        return {**about, "classes": classes} if classes else about

    def admits(self, authorization: str) -> bool:
        """Whether a request with this header may use the model."""
        return not self._token or hmac.compare_digest(authorization.encode(), f"Bearer {self._token}".encode())

    def scores(self, body: bytes, kind: str) -> bytes:
        """The answer to a batch, as npz; the model is called by one thread at a time."""
        images = unpacked(body, kind)
        with self._lock:
            scores = np.asarray(self.model.scores(images), np.float32)
        answer = io.BytesIO()
        np.savez(answer, scores=scores)
        return answer.getvalue()


def unpacked(body: bytes, kind: str) -> Image:
    """The images of a request."""
    try:
        if kind == FORMATS["npz"]:
            with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
                images = np.asarray(arrays["images"])
        elif kind == FORMATS["png"]:
            from PIL import Image as Pillow

            with zipfile.ZipFile(io.BytesIO(body)) as archive:
                names = sorted(archive.namelist())
                pictures = [np.asarray(Pillow.open(io.BytesIO(archive.read(name))).convert("RGB")) for name in names]
            images = np.stack(pictures)
        else:
            raise BrittleError(f"images come as {' or '.join(FORMATS.values())}, got {kind!r}")
    except BrittleError:
        raise
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise BrittleError(f"the images cannot be read: {type(error).__name__}") from error
    if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
        raise BrittleError(f"images are N×H×W×3 of uint8, got {images.shape} of {images.dtype}")
    return images


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # which keeps connections open
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self._admitted():
                self._answer(200, json.dumps(server.about()).encode(), "application/json")

        def do_POST(self) -> None:
            if not self._admitted():
                return
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > LARGEST or not self.path.endswith("/scores"):
                self.close_connection = True
                self._error(400, "POST a batch, with its length, to /scores")
                return
            body = self.rfile.read(int(length))
            try:
                answer = server.scores(body, self.headers.get("Content-Type", ""))
            except BrittleError as error:
                self._error(400, str(error))
            except Exception as error:  # a model may raise anything
                self._error(500, f"the model failed: {what_failed(error)}")
            else:
                self._answer(200, answer, FORMATS["npz"])

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing is printed."""

        def _admitted(self) -> bool:
            admitted = server.admits(self.headers.get("Authorization", ""))
            if not admitted:
                self.close_connection = True
                self._error(401, "this model wants a token")
            return admitted

        def _error(self, status: int, reason: str) -> None:
            self._answer(status, json.dumps({"error": reason}).encode(), "application/json")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header(IDENTITY, identity(server.model.name, server.version))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def serve_model(
    model: Any,
    *,
    name: str | None = None,
    version: str | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    max_batch: int = BATCH,
    token: str | None = None,
    **options: Any,
) -> ModelServer:
    """Show a model over HTTP, in a thread of this process; `brittle run -m http://127.0.0.1:PORT` evaluates it.

    There is no encryption, and without a token whoever reaches the port can use the model. By default only this
    machine does.

    Args:
        model: what `wrap_model` takes: a text, a module, a function on batches, or a model.
        name: the name it announces; by default its own.
        version: the version it announces; by default its key, which changes with its weights and code.
        port: 0 takes a free one; see the `url` of what is returned.
        max_batch: images of a request at most.
        token: the name of an environment variable; requests must bring what it holds as `Authorization: Bearer …`.
        options: those of `wrap_model`.
    """
    if max_batch < 1:
        raise BrittleError(f"max_batch must be at least 1, got {max_batch}")
    wrapped = wrap_model(model, name=name, **options)
    secret = "" if token is None else secret_in(token)
    return ModelServer(wrapped, version=version or wrapped.key, host=host, port=port, max_batch=max_batch, token=secret)
