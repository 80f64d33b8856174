"""Scores for a model page of the Hugging Face Hub: the `model-index` of its card, and `.eval_results` files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._io import file_name
from brittle._optional import require
from brittle.benchmarks import Benchmark
from brittle.evaluation import Results
from brittle.metrics import Estimate
from brittle.publish.scored import (
    Scored,
    escape_markdown,
    folder_for,
    last_day,
    scored_model,
    title_of,
    versions,
    write_text,
)
from brittle.publish.yaml_text import yaml_text

TASK = "image-classification"
CARD, RESULTS = "README.md", ".eval_results"
PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")
FIELDS = {"dataset", "value", "verifyToken", "date", "source", "notes"}
DATASET_FIELDS = {"id", "task_id", "revision", "config", "split"}
SOURCE_FIELDS = {"url", "name", "user", "org"}
"""What an entry of `.eval_results` may have, by the documentation of the Hub."""

METRICS = {
    "mean accuracy": "accuracy",
    "clean accuracy": "accuracy",
    "unnormalised error": "error_rate",
    "mean accuracy drop": "accuracy_drop",
    "robustness R": "robustness",
    "mCE": "mce",
    "relative mCE": "relative_mce",
}
"""By the name of a score, what its type is called in a model-index."""


@dataclass(frozen=True)
class HubSettings:
    """Where scores belong on the Hub.

    `dataset_id` is the repository of the images there, such as `uoft-cs/cifar10`; `task_id` what its leaderboard calls
    the task, by default the recipe's name; `publish_as` the name of the model. `source_url` links to where the
    evaluation is published.
    """

    dataset_id: str
    task_id: str | None = None
    publish_as: str | None = None
    source_url: str | None = None
    source_name: str | None = None

    def __post_init__(self) -> None:
        check_dataset_id(self.dataset_id)
        for key in ("task_id", "publish_as"):
            if getattr(self, key) is not None and not str(getattr(self, key)).strip():
                raise BrittleError(f"`{key}` is empty; leave it out, or name it")
        if self.source_name and not self.source_url:
            raise BrittleError(
                f"source_name {self.source_name!r} needs a `source_url`: the Hub refuses a source without a link"
            )
        if self.source_url is not None and not re.match(r"https?://[^\s/]+", self.source_url):
            raise BrittleError(f"`source_url` is an address that begins with https://, got {self.source_url!r}")


def check_dataset_id(dataset_id: object) -> str:
    """Raise unless this may be a dataset's repository on the Hub."""
    parts = dataset_id.split("/") if isinstance(dataset_id, str) else []
    if not parts or len(parts) > 2 or not all(PART.fullmatch(part) and ".." not in part for part in parts):
        raise BrittleError(
            f"`dataset_id` is the repository of a dataset on the Hub, such as 'uoft-cs/cifar10', got {dataset_id!r}"
        )
    return str(dataset_id)


def model_index(scored: Sequence[Scored], settings: HubSettings) -> dict[str, Any]:
    """The metadata of a model card with all scores of a model, in percent; their intervals are in `args`."""
    results = []
    for one in scored:
        metrics = [_metric(estimate, one) for estimate in one.scores.all()]
        images = {"type": settings.dataset_id, "name": f"{title_of(one.recipe)} of {one.run.data or 'images'}"}
        recipe = {"recipe": one.recipe.name, "recipe_hash": one.recipe.hash, "images": one.images}
        result: dict[str, Any] = {
            "task": {"type": TASK, "name": "Image classification under corruptions"},
            "dataset": {**images, "config": one.recipe.name, "args": recipe},
            "metrics": metrics,
        }
        if settings.source_url:
            result["source"] = {"name": settings.source_name or "brittle", "url": settings.source_url}
        results.append(result)
    name = settings.publish_as or scored[0].scores.model
    return {"model-index": [{"name": name, "results": results}]}


def _metric(estimate: Estimate, one: Scored) -> dict[str, Any]:
    scale = 100 if estimate.percent else 1
    kind = METRICS.get(estimate.name, re.sub(r"\W+", "_", estimate.name).strip("_").lower())
    name = estimate.name + (" (%)" if estimate.percent else "")
    if "mCE" in estimate.name and one.scores.reference:
        name = f"{name}, relative to {one.scores.reference}"
    about: dict[str, Any] = {}
    if estimate.low is not None and estimate.high is not None:
        ends = [round(scale * end, 2) for end in (estimate.low, estimate.high)]
        about = {"low": ends[0], "high": ends[1], "level": estimate.level, "interval": "over images"}
    metric: dict[str, Any] = {"type": kind, "value": round(scale * estimate.value, 2), "name": name}
    return {**metric, **({"args": about} if about else {})}


