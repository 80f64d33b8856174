"""What was run on what, with what: enough to do it again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from brittle.report.page.definitions import definitions
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import RESAMPLES, Measure
from brittle.report.page.numbers import count
from brittle.report.page.parts import Part

STORED = {"none": "pixels as drawn", "jpeg85": "stored as JPEG of quality 85"}
SKIPPED = 5
"""So many unreadable images are named."""


def methods(several: list[Part], measured: dict[int, list[Measure]]) -> Html:
    """Definitions, recipes, and each run."""
    runs = [run for group in dict.fromkeys(part.results for part in several) for run in group.runs]
    return together(
        tag("h3", "Definitions"),
        definitions(
            RESAMPLES,
            corrupted=any(part.benchmark for part in several),
            slid=any(part.slides for part in several),
        ),
        tag("h3", "Recipes"),
        _recipes(several, measured),
        tag("h3", "Runs") if runs else None,
        [run_facts(run) for run in runs],
    )


def _recipes(several: list[Part], measured: dict[int, list[Measure]]) -> Html:
    rows = []
    for part in several:
        recipe = part.benchmark
        if recipe is None:
            continue
        what = f"{count(len(recipe.entries), 'corruption')}, {count(len(recipe), 'cell')}"
        how = f"seed {recipe.seed}, version {recipe.version}, {STORED[recipe.storage]}"
        cells = (
            recipe.name,
            tag("code", recipe.hash),
            what,
            how,
            next((m.scores.reference for m in measured[part.number] if m.scores and m.scores.mce), None) or "none",
            recipe.source or "–",
        )
        rows.append(tag("tr", tag("th", cells[0], scope="row"), *(tag("td", cell) for cell in cells[1:])))
    if not rows:
        return tag("p", "No recipe: the images were shown as they are.")
    names = ("recipe", "hash", "what", "how", "reference of mCE", "source")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="words")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="recipes")


def run_facts(run: dict[str, Any]) -> Html:
    """What is known of a run: its images, models, calls and versions."""
    calls = run.get("calls", [])
    key, skipped = run.get("data_key"), run.get("skipped", {})
    for call in calls:  # a published set on disk notes them cell by cell
        if isinstance(call.get("skipped"), dict):
            skipped = {**skipped, **call["skipped"]}
    models = [together(model["name"], " ", tag("code", model["key"])) for model in run.get("models", [])]
    facts: list[tuple[str, Any]] = [
        ("folder", Path(run["folder"]).name),
        ("images", together(f"{run['data']}, {count(run['images'], 'image')} ", tag("code", key) if key else None)),
        ("classes", f"{len(run['classes']):,}" if run["classes"] else "not named"),
        ("models", tag("ul", *(tag("li", model) for model in models))),
        ("not readable", _skipped(skipped) if skipped else "none"),
        ("run", tag("ul", *(tag("li", _call(call)) for call in calls)) if calls else "not recorded"),
        ("versions", _versions(calls)),
        ("notes", listed_once(note for call in calls for note in call.get("notes", ()))),
    ]
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value]
    return tag("dl", *rows, class_="facts")


def _skipped(skipped: dict[str, str]) -> Html:
    named = [tag("li", f"{sample}: {reason}") for sample, reason in list(skipped.items())[:SKIPPED]]
    more = len(skipped) - len(named)
    last = tag("li", f"and {more:,} more") if more else None
    return together(f"{count(len(skipped), 'image')}, left out of every cell", tag("ul", *named, last))


def _call(call: dict[str, Any]) -> str:
    when = str(call.get("started", "")).replace("T", " ").replace("+00:00", " UTC")
    what = (
        call.get("benchmark")
        or call.get("stored")
        or call.get("predictions")
        or call.get("failure_points")
        or "clean images"
    )
    machine = call.get("machine", {})
    how = [f"engine {call['engine']}" if "engine" in call else ""]
    how.append(f"batches of {call['batch_size']}" if "batch_size" in call else "")
    where = f"{machine.get('system', '?')} {machine.get('processor', '')}, {machine.get('cores', '?')} cores"
    facts = ", ".join(filter(None, (what, *how, where)))
    return f"{when}: {facts}; {call.get('state', 'not finished')}"


def _versions(calls: list[dict[str, Any]]) -> str:
    return listed_once(
        ", ".join(f"{name} {number}" for name, number in call.get("versions", {}).items()) for call in calls
    )


def listed_once(texts: Iterable[str]) -> str:
    """Different sentences, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text))
