"""The page: its parts, their sections, and the files it is written to."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from brittle._io import atomic_write
from brittle.evaluation import KnownModel, Results, Run, SearchedFolder, Store
from brittle.report import sections
from brittle.report.data import Measured, Part, class_name, measure, parts
from brittle.report.methods import methods, run_facts
from brittle.report.theme import ModelStyles, count, listed, page_templates

NAMED = 3
"""More models than these are counted in the title, not named."""

Function = Callable[[Measured, ModelStyles], Mapping[str, Any] | None]
SECTIONS: tuple[tuple[str, str, str | Function], ...] = (
    ("summary", "In short", sections.summary),
    ("fix", "What to fix first", sections.priorities),
    ("families", "Families", sections.by_family),
    ("corruptions", "Corruptions", sections.curves),
    ("heat", "Every cell", sections.heat_maps),
    ("failure", "Failure points", sections.failures),
    ("searched", "Between the levels", "searched.searched"),
    ("examples", "Pictures", sections.examples),
    ("classes", "Classes", sections.by_class),
    ("calibration", "Calibration", sections.calibrations),
    ("models", "Models", sections.comparison),
    ("published", "Published", sections.beside_published),
)
"""Key, title, and what measures it; one that few pages have is named, and loaded where it is wanted."""

SLIDES: tuple[tuple[str, str, str | Function], ...] = (
    ("summary", "In short", "slides.slide_summary"),
    ("trajectories", "Slides", "slides.slide_strips"),
    ("drops", "Accuracy along the scales", "slides.slide_drops"),
    ("failure", "Failure points", "slides.slide_failures"),
    ("ranks", "Ranks", "slides.slide_ranks"),
    ("slopes", "ID/OOD slopes", "slides.slide_slopes"),
    ("rce", "rCE", "slides.slide_rce"),
)
"""What is shown of slides, whose corruptions are shifts and whose levels are scales."""


@dataclass(frozen=True)
class Section:
    """A section of the page, written out."""

    key: str
    title: str
    body: str


@dataclass(frozen=True)
class PagePart:
    """A part of the page, and what its tab is called."""

    id: str
    name: str
    tab: str
    about: str
    sections: Sequence[Section]


def report_html(results: Results, *, title: str | None = None, reference: str | None = None) -> str:
    """The page of `write_report` as text."""
    ordered = parts(results)
    measured = {part.number: _measure(part, reference) for part in ordered}
    order = _best_first(list(measured.values()))
    styles, names = ModelStyles(order), [part.name for part in ordered]
    made = []
    for part in ordered:
        images = count(measured[part.number].best.samples, "image")
        where = f"on {part.data}" if part.data and part.benchmark and len({other.data for other in ordered}) > 1 else ""
        about = ", ".join(filter(None, (where, part.about, images)))
        tab = part.name if names.count(part.name) == 1 else part.place
        made.append(PagePart(part.id, part.name, tab, about, list(_sections(measured[part.number], styles))))
    runs = [run for group in dict.fromkeys(part.results for part in ordered) for run in group.runs]
    data = [f"{part.data} ({count(measured[part.number].best.samples, 'image')})" for part in ordered if part.data]
    facts = [count(len(order), "model"), listed(list(dict.fromkeys(names))), listed(list(dict.fromkeys(data)))]
    return _page(title or _title(order), facts, made, runs, methods(ordered, measured, runs))


def _measure(part: Part, reference: str | None) -> Measured:
    if part.slides:
        slides: Measured = import_module("brittle.report.slides").measure_slides(part)
        return slides
    return measure(part, reference)


def _sections(measured: Measured, styles: ModelStyles) -> Any:
    for key, title, function in SLIDES if measured.part.slides else SECTIONS:
        if key == "searched" and not any(
            (run.folder / "failure-points").is_dir() for run in measured.part.results.runs
        ):
            continue
        if isinstance(function, str):
            module, _, name = function.partition(".")
            function = getattr(import_module(f"brittle.report.{module}"), name)
        shown = function(measured, styles)
        if shown is not None:
            given = {"part": measured.part, "measured": measured, "styles": styles, **shown}
            template = given.pop("template", f"{key}.html")
            yield Section(key, title, _rendered(template, given))


def _rendered(template: str, given: Mapping[str, Any]) -> str:
    from markupsafe import Markup

    return Markup(page_templates().get_template(template).render(given))


def _page(title: str, facts: list[str], made: Sequence[PagePart], runs: Sequence[Run], about: Mapping[str, Any]) -> str:
    versions = {call.versions["brittle"] for run in runs for call in run.calls if "brittle" in call.versions}
    given = {
        "title": title,
        "facts": list(filter(None, [*facts, _last_day(runs)])),
        "parts": made,
        "methods": _rendered("methods.html", about),
        "versions": ", ".join(sorted(versions)),
    }
    return str(_rendered("report.html", given)) + "\n"


def failure_html(folders: Sequence[str | Path], *, title: str | None = None) -> str:
    """The page of `write_failure_report` as text: each folder, on images of its own, is a part."""
    from brittle.report import searched

    searches = [SearchedFolder(folder) for folder in folders]
    groups = searched.named_searches(searches)
    means: dict[str, list[float]] = {}
    for one in (one for group in groups for one in group):
        means.setdefault(one.model, []).append(one.summary.points.mean() / one.summary.last)
    order = sorted(means, key=lambda model: (-float(np.mean(means[model])), model))
    runs = [_about(folder) for folder in searches]
    made, facts = [], [count(len(order), "model")]
    for number, (group, run) in enumerate(zip(groups, runs, strict=True), start=1):
        styles = ModelStyles([model for model in order if any(one.model == model for one in group)])
        shown = searched.failure_sections(group, styles, partial(class_name, run.classes))
        written = [Section(key, name, _rendered(template, given)) for key, name, template, given in shown]
        images = count(len(group[0].summary.points), "image")
        corruptions = count(len({one.summary.corruption for one in group}), "corruption")
        about = f"{run.data}, {images}, {corruptions}"
        made.append(PagePart(f"part{number}", "Failure points", run.folder.name, about, written))
        facts.append(f"{run.data} ({images})")
    return _page(
        title or _title(order), facts, made, runs, {"searched": True, "runs": [run_facts(run) for run in runs]}
    )


def _about(folder: SearchedFolder) -> Run:
    """What a folder with failure points alone says of itself."""
    models = folder.rows.select("model", "key").unique(maintain_order=True).rows()
    return replace(Store(folder.folder).about(), models=tuple(KnownModel(name, key) for name, key in models))


def _title(order: list[str]) -> str:
    return f"Where {listed(order) if len(order) <= NAMED else f'{len(order)} models'} fail{'s' * (len(order) == 1)}"


def _best_first(measured: list[Measured]) -> list[str]:
    """All models, the best first, by their mean over the parts."""
    values: dict[str, list[float]] = {}
    for one in (one for part in measured for one in part.models):
        values.setdefault(one.model, []).append(one.main.value)
    return sorted(values, key=lambda model: (-float(np.mean(values[model])), model))


def _last_day(runs: Sequence[Run]) -> str:
    """The day of the last call, so that the same results give the same page."""
    last = max((call.started for run in runs for call in run.calls if call.started), default="")
    day = datetime.fromisoformat(last) if last else None
    return f"{day.day} {month_name[day.month]} {day.year}" if day else ""


def write_report(results: Results, path: str | Path, *, title: str | None = None, reference: str | None = None) -> Path:
    """Write one HTML file about where the models of these results fail, and give its path.

    >>> import brittle, tempfile
    >>> results = brittle.evaluate("demo:standard", brittle.load_dataset("demo").limited(20))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     brittle.write_report(results, f"{folder}/report.html").stat().st_size > 10_000
    True

    The file needs nothing else: no network, no scripts or fonts from elsewhere. The same results give the same bytes.
    Example pictures are drawn again from the clean images in the run's folder. `reference` divides the errors of mCE: a
    model's name, or what else `find_reference` takes; by default the published one where it is comparable.
    """
    return _write(path, lambda: report_html(results, title=title, reference=reference))


def write_failure_report(folders: Sequence[str | Path], path: str | Path, *, title: str | None = None) -> Path:
    """Write one HTML file about the failure points that `search_failure_points` kept in some folders."""
    return _write(path, lambda: failure_html(folders, title=title))


def _write(path: str | Path, html_of: Callable[[], str]) -> Path:
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name the HTML file to write, such as report.html in it")
    if not path.parent.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent.parent)!r} for {str(path)!r}; make it first")
    html = html_of()
    path.parent.mkdir(exist_ok=True)
    with atomic_write(path) as part:
        part.write_text(html, encoding="utf-8", newline="\n")
    return path