def eval_results(one: Scored, settings: HubSettings) -> list[dict[str, Any]]:
    """The entry of a `.eval_results` file: the mean accuracy in percent, and in `notes` what it is."""
    mean = one.scores.mean_accuracy
    assert mean.low is not None
    assert mean.high is not None
    notes = (
        f"Mean accuracy in percent over {len(one.recipe.entries)} corruptions ({len(one.recipe)} cells), 95 % interval "
        f"[{100 * mean.low:.2f}, {100 * mean.high:.2f}] over {one.images:,} images. brittle "
        f"{versions(one.results.runs) or 'of unknown version'}, recipe {one.recipe.name} {one.recipe.hash}."
    )
    entry: dict[str, Any] = {
        "dataset": {"id": settings.dataset_id, "task_id": settings.task_id or one.recipe.name},
        "value": round(100 * mean.value, 2),
    }
    day = one.call.started if one.call is not None else last_day(one.results.runs)
    entry |= {"date": day} if day else {}
    if settings.source_url:
        entry["source"] = {"url": settings.source_url, "name": settings.source_name or "brittle"}
    return [{**entry, "notes": notes}]


def check_eval_results(data: object, where: str = "the file of evaluation results") -> None:
    """Raise in one sentence if the Hub would refuse these entries of a `.eval_results` file.

    >>> from brittle.publish import check_eval_results
    >>> check_eval_results([{"dataset": {"id": "uoft-cs/cifar10", "task_id": "cifar10-c"}, "value": 76.4}])
    """
    if not isinstance(data, list) or not data:
        raise BrittleError(f"{where} is a list of at least one result, got {_short(data)}")
    for number, entry in enumerate(data, start=1):
        place = f"result {number} of {where}"
        if not isinstance(entry, Mapping):
            raise BrittleError(f"{place} is a mapping with 'dataset' and 'value', got {_short(entry)}")
        _check_fields(entry, FIELDS, ("dataset", "value"), place)
        images = entry["dataset"]
        if not isinstance(images, Mapping):
            raise BrittleError(f"the dataset of {place} is a mapping with 'id' and 'task_id', got {_short(images)}")
        _check_fields(images, DATASET_FIELDS, ("id", "task_id"), f"the dataset of {place}")
        check_dataset_id(images["id"])
        if isinstance(entry["value"], bool) or not isinstance(entry["value"], int | float):
            raise BrittleError(f"the value of {place} is a number, got {_short(entry['value'])}")
        source = entry.get("source")
        if source is not None:
            if not isinstance(source, Mapping):
                raise BrittleError(f"the source of {place} is a mapping with a 'url', got {_short(source)}")
            _check_fields(source, SOURCE_FIELDS, ("url",), f"the source of {place}")
        _check_date(entry.get("date"), place)
    if find_spec("huggingface_hub") is not None:
        hub = require("huggingface_hub")
        if hasattr(hub, "parse_eval_result_entries"):
            _by_hub(lambda: hub.parse_eval_result_entries(data), where)


def _check_date(day: object, place: str) -> None:
    if day is None or isinstance(day, date):
        return
    try:
        datetime.fromisoformat(str(day))
    except ValueError as error:
        raise BrittleError(f"the date of {place} is a day or time such as 2026-01-31, got {_short(day)}") from error


def check_model_index(data: object, where: str = "the model card") -> None:
    """Raise in one sentence if the Hub would refuse this metadata of a model card; checked with huggingface_hub."""
    if not isinstance(data, Mapping) or not isinstance(data.get("model-index"), list) or not data["model-index"]:
        raise BrittleError(f"the metadata of {where} has a list 'model-index', got {_short(data)}")
    if find_spec("huggingface_hub") is not None:
        cards = require("huggingface_hub.repocard_data")
        _by_hub(lambda: cards.model_index_to_eval_results(data["model-index"]), where)


def _by_hub(check: Any, where: str) -> None:
    try:
        check()
    except Exception as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BrittleError(f"the Hub would refuse {where} ({what})") from error


