"""The server: a free port on the loopback, a token, a thread, and the browser or the notebook that shows it."""

from __future__ import annotations

import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._optional import require
from brittle.explorer.safety import TOKEN_PREFIX, Safety, allowed_hosts, is_loopback
from brittle.explorer.state import State

FRAME_HEIGHT = 860
"""The height of the frame in a notebook, in pixels."""

PATIENCE = 20.0
"""Seconds within which the server must start."""


class Explorer:
    """A running explorer; `url` opens it, `stop()` ends it, and a notebook shows its live page in the cell."""

    def __init__(self, state: State, *, host: str = "127.0.0.1", port: int = 0) -> None:
        require("starlette", "explore")
        uvicorn = require("uvicorn", "explore")
        from brittle.explorer.app import create_app

        self.state, self.token, self.host = state, secrets.token_urlsafe(24), host
        listening = _listen(host, port)
        self.port = int(listening.getsockname()[1])
        names = () if is_loopback(host) else (socket.gethostname(), socket.getfqdn())
        safe = Safety(
            create_app(state),
            token=self.token,
            hosts=allowed_hosts(host, self.port, names),
            any_address=not is_loopback(host),
        )
        config = uvicorn.Config(
            safe, log_level="error", access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name="brittle-explore", daemon=True
        )
        self._thread.start()
        until = time.monotonic() + PATIENCE
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                raise RuntimeError(f"the server on {host}:{self.port} did not start")
            time.sleep(0.005)

    @property
    def address(self) -> str:
        """The address without the token."""
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(self.host, self.host)
        return f"http://{f'[{shown}]' if ':' in shown and '[' not in shown else shown}:{self.port}"

    @property
    def url(self) -> str:
        """The address to open in a browser, with the token; whoever has it may use the explorer."""
        return f"{self.address}/?token={self.token}"

    @property
    def running(self) -> bool:
        """Whether it answers."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Return when it has stopped."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """End the server; its address answers no more."""
        self._server.should_exit = True
        self._thread.join(5)

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Explorer at {self.url}>" if self.running else "<Explorer, stopped>"

    def _repr_html_(self) -> str:
        if not self.running:
            return "<p>This explorer was stopped.</p>"
        live = f"{self.address}{TOKEN_PREFIX}{self.token}/live"
        return (
            f'<iframe src="{escape(live)}" title="brittle explore" width="100%" height="{FRAME_HEIGHT}" '
            'style="border:1px solid rgba(127,127,127,.35);border-radius:6px" allow="clipboard-write"></iframe>'
            f'<div><a href="{escape(self.url)}" target="_blank" rel="noopener">Open in a window of its own</a></div>'
        )


def explore(
    models: Any = None,
    pictures: Any = (),
    data: Any = None,
    runs: str | Path | Sequence[str | Path] = (),
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = False,
) -> Explorer:
    """Start a local web app: drag the severity of any corruption and watch the predictions of models change.

    >>> import brittle
    >>> explorer = brittle.explore("demo:standard", brittle.datasets.photo("coffee"))
    >>> explorer.url.startswith("http://127.0.0.1:")
    True
    >>> explorer.stop()

    As the last line of a notebook cell it shows the live page in the cell. Models and data load in the background.

    Args:
        models: one model or several, as to `evaluate`: names, modules, functions, or a dictionary {name: model}. With
            nothing given at all, the bundled demo models and data.
        pictures: photographs to begin with, one or several: files, H×W×3 arrays, PIL images, or `cat` and `coffee`,
            which are bundled; a dictionary gives them names.
        data: images with labels, as to `evaluate`.
        runs: folders that `brittle run` wrote, for the page of results.
        host: 127.0.0.1 can be reached from this machine alone; any other host lets others in who have the token.
        port: 0 takes a free one.
        open_browser: open the address in the browser.
    """
    state = State.of(models, pictures, data, runs)
    explorer = Explorer(state, host=host, port=port)
    state.start()  # when it answers already: importing torch would only delay the first page
    if open_browser:
        webbrowser.open(explorer.url)
    return explorer


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise BrittleError(f"a port is a whole number from 1 to 65535, or 0 for a free one, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only where the protocol is named; otherwise their second part waits for 40 ms
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise BrittleError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; take another `port`, or 0 for a free one"
        ) from error
    return listening
