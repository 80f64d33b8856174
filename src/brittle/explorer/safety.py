"""Who may talk to the explorer: only pages that it served itself, to somebody who knows the token in its address."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = dict[str, Any]

TOKEN_PREFIX = "/t/"
"""Addresses that begin with this and the token need no cookie; a frame in a notebook has none."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'"
)
"""Nothing is loaded from elsewhere, and no script runs that is not a file of the explorer."""

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"same-origin"),  # with none at all, a form of ours would have no origin either
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

HEAD = '<!doctype html><meta charset="utf-8"><title>brittle explore</title><link rel="icon" href="data:,">'
ENTER = f'{HEAD}<meta http-equiv="refresh" content="0;url=./"><p><a href="./">Open the explorer</a></p>'
"""The page that gives the cookie. A redirect would not do: a strict cookie is not sent along one from elsewhere."""


def allowed_hosts(host: str, port: int, names: Iterable[str] = ()) -> frozenset[str]:
    """What the Host header may be: the loopback by its names, and the host that the server listens on."""
    known = {"127.0.0.1", "localhost", "[::1]", *names}
    if not _is_any_address(host):
        known.add(f"[{host}]" if ":" in host else host)
    return frozenset(f"{name.lower()}:{port}" for name in known)


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_any_address(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")


class Safety:
    """An ASGI app that refuses what the pages of the explorer would not send, before anything else sees it.

    The Host header must be known, or another web site could reach the explorer by letting its own name point here.
    An Origin must be the explorer's own. And the token must be known: at first in the address, `/?token=…`, which gives
    a cookie for this server alone that scripts cannot read and other sites cannot use; or always in the address,
    `/t/<token>/…`, for frames in notebooks.
    """

    def __init__(self, app: Any, *, token: str, hosts: Collection[str], any_address: bool = False) -> None:
        self.app, self.token, self.hosts, self.any_address = app, token, frozenset(hosts), any_address

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":  # the server starts and ends
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers: dict[str, str] = {}
        for key, value in scope["headers"]:
            headers.setdefault(key.decode("latin-1").lower(), value.decode("latin-1"))
        host = headers.get("host", "").lower()
        if not self._is_known(host):
            await _refuse(send, 400, "This server does not answer to that host name; use the address it printed.")
            return
        if headers.get("origin", f"http://{host}").lower() != f"http://{host}":
            await _refuse(send, 403, "Pages of other origins may not use this server.")
            return
        framed = scope["path"].startswith(TOKEN_PREFIX)
        if framed:
            given = scope["path"].removeprefix(TOKEN_PREFIX).partition("/")[0]
            if self._is_token(given):
                scope = {**scope, "root_path": f"{TOKEN_PREFIX}{given}"}  # the path stays whole, as ASGI has it
                await self.app(scope, receive, _with_headers(send, framed=True))
                return
        elif self._is_token(_cookie(headers.get("cookie", ""), self._cookie_name(host))):
            await self.app(scope, receive, _with_headers(send, framed=False))
            return
        elif scope["path"] == "/" and self._is_token(_query_token(scope)):
            cookie = f"{self._cookie_name(host)}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 200, ENTER, (b"set-cookie", cookie.encode()))
            return
        await _refuse(
            send, 403, "Open the address that `brittle explore` printed: it has the token that is missing here."
        )

    def _is_known(self, host: str) -> bool:
        if host in self.hosts:
            return True
        name, _, port = host.rpartition(":")
        ports = {known.rpartition(":")[2] for known in self.hosts}
        if not self.any_address or port not in ports:
            return False
        try:  # a number cannot be pointed elsewhere, as a name can
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _cookie_name(self, host: str) -> str:
        return f"brittle-explore-{host.rpartition(':')[2]}"  # cookies know no ports, and there may be two explorers


def _cookie(header: str, name: str) -> str:
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return str(morsel.value) if morsel is not None else ""


def _query_token(scope: Scope) -> str:
    return str(parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0])


def _with_headers(send: Any, *, framed: bool) -> Any:
    policy = POLICY if framed else f"{POLICY}; frame-ancestors 'none'"

    async def sent(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            replaced = {key.lower() for key, _ in HEADERS} | {b"content-security-policy"}
            kept = [(key, value) for key, value in message.get("headers", []) if key.lower() not in replaced]
            message = {**message, "headers": [*kept, *HEADERS, (b"content-security-policy", policy.encode())]}
        await send(message)

    return sent


async def _refuse(send: Any, status: int, sentence: str) -> None:
    await _answer(send, status, f"{HEAD}<p>{sentence}</p>")


async def _answer(send: Any, status: int, page: str, *headers: tuple[bytes, bytes]) -> None:
    body = page.encode()
    kind = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    sent = _with_headers(send, framed=False)
    await sent({"type": "http.response.start", "status": status, "headers": [*kind, *headers]})
    await sent({"type": "http.response.body", "body": body})
