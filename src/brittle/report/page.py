"""The page."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np

from brittle._io import atomic_write
from brittle.benchmarks import Cell
from brittle.evaluation import KnownModel, Run
from brittle.evaluation.failure_summary import SearchedFolder
from brittle.evaluation.references import Comparable, comparable, published_rows
from brittle.evaluation.results import Results
from brittle.evaluation.score import compare_all, shared_rows
from brittle.evaluation.store import Store
from brittle.metrics import Estimate, holm, mcnemar
from brittle.report.data import RESAMPLES, Measure, Part, in_order, measure, parts
from brittle.report.examples import examples
from brittle.report.html import (
    Html,
    ModelStyles,
    concat,
    count,
    interval,
    listed,
    p_value,
    percent,
    signed,
    tag,
    theme_css,
)
from brittle.report.methods import methods, run_facts
from brittle.report.searched import Searched, failure_cards, failure_pictures, quantile_table, searched, survival_curves
from brittle.report.sections import by_family, curves, failures, headline, heat_maps
from brittle.report.shifts import (
    measure_slides,
    slide_drops,
    slide_failures,
    slide_films,
    slide_ranks,
    slide_rce,
    slide_slopes,
    slide_summary,
)


def comparison(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
    """Only if there are at least two models."""
    if len(measures) < 2:
        return None
    best = measures[0]
    columns = [name for name, _ in _numbers(best)] + ["difference to best", "clear?"]
    if part.has_clean:
        columns.append("p, clean images" if best.scores else "p")
    heads = [_head("rank", "num"), _head("model"), *(_head(name, "num") for name in columns)]
    models = [mine.model for mine in measures]
    gaps = compare_all(part.results, part.benchmark, models, resamples=RESAMPLES)
    tests = against_best(part, models)
    rows = [_row(place, mine, gaps.get(mine.model), tests, looks) for place, mine in enumerate(measures, start=1)]
    what = best.main.name
    words = (
        f"Ranked by {what}. Differences to {best.model} are of {what}, in percentage points, in pairs on the same "
        "images, with their 95 % intervals; a difference is clear if its interval excludes 0."
    )
    if len(gaps) > 1:
        words += (
            f" The intervals of differences hold all at once for {len(models)} models, of which the best was picked."
        )
    if part.has_clean:
        words += f" p is McNemar's exact test against {best.model} on the {'clean ' if best.scores else ''}images"
        words += f", adjusted for {len(gaps)} tests by Holm's method." if len(gaps) > 1 else "."
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sortable stacked")
    scroll = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="comparison of models")
    return concat(tag("p", words, class_="note"), scroll)


def beside_published(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:  # noqa: ARG001 - as all sections
    """Which reference divides mCE, what others published, and how that differs; or why it is not shown."""
    if part.benchmark is None:
        return None
    beside = comparable(part.results, part.benchmark)
    reference = next((m.scores.reference for m in measures if m.scores is not None and m.scores.mce is not None), None)
    lines = [f"mCE is divided by the errors of {reference}; those are taken as exact."] if reference else []
    lines.append(beside.refusal(has_reference=reference is not None))
    table = _published(beside) if beside.published else None
    if table is not None or (beside.baseline is not None and reference == beside.baseline.title):
        lines += beside.notes
    said = [tag("p", line, class_="note") for line in lines if line]
    return concat(*said, table) if said or table is not None else None


def _published(beside: Comparable) -> Html:
    scores = beside.published
    metrics = [
        metric for metric in ("unnormalised error", "mCE", "relative mCE") if metric in {s.metric for s in scores}
    ]
    heads = [_head("published by others"), *(_head(metric, "num") for metric in metrics), _head("source")]
    rows = []
    for who, own in published_rows(scores).items():
        values = {score.metric: score.value for score in own}
        cells = [
            tag("td", percent(values[m]) if m in values else "–", data_v=values.get(m, -1), class_="num")
            for m in metrics
        ]
        sources = "; ".join(dict.fromkeys(score.citation for score in own))
        rows.append(tag("tr", tag("th", who, scope="row", data_v=who), *cells, tag("td", sources, data_v=sources)))
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sortable stacked")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="published numbers")


def _row(place: int, mine: Measure, gap: Estimate | None, tests: dict[str, float], looks: ModelStyles) -> Html:
    name = tag("th", looks[mine.model].swatch(), mine.model, scope="row", data_v=mine.model)
    cells = [tag("td", str(place), data_v=place, class_="num"), name, *(_number(x) for _, x in _numbers(mine))]
    if gap is None:
        return tag("tr", *cells, tag("td", "best", data_v=0, class_="num"), _dash(), _dash() if tests else None)
    test = tests.get(mine.model)
    p = None if test is None else tag("td", p_value(test), data_v=f"{test:.6g}", class_="num")
    clear = gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
    verdict = tag("td", "yes" if clear else "no", class_="num yes-cell" if clear else "num")
    shown = tag("td", tag("b", signed(gap.value)), " ", tag("span", interval(gap, sign=True), class_="ci"),
                data_v=f"{gap.value:.6f}", class_="num")  # fmt: skip
    return tag("tr", *cells, shown, verdict, p)


def _numbers(mine: Measure) -> list[tuple[str, Estimate | None]]:
    """The columns of numbers; what a model lacks, such as a ratio to a clean accuracy of zero, is None."""
    clean = [(mine.clean.name, mine.clean)] if mine.clean else []
    if mine.scores is None:
        return [*clean]
    own = mine.scores
    last = ("mCE", own.mce) if own.mce else ("unnormalised error", own.error)
    return [*clean, ("mean accuracy", own.mean_accuracy), *([("robustness R", own.robustness)] if clean else []), last]


def against_best(part: Part, models: list[str]) -> dict[str, float]:
    """McNemar's p of each further model against the first, on the clean images, adjusted for how many they are."""
    if not part.has_clean:
        return {}
    best, *others = (table[:, 0] for table in shared_rows(part.results, models, [Cell()]))
    return dict(zip(models[1:], holm([mcnemar(other, best).p for other in others]), strict=True))


