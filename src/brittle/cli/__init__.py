"""The command line, one module a verb. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from brittle._parallel import keep_freed_memory, use_threads, wait_passively
from brittle.cli import (
    balance,
    build,
    calibrate,
    categories,
    check,
    compare,
    correlate,
    corrupt,
    coverage,
    demo,
    dissimilar,
    distance,
    failure_points,
    fetch,
    import_,
    overlap,
    probe,
    report,
    run,
    show,
    slide,
    study,
    train,
)
from brittle.cli import distance as leak
from brittle.cli import list as list_
from brittle.cli.console import Verbs, import_files

EXAMPLES = (
    ("brittle demo", "two bundled models, two benchmarks, one report; nothing to fetch"),
    ("brittle run -m timm:resnet50 -d imagenet:val/ -b imagenet-c -o run", "test a model of yours"),
    ("brittle list", "which corruptions there are"),
    ("brittle show -o grid.png", "how they look, on a photograph of a cat"),
    ("brittle corrupt photos/ out/", "make ImageNet-C of your own photographs"),
)

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from brittle import __version__

        typer.echo(f"brittle {__version__}")
        raise typer.Exit


def _examples(examples: Iterable[tuple[str, str]]) -> str:
    return "Examples\n" + "\n".join(f"  [bold cyan]{line}[/]\n      [dim]{words}[/]" for line, words in examples)


@app.callback(epilog=_examples(EXAMPLES))
def brittle(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where in the code an error arose.")] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            "-j",
            help="Number of threads of any verb: so many corrupt images and compute.",
            show_default="by the number of processors",
        ),
    ] = None,
    imports: Annotated[
        builtins.list[str] | None,  # `list` is a verb here
        typer.Option(
            "--import",
            metavar="FILE",
            help="Python file with corruptions of your own, run first; may also stand after the verb.",
        ),
    ] = None,
) -> None:
    """Find out where an image classifier breaks, and build the tests that find it."""
    del version, traceback  # the first is done by its callback, the second is read by Verbs
    use_threads(threads)
    import_files(imports or ())


def _add(
    name: str, verb: Callable[..., None], examples: Iterable[tuple[str, str]], *, group: typer.Typer = app
) -> None:
    paragraphs = (inspect.getdoc(verb) or "").split("\n\n")  # each becomes one line, to be wrapped by the terminal
    group.command(name, help="\n\n".join(" ".join(p.split()) for p in paragraphs), epilog=_examples(examples))(verb)


def _group(name: str, words: str, examples: Iterable[tuple[str, str]]) -> typer.Typer:
    """A verb that has verbs of its own."""
    group = typer.Typer(
        help=words,
        epilog=_examples(examples),
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.add_typer(group, name=name)
    return group


_add("list", list_.list_verb, list_.EXAMPLES)
_add("show", show.show_verb, show.EXAMPLES)
_add("corrupt", corrupt.corrupt_verb, corrupt.EXAMPLES)
_add("run", run.run_verb, run.EXAMPLES)
_add("import", import_.import_verb, import_.EXAMPLES)
_add("compare", compare.compare_verb, compare.EXAMPLES)
_add("check", check.check_verb, check.EXAMPLES)
_add("report", report.report_verb, report.EXAMPLES)
_add("failure-points", failure_points.failure_points_verb, failure_points.EXAMPLES)
_add("probe", probe.probe_verb, probe.EXAMPLES)
_add("fetch", fetch.fetch_verb, fetch.EXAMPLES)
_add("demo", demo.demo_verb, demo.EXAMPLES)
_add("train", train.train_verb, train.EXAMPLES)
_add("overlap", overlap.overlap_verb, overlap.EXAMPLES)
_add("categories", categories.categories_verb, categories.EXAMPLES)
_add("coverage", coverage.coverage_verb, coverage.EXAMPLES)
_add("balance", balance.balance_verb, balance.EXAMPLES)
_add("correlate", correlate.correlate_verb, correlate.EXAMPLES)
_add("calibrate", calibrate.calibrate_verb, calibrate.EXAMPLES)
_add("distance", distance.distance_verb, distance.EXAMPLES)
_add("leak", leak.leak_verb, leak.LEAK_EXAMPLES)

builds = _group(
    "build",
    "Build a benchmark: corruptions that do not overlap, that balance categories, or that are far away.",
    (*build.EXAMPLES, *dissimilar.DISSIMILAR),
)
_add("non-overlapping", build.non_overlapping_verb, build.NON_OVERLAPPING, group=builds)
_add("balanced", build.balanced_verb, build.BALANCED, group=builds)
_add("dissimilar", dissimilar.dissimilar_verb, dissimilar.DISSIMILAR, group=builds)

for _group_name, _room in (("study", study), ("slide", slide)):
    _its = _group(_group_name, _room.HELP, _room.EXAMPLES)
    for _name, _verb, _lines in _room.VERBS:
        _add(_name, _verb, _lines, group=_its)


def main() -> None:
    """Run the command line."""
    wait_passively()  # before a verb loads torch
    keep_freed_memory()  # before there are threads
    app(prog_name="brittle")
