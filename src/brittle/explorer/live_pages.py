"""The live page and what its script asks for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from brittle._errors import BrittleError, RunError
from brittle.benchmarks import list_benchmarks
from brittle.corruptions import FAMILIES, list_corruptions
from brittle.datasets import class_name
from brittle.explorer.live import View, parse_view
from brittle.explorer.pages import page
from brittle.explorer.session import EVERYTHING, Session, encoded, png, thumbnail
from brittle.explorer.state import MAX_BYTES, Picture, State

SAMPLES = 48
"""So many images of a dataset are shown at once."""

THUMB_SIDES = (72, 144)
"""The sides of small pictures."""


def routes(state: State) -> list[Route]:
    """The routes of the live page."""
    session = Session(state)

    def live(request: Request) -> Response:
        shown = page(request, "live.html", title="Live", start=_start(session), count=len(list_corruptions()))
        state.shown.set()
        return shown

    def picture(request: Request) -> Response:
        view = _view(request)
        side = request.query_params.get("thumb")
        if side is not None:
            content, kind = encoded(thumbnail(session.draw(view), _thumb_side(side)))
            return Response(content, media_type=kind)
        content, kind = encoded(session.draw(view))
        return Response(content, media_type=kind, headers={"x-facts": json.dumps(session.facts(view))})

    def save(request: Request) -> Response:
        view = _view(request)
        name = _file_name(state.picture(view.picture), view)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(png(session.draw(view)), media_type="image/png", headers=headers)

    def thumb(request: Request) -> Response:
        shown = state.picture(request.query_params.get("picture", ""))
        content, kind = encoded(thumbnail(shown.pixels, _thumb_side(request.query_params.get("side", "72"))))
        return Response(content, media_type=kind)

    def predictions(request: Request) -> Response:
        return JSONResponse(session.predictions(_number(request, "model"), _view(request)))

    def strip(request: Request) -> Response:
        return JSONResponse(session.strip(_number(request, "model"), _view(request), _number(request, "place")))

    def breaks(request: Request) -> Response:
        number, view = _number(request, "model"), _view(request)
        answers = session.breaks(number, view, request.query_params.get("benchmark", EVERYTHING))
        first = next(answers)  # what is wrong with the question is answered by a status, not within the stream
        return StreamingResponse(_lines(first, answers), media_type="application/x-ndjson")

    def commands(request: Request) -> Response:
        number = _number(request, "model") if state.models else None
        return JSONResponse(session.commands(number, _view(request)))

    def samples(request: Request) -> Response:
        identity = request.query_params.get("id")
        if identity is not None:
            return JSONResponse(_described(session, state.picture(identity)))
        return JSONResponse(_samples(state, _number(request, "page")))

    def status(_: Request) -> Response:
        return JSONResponse(_status(state))

    async def upload(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        content = await _body(request)
        shown = await run_in_threadpool(state.upload, content, request.query_params.get("name", "picture.png"))
        return JSONResponse(_described(session, shown))

    return [
        Route("/live", live),
        Route("/live/picture", _timed(picture)),
        Route("/live/save", save),
        Route("/live/thumb", thumb),
        Route("/live/predictions", _timed(predictions)),
        Route("/live/strip", _timed(strip)),
        Route("/live/breaks", breaks),
        Route("/live/commands", commands),
        Route("/live/samples", samples),
        Route("/live/status", status),
        Route("/live/pictures", upload, methods=["POST"]),
    ]


def _timed(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """The same answer, and how long it took on the clock and of the processor, where browsers show it to developers."""

    def timed(request: Request) -> Response:
        clock, processor = time.perf_counter(), time.thread_time()
        response = answer(request)
        spent = 1000 * (time.perf_counter() - clock), 1000 * (time.thread_time() - processor)
        response.headers["server-timing"] = f"clock;dur={spent[0]:.2f}, processor;dur={spent[1]:.2f}"
        return response

    return timed


def _start(session: Session) -> dict[str, Any]:
    """What the page begins with."""
    state = session.state
    corruptions = [
        {
            "id": each.id,
            "name": each.name.replace("_", " "),
            "family": each.family,
            "source": each.source,
            "highest": each.max_severity,
            "summary": each.summary,
        }
        for each in list_corruptions()
    ]
    return {
        "families": FAMILIES,
        "corruptions": corruptions,
        "pictures": [_described(session, shown) for shown in state.photos.values()],
        "benchmarks": [EVERYTHING, *list_benchmarks()],
        **_status(state),
    }


def _described(session: Session, shown: Picture) -> dict[str, Any]:
    height, width = shown.pixels.shape[:2]
    return {
        "id": shown.id,
        "name": shown.name,
        "width": width,
        "height": height,
        "size": session.usual_size(shown),
        "label": None if shown.label is None else _label(session.state, shown.label),
    }


def _status(state: State) -> dict[str, Any]:
    return {
        "models": [{"name": model.name, "status": model.status, "error": model.error} for model in state.models],
        "data": None if state.dataset is None else {"name": state.dataset.name, "count": len(state.dataset)},
        "data_error": state.dataset_error,
        "loaded": state.loaded.is_set(),
    }


def _samples(state: State, number: int) -> dict[str, Any]:
    data = state.dataset
    if data is None:
        raise BrittleError("there is no dataset here, or it is still loading; name one with -d")
    first = number * SAMPLES
    if first >= len(data):
        raise BrittleError(f"{data.name!r} has {len(data):,} images, and no page {number}")
    rows = range(first, min(first + SAMPLES, len(data)))
    labels = None if data.labels is None else data.labels
    shown = [
        {"id": f"d{i}", "name": str(data.ids[i]), "label": None if labels is None else _label(state, int(labels[i]))}
        for i in rows
    ]
    return {"samples": shown, "page": number, "pages": -(-len(data) // SAMPLES), "count": len(data)}


def _label(state: State, label: int) -> str:
    return class_name(label, () if state.dataset is None else state.dataset.classes)


def _view(request: Request) -> View:
    query = request.query_params
    return parse_view(query.get("picture", ""), query.getlist("c"), query.get("seed", "0"), query.get("size", ""))


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not re.fullmatch(r"\d{1,6}", text, re.ASCII):
        raise BrittleError(f"{name} is a number, got {text[:40]!r}")
    return int(text)


def _thumb_side(text: str) -> int:
    if text not in map(str, THUMB_SIDES):
        raise BrittleError(f"small pictures have a side of {' or '.join(map(str, THUMB_SIDES))} px, got {text[:40]!r}")
    return int(text)


def _file_name(shown: Picture, view: View) -> str:
    parts = [re.sub(r"\.\w{1,5}$", "", shown.name), *(f"{c.rpartition('/')[2]}-{s:g}" for c, s in view.layers)]
    return re.sub(r"[^\w.\-]+", "_", "-".join(parts), flags=re.ASCII)[-120:] + ".png"


def _lines(first: dict[str, Any], rest: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Each answer as one line of JSON; what goes wrong on the way is the last one."""
    yield json.dumps(first) + "\n"
    try:
        for item in rest:
            yield json.dumps(item) + "\n"
    except (BrittleError, RunError) as error:
        yield json.dumps({"error": str(error)}) + "\n"


async def _body(request: Request) -> bytes:
    """The bytes of an upload, given up as soon as there are too many."""
    too_large = BrittleError(f"a picture has at most {MAX_BYTES // 2**20} MB")
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > MAX_BYTES:
        raise too_large
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MAX_BYTES:
            raise too_large
    return bytes(content)
