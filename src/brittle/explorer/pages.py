"""How every page is made: from a template, with its addresses, and errors as one sentence."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

HERE = Path(__file__).parent


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def base_of(request: Request) -> str:
    """What stands before every path of this server: nothing, or the token of a frame."""
    return str(request.scope.get("root_path", ""))


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page from a template that extends explorer.html; `base` stands before all its addresses."""
    text = (
        _templates()
        .get_template(template)
        .render(
            base=base_of(request),
            here=request.url.path.removeprefix(base_of(request)),
            navigation=request.app.state.navigation,
            framed=bool(base_of(request)),
            **values,
        )
    )
    return HTMLResponse(text, status)


def sentence(request: Request, status: int, text: str) -> Response:
    """An error as one sentence: a page for who reads, JSON for scripts."""
    if "text/html" in request.headers.get("accept", ""):
        return page(request, "sentence.html", status=status, sentence=text)
    return JSONResponse({"error": text}, status)
