"""The whole page: head, contents, a part for each benchmark, methods."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np

from brittle.evaluation.results import Results
from brittle.report.page.by_family import by_family
from brittle.report.page.comparison import beside_published, comparison
from brittle.report.page.curves import curves
from brittle.report.page.examples import examples
from brittle.report.page.failures import failures
from brittle.report.page.headline import headline
from brittle.report.page.heat_maps import heat_maps
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure, measure
from brittle.report.page.methods import methods
from brittle.report.page.models import Looks
from brittle.report.page.numbers import count, listed
from brittle.report.page.palette import theme_css
from brittle.report.page.parts import Part, in_order, parts
from brittle.report.page.searched import searched
from brittle.report.page.slide_films import slide_films
from brittle.report.page.slides import (
    measure_slides,
    slide_drops,
    slide_failures,
    slide_ranks,
    slide_rce,
    slide_slopes,
    slide_summary,
)

HERE = Path(__file__).parent
NAMED = 3
"""More models than these are counted in the title, not named."""

Section = Callable[[Part, list[Measure], Looks], Html | None]
SECTIONS: tuple[tuple[str, str, Section], ...] = (
    ("summary", "In short", headline),
    ("families", "Families", by_family),
    ("corruptions", "Corruptions", curves),
    ("heat", "Every cell", heat_maps),
    ("failure", "Failure points", failures),
    ("searched", "Between the levels", searched),
    ("examples", "What broke it", examples),
    ("models", "Models", comparison),
    ("published", "Published numbers", beside_published),
)
SLIDES: tuple[tuple[str, str, Section], ...] = (
    ("summary", "In short", slide_summary),
    ("films", "Slides", slide_films),
    ("drops", "Accuracy along the scales", slide_drops),
    ("failure", "Failure points", slide_failures),
    ("ranks", "Ranks", slide_ranks),
    ("slopes", "ID/OOD slopes", slide_slopes),
    ("rce", "rCE", slide_rce),
)
"""What is shown of slides, whose corruptions are shifts and whose levels are scales."""


def page(results: Results, title: str | None, reference: str | None = None) -> Html:
    """A report as one HTML document; `reference` divides the errors of mCE."""
    several = parts(results)
    measured = {part.number: measure_slides(part) if part.slides else measure(part, reference) for part in several}
    order = _order(list(measured.values()))
    looks, several = Looks(order), in_order(several, order)
    if title is None:
        title = (
            f"Where {listed(order) if len(order) <= NAMED else f'{len(order)} models'} break{'s' * (len(order) == 1)}"
        )
    bodies = [_part(part, measured[part.number], looks, several) for part in several]
    last = tag("section", tag("h2", "Methods"), methods(several, measured), id="methods", class_="methods")
    contents = _contents(several, [names for _, names in bodies])
    main = tag("main", *(body for body, _ in bodies), last)
    return _document(title, together(_header(title, several, measured), contents, main, _footer(several)))


def _order(measured: list[list[Measure]]) -> list[str]:
    """All models, the best first, by their mean over the parts."""
    found: dict[str, list[float]] = {}
    for measures in measured:
        for mine in measures:
            found.setdefault(mine.model, []).append(mine.main.value)
    return sorted(found, key=lambda model: (-float(np.mean(found[model])), model))


def _part(part: Part, measures: list[Measure], looks: Looks, several: list[Part]) -> tuple[Html, list[tuple[str, str]]]:
    sections, names = [], []
    for key, name, section in SLIDES if part.slides else SECTIONS:
        body = section(part, measures, looks)
        if body is not None:
            identity = f"{part.id}-{key}"
            names.append((identity, name))
            sections.append(tag("section", tag("h3", name), body, id=identity, class_=f"s-{key}"))
    more = {other.data for other in several}
    where = f"on {part.data}, " if part.data and len(more) > 1 and part.benchmark is not None else ""
    images = count(measures[0].samples, "image")
    about = f"{where}{f'{part.about}, ' if part.about else ''}{images}"
    heading = together(tag("h2", part.name), tag("p", about, class_="sub"))
    return tag("section", heading, *sections, id=part.id, class_="part"), names


def _header(title: str, several: list[Part], measured: dict[int, list[Measure]]) -> Html:
    models = {mine.model for measures in measured.values() for mine in measures}
    facts = [
        count(len(models), "model"),
        listed(list(dict.fromkeys(part.name for part in several))),
        listed(list(dict.fromkeys(f"{part.data} ({count(measured[part.number][0].samples, 'image')})"
                                  for part in several if part.data))),
        _date(several),
    ]  # fmt: skip
    toggle = tag("button", "Dark", type="button", id="theme", hidden=True, aria_label="switch between light and dark")
    top = tag("div", tag("p", "Robustness report", class_="eyebrow"), toggle, class_="top")
    return tag("header", top, tag("h1", title), tag("p", " · ".join(filter(None, facts)), class_="sub"))


def _date(several: list[Part]) -> str:
    """The day of the last call, so that the same results give the same page."""
    started = [s.get("started", "") for part in several for run in part.results.runs for s in run.get("calls", ())]
    last = max(filter(None, started), default="")
    if not last:
        return ""
    day = datetime.fromisoformat(last)
    return f"{day.day} {month_name[day.month]} {day.year}"


def _contents(several: list[Part], names: list[list[tuple[str, str]]]) -> Html:
    named = [part.name for part in several]
    tabs = [
        tag("a", part.name if named.count(part.name) == 1 else part.place, href=f"#{part.id}", class_="tab")
        for part in several
    ]
    end = ("methods", "Methods")
    lists = [
        tag("ol", *(tag("li", tag("a", name, href=f"#{key}")) for key, name in (*own, end)), data_part=part.id)
        for part, own in zip(several, names, strict=True)
    ]
    switch = tag("div", *tabs, class_="tabs") if len(tabs) > 1 else None
    return tag("nav", switch, *lists, class_="toc", aria_label="Contents")


def _footer(several: list[Part]) -> Html:
    versions = {
        s["versions"]["brittle"]
        for part in several
        for run in part.results.runs
        for s in run.get("calls", ())
        if "brittle" in s.get("versions", {})
    }
    return tag("footer", tag("p", f"Made with brittle {', '.join(sorted(versions))}".rstrip() + "."))


def _document(title: str, body: Html) -> Html:
    css = theme_css() + (HERE / "report.css").read_text(encoding="utf-8")
    script = (HERE / "report.js").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(css)),
        tag("script", Html('document.documentElement.className = "js";')),
    )
    tail = tag("script", Html(script))
    document = tag("html", head, tag("body", body, tail), lang="en")
    return together(Html("<!doctype html>\n"), document, Html("\n"))
