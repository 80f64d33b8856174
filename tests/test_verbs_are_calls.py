"""Whatever a verb of the command line does, Python can: each verb calls public functions, with the same names.

The calls are read from the syntax tree of the verb's function, and followed through the helpers of the command line
that it calls. A helper does not count as a call of the function that it is named after.
"""

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import brittle
from brittle.cli import app

DATA = ("datasets.load_dataset",)
MODELS = ("models.load_models",)
BENCHMARK = ("benchmarks.choose_benchmark",)
TRAININGS = (
    "design.training_plan",
    "datasets.load_training_set",
    "datasets.load_test_set",
    "models.find_weights",
)
DISTANCES = (
    "distance.feature_images",
    "models.load_model",
    "datasets.load_training_set",
    "training.augmentation.schemes_by_name",
    *BENCHMARK,
)
PIPELINE = ("sliders.choose_pipeline",)

CALLS: dict[str, tuple[str, ...]] = {
    "augment distance": ("distance.measure_distances", *DISTANCES),
    "augment leak": ("distance.measure_leak", "distance.leak_scores", "evaluation.load_results", *DISTANCES),
    "augment train": (
        "training.train_network",
        "training.training_config",
        "datasets.load_training_set",
        "datasets.load_mixed_set",
    ),
    "check": (
        "evaluation.check_rules",
        "evaluation.load_rules",
        "evaluation.load_evidence",
        "evaluation.rules_hold",
        "evaluation.junit_xml",
        "evaluation.markdown_summary",
    ),
    "compare": (
        "evaluation.load_results",
        "evaluation.scores",
        "evaluation.calibration_by_cell",
        "evaluation.calibration_scores",
        "evaluation.calibration_table",
        "evaluation.compare_all",
        "evaluation.per_corruption_table",
        "evaluation.rank_table",
        "evaluation.printed_table",
        "evaluation.format_table",
        "evaluation.slide_tables",
        "evaluation.class_count_tables",
        "evaluation.clean_accuracies",
        "evaluation.nuisance_table",
    ),
    "corrupt": ("datasets.write_corrupted", "datasets.corrupt_picture", "datasets.corrupt_values", *BENCHMARK),
    "demo": ("evaluation.run_demo", "report.write_report"),
    "design agree": ("design.agreement", "design.load_categories", "design.load_drops"),
    "design balance": ("design.folder_balance",),
    "design build balanced": (
        "design.balanced",
        "design.built_benchmark",
        "design.least_overlapping",
        "design.load_categories",
        "design.load_overlap",
    ),
    "design build dissimilar": (
        "design.scan_runs",
        "design.dissimilar",
        "design.dissimilar_benchmark",
        "design.repeated_images",
        "design.check_search",
        "benchmarks.load_benchmark",
        "datasets.load_training_set",
        *MODELS,
        *DATA,
    ),
    "design build non-overlapping": (
        "design.non_overlapping",
        "design.built_benchmark",
        "design.load_overlap",
        "design.sweep",
    ),
    "design calibrate": (
        "design.calibrate_all",
        "design.calibrated",
        "design.load_candidates",
        "models.load_model",
        *DATA,
    ),
    "design categories": ("design.cluster_corruptions", "design.load_overlap"),
    "design correlate": ("design.paired_drops", "design.benchmark_groups", "design.correlation_table"),
    "design coverage": ("design.coverage", "design.named_members", "design.load_overlap"),
    "design overlap": (
        "design.measure_overlap",
        "design.overlap_with_intervals",
        "design.load_candidates",
        "design.published_overlap",
        *TRAININGS,
    ),
    "doctor": ("evaluation.check_run",),
    "explore": ("explorer.explore",),
    "export evidence": ("publish.write_evidence", "evaluation.load_results"),
    "export fiftyone": ("publish.write_fiftyone", "evaluation.load_results"),
    "export hf": ("publish.write_hub", "publish.HubSettings", "evaluation.load_results"),
    "export robustbench": ("publish.write_robustbench", "publish.load_paper_entry", "evaluation.load_results"),
    "failure-points": (
        "evaluation.search_failure_points",
        "evaluation.write_failure_points",
        *MODELS,
        *DATA,
        *BENCHMARK,
    ),
    "fetch": ("datasets.fetch_dataset",),
    "import": ("evaluation.import_predictions", "benchmarks.load_benchmark", *DATA),
    "leaderboard": ("publish.write_leaderboard", "evaluation.load_results"),
    "list": ("benchmarks.find_corruptions",),
    "probe": ("evaluation.probe_photo", *MODELS, *BENCHMARK),
    "report": ("report.write_report", "report.write_failure_report", "evaluation.load_results"),
    "reproduce": ("papers.reproduce", "papers.list_experiments", "papers.read_findings"),
    "run": (
        "evaluation.evaluate",
        "evaluation.load_callback",
        "datasets.stored_set",
        *MODELS,
        *DATA,
        *BENCHMARK,
    ),
    "show": ("report.corruption_sheet", "report.sheet_rows", "datasets.load_photo", "datasets.save_picture"),
    "slide demo": (
        "sliders.load_demo_pipeline",
        "sliders.find_classes",
        "sliders.find_shifts",
        "sliders.train_sliders",
        "sliders.training_settings",
        "sliders.sample_sliders",
        "sliders.image_scores",
        "sliders.ooc_filter",
        "evaluation.evaluate_stored",
        "report.write_report",
    ),
    "slide filter": (
        "sliders.ooc_filter",
        "sliders.choose_thresholds",
        "sliders.load_thresholds",
        "sliders.read_labels",
        "sliders.read_scores",
        "sliders.score_slides",
        "sliders.validated_filters",
        "sliders.filter_roc",
    ),
    "slide label": (
        "sliders.choose_samples",
        "sliders.write_labelling_page",
        "sliders.read_annotations",
        "sliders.merged_labels",
        "sliders.annotator_agreement",
        "sliders.keep_labelled",
        "sliders.labelled_accuracy",
    ),
    "slide measure": ("sliders.shift_curves", "sliders.score_slides", "sliders.with_baseline"),
    "slide sample": (
        "sliders.sample_sliders",
        "sliders.pick_sliders",
        "sliders.parse_seeds",
        "sliders.sampling_settings",
        *PIPELINE,
    ),
    "slide token": ("sliders.train_tokens", *DATA, *PIPELINE),
    "slide train": ("sliders.train_sliders", "sliders.find_shifts", "sliders.training_settings", *PIPELINE),
}
"""By the verb: the public functions that do its work, and that take what its options name."""

