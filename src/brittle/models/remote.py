"""A model behind HTTP: batches go there, scores come back; see docs/how-to/remote-models.md for the protocol."""

from __future__ import annotations

import io
import json
import os
import socket
import ssl
import time
import zipfile
from functools import wraps
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from brittle._errors import BrittleError
from brittle._identity import canonical
from brittle._types import Image, printable
from brittle.models.model import Scores, model_source

PROTOCOL = "brittle/1"
IDENTITY = "X-Brittle-Model"
"""The header of every answer: who gave it, as `identity` writes it."""

FORMATS = {"npz": "application/x-npz", "png": "application/zip"}
BATCH = 64
"""Images of a request, if the server names no other number."""

BUSY = (429, 502, 503, 504)
"""Answers after which a request is tried again."""

LARGEST = 1 << 28
"""Bytes of an answer that are read at most."""

LONGEST = 200
"""Characters of an announced name or version at most."""

IN_A_PATH = "/%:@!$&'()*+,;=~"
"""What a path of an address holds as it is, beside letters and digits."""


def identity(name: str, version: str) -> str:
    """A model's name and version as one header."""
    return f"{quote(name, safe='')}/{quote(version, safe='')}"


def packed(images: Image, form: str) -> bytes:
    """The body of a request: an npz with the array `images`, or a zip of 000000.png, 000001.png, …"""
    body = io.BytesIO()
    if form == "npz":
        np.savez(body, images=np.ascontiguousarray(images))
        return body.getvalue()
    from PIL import Image as Pillow

    with zipfile.ZipFile(body, "w") as archive:
        for number, image in enumerate(images):
            picture = io.BytesIO()
            Pillow.fromarray(image).save(picture, "PNG", compress_level=1)
            archive.writestr(f"{number:06}.png", picture.getvalue())
    return body.getvalue()


