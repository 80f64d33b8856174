"""The live page and what its script asks for."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from brittle.explorer.pages import page
from brittle.explorer.state import State


def routes(state: State) -> list[Route]:
    """The routes of the live page."""

    def live(request: Request) -> Response:
        return page(request, "live.html", title="Live", state=state)

    return [Route("/live", live)]