PRINTED = {
    "json",
    "figure",
    "picture",
    "report",
    "page",
    "junit",
    "markdown",
    "format",
    "rank_by",
    "title",
    "sweep_table",
}
"""Options of how a result is printed or into which file it is written, for which Python has the object itself."""

DIFFERENT = {
    "output": "where a result goes is the positional folder or path of the function that writes it",
    "limit": "a method of the dataset, `Dataset.limited`",
    "model": "the first argument of `load_model`, its spec",
    "data": "the first argument of `load_dataset`, its spec",
    "class": "a word of Python; classes",
    "lr": "learning_rate, as the settings of trainings are called",
    "partial_as": "partial, of the functions of sliders, since --partial means something else",
    "seed": "the seed of the recipe or of the images, of the same name there",
    "partial": "an option of the readers of `load_dataset`",
    "set": "any keyword of `training_config`, or settings of `training_plan`",
    "feature_images": "the count of the function of that name",
}
"""Options of many verbs whose keyword has another name in Python, and why."""

DIFFERENT_IN = {
    "design overlap": {"from_table": "which function is called: `published_overlap`"},
    "explore": {
        "things": "runs and pictures, told apart by what they are",
        "no_browser": "open_browser=False",
    },
    "list": {"image_size": "the side for `Corruption.parameters`"},
    "reproduce": {"list": "which function is called: `list_experiments`"},
    "run": {"difficulty": "of `SequenceBenchmark.cut`"},
    "slide label": {"slides": "the path of `cns_bench`, whose images are labelled"},
    "slide demo": {"demo_pipeline": "folder, of `load_demo_pipeline`"},
}
"""Options of one verb whose keyword has another name, or that choose a function; the table may only shrink."""


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All verbs, also those in groups, with what Typer made of them."""
    command = typer.main.get_command(app) if command is None else command
    parts = getattr(command, "commands", {})
    for name, part in parts.items():
        yield from commands(part, (*path, name))
    if not parts:
        yield " ".join(path), command


VERBS = dict(commands())
SOURCE = Path(brittle.__file__).parent
MODULES = {
    ".".join(("brittle", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(module)))


def imported(node: ast.AST) -> dict[str, tuple[str, str | None]]:
    """What each imported name of some code is: (module, name), or (module, None) for a module."""
    names: dict[str, tuple[str, str | None]] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            names |= {(alias.asname or alias.name).partition(".")[0]: (alias.name, None) for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and part.module:
            names |= {alias.asname or alias.name: (part.module, alias.name) for alias in part.names}
    return names


def definitions(module: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module, and the methods of its classes, by their names."""
    functions = {node.name: node for node in tree(module).body if isinstance(node, ast.FunctionDef)}
    classes = [node for node in tree(module).body if isinstance(node, ast.ClassDef)]
    methods = {node.name: node for kind in classes for node in kind.body if isinstance(node, ast.FunctionDef)}
    return {**methods, **functions}


