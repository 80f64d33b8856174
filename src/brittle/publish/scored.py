"""What is published: one model on the benchmarks of its runs, with its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from brittle._errors import BrittleError, did_you_mean
from brittle._io import atomic_write, make_folder
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.evaluation import Call, KnownModel, Results, Run, Scores, scores
from brittle.report import page_templates

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Scored:
    """One model on one benchmark: its scores, and the runs that they are made of."""

    results: Results
    recipe: Benchmark
    scores: Scores

    @property
    def run(self) -> Run:
        """The run that holds the recipe."""
        runs = self.results.runs
        return next((run for run in runs if self.recipe.hash in run.recipes), runs[0])

    @property
    def call(self) -> Call | None:
        """The last call that worked on the benchmark."""
        calls = [call for run in self.results.runs for call in run.calls if call.recipe == self.recipe.hash]
        return max(calls, key=lambda call: call.started, default=None)

    @property
    def known(self) -> KnownModel | None:
        """What the run knows of the model."""
        name = self.scores.model
        return next((model for run in self.results.runs for model in run.models if model.name == name), None)

    @property
    def images(self) -> int:
        """The number of images that count."""
        return self.scores.mean_accuracy.n or 0


def find_recipe(results: Results, benchmark: str | Benchmark | None = None) -> Benchmark:
    """What `Results.find_benchmark` finds; a .toml file must be a recipe of these results."""
    if not isinstance(benchmark, str) or not benchmark.endswith(".toml"):
        return results.find_benchmark(benchmark)
    recipe, complete = load_benchmark(benchmark), results.benchmarks()
    if recipe.hash not in {known.hash for known in complete}:
        names = ", ".join(f"{known.name!r} ({known.hash})" for known in complete) or "no whole benchmark"
        raise BrittleError(f"these results are not of the recipe in {benchmark!r} ({recipe.hash}); they are of {names}")
    return recipe


def chosen_benchmarks(results: Results, benchmark: str | Benchmark | None) -> list[Benchmark]:
    """The benchmark that was asked for, or all that some model was run through as a whole."""
    if benchmark is not None:
        return [find_recipe(results, benchmark)]
    return results.benchmarks() or [results.find_benchmark()]


def chosen_model(results: Results, model: str | None, recipes: Sequence[Benchmark]) -> str:
    """The model that was asked for, or the only one that was run through one of the benchmarks."""
    able = [name for name in results.models if any(name in results.models_with(each.cells()) for each in recipes)]
    named = " or ".join(repr(recipe.name) for recipe in recipes)
    if model is not None and model not in able:
        if model in results.models:
            raise BrittleError(f"{model!r} was not run through all of {named}; run it again to fill what is missing")
        raise BrittleError(f"these results have no model {model!r}; {did_you_mean(model, results.models)}")
    if model is None and len(able) != 1:
        listed = ", ".join(able)
        raise BrittleError(
            f"these results are of {len(able)} models, and one is published at a time; choose a `model_name`: {listed}"
        )
    return able[0] if model is None else model


def scored_model(results: Results, benchmark: str | Benchmark | None = None, model: str | None = None) -> list[Scored]:
    """One model on each benchmark that it was run through as a whole."""
    recipes = chosen_benchmarks(results, benchmark)
    name = chosen_model(results, model, recipes)
    made = []
    for recipe in recipes:
        if name in results.models_with(recipe.cells()):
            [score] = scores(results, recipe, models=[name])
            made.append(Scored(results, recipe, score))
    return made


def last_day(runs: Sequence[Run]) -> str:
    """The day of the last call, as 2026-11-18, so that the same results give the same bytes; empty if it is unknown."""
    last = max((call.started for run in runs for call in run.calls if call.started), default="")
    return datetime.fromisoformat(last).date().isoformat() if last else ""


def versions(runs: Sequence[Run]) -> str:
    """The versions of brittle that made some runs."""
    return ", ".join(sorted({c.versions["brittle"] for run in runs for c in run.calls if "brittle" in c.versions}))


def title_of(recipe: Benchmark) -> str:
    """What a benchmark is called on a page."""
    return recipe.title.partition(":")[0].strip() or recipe.name


def rendered(template: str, **given: object) -> str:
    """A page of this room, from its template."""
    return _template(template).render(**given) + "\n"


@cache
def _template(name: str) -> jinja2.Template:
    """Compiled once, as are those of the report that it extends."""
    return page_templates().from_string((HERE / "templates" / name).read_text("utf-8"))


def write_text(path: Path, text: str) -> Path:
    """Write a file, and the folder that it is in."""
    make_folder(path.parent)
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return path


def folder_for(folder: str | Path) -> Path:
    """A folder to write to, which must not be a file."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise BrittleError(f"{str(path)!r} is a file; the output is a folder")
    return path


def escape_markdown(text: str) -> str:
    """Text that stays text in a cell of a Markdown table."""
    for mark in ("\\", "|", "*", "_", "`", "<", "[", "]", "#"):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
