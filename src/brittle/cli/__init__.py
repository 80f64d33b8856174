"""The command line, one module a verb. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import builtins
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import Annotated

import typer

from brittle._parallel import keep_freed_memory, use_threads, wait_passively
from brittle.cli import (
    augment,
    check,
    compare,
    corrupt,
    demo,
    design,
    doctor,
    explore,
    export,
    failure_points,
    fetch,
    import_,
    leaderboard,
    probe,
    report,
    reproduce,
    run,
    show,
    slide,
)
from brittle.cli import list as list_
from brittle.cli.console import import_files, set_verbosity
from brittle.cli.verbs import Verb, VerbGroup, Verbs

EXAMPLES = (
    ("brittle demo", "two bundled models, two benchmarks, one report; nothing to fetch"),
    ("brittle run -m timm:resnet50 -d imagenet:val/ -b imagenet-c -o run", "test a model"),
    ("brittle list", "list the corruptions"),
    ("brittle show -o grid.png", "draw all of them on a photograph of a cat"),
    ("brittle corrupt photos/ out/", "make ImageNet-C of your own photographs"),
)

EXIT_CODES = (
    "Exit codes: 0 success; 1 a check or model failed, or a run is damaged; 2 a request is impossible; 130 interrupted."
)

TEST, IMAGES, BUILD, START = "Test a model", "Corrupt images", "Build better tests", "Get started"
PUBLISH = "Publish results"

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from brittle import __version__

        typer.echo(f"brittle {__version__}")
        raise typer.Exit


def _examples(examples: Iterable[tuple[str, str]]) -> str:
    return "Examples\n" + "\n".join(f"  [bold cyan]{line}[/]\n      [dim]{purpose}[/]" for line, purpose in examples)


@app.callback(epilog=f"{_examples(EXAMPLES)}\n\n[dim]{EXIT_CODES}[/]")
def brittle(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only: no progress.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also print all settings, the time and the memory that were used.")
    ] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where in the code an error arose.")] = False,
    config: Annotated[
        str | None,
        typer.Option(
            "--config", metavar="FILE", help="Options from a TOML file, such as the command.toml of a run's folder."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "-j",
            help="Number of workers that corrupt images and compute side by side.",
            show_default="by the number of processors",
        ),
    ] = None,
    imports: Annotated[
        builtins.list[str] | None,  # `list` is a verb here
        typer.Option("--import", metavar="FILE", help="Python file that registers your own corruptions, run first."),
    ] = None,
) -> None:
    """Find out where an image classifier breaks, and build the tests that find it.

    The options below may also stand after the verb.
    """
    del version, traceback, config  # done by a callback, or read by Verbs
    set_verbosity(quiet=quiet, verbose=verbose)
    use_threads(workers)
    import_files(imports or ())


Examples = Iterable[tuple[str, str]]


def _add(
    name: str, verb: Callable[..., None], examples: Examples, *, panel: str | None = None, group: typer.Typer = app
) -> None:
    paragraphs = (inspect.getdoc(verb) or "").split("\n\n")  # each becomes one line, to be wrapped by the terminal
    description = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    group.command(name, cls=Verb, help=description, epilog=_examples(examples), rich_help_panel=panel)(verb)


def _group(
    name: str, description: str, examples: Examples, *, panel: str | None = None, of: typer.Typer = app
) -> typer.Typer:
    """A group of verbs under one word."""
    group = typer.Typer(
        cls=VerbGroup,
        help=description,
        epilog=_examples(examples),
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    of.add_typer(group, name=name, rich_help_panel=panel)
    return group


_add("demo", demo.demo_verb, demo.EXAMPLES, panel=START)
_add("fetch", fetch.fetch_verb, fetch.EXAMPLES, panel=START)
_add("run", run.run_verb, run.EXAMPLES, panel=TEST)
_add("check", check.check_verb, check.EXAMPLES, panel=TEST)
_add("compare", compare.compare_verb, compare.EXAMPLES, panel=TEST)
_add("report", report.report_verb, report.EXAMPLES, panel=TEST)
_add("failure-points", failure_points.failure_points_verb, failure_points.EXAMPLES, panel=TEST)
_add("probe", probe.probe_verb, probe.EXAMPLES, panel=TEST)
_add("explore", explore.explore_verb, explore.EXAMPLES, panel=TEST)
_add("doctor", doctor.doctor_verb, doctor.EXAMPLES, panel=TEST)
_add("import", import_.import_verb, import_.EXAMPLES, panel=TEST)
_add("leaderboard", leaderboard.leaderboard_verb, leaderboard.EXAMPLES, panel=PUBLISH)
_add("list", list_.list_verb, list_.EXAMPLES, panel=IMAGES)
_add("show", show.show_verb, show.EXAMPLES, panel=IMAGES)
_add("corrupt", corrupt.corrupt_verb, corrupt.EXAMPLES, panel=IMAGES)

_add("reproduce", reproduce.reproduce_verb, reproduce.EXAMPLES, panel=BUILD)

for _word, _room, _panel in (
    ("export", export, PUBLISH),
    ("design", design, BUILD),
    ("augment", augment, BUILD),
    ("slide", slide, BUILD),
):
    _outer = _group(_word, _room.HELP, _room.EXAMPLES, panel=_panel)
    for _name, _verb, _lines in _room.VERBS:
        _add(_name, _verb, _lines, group=_outer)
    for _name, _description, _verbs in getattr(_room, "GROUPS", ()):
        _inner = _group(_name, _description, tuple(line for _, _, lines in _verbs for line in lines), of=_outer)
        for _name, _verb, _lines in _verbs:
            _add(_name, _verb, _lines, group=_inner)


def main() -> None:
    """Run the command line."""
    wait_passively()  # before a verb loads torch
    keep_freed_memory()  # before there are threads
    for stream in (sys.stdout, sys.stderr):  # file names may hold bytes that are no text
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="brittle")
    except SystemExit as ended:
        ray = sys.modules.get("brittle._ray")
        if ray is not None and ray.is_abandoned():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended.code if isinstance(ended.code, int) else 1)
        raise
