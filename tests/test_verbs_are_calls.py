"""Whatever a verb of the command line does, Python can: each verb calls public functions that do its work."""

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from brittle.cli import app

CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "agree_verb": (("design.agreement",),),
    "balance_verb": (("design.single_scores",),),
    "balanced_verb": (("design.balanced",),),
    "calibrate_verb": (("design.calibrate_all",),),
    "categories_verb": (("design.categories",),),
    "check_verb": (("evaluation.check_rules",),),
    "compare_verb": (("evaluation.scores", "evaluation.compare_all"),),
    "correlate_verb": (("design.correlation_table",),),
    "corrupt_verb": (("datasets.write_folders", "datasets.write_arrays"),),
    "coverage_verb": (("design.coverage",),),
    "demo_verb": (
        ("evaluation.evaluate", "report.write_report"),
        ("sliders.train_sliders", "sliders.sample_sliders", "sliders.image_scores", "report.write_report"),
    ),
    "dissimilar_verb": (("design.dissimilar",),),
    "distance_study_verb": (("design.scheme_models", "design.scheme_points", "design.scheme_correlations"),),
    "distance_verb": (("distance.distances_until",),),
    "explore_verb": (("explorer.explore",),),
    "failure_points_verb": (("evaluation.search_failure_points",),),
    "fetch_verb": (("datasets.fetch_cifar10",),),
    "filter_verb": (("sliders.ooc_filter",),),
    "import_verb": (("evaluation.import_predictions",),),
    "leak_verb": (("distance.leak_check",),),
    "list_verb": (("corruptions.list_corruptions",),),
    "measure_verb": (("sliders.shift_curves",),),
    "mixing_study_verb": (("design.mixing_points",),),
    "non_overlapping_verb": (("design.non_overlapping",),),
    "overlap_verb": (("design.measure_overlap",),),
    "probe_verb": (("evaluation.probe",),),
    "report_verb": (("report.write_report", "report.write_failure_report"),),
    "run_verb": (("evaluation.evaluate",),),
    "sample_verb": (("sliders.sample_sliders",),),
    "show_verb": (("report.contact_sheet",),),
    "train_verb": (("training.train", "models.save_trained"), ("sliders.train_sliders",)),
}
"""By the name of a verb's function: the public functions that do its work. Verbs of one name have one row each."""


def verbs(group: typer.Typer) -> Iterator[Callable[..., Any]]:
    """The functions of all commands, also of those in groups."""
    for command in group.registered_commands:
        assert command.callback is not None
        yield command.callback
    for below in group.registered_groups:
        assert below.typer_instance is not None
        yield from verbs(below.typer_instance)


VERBS = {f"{verb.__module__.removeprefix('brittle.cli.')}: {verb.__name__}": verb for verb in verbs(app)}


def called(source: str) -> set[str]:
    """The names of all functions that some code calls."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def fits(row: tuple[str, ...], verb: Callable[..., Any]) -> bool:
    """Whether the module of a verb calls all functions of a row."""
    module = inspect.getmodule(verb)
    assert module is not None
    return {path.rpartition(".")[2] for path in row} <= called(inspect.getsource(module))


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_verb_calls_the_public_functions_that_do_its_work(verb: Callable[..., Any]) -> None:
    rows = CALLS.get(verb.__name__)
    assert rows, f"name the public functions that {verb.__name__} of {verb.__module__} calls"
    assert any(fits(row, verb) for row in rows), f"{verb.__module__} calls none of {rows}"


def test_every_row_of_the_table_has_a_verb() -> None:
    for name, rows in CALLS.items():
        mine = [verb for verb in VERBS.values() if verb.__name__ == name]
        assert all(any(fits(row, verb) for verb in mine) for row in rows), name


@pytest.mark.parametrize("path", sorted({path for rows in CALLS.values() for row in rows for path in row}))
def test_the_function_is_public(path: str) -> None:
    room, _, name = path.partition(".")
    module = importlib.import_module(f"brittle.{room}")
    assert name in module.__all__
    function = getattr(module, name)
    assert callable(function)
    assert inspect.getdoc(function)


def test_a_call_that_is_not_made_is_found() -> None:
    verb = next(verb for verb in VERBS.values() if verb.__name__ == "run_verb")
    assert fits(("evaluation.evaluate",), verb)
    assert not fits(("design.measure_overlap",), verb)