def _check_fields(given: Mapping[Any, Any], known: set[str], needed: Sequence[str], place: str) -> None:
    missing = [name for name in needed if given.get(name) in (None, "")]
    unknown = [str(name) for name in given if name not in known]
    if missing:
        raise BrittleError(f"{place} has no {missing[0]!r}, which the Hub requires")
    if unknown:
        raise BrittleError(
            f"{place} has {unknown[0]!r}, which the Hub does not know; it knows {', '.join(sorted(known))}"
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def write_hub(
    results: Results,
    folder: str | Path,
    settings: HubSettings | str,
    benchmark: str | Benchmark | None = None,
    *,
    model_name: str | None = None,
) -> list[Path]:
    """Write a model's scores for its repository on the Hub, and give the paths: a card, and a file for each benchmark.

    >>> import brittle, tempfile
    >>> from brittle.publish import write_hub
    >>> recipe = brittle.load_benchmark("cifar10-c").cut(["fog"], severities=[5])
    >>> results = brittle.evaluate("demo:augmix", brittle.load_dataset("demo").limited(20), recipe)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_hub(results, folder, "uoft-cs/cifar10")]
    ['README.md', 'cifar10-c-custom.yaml']

    The folder is a clone of the repository, or a new one. A card that is there keeps its text and its other metadata,
    which huggingface_hub reads; scores of the same name on the same dataset and recipe are replaced. Nothing is sent.
    """
    place = folder_for(folder)
    settings = HubSettings(settings) if isinstance(settings, str) else settings
    scored = scored_model(results, benchmark, model_name)
    metadata = model_index(scored, settings)
    check_model_index(metadata)
    card = place / CARD
    texts = {card: _merged(card, metadata) if card.is_file() else _new_card(scored, metadata)}
    for one in scored:
        entries = eval_results(one, settings)
        path = place / RESULTS / f"{file_name(one.recipe.name)}.yaml"
        check_eval_results(entries, str(path.name))
        texts[path] = yaml_text(entries)
    return [write_text(path, text) for path, text in texts.items()]


def _new_card(scored: Sequence[Scored], metadata: Mapping[str, Any]) -> str:
    """A card with the metadata and a table for people."""
    name = metadata["model-index"][0]["name"]
    head = yaml_text({"pipeline_tag": TASK, "tags": ["robustness", "brittle"], **metadata})
    lines = [f"# {escape_markdown(name)}", "", "## Robustness", ""]
    lines += ["| benchmark | images | metric | value | 95 % interval |", "|---|--:|---|--:|--:|"]
    for one in scored:
        for estimate in one.scores.all():
            text, _, ends = str(estimate).removeprefix(f"{estimate.name} ").partition(" [")
            row = (title_of(one.recipe), f"{one.images:,}", estimate.name, text, ends.rstrip("]"))
            lines.append("| " + " | ".join(escape_markdown(cell) for cell in row) + " |")
    hashes = ", ".join(f"{one.recipe.name} {one.recipe.hash}" for one in scored)
    made = versions(scored[0].results.runs)
    lines += [
        "",
        f"Measured with brittle {escape_markdown(made)}; recipes {escape_markdown(hashes)}. Intervals are over images.",
        "",
    ]
    return f"---\n{head}---\n\n" + "\n".join(lines)


def _merged(card: Path, metadata: Mapping[str, Any]) -> str:
    """The card that is there, with the new scores in its metadata."""
    try:
        text = card.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BrittleError(f"{str(card)!r} is no text in UTF-8; save it as that, or write to another folder") from error
    if not text.lstrip().startswith("---"):
        return f"---\n{yaml_text(metadata)}---\n\n{text}"
    hub = require("huggingface_hub")
    cards = require("huggingface_hub.repocard_data")
    try:
        known = hub.ModelCard(text)
        before = list(known.data.eval_results or [])
    except Exception as error:
        what = " ".join(str(error).split())
        raise BrittleError(
            f"the metadata at the top of {str(card)!r} is none that the Hub takes ({what}); mend it, or write to "
            "another folder"
        ) from error
    name, ours = cards.model_index_to_eval_results(metadata["model-index"])
    kept = [old for old in before if not any(_same(old, new) for new in ours)]
    known.data.eval_results = kept + ours
    known.data.model_name = getattr(known.data, "model_name", None) or name
    return str(known)


def _same(old: Any, new: Any) -> bool:
    """Whether two results of a card are the same metric on the same dataset and recipe."""
    keys = ("task_type", "dataset_type", "dataset_config", "metric_type", "metric_name")
    return all(getattr(old, key) == getattr(new, key) for key in keys)
