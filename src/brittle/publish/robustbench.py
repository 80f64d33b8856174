"""An entry for the corruption leaderboards of RobustBench: the JSON of its model_info folder."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle._texts import read_toml_file
from brittle.benchmarks import Benchmark, Cell, load_benchmark
from brittle.datasets import CIFAR10
from brittle.datasets.cifar import CIFAR100
from brittle.datasets.classes import imagenet_names
from brittle.evaluation import Results, comparable
from brittle.publish.scored import Scored, folder_for, scored_model, versions, write_text

RECIPES = {"cifar10": ("cifar10-c",), "cifar100": ("cifar10-c",), "imagenet": ("imagenet-c", "imagenet-c-released")}
"""By the dataset of RobustBench, the recipes that draw its corruptions."""

IMAGES = {"cifar10": 10_000, "cifar100": 10_000, "imagenet": 5_000}
"""The number of images that RobustBench evaluates on; of ImageNet it takes a part of the validation set."""

MODEL_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{2,80}")


@dataclass(frozen=True)
class PaperEntry:
    """What an entry says of the paper and its network; what is not known yet stays empty, to be filled in by hand."""

    link: str | None = None
    name: str | None = None
    authors: str | None = None
    additional_data: bool | None = None
    number_forward_passes: int | None = 1
    venue: str | None = None
    architecture: str | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            kind = {"additional_data": bool, "number_forward_passes": int}.get(one.name, str)
            right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
            if value is not None and not right:
                what = {bool: "true or false", int: "a whole number", str: "a text"}[kind]
                raise BrittleError(f"{one.name} of an entry of RobustBench is {what}, got {value!r}")
        if self.link is not None and not re.match(r"https?://", self.link):
            raise BrittleError(f"link of an entry of RobustBench is an address of the paper, got {self.link!r}")

    @property
    def missing(self) -> list[str]:
        """The fields that are still empty."""
        return [name for name, value in asdict(self).items() if value is None]


def load_paper_entry(path: str | Path) -> PaperEntry:
    """What a TOML file says of the paper: link, name (its title), authors, venue, architecture, additional_data."""
    known = read_toml_file(Path(path), "a paper")
    names = [one.name for one in fields(PaperEntry)]
    for key in known:
        if key not in names:
            raise BrittleError(f"{str(path)!r} has {key!r}, which no entry has; {did_you_mean(key, names)}")
    return PaperEntry(**known)


def robustbench_info(one: Scored, paper: PaperEntry | None = None) -> dict[str, Any]:
    """The fields of an entry, in the order of RobustBench; accuracies are texts in percent with two digits.

    Its footnote says what RobustBench's own evaluation does otherwise, so that nobody takes one for the other.
    """
    paper = paper or PaperEntry()
    dataset = _dataset(one)
    clean = one.scores.clean
    if clean is None:
        raise BrittleError("RobustBench also lists the accuracy on clean images, which were not run; run them too")
    info: dict[str, Any] = {
        "link": paper.link,
        "name": paper.name,
        "authors": paper.authors,
        "additional_data": paper.additional_data,
        "number_forward_passes": paper.number_forward_passes,
        "dataset": dataset,
        "venue": paper.venue,
        "architecture": paper.architecture,
        "eps": None,
        "clean_acc": _percent(clean.value),
        "reported": "",
        "corruptions_acc": _percent(one.scores.mean_accuracy.value),
    }
    if dataset == "imagenet" and one.scores.mce is not None and comparable(one.results, one.recipe).baseline:
        info["corruptions_mce"] = _percent(one.scores.mce.value)
    return {**info, "footnote": _footnote(one, dataset)}


def _percent(value: float) -> str:
    return str(round(100 * value, 2))


def _dataset(one: Scored) -> str:
    """The dataset of RobustBench that a run is on, by its classes and its recipe."""
    classes = one.run.classes
    known = {"cifar10": CIFAR10, "cifar100": CIFAR100, "imagenet": imagenet_names()}
    dataset = next((name for name, names in known.items() if classes == names), None)
    if dataset is None:
        raise BrittleError(
            f"RobustBench lists {', '.join(known)}, and these are {len(classes) or 'unnamed'} other classes of "
            f"{one.run.data!r}"
        )
    names = RECIPES[dataset]
    if not any(one.recipe.draws_like(load_benchmark(name)) for name in names):
        raise BrittleError(
            f"RobustBench lists {dataset} under {' or '.join(names)}, and {one.recipe.name!r} draws another test; "
            f"run -b {names[0]} as it is"
        )
    return dataset


def _footnote(one: Scored, dataset: str) -> str:
    """How these numbers differ from those of RobustBench's own evaluation."""
    mean = one.scores.mean_accuracy
    assert mean.low is not None
    assert mean.high is not None
    stored = one.run.stored is not None and not any(c.written_by_brittle for run in one.results.runs for c in run.calls)
    drawn = "the released files" if stored else "corruptions drawn by brittle, not the released files"
    part = "" if one.images == IMAGES[dataset] else f" (RobustBench takes {IMAGES[dataset]:,})"
    return (
        f"Evaluated with brittle {versions(one.results.runs)} on {one.images:,} images{part}, {drawn}, recipe "
        f"{one.recipe.name} {one.recipe.hash}; robust accuracy {100 * mean.value:.2f} % "
        f"[{100 * mean.low:.2f}, {100 * mean.high:.2f}]."
    )


def write_robustbench(
    results: Results,
    folder: str | Path,
    publish_as: str,
    benchmark: str | Benchmark | None = None,
    *,
    model_name: str | None = None,
    paper: PaperEntry | None = None,
) -> list[Path]:
    """Write an entry as `DATASET/corruptions/NAME.json` below a model_info folder, and give the paths.

    `publish_as`, the NAME, is made of first author, year and first word of the title, such as Hendrycks2020AugMix. The
    accuracy of every cell goes to `unaggregated_NAME.csv`, with the heads of RobustBench's own
    `unaggregated_results.csv`. RobustBench takes an entry after evaluating the model itself.
    """
    if not MODEL_ID.fullmatch(publish_as):
        raise BrittleError(
            "RobustBench names a model by first author, year and first word of the title, such as Hendrycks2020AugMix, "
            f"got {publish_as!r}"
        )
    place = folder_for(folder)
    scored = scored_model(results, benchmark, model_name)
    if len(scored) > 1:
        names = ", ".join(one.recipe.name for one in scored)
        raise BrittleError(
            f"an entry of RobustBench is of one benchmark, and these runs hold {names}; choose its `benchmark`"
        )
    info = robustbench_info(scored[0], paper)
    below = place / info["dataset"] / "corruptions"
    return [
        write_text(below / f"{publish_as}.json", json.dumps(info, indent=2, ensure_ascii=False) + "\n"),
        write_text(below / f"unaggregated_{publish_as}.csv", _cells(scored[0], publish_as)),
    ]


def _cells(one: Scored, model_id: str) -> str:
    """The accuracy of every cell, as RobustBench keeps it: two lines of heads and one of the model."""
    cells: list[Cell] = one.recipe.cells()
    accuracy = one.results.matrix(one.scores.model, cells).values.mean(axis=0)
    heads = [one.recipe.entry(cell.corruption).corruption.name for cell in cells]
    lines = (["", *heads], ["", *(f"{cell.severity:g}" for cell in cells)], [model_id, *map(repr, accuracy.tolist())])
    return "\n".join(",".join(line) for line in lines) + "\n"
