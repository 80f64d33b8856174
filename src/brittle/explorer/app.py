"""The web app: its routes from the modules of its pages, and what it answers to errors."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from brittle._errors import BrittleError, ModelError
from brittle.explorer import live_pages, overlap_pages, results_pages
from brittle.explorer.pages import HERE, base_of, sentence
from brittle.explorer.runs import RUN_FILE
from brittle.explorer.state import State
from brittle.report import colours_css

PAGES: tuple[Callable[[State], list[Route]], ...] = (live_pages.routes, results_pages.routes, overlap_pages.routes)
"""The functions that give the routes of each page."""

NAVIGATION = (("Live", "/live"), ("Results", "/results"), ("Overlap", "/overlap"))
"""The pages by name; one without a route is left out."""


def create_app(state: State) -> Starlette:
    """The app of a state, without what keeps others out of it: see `Safety`."""
    routes: list[BaseRoute] = [route for page in PAGES for route in page(state)]
    paths = {getattr(route, "path", "") for route in routes}
    shown = [(name, path) for name, path in NAVIGATION if path in paths]

    def home(request: Request) -> Response:
        holds_run = any((folder / RUN_FILE).is_file() for folder in state.runs)
        first = "/results" if holds_run else "/overlap" if state.runs else "/live"
        return RedirectResponse(f"{base_of(request)}{first}", 303)

    app = Starlette(
        routes=[
            Route("/", home),
            Route("/theme.css", theme),
            *routes,
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        exception_handlers={
            BrittleError: _mistake,
            ModelError: _mistake,
            HTTPException: _refused,
            Exception: _broken,
        },
    )
    app.state.navigation = shown
    return app


def theme(_: Request) -> Response:
    """The colours of the report."""
    return Response(colours_css(), media_type="text/css")


def _mistake(request: Request, error: Exception) -> Response:
    return sentence(request, 422, str(error))


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = "There is no such page." if error.status_code == 404 else str(error.detail)
    return sentence(request, error.status_code, text)


def _broken(request: Request, error: Exception) -> Response:
    return sentence(request, 500, f"This is a mistake in brittle, not in what you did: {type(error).__name__}: {error}")
