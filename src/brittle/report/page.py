"""The page: its parts, their sections, and the files it is written to."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittle._io import atomic_write, toml_text
from brittle.benchmarks import Benchmark, StreamBenchmark
from brittle.datasets import class_name
from brittle.evaluation import Call, KnownModel, Results, Run, Store, command_line
from brittle.report import sections
from brittle.report.data import RESAMPLES, Measured, Part, measure, parts
from brittle.report.theme import ModelStyles, count, listed, page_templates, write_block

if TYPE_CHECKING:
    from brittle.evaluation import SearchedFolder

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

SEQUENCES: tuple[tuple[str, str, str | Function], ...] = (("steadiness", "Steadiness", "sequences.steadiness_tables"),)
"""What is shown of sequences, along which a prediction should not change."""

STREAMS: tuple[tuple[str, str, str | Function], ...] = (("streams", "Error over time", "streams.streams_over_time"),)
"""What is shown of streams, to which a model may adapt."""


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
    if part.sequences:
        sequences: Measured = import_module("brittle.report.sequences").measure_sequences(part, reference)
        return sequences
    if part.streams:
        streams: Measured = import_module("brittle.report.streams").measure_streams(part)
        return streams
    return measure(part, reference)


def _sections(measured: Measured, styles: ModelStyles) -> Any:
    part = measured.part
    special = SLIDES if part.slides else SEQUENCES if part.sequences else STREAMS if part.streams else None
    for key, title, function in special or SECTIONS:
        if key == "searched" and not any((run.folder / "failure-points").is_dir() for run in part.results.runs):
            continue
        if isinstance(function, str):
            module, _, name = function.partition(".")
            function = getattr(import_module(f"brittle.report.{module}"), name)
        shown = function(measured, styles)
        if shown is not None:
            given = {"part": part, "measured": measured, "styles": styles, **shown}
            template, blocks = given.pop("template", "sections.html"), given.pop("blocks", (key,))
            yield Section(key, title, "".join(write_block(template, block, **given) for block in blocks))


def _page(title: str, facts: list[str], made: Sequence[PagePart], runs: Sequence[Run], about: Mapping[str, Any]) -> str:
    versions = {call.versions["brittle"] for run in runs for call in run.calls if "brittle" in call.versions}
    given = {
        "title": title,
        "facts": list(filter(None, [*facts, _last_day(runs)])),
        "parts": made,
        "versions": ", ".join(sorted(versions)),
    }
    return page_templates().get_template("base.html").render({**given, **about}) + "\n"


def failure_html(folders: Sequence[str | Path], *, title: str | None = None) -> str:
    """The page of `write_failure_report` as text: each folder, on images of its own, is a part."""
    from brittle.evaluation import SearchedFolder
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
        shown = searched.failure_sections(group, styles, partial(class_name, names=run.classes))
        written = [
            Section(key, name, write_block("searched.html", block, **given)) for key, name, block, given in shown
        ]
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


STORED = {"none": "pixels as drawn", "jpeg85": "stored as JPEG of quality 85"}
SKIPPED = 5
"""So many unreadable images are named."""


def methods(parts: Sequence[Part], measured: Mapping[int, Measured], runs: Sequence[Run]) -> dict[str, Any]:
    """Definitions, recipes, commands, and each run."""
    recipes = [_recipe(part.benchmark, measured[part.number]) for part in parts if part.benchmark is not None]
    kinds: dict[str, Any] = {
        kind: any(getattr(part, kind) for part in parts) for kind in ("slides", "sequences", "streams")
    }
    kinds |= {"corrupted": bool(recipes), "resamples": RESAMPLES}
    recipes += [_stream_recipe(stream) for part in parts if part.streams for stream in _shown_streams(part)]
    return {"searched": False, "recipes": recipes, "runs": [run_facts(run) for run in runs], **kinds}


def _recipe(recipe: Benchmark, measured: Measured) -> dict[str, str]:
    references = [one.scores.reference for one in measured.models if one.scores and one.scores.mce]
    return {
        "name": recipe.name,
        "hash": recipe.hash,
        "what": f"{count(len(recipe.entries), 'corruption')}, {count(len(recipe), 'cell')}",
        "how": f"seed {recipe.seed}, version {recipe.version}, {STORED[recipe.storage]}",
        "reference": (references[0] if references else None) or "none",
        "source": recipe.source or "–",
        "text": toml_text(recipe.to_dict()),
    }


def _shown_streams(part: Part) -> Sequence[StreamBenchmark]:
    streams: Sequence[StreamBenchmark] = import_module("brittle.report.streams").shown_streams(part)
    return streams


def _stream_recipe(stream: StreamBenchmark) -> dict[str, str]:
    recipe, reset = stream.benchmark, "at the start" if stream.reset == "start" else "at each segment"
    order = f"{stream.order} order, labels {stream.labels}, batches of {stream.batch_size}, reset {reset}"
    return {
        "name": stream.name,
        "hash": stream.hash,
        "what": f"stream, {count(len(recipe.entries), 'corruption')}, {count(len(recipe), 'cell')}",
        "how": f"{order}; seed {recipe.seed}, {STORED[recipe.storage]}",
        "reference": "none",
        "source": recipe.source or "–",
        "text": toml_text(stream.to_dict()),
    }


def run_facts(run: Run) -> dict[str, Any]:
    """What is known of a run: its images, models, command, calls and versions."""
    unread = [f"{sample}: {reason}" for sample, reason in list(run.skipped.items())[:SKIPPED]]
    if len(run.skipped) > len(unread):
        unread.append(f"and {len(run.skipped) - len(unread):,} more")
    return {
        "folder": run.folder.name,
        "data": f"{run.data}, {count(run.images, 'image')}",
        "data_key": run.data_key or "",
        "classes": f"{len(run.classes):,}" if run.classes else "not named",
        "models": run.models,
        "skipped": count(len(run.skipped), "image") if run.skipped else "",
        "unread": unread,
        "calls": [_call(call) for call in run.calls],
        "versions": _once(", ".join(f"{name} {text}" for name, text in call.versions.items()) for call in run.calls),
        "notes": _once(note for call in run.calls for note in call.notes),
        "command": command_line(run),
    }


def _call(call: Call) -> str:
    when = str(call.started).replace("T", " ").replace("+00:00", " UTC")
    machine = call.machine
    how = [f"engine {call.engine}" if call.engine else ""]
    how.append(f"{len(call.nodes)} nodes" if call.nodes else "")
    how.append(f"batches of {call.batch_size}" if call.batch_size else "")
    where = f"{machine.get('system', '?')} {machine.get('processor', '')}, {machine.get('cores', '?')} cores"
    facts = ", ".join(filter(None, (call.title, *how, where)))
    return f"{when}: {facts}; {call.state}"


def _once(texts: Iterable[str]) -> str:
    """Different sentences, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text))


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
