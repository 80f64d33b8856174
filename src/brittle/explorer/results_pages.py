"""The pages of results: the heat map of a run, its failures, one sample, two models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from threading import Lock
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from brittle._errors import BrittleError
from brittle.benchmarks import CLEAN
from brittle.evaluation import SHIFT
from brittle.explorer.browse import Failure, FailureQuery, Trajectory, failures, sample_trajectories
from brittle.explorer.pages import page, sentence
from brittle.explorer.runs import BrowsedRuns, NotFoundError, folders_state, load_runs
from brittle.explorer.state import State
from brittle.plots import STEPS, ramp_step

PAGE_ROWS = 48
"""So many failures are on a page."""

SORTS = {
    "surest": "most confident first",
    "unsure": "least confident first",
    "earliest": "earliest failure point first",
    "latest": "latest failure point first",
}
WIDEST_GAP = 0.3
"""Differences of so much or more have the strongest colour."""

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


@dataclass(frozen=True)
class ShownCell:
    """A cell of a heat map: its colour, its text, what is told about it, and where it leads."""

    css: str
    text: str
    tip: str
    query: str
    level: str
    strong: bool = False


@dataclass(frozen=True)
class ShownRow:
    """A corruption of a heat map; `last` is a cell for all levels."""

    name: str
    family: str
    query: str
    cells: Sequence[ShownCell]
    last: ShownCell
    mean: float


@dataclass(frozen=True)
class ShownGroup:
    """The corruptions of one set, with a table of their own."""

    title: str
    rows: Sequence[ShownRow]

    @property
    def steps(self) -> int:
        """The number of levels of the longest row."""
        return max(len(row.cells) for row in self.rows)

    @property
    def shared(self) -> list[str]:
        """The names of the levels, if all rows have the same."""
        names = {tuple(cell.level for cell in row.cells) for row in self.rows}
        return list(names.pop()) if len(names) == 1 else []


def routes(state: State) -> list[Route]:
    """The routes of the pages of results."""
    pages = _ResultsPages(state)
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

    def run(self, request: Request) -> tuple[int, BrowsedRuns]:
        """The run that an address names by its number."""
        number = whole_number_in(request, "run") or 0
        if not 0 <= number < len(self.runs):
            raise NotFoundError(f"There is no run number {number}; there are {len(self.runs)}, numbered from 0.")
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
        run.warm_up()
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
            groups=_groups(run, lambda name: _heat_row(run, number, model, name), order),
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
            found=shown,
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
            sample = sample_trajectories(run.results, name)
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
            return _gap_row(run, number, first, second, name, compared)

        return self.page(
            request, "compare.html", title="Compare", number=number, run=run, first=first, second=second, order=order,
            groups=_groups(run, row, order, clean=True),
        )  # fmt: skip

    def picture(self, request: Request) -> Response:
        """A picture of a sample, as the models saw it."""
        _, run = self.run(request)
        level = number_in(request, "level") or 0.0
        content, kind = run.encoded(
            request.query_params.get("id", ""), request.query_params.get("corruption", CLEAN), level
        )
        return Response(content, media_type=kind)


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


def _groups(
    run: BrowsedRuns, row: Callable[[str], ShownRow | None], order: str, *, clean: bool = False
) -> list[ShownGroup]:
    """The rows of a heat map by the set that corruptions are of, or all of them, the lowest first."""
    names = [*([CLEAN] if clean else []), *run.corruptions]
    rows = [(name, made) for name in names if (made := row(name)) is not None]
    if order == "worst":
        rows.sort(key=lambda pair: (pair[1].mean, pair[0]))
        return [ShownGroup("", [made for _, made in rows])] if rows else []
    groups: dict[str, list[ShownRow]] = {}
    for name, made in rows:
        title = "slides" if name.startswith(SHIFT) else name.rpartition("/")[0] if name != CLEAN else ""
        groups.setdefault(title, []).append(made)
    return [ShownGroup(title, members) for title, members in groups.items()]


def _heat_row(run: BrowsedRuns, number: int, model: str, corruption: str) -> ShownRow | None:
    heat = run.heat.get((model, corruption))
    if heat is None:
        return None
    cells = []
    for level, cell in heat.cells.items():
        name = run.level_name(corruption, level)
        tip = (
            f"{short_name(corruption)} at {name}: {100 * cell.value:.1f} % right "
            f"[{100 * (cell.low or 0):.1f}, {100 * (cell.high or 0):.1f}] of {cell.n:,} images"
        )
        query = address("/results/failures", run=number, model=model, corruption=corruption, level=level)
        cells.append(ShownCell(f"h{ramp_step(cell.value)}", f"{100 * cell.value:.0f}", tip, query, name))
    every = address("/results/failures", run=number, model=model, corruption=corruption)
    tip = f"{short_name(corruption)}, mean over its levels: {100 * heat.mean:.1f} % right"
    last = ShownCell(f"h{ramp_step(heat.mean)}", f"{100 * heat.mean:.0f}", tip, every, "mean")
    return ShownRow(short_name(corruption), run.family(corruption), every, cells, last, heat.mean)


def _gap_row(
    run: BrowsedRuns, number: int, first: str, second: str, corruption: str, compared: dict[str, Any]
) -> ShownRow | None:
    if corruption not in compared:
        return None
    cells = []
    for level, cell in compared[corruption].items():
        name = run.level_name(corruption, level)
        ends = cell.gap.low, cell.gap.high
        tip = (
            f"{short_name(corruption)} at {name}: {signed(cell.gap.value)} points "
            f"[{signed(ends[0])}, {signed(ends[1])}]; "
            f"{100 * cell.first:.1f} % and {100 * cell.second:.1f} % right; "
            f"{cell.only_first:,} images right for the first alone, {cell.only_second:,} for the second alone"
        )
        better, worse = (first, second) if cell.gap.value >= 0 else (second, first)
        query = address(
            "/results/failures", run=number, model=worse, right_by=better, corruption=corruption, level=level
        )
        certain = ends[0] > 0 or ends[1] < 0
        cells.append(ShownCell(_gap_css(cell.gap.value), signed(cell.gap.value, 0), tip, query, name, certain))
    mean = math.fsum(cell.gap.value for cell in compared[corruption].values()) / len(cells)
    better, worse = (first, second) if mean >= 0 else (second, first)
    every = address("/results/failures", run=number, model=worse, right_by=better, corruption=corruption)
    tip = f"{short_name(corruption)}, mean over its levels: {signed(mean)} points"
    last = ShownCell(_gap_css(mean), signed(mean, 0), tip, every, "mean")
    return ShownRow(short_name(corruption), run.family(corruption), every, cells, last, mean)


def _gap_css(gap: float) -> str:
    return f"d{round(STEPS * min(max((gap / WIDEST_GAP + 1) / 2, 0.0), 1.0))}"


def signed(share: float, digits: int = 1) -> str:
    """A difference of shares in percentage points with its sign."""
    text = f"{100 * share:+.{digits}f}".replace("-", "−")
    return text.lstrip("+−") if float(text.replace("−", "-")) == 0 else text


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
