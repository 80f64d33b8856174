"""The pages of results: the heat map of a run, its failures, one sample, two models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from brittle._errors import BrittleError
from brittle.benchmarks import CLEAN
from brittle.evaluation import SHIFT
from brittle.explorer.addresses import address, known, number_in, percent, short_name, whole_number_in
from brittle.explorer.browse import Failure, FailureQuery, failures
from brittle.explorer.heat_tables import ShownRow, accuracy_row, gap_row, heat_groups
from brittle.explorer.pages import page
from brittle.explorer.runs import BrowsedRuns, NotFoundError, folders_state, load_runs
from brittle.explorer.samples import Trajectory, sample_trajectories
from brittle.explorer.state import State

PAGE_ROWS = 48
"""So many failures are on a page."""

SORTS = {
    "surest": "most confident first",
    "unsure": "least confident first",
    "earliest": "earliest failure point first",
    "latest": "latest failure point first",
}


def routes(state: State) -> list[Route]:
    """The routes of the pages of results."""
    pages = _ResultsPages(state)
    state.at_start.append(pages.warm_up)
    return [
        Route("/results", known(pages.overview)),
        Route("/results/failures", known(pages.failures)),
        Route("/results/sample", known(pages.sample)),
        Route("/results/compare", known(pages.compare)),
        Route("/results/picture", known(pages.picture)),
    ]


class _ResultsPages:
    def __init__(self, state: State) -> None:
        self.state = state
        self._runs: list[BrowsedRuns] = []
        self._seen: object = None
        self._lock = Lock()

    @property
    def runs(self) -> list[BrowsedRuns]:
        """The runs, loaded when they are first asked for, and again when cells were added."""
        with self._lock:
            seen = folders_state(self.state.runs)
            if seen != self._seen:
                try:
                    self._runs = load_runs(self.state.runs)
                except OSError as error:
                    raise BrittleError(str(error)) from error
                self._seen = seen
            return self._runs

    def warm_up(self) -> None:
        """Read the first run; what is wrong with it is said by its page."""
        with suppress(BrittleError, OSError):
            for run in self.runs[:1]:
                run.warm_up()

    def run(self, request: Request) -> tuple[int, BrowsedRuns]:
        """The run that an address names by its number."""
        number = whole_number_in(request, "run") or 0
        if not 0 <= number < len(self.runs):
            raise NotFoundError(f"There is no run number {number}; there are {len(self.runs)}, numbered from 0.")
        self.runs[number].warm_up()
        return number, self.runs[number]

    def page(self, request: Request, template: str, **values: Any) -> Response:
        """A page that knows all runs."""
        return page(request, template, runs=self.runs, address=address, short=short_name, percent=percent, **values)

    def overview(self, request: Request) -> Response:
        """The heat map of one model of a run."""
        if not self.runs:
            names = [folder.resolve().name for folder in self.state.runs]
            return page(request, "results_empty.html", title="Results", folders=names)
        number, run = self.run(request)
        model = request.query_params.get("model") or run.models[0]
        run.check(model=model)
        order = "worst" if request.query_params.get("order") == "worst" else ""
        return self.page(
            request,
            "results.html",
            title=run.title,
            number=number,
            run=run,
            model=model,
            order=order,
            groups=heat_groups(run, lambda name: accuracy_row(run, number, model, name), order),
        )

    def failures(self, request: Request) -> Response:
        """A page of failures that a form filters and sorts."""
        number, run = self.run(request)
        query = _query(request)
        run.check(model=query.model, corruption=query.corruption, level=query.level)
        run.check(model=query.right_by)
        if query.model is not None and query.model == query.right_by:
            query = replace(query, model=None)
        place: dict[str, Any] = {name: request.query_params.get(name) or None for name in ("after", "before")}
        row = whole_number_in(request, "row")
        shown = failures(run.ladders, query, size=PAGE_ROWS, start=max(0, (row or 1) - 1), **place)
        kept = _as_address(number, query)
        return self.page(
            request,
            "failures.html",
            title="Failures",
            number=number,
            run=run,
            query=query,
            shown=shown,
            sorts=SORTS,
            kept=kept,
            cards=[_card(run, number, failure) for failure in shown.rows],
            levels=_levels(run, query.corruption),
        )

    def sample(self, request: Request) -> Response:
        """One sample: what every model says about it at every level of every corruption."""
        number, run = self.run(request)
        name = request.query_params.get("id", "")
        try:
            sample = sample_trajectories(run.ladders, name)
        except BrittleError as error:
            raise NotFoundError(f"There is no sample {name[:80]!r} in this run.") from error
        order = [model for model in run.models if model in sample.models]
        strips = [
            _strip(run, number, corruption, sorted(rows, key=lambda one: order.index(one.model)))
            for corruption, rows in sample.by_corruption().items()
            if corruption != CLEAN
        ]
        strips.sort(key=lambda strip: (strip["earliest"], strip["name"]))
        clean = [one for one in sample.trajectories if one.corruption == CLEAN]
        return self.page(
            request, "sample.html", title=name, number=number, run=run, sample=sample, strips=strips, order=order,
            clean={one.model: one.steps[0] for one in clean},
        )  # fmt: skip

    def compare(self, request: Request) -> Response:
        """Two models cell by cell."""
        number, run = self.run(request)
        if len(run.models) < 2:
            raise NotFoundError(f"This run has one model, {run.models[0]}, and comparing needs two.")
        first = request.query_params.get("a") or run.models[0]
        second = request.query_params.get("b") or next(model for model in run.models if model != first)
        for model in (first, second):
            run.check(model=model)
        if first == second:
            second = next(model for model in run.models if model != first)
        compared = run.compared(first, second)
        order = "worst" if request.query_params.get("order") == "worst" else ""

        def row(name: str) -> ShownRow | None:
            return gap_row(run, number, first, second, name, compared)

        return self.page(
            request, "compare.html", title="Compare", number=number, run=run, first=first, second=second, order=order,
            groups=heat_groups(run, row, order, clean=True),
        )  # fmt: skip

    def picture(self, request: Request) -> Response:
        """A picture of a sample, as the models saw it."""
        _, run = self.run(request)
        level = number_in(request, "level") or 0.0
        content, kind = run.encoded(
            request.query_params.get("id", ""), request.query_params.get("corruption", CLEAN), level
        )
        return Response(content, media_type=kind)


def _query(request: Request) -> FailureQuery:
    given = request.query_params
    named = {name: given.get(name) or None for name in ("model", "corruption", "right_by")}
    return FailureQuery(
        **named,
        level=number_in(request, "level") if named["corruption"] else None,
        label=whole_number_in(request, "label"),
        predicted=whole_number_in(request, "predicted"),
        first_only=given.get("first") == "1",
        sort=given.get("sort") or "surest",  # type: ignore[arg-type]
    )


def _as_address(number: int, query: FailureQuery) -> dict[str, Any]:
    """What the address of the same failures holds."""
    return {
        "run": number,
        "model": query.model,
        "corruption": query.corruption,
        "level": query.level,
        "label": query.label,
        "predicted": query.predicted,
        "right_by": query.right_by,
        "first": query.first_only,
        "sort": None if query.sort == "surest" else query.sort,
    }


def _levels(run: BrowsedRuns, corruption: str | None) -> list[tuple[float, str]]:
    """The levels of a corruption to choose from, with their names."""
    if corruption is None or corruption == CLEAN:
        return []
    levels = sorted({level for (_, name), row in run.heat.items() if name == corruption for level in row.cells})
    return [(level, run.level_name(corruption, level)) for level in levels]


def _picture_address(number: int, sample: str, corruption: str, level: float) -> str:
    return address("/results/picture", run=number, id=sample, corruption=corruption, level=level)


def _card(run: BrowsedRuns, number: int, failure: Failure) -> dict[str, Any]:
    """A failure as it is shown."""
    slide = failure.corruption.startswith(SHIFT)
    clean = None
    if slide and failure.level > 0 and failure.origin:
        clean = _picture_address(number, failure.origin, failure.corruption, 0.0)
    elif not slide and failure.corruption != CLEAN and run.can_draw(CLEAN):
        clean = _picture_address(number, failure.sample, CLEAN, 0.0)
    return {
        "failure": failure,
        "address": f"{address('/results/sample', run=number, id=failure.sample)}",
        "clean": clean,
        "picture": _picture_address(number, failure.sample, failure.corruption, failure.level)
        if run.can_draw(failure.corruption)
        else None,
        "label": run.class_name(failure.label),
        "prediction": run.class_name(failure.prediction),
        "level": run.level_name(failure.corruption, failure.level),
        "point": _point_text(failure.point, "at scale 0" if slide else "when clean"),
    }


def _point_text(point: float, zero: str) -> str:
    """A failure point in words."""
    if math.isnan(point):
        return "failure point unknown"
    return "never fails" if math.isinf(point) else f"wrong {zero}" if point == 0 else f"fails at {point:.4g}"


def _strip(run: BrowsedRuns, number: int, corruption: str, rows: Iterable[Trajectory]) -> dict[str, Any]:
    """A corruption on the page of a sample: its pictures, and what each model says about them."""
    rows = list(rows)
    pictures = {step.level: step.sample for one in rows for step in one.steps}
    slide = corruption.startswith(SHIFT)
    levels = sorted(pictures)
    return {
        "name": short_name(corruption),
        "family": run.family(corruption),
        "earliest": min(one.point for one in rows),
        "pictures": [
            (
                _step_name(run, corruption, level, slide),
                _picture_address(number, pictures[level], name, level) if run.can_draw(name) else None,
            )
            for level in levels
            for name in [corruption if level or slide else CLEAN]
        ],
        "rows": [
            {
                "model": one.model,
                "point": _point_text(one.point, "at scale 0" if slide else "when clean"),
                "steps": [next((step for step in one.steps if step.level == level), None) for level in levels],
            }
            for one in rows
        ],
    }


def _step_name(run: BrowsedRuns, corruption: str, level: float, slide: bool) -> str:
    if slide:
        return f"scale {level:g}"
    return CLEAN if level == 0 else run.level_name(corruption, level)
