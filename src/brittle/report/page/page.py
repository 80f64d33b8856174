"""The whole page: head, contents, a part for each benchmark, methods."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from brittle.evaluation.failure_summary import SearchedFolder
from brittle.evaluation.results import Results
from brittle.evaluation.store import Store
from brittle.report.page.by_family import by_family
from brittle.report.page.comparison import beside_published, comparison
from brittle.report.page.curves import curves
from brittle.report.page.examples import examples
from brittle.report.page.failures import failures
from brittle.report.page.headline import headline
from brittle.report.page.heat_maps import heat_maps
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure, measure
from brittle.report.page.methods import methods, run_facts
from brittle.report.page.models import Looks
from brittle.report.page.numbers import count, listed
from brittle.report.page.palette import theme_css
from brittle.report.page.parts import Part, in_order, parts
from brittle.report.page.searched import (
    Searched,
    failure_cards,
    failure_pictures,
    quantile_table,
    searched,
    survival_curves,
)
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
        title = _where(order)
    bodies = [_part(part, measured[part.number], looks, several) for part in several]
    last = tag("section", tag("h2", "Methods"), methods(several, measured), id="methods", class_="methods")
    contents = _contents(several, [names for _, names in bodies])
    main = tag("main", *(body for body, _ in bodies), last)
    return _document(title, together(_header(title, several, measured), contents, main, _footer(several)))


def failure_page(folders: Sequence[str | Path], title: str | None) -> Html:
    """A report of failure points alone, as one HTML document: each folder on its own images is a part."""
    searches = [SearchedFolder(folder) for folder in folders]
    keys: dict[str, set[str]] = {}
    for one in (one for folder in searches for one in folder.summaries):
        keys.setdefault(one.model, set()).add(one.key)
    found = [
        [
            Searched(one.model if len(keys[one.model]) == 1 else f"{one.model} {one.key[:6]}", one, folder)
            for one in folder.summaries
        ]
        for folder in searches
    ]
    means: dict[str, list[float]] = {}
    for each in (each for own in found for each in own):
        means.setdefault(each.model, []).append(each.summary.points.mean() / each.summary.last)
    looks_all = Looks(sorted(means, key=lambda model: (-float(np.mean(means[model])), model)))
    title = title or _where(looks_all.order)
    runs = [_about(folder) for folder in searches]
    bodies, lists, facts = [], [], [count(len(looks_all.order), "model")]
    for number, (own, run) in enumerate(zip(found, runs, strict=True), start=1):
        classes = run["classes"]

        def word(index: int, classes: list[str] = classes) -> str:
            return "none of the classes" if index < 0 else classes[index] if index < len(classes) else f"class {index}"

        looks = Looks([model for model in looks_all.order if any(one.model == model for one in own)])
        sections = (
            ("summary", "In short", failure_cards(own, looks)),
            ("searched", "Survival curves", survival_curves(own, looks)),
            ("failure", "Failure points", quantile_table(own, looks)),
            ("examples", "What broke it", failure_pictures(own, looks, word)),
        )
        shown = [(f"part{number}-{key}", key, name, body) for key, name, body in sections if body is not None]
        images = count(len(own[0].summary.points), "image")
        corruptions = count(len({one.summary.corruption for one in own}), "corruption")
        heading = together(
            tag("h2", "Failure points"), tag("p", f"{run['data']}, {images}, {corruptions}", class_="sub")
        )
        inner = [tag("section", tag("h3", name), body, id=place, class_=f"s-{key}") for place, key, name, body in shown]
        bodies.append(tag("section", heading, *inner, id=f"part{number}", class_="part"))
        items = [*((place, name) for place, _, name, _ in shown), ("methods", "Methods")]
        items_html = [tag("li", tag("a", name, href=f"#{place}")) for place, name in items]
        lists.append(tag("ol", *items_html, data_part=f"part{number}"))
        facts.append(f"{run['data']} ({images})")
    tabs = [tag("a", Path(run["folder"]).name, href=f"#part{i}", class_="tab") for i, run in enumerate(runs, start=1)]
    switch = tag("div", *tabs, class_="tabs") if len(tabs) > 1 else None
    contents = tag("nav", switch, *lists, class_="toc", aria_label="Contents")
    last = tag(
        "section",
        tag("h2", "Methods"),
        tag("p", FAILURE_METHOD, class_="note"),
        [run_facts(run) for run in runs],
        id="methods",
        class_="methods",
    )
    facts.append(_last_day(runs))
    main = tag("main", *bodies, last)
    return _document(title, together(_top(title, facts), contents, main, _made_with(runs)))


FAILURE_METHOD = (
    "The failure point of an image is the smallest severity found at which the model is wrong about it. Whole steps "
    "are tried upwards until the first failure; the step below it is then halved. An image that is wrong when clean "
    "has the failure point 0. The draw of an image is the same at every severity. Intervals of shares are Wilson's, "
    "those of quantiles are made of the order statistics."
)


def _about(folder: SearchedFolder) -> dict[str, Any]:
    """What a folder with failure points alone says of itself."""
    models = folder.rows.select("model", "key").unique(maintain_order=True).rows()
    return {**Store(folder.folder).about(), "models": [{"name": name, "key": key} for name, key in models]}


def _where(order: list[str]) -> str:
    return f"Where {listed(order) if len(order) <= NAMED else f'{len(order)} models'} break{'s' * (len(order) == 1)}"


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
    return _top(title, facts)


def _top(title: str, facts: list[str]) -> Html:
    toggle = tag("button", "Dark", type="button", id="theme", hidden=True, aria_label="switch between light and dark")
    top = tag("div", tag("p", "Robustness report", class_="eyebrow"), toggle, class_="top")
    return tag("header", top, tag("h1", title), tag("p", " · ".join(filter(None, facts)), class_="sub"))


def _date(several: list[Part]) -> str:
    """The day of the last call, so that the same results give the same page."""
    return _last_day([run for part in several for run in part.results.runs])


def _last_day(runs: list[dict[str, Any]]) -> str:
    started = [call.get("started", "") for run in runs for call in run.get("calls", ())]
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
    return _made_with([run for part in several for run in part.results.runs])


def _made_with(runs: list[dict[str, Any]]) -> Html:
    calls = [call.get("versions", {}) for run in runs for call in run.get("calls", ())]
    versions = {call["brittle"] for call in calls if "brittle" in call}
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