def _dash() -> Html:
    return tag("td", "–", data_v=1, class_="num")


def _head(name: str, kind: str | None = None) -> Html:
    return tag("th", name, scope="col", class_=kind)


def _number(estimate: Estimate | None) -> Html:
    if estimate is None:
        return tag("td", "–", data_v=-1, class_="num")
    ends = tag("span", interval(estimate), class_="ci")
    return tag("td", tag("b", percent(estimate.value)), " ", ends, data_v=f"{estimate.value:.6f}", class_="num")


HERE = Path(__file__).parent
NAMED = 3
"""More models than these are counted in the title, not named."""

Section = Callable[[Part, list[Measure], ModelStyles], Html | None]
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
    looks, several = ModelStyles(order), in_order(several, order)
    if title is None:
        title = _where(order)
    bodies = [_part(part, measured[part.number], looks, several) for part in several]
    last = tag("section", tag("h2", "Methods"), methods(several, measured), id="methods", class_="methods")
    contents = _contents(several, [names for _, names in bodies])
    main = tag("main", *(body for body, _ in bodies), last)
    return _document(title, concat(_header(title, several, measured), contents, main, _footer(several)))


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
    looks_all = ModelStyles(sorted(means, key=lambda model: (-float(np.mean(means[model])), model)))
    title = title or _where(looks_all.order)
    runs = [_about(folder) for folder in searches]
    bodies, lists, facts = [], [], [count(len(looks_all.order), "model")]
    for number, (own, run) in enumerate(zip(found, runs, strict=True), start=1):
        classes = run.classes

        def word(index: int, classes: Sequence[str] = classes) -> str:
            return "none of the classes" if index < 0 else classes[index] if index < len(classes) else f"class {index}"

        looks = ModelStyles([model for model in looks_all.order if any(one.model == model for one in own)])
        sections = (
            ("summary", "In short", failure_cards(own, looks)),
            ("searched", "Survival curves", survival_curves(own, looks)),
            ("failure", "Failure points", quantile_table(own, looks)),
            ("examples", "What broke it", failure_pictures(own, looks, word)),
        )
        shown = [(f"part{number}-{key}", key, name, body) for key, name, body in sections if body is not None]
        images = count(len(own[0].summary.points), "image")
        corruptions = count(len({one.summary.corruption for one in own}), "corruption")
        heading = concat(tag("h2", "Failure points"), tag("p", f"{run.data}, {images}, {corruptions}", class_="sub"))
        inner = [tag("section", tag("h3", name), body, id=place, class_=f"s-{key}") for place, key, name, body in shown]
        bodies.append(tag("section", heading, *inner, id=f"part{number}", class_="part"))
        items = [*((place, name) for place, _, name, _ in shown), ("methods", "Methods")]
        items_html = [tag("li", tag("a", name, href=f"#{place}")) for place, name in items]
        lists.append(tag("ol", *items_html, data_part=f"part{number}"))
        facts.append(f"{run.data} ({images})")
    tabs = [tag("a", run.folder.name, href=f"#part{i}", class_="tab") for i, run in enumerate(runs, start=1)]
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
    return _document(title, concat(_top(title, facts), contents, main, _made_with(runs)))


FAILURE_METHOD = (
    "The failure point of an image is the smallest severity found at which the model is wrong about it. Whole steps "
    "are tried upwards until the first failure; the step below it is then halved. An image that is wrong when clean "
    "has the failure point 0. The draw of an image is the same at every severity. Intervals of shares are Wilson's, "
    "those of quantiles are made of the order statistics."
)


def _about(folder: SearchedFolder) -> Run:
    """What a folder with failure points alone says of itself."""
    models = folder.rows.select("model", "key").unique(maintain_order=True).rows()
    return replace(Store(folder.folder).about(), models=tuple(KnownModel(name, key) for name, key in models))


def _where(order: list[str]) -> str:
    return f"Where {listed(order) if len(order) <= NAMED else f'{len(order)} models'} break{'s' * (len(order) == 1)}"


def _order(measured: list[list[Measure]]) -> list[str]:
    """All models, the best first, by their mean over the parts."""
    found: dict[str, list[float]] = {}
    for measures in measured:
        for mine in measures:
            found.setdefault(mine.model, []).append(mine.main.value)
    return sorted(found, key=lambda model: (-float(np.mean(found[model])), model))


def _part(
    part: Part, measures: list[Measure], looks: ModelStyles, several: list[Part]
) -> tuple[Html, list[tuple[str, str]]]:
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
    heading = concat(tag("h2", part.name), tag("p", about, class_="sub"))
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


def _last_day(runs: list[Run]) -> str:
    started = [call.started for run in runs for call in run.calls]
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


def _made_with(runs: list[Run]) -> Html:
    calls = [call.versions for run in runs for call in run.calls]
    versions = {versions["brittle"] for versions in calls if "brittle" in versions}
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
    return concat(Html("<!doctype html>\n"), document, Html("\n"))


def write_report(results: Results, path: str | Path, *, title: str | None = None, reference: str | None = None) -> Path:
    """Write one HTML file about how the models of these results break, and give its path.

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
    return _write(path, lambda: str(failure_page(folders, title)))


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


def report_html(results: Results, *, title: str | None = None, reference: str | None = None) -> str:
    """The same page as text."""
    return str(page(results, title, reference))