class RemoteModel:
    """A classifier behind HTTP.

    The key covers the name and version that the server announces, and the format of batches, but not the
    address. Every answer names the model again; one that is signed by another name or version is refused.
    """

    device = "remote"

    def __init__(
        self, url: str, *, name: str | None, form: str, timeout: float, retries: int, wait: float, token: str = ""
    ) -> None:
        self.url, self.format, self.timeout, self.retries, self.wait = url.rstrip("/"), form, timeout, retries, wait
        self._token = token
        self._connection: HTTPConnection | None = None
        about = self._about()
        self.announced, self.version = about["name"], about["version"]
        self.name = name or self.announced
        names = about.get("classes")
        self.classes = tuple(printable(str(name)) for name in names) if isinstance(names, list) else ()
        self.batch_size = int(about.get("max_batch") or BATCH)
        described = {"protocol": PROTOCOL, "name": self.announced, "version": self.version, "format": form}
        self.key = sha256(canonical(described).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"<RemoteModel {self.name!r}, version {self.version!r}: {self.url}>"

    @property
    def preprocessing_text(self) -> str:
        """Where images go."""
        return f"its own; images go to {self.url} as {self.format}"

    def scores(self, images: Image) -> Scores:
        """The scores that the server gives, batch by batch."""
        parts = [images[start : start + self.batch_size] for start in range(0, len(images), self.batch_size)]
        answers = [self._scores(part) for part in parts]
        widths = {answer.shape[1] for answer in answers}
        if len(widths) > 1:
            raise BrittleError(f"{self.url} gave {' and '.join(map(str, sorted(widths)))} scores an image; check it")
        return np.concatenate(answers) if answers else np.empty((0, 0), np.float32)

    def _scores(self, images: Image) -> Scores:
        body = packed(images, self.format)
        status, headers, answer = self._request("POST", "/scores", body, FORMATS[self.format])
        if status != 200:
            raise BrittleError(f"{self.url} answered {_refusal(status, headers, answer)}")
        signed, own = headers.get(IDENTITY), identity(self.announced, self.version)
        if signed != own:
            raise BrittleError(
                f"{self.url} answers as {_one_line(signed or 'nobody')} now, and was {own} when this model was "
                "loaded; results of both would be mixed, so load it again as another model"
            )
        scores = _read_scores(answer, headers.get("Content-Type", ""), self.url)
        if scores.ndim != 2 or len(scores) != len(images):
            raise BrittleError(
                f"{self.url} gave scores of shape {scores.shape} for {len(images)} images; it must give a row for each"
            )
        if not np.isfinite(scores).all():
            raise BrittleError(f"{self.url} gave scores that are not numbers (NaN or infinite)")
        return scores

    def _about(self) -> dict[str, Any]:
        status, headers, answer = self._request("GET", "", None, None)
        if status != 200:
            raise BrittleError(
                f"{self.url}, where a model should announce itself, answered {_refusal(status, headers, answer)}"
            )
        try:
            about = json.loads(answer)
        except (ValueError, RecursionError):
            about = None
        if not isinstance(about, dict) or about.get("protocol") != PROTOCOL:
            raise BrittleError(
                f"{self.url} is no model: it must answer with JSON that has protocol {PROTOCOL!r}, name and version, "
                f"and gave {_reason(answer)}; brittle.models.serve_model is a server that does"
            )
        for field in ("name", "version"):
            if not isinstance(about.get(field), str) or not about[field]:
                raise BrittleError(f"{self.url} announces no {field}; results are kept by name and version")
            if len(about[field]) > LONGEST or not about[field].isprintable():
                raise BrittleError(
                    f"{self.url} announces the {field} {_one_line(about[field])!r}; it may have up to {LONGEST} "
                    "characters, all of them printable"
                )
        most = about.get("max_batch")
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise BrittleError(f"{self.url} announces max_batch {most!r}; it is a whole number of 1 or more")
        return about

    def _request(self, method: str, place: str, body: bytes | None, kind: str | None) -> tuple[int, Any, bytes]:
        """Status, headers and body of an answer; what may pass by itself is tried again, after longer and longer."""
        path = quote(urlsplit(self.url).path + place, safe=IN_A_PATH) or "/"
        headers = {"Accept": "application/x-npz, application/json"} | ({} if kind is None else {"Content-Type": kind})
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        failure = ""
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.wait * 2 ** (attempt - 1))
            try:
                connection = self._connected()
                connection.request(method, path, body, headers)
                latest = time.monotonic() + self.timeout
                response: HTTPResponse = connection.getresponse()
                answer = _read_until(response, latest)
                if len(answer) > LARGEST:
                    raise BrittleError(f"{self.url} answered with more than {LARGEST >> 20} MB; is it a model?")
            except ssl.SSLError as error:
                self._close()
                raise BrittleError(f"{self.url} {_untrusted(error)}") from error
            except BrittleError:
                self._close()
                raise
            except TimeoutError:
                failure = f"did not answer within {self.timeout:g} s"
            except ConnectionRefusedError:
                failure = "refused the connection; is the server running?"
            except (socket.gaierror, UnicodeError):
                failure = "has a host that cannot be found"
            except (HTTPException, OSError) as error:
                failure = f"broke the connection off ({type(error).__name__})"
            else:
                if response.status not in BUSY:
                    return response.status, response.headers, answer
                failure = f"answered {response.status}: {_reason(answer)}"
            self._close()
        tries = f" (tried {self.retries + 1} times)" if self.retries else ""
        raise BrittleError(f"{self.url} {failure}{tries}")

    def _connected(self) -> HTTPConnection:
        if self._connection is None:
            parts = urlsplit(self.url)
            kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
            self._connection = kind(parts.hostname or "", parts.port, timeout=self.timeout)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self._close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None}


