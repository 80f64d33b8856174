"""The page of overlaps: the matrix, two corruptions on a photograph, and the largest set under a threshold."""

from __future__ import annotations

import json
import math
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from brittle._errors import BrittleError, did_you_mean
from brittle.benchmarks import ends
from brittle.explorer.addresses import address, known, number_in, short_name, whole_number_in
from brittle.explorer.overlaps import COVERED, STEPS, BrowsedOverlap, OverlapStep, load_overlaps
from brittle.explorer.pages import page
from brittle.explorer.runs import SIDE, NotFoundError
from brittle.explorer.session import encoded, thumbnail
from brittle.explorer.state import Recent, State
from brittle.plots import STEPS as COLOURS
from brittle.plots import ramp_step

FIRST_THRESHOLD = 0.1
"""NOC's threshold."""

MOST_TEXTS = 24
"""Larger matrices are colours alone."""


def routes(state: State) -> list[Route]:
    """The routes of the page of overlaps."""
    pages = _OverlapPages(state)
    return [
        Route("/overlap", known(pages.overview)),
        Route("/overlap/step", known(pages.step)),
        Route("/overlap/picture", known(pages.picture)),
        Route("/overlap/recipe", known(pages.recipe)),
    ]


class _OverlapPages:
    def __init__(self, state: State) -> None:
        self.state = state
        self._overlaps: list[BrowsedOverlap] | None = None
        self._drawn: Recent[tuple[bytes, str]] = Recent(500)
        self._lock = Lock()

    @property
    def overlaps(self) -> list[BrowsedOverlap]:
        """The matrices, loaded when they are first asked for."""
        with self._lock:
            if self._overlaps is None:
                self._overlaps = load_overlaps(self.state.runs)
            return self._overlaps

    def overlap(self, request: Request) -> BrowsedOverlap:
        """The matrix that an address names by its key."""
        key = request.query_params.get("matrix") or self.overlaps[0].key
        keys = {one.key: one for one in self.overlaps}
        if key not in keys:
            raise NotFoundError(f"There is no overlap matrix {key[:80]!r}; {did_you_mean(key[:80], list(keys))}")
        return keys[key]

    def overview(self, request: Request) -> Response:
        """The matrix, and a slider for the threshold."""
        shown, number = self.overlap(request), _step_number(request)
        data = {
            "matrix": shown.key,
            "names": shown.short_names,
            "steps": [None if step is None else _as_data(step) for step in shown.steps()],
            "levels": [_level_text(shown, place) for place in range(len(shown.names))],
        }
        return page(
            request,
            "overlap.html",
            title="Overlap",
            overlaps=self.overlaps,
            shown=shown,
            number=number,
            step=shown.step(number),
            steps=STEPS,
            covered=COVERED,
            rows=_matrix_rows(shown),
            photos=list(self.state.photos.values()),
            data=json.dumps(data).replace("<", "\\u003c"),
            address=address,
            short=short_name,
        )

    def step(self, request: Request) -> Response:
        """The largest set at one threshold, for a matrix whose dense thresholds take long."""
        return JSONResponse(_as_data(self.overlap(request).step(_step_number(request))))

    def picture(self, request: Request) -> Response:
        """A photograph under one of the corruptions, or clean if none is given."""
        shown, place = self.overlap(request), whole_number_in(request, "row")
        photo = self.state.picture(request.query_params.get("photo") or next(iter(self.state.photos)))
        if place is not None and not 0 <= place < len(shown.names):
            raise NotFoundError(f"There is no corruption number {place}; there are {len(shown.names)}.")
        pixels = photo.pixels
        try:
            content, kind = self._drawn.once(
                (shown.key, place, photo.id),
                lambda: encoded(thumbnail(pixels if place is None else shown.draw(place, pixels), SIDE)),
            )
        except BrittleError as error:
            raise NotFoundError(f"There is no picture: {error}") from error
        return Response(content, media_type=kind)

    def recipe(self, request: Request) -> Response:
        """The largest set as the TOML file of a recipe."""
        shown, number = self.overlap(request), _step_number(request)
        if not shown.has_recipe:
            raise NotFoundError("The levels of these corruptions are unknown, so that they are no recipe.")
        name = f"non-overlapping-{number / STEPS:g}.toml"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(shown.recipe_text(number), media_type="application/toml", headers=headers)


def _step_number(request: Request) -> int:
    threshold = number_in(request, "threshold")
    if threshold is None:
        threshold = FIRST_THRESHOLD
    if not 0 <= threshold <= 1:
        raise BrittleError(f"a threshold is an overlap from 0 to 1, such as 0.1, got {threshold:g}")
    return round(threshold * STEPS)


def _as_data(step: OverlapStep) -> dict[str, Any]:
    mean = None if math.isnan(step.mean) else round(step.mean, 4)
    return {
        "members": step.members,
        "covered": step.covered,
        "mean": mean,
        "count": step.count,
        "counted": step.counted,
    }


def _level_text(shown: BrowsedOverlap, place: int) -> str:
    level = shown.level(place)
    return "" if level is None else f"severity {sum(ends(level)) / 2:.3g}"


def _matrix_rows(shown: BrowsedOverlap) -> list[list[dict[str, Any]]]:
    """Each cell's colour, its text, what is told about it, and whether it is the first to be looked at."""
    scores, low, high = shown.overlap.scores, shown.overlap.low, shown.overlap.high
    names, first = shown.short_names, shown.most_alike
    rows = []
    for i, name in enumerate(names):
        cells = []
        for j, other in enumerate(names):
            score = float(scores[i, j])
            is_known = not math.isnan(score)
            tip = f"{name} and {other}: {f'{score:.2f}' if is_known else 'unknown'}"
            if low is not None and high is not None and i != j and is_known:
                end = "∞" if math.isinf(high[i, j]) else f"{high[i, j]:.2f}"
                tip += f" [{low[i, j]:.2f}, {end}]"
            css = f"h{COLOURS - ramp_step(score)}" if is_known else "masked"
            text = _score_text(score) if is_known and len(names) <= MOST_TEXTS else ""
            cells.append({"css": css, "text": text, "tip": tip.replace("_", " "), "first": (i, j) == first})
        rows.append(cells)
    return rows


def _score_text(score: float) -> str:
    """An overlap in a small cell: .58, 0 and 1."""
    text = f"{abs(score):.2f}".removesuffix(".00").lstrip("0") or "0"
    return f"−{text}" if score < 0 and text != "0" else text
