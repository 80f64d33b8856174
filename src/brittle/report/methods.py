"""How the numbers came about: definitions, recipes, commands, and what is known of each run."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brittle._io import COMMAND, toml_text
from brittle.benchmarks import Benchmark
from brittle.evaluation import Call, Run
from brittle.report.data import RESAMPLES, Measured, Part
from brittle.report.theme import count

STORED = {"none": "pixels as drawn", "jpeg85": "stored as JPEG of quality 85"}
SKIPPED = 5
"""So many unreadable images are named."""


def methods(parts: Sequence[Part], measured: Mapping[int, Measured], runs: Sequence[Run]) -> dict[str, Any]:
    """Definitions, recipes, commands, and each run."""
    recipes = [_recipe(part.benchmark, measured[part.number]) for part in parts if part.benchmark is not None]
    kinds = {"corrupted": bool(recipes), "slides": any(part.slides for part in parts), "resamples": RESAMPLES}
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


def command_line(run: Run) -> str:
    """What was typed to make a folder, as its command.toml has it; empty if it was not made on a command line."""
    try:
        known = tomllib.loads((run.folder / COMMAND).read_text(encoding="utf-8"))
        options = [piece for name, value in known.get("options", {}).items() for piece in _option(name, value)]
        imports = [piece for name in known.get("import", []) for piece in ("--import", str(name))]
        words = [*imports, *known["command"].split(), *map(str, known.get("arguments", [])), *options]
    except (OSError, ValueError, KeyError):
        return ""
    return shlex.join(["brittle", *words])


def _option(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    flag = f"--{name}"
    return [piece for one in values if one is not False for piece in ((flag,) if one is True else (flag, str(one)))]


def _call(call: Call) -> str:
    when = str(call.started).replace("T", " ").replace("+00:00", " UTC")
    machine = call.machine
    how = [f"engine {call.engine}" if call.engine else ""]
    how.append(f"batches of {call.batch_size}" if call.batch_size else "")
    where = f"{machine.get('system', '?')} {machine.get('processor', '')}, {machine.get('cores', '?')} cores"
    facts = ", ".join(filter(None, (call.title, *how, where)))
    return f"{when}: {facts}; {call.state}"


def _once(texts: Iterable[str]) -> str:
    """Different sentences, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text))