def _read_until(response: HTTPResponse, latest: float) -> bytes:
    """The body of an answer, if all of it arrives in time; no more of it than one byte too many."""
    parts, size = [], 0
    while size <= LARGEST and (part := response.read1(1 << 18)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > latest:
            raise TimeoutError
    if size <= LARGEST and response.length:
        raise ConnectionAbortedError
    response.close()  # the connection stays open
    return b"".join(parts)


def _untrusted(error: ssl.SSLError) -> str:
    """Why there is no encrypted connection, and what to do, in the rest of a sentence."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that cannot be verified ({error.verify_message}); the environment variable "
            "SSL_CERT_FILE names a file with the certificates that you trust"
        )
    return f"cannot be spoken to with encryption ({error.reason or error}); if it has none, write http://"


def _read_scores(answer: bytes, kind: str, url: str) -> Scores:
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as that
            if kind.partition(";")[0].strip() == "application/json":
                scores = np.asarray(json.loads(answer)["scores"])
            else:
                with zipfile.ZipFile(io.BytesIO(answer)) as archive:
                    size = sum(member.file_size for member in archive.infolist())
                if size > LARGEST:
                    raise ValueError(f"{size:,} bytes")
                with np.load(io.BytesIO(answer), allow_pickle=False) as arrays:
                    scores = arrays["scores"]
            if scores.dtype.kind not in "biuf":
                raise TypeError(f"scores of {scores.dtype}")
            return scores.astype(np.float32)
    except Exception as error:  # a damaged archive raises whatever its bytes lead to
        raise BrittleError(
            f"{url} must answer with scores, as npz or JSON, and gave {_reason(answer)} ({kind or 'no content type'})"
        ) from error


def _refusal(status: int, headers: Any, answer: bytes) -> str:
    """The status of an answer, its reason, and what to do."""
    if 300 <= status < 400 and headers.get("Location"):
        return f"{status} and sends on to {_one_line(headers['Location'])!r}; give that address"
    if status in (401, 403):
        return f"{status}: {_reason(answer)}; token=NAME sends the token that the environment variable NAME holds"
    return f"{status}: {_reason(answer)}"


def _reason(answer: bytes) -> str:
    """The beginning of an answer, for a sentence."""
    try:
        given = json.loads(answer)
        text = str(given["error"]) if isinstance(given, dict) and "error" in given else answer.decode()
    except (ValueError, RecursionError):
        text = answer[:400].decode("ascii", "replace")
    text = _one_line(text)
    return repr(text) if text else "nothing"


def _one_line(text: str) -> str:
    """The beginning of a text on one line, without what does not print."""
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in text[:1000]).split())
    return text[:120] + ("…" if len(text) > 120 else "")


@model_source("http")
def from_http(
    url: str,
    *,
    name: str | None = None,
    format: str = "npz",  # noqa: A002 - the option's name in a text
    timeout: float = 60.0,
    retries: int = 3,
    wait: float = 0.5,
    token: str | None = None,
    device: str = "auto",  # noqa: ARG001 - the server chooses its own
) -> RemoteModel:
    """A model behind HTTP, for those who may not hand out weights; `serve_model` is its counterpart.

    Connections are kept open. A request that finds no connection, no answer in time, or a busy server
    (429, 502, 503, 504) is tried again; then the run stops with one sentence, and resumes when it is started again.

    Args:
        url: such as "http://127.0.0.1:8000/resnet".
        name: the name in results; by default the one that the server announces.
        format: how images travel: "npz", fast, or "png", a zip of files that any language can read.
        timeout: seconds to wait for an answer.
        retries: how often a request is tried again.
        wait: seconds before the first new try; each further one waits twice as long.
        token: the name of an environment variable; what it holds is sent as `Authorization: Bearer …`, and is written
            nowhere.
        device: has no effect; the server computes where it likes.
    """
    url = f"http:{url}" if url.startswith("//") else url
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is no number
        valid = False
    if not valid or parts.query or parts.fragment or parts.username:
        raise BrittleError(f"write http://HOST:PORT or http://HOST:PORT/PATH, without user, ? and #; got {url!r}")
    if format not in FORMATS:
        raise BrittleError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    try:
        timeout, retries, wait = float(timeout), int(retries), float(wait)
    except ValueError as error:
        raise BrittleError(f"timeout, retries and wait are numbers; got {timeout!r}, {retries!r}, {wait!r}") from error
    if not 0 < timeout < 1e6 or not 0 <= retries <= 100 or not 0 <= wait < 1e4:
        raise BrittleError(f"timeout is above 0, retries 0 to 100, wait 0 or more; got {timeout}, {retries}, {wait}")
    secret = "" if token is None else secret_in(token)
    return RemoteModel(url, name=name, form=format, timeout=timeout, retries=retries, wait=wait, token=secret)


def secret_in(variable: str) -> str:
    """The token that an environment variable holds."""
    secret = os.environ.get(variable, "").strip()
    if not secret or not (secret.isascii() and secret.isprintable()):
        given = "holds more than printable ASCII characters" if secret else "is not set"
        raise BrittleError(
            f"token is the name of an environment variable that holds the token, and there {variable!r} {given}"
        )
    return secret


@model_source("https")
@wraps(from_http)
def from_https(url: str, **options: Any) -> RemoteModel:
    """As `from_http`, encrypted."""
    return from_http(f"https:{url}" if url.startswith("//") else url, **options)
