"""What addresses hold: numbers and names that are checked, and what is not there as one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from brittle._errors import BrittleError
from brittle.explorer.pages import sentence
from brittle.explorer.runs import NotFoundError

Handler = Callable[[Request], Response]


def known(handler: Handler) -> Handler:
    """A handler that answers what it does not have by one sentence and 404."""

    @wraps(handler)
    def answer(request: Request) -> Response:
        try:
            return handler(request)
        except NotFoundError as error:
            return sentence(request, 404, str(error))

    return answer


def number_in(request: Request, name: str) -> float | None:
    """A finite number of the address; None if it is not given."""
    text = request.query_params.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BrittleError(f"{name} in the address is a number, got {text[:40]!r}")
    return value


def whole_number_in(request: Request, name: str) -> int | None:
    """A whole number of the address; None if it is not given."""
    value = number_in(request, name)
    if value is None:
        return None
    if value != int(value):
        raise BrittleError(f"{name} in the address is a whole number, got {value!r}")
    return int(value)


def address(path: str, **values: Any) -> str:
    """A path with what is given as its query; empty values are left out."""
    kept = {
        name: _text(value) for name, value in values.items() if value is not None and value is not False and value != ""
    }
    return f"{path}?{urlencode(kept)}" if kept else path


def _text(value: Any) -> str:
    return "1" if value is True else repr(value) if isinstance(value, float) else str(value)


def short_name(corruption: str) -> str:
    """A corruption without its set, as people read it."""
    return corruption.rpartition("/")[2].replace("_", " ")


def percent(share: float) -> str:
    """A share in percent, or a dash if it is unknown."""
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"