def room_of(module: str, name: str) -> str | None:
    """`room.name` of a function of the library, by its public place."""
    if not module.startswith("brittle") or module.startswith("brittle.cli"):
        return None
    if module == "brittle":
        module = getattr(brittle, name).__module__
    parts = module.split(".")[1:]
    return ".".join([*(parts[:2] if parts[:2] == ["training", "augmentation"] else parts[:1]), name])


def calls(module: str, name: str, seen: set[tuple[str, str]] | None = None) -> set[str]:
    """The public functions that a function of the command line calls, itself or through helpers there."""
    seen = set() if seen is None else seen
    node = definitions(module).get(name)
    if node is None or (module, name) in seen:
        return set()
    seen.add((module, name))
    names = {**imported(tree(module)), **imported(node)}
    found: set[str] = set()
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        target = call.func
        if isinstance(target, ast.Name):
            source, original = names.get(target.id, (module, target.id))
            original = original or target.id
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in names:
            source, part_name = names[target.value.id]
            source, original = (source if part_name is None else f"{source}.{part_name}"), target.attr
            if source not in MODULES:  # a method of an imported object
                continue
        elif isinstance(target, ast.Attribute):  # a method, perhaps of a group of options
            for source in {module, *(known for known, _ in names.values() if known.startswith("brittle.cli"))}:
                found |= calls(source, target.attr, seen)
            continue
        else:
            continue
        if source.startswith("brittle.cli"):
            found |= calls(source, original, seen)
        elif room_of(source, original):
            found.add(room_of(source, original) or "")
    return found


def public(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    room = importlib.import_module(f"brittle.{module}")
    assert name in room.__all__, path
    function: Callable[..., Any] = getattr(room, name)
    return function


def called(verb: str) -> set[str]:
    function = inspect.unwrap(VERBS[verb].callback)
    return calls(function.__module__, function.__name__)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_calls_the_public_functions_that_do_its_work(verb: str) -> None:
    assert verb in CALLS, f"name the public functions that `brittle {verb}` calls"
    assert set(CALLS[verb]) <= called(verb), set(CALLS[verb]) - called(verb)


def keyword_names(part: Any) -> set[str]:
    """The keywords that an option may stand for: its long name or letter, a switch without `no`, the plural of many.

    So --class, which cannot be a name in Python, is `classes`, and -n and -k are the n and k of the paper.
    """
    names = {flag.lstrip("-").replace("-", "_") for flag in part.opts}
    names |= {name.removeprefix("no_") for name in names}
    if getattr(part, "multiple", False):
        names |= {f"{name}{ending}" for name in names for ending in ("s", "es")}
        names |= {f"{name.removesuffix('y')}ies" for name in names if name.endswith("y")}
    return names


def chosen_functions(name: str) -> set[str]:
    """The functions that a switch may choose by its name: --sweep `sweep`, --ranks `rank_table`."""
    return {name, f"{name}_table", f"{name.removesuffix('s')}_table"}


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_has_the_name_of_a_keyword(verb: str) -> None:
    keywords = {name for path in CALLS[verb] for name in inspect.signature(public(path)).parameters}
    functions = {path.rpartition(".")[2] for path in CALLS[verb]}
    for part in VERBS[verb].params:
        flag = next((flag for flag in part.opts if flag.startswith("--")), part.name)
        name = flag.removeprefix("--").replace("-", "_")
        different = name in PRINTED or name in DIFFERENT or name in DIFFERENT_IN.get(verb, {})
        same = keyword_names(part) & keywords or chosen_functions(name) & functions
        assert same or different or name == "help", f"{flag} of `brittle {verb}` is no keyword of its calls"


def test_the_differences_are_ones() -> None:
    for verb, names in DIFFERENT_IN.items():
        keywords = {name for path in CALLS[verb] for name in inspect.signature(public(path)).parameters}
        flags = {
            next((flag for flag in part.opts if flag.startswith("--")), part.name).removeprefix("--").replace("-", "_")
            for part in VERBS[verb].params
        }
        assert set(names) <= flags - keywords, (verb, set(names) - (flags - keywords))
    assert set(CALLS) == set(VERBS)
    assert sum(map(len, DIFFERENT_IN.values())) <= DIFFERENCES


DIFFERENCES = 8
"""So many options of single verbs have other names in Python; the number may only fall."""


@pytest.mark.parametrize("path", sorted({path for row in CALLS.values() for path in row}))
def test_the_function_is_public(path: str) -> None:
    assert inspect.getdoc(public(path))


def test_a_call_that_is_not_made_is_noticed() -> None:
    assert "evaluation.evaluate" in called("run")
    assert "design.measure_overlap" not in called("run")
    assert "design.training_plan" in called("design overlap"), "a call through a method of a group of options"
    assert "models.load_models" in calls("brittle.cli.inputs", "load_models"), "not the helper of the same name"
    assert not {path for path in called("list") if path.endswith("load_models")}
