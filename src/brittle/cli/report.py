"""`brittle report`: one page that shows where models break."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console
from brittle.cli.options import option
from brittle.cli.styles import DIM, END

EXAMPLES = (
    ("brittle report run", "to run/report.html"),
    ("brittle report run-a run-b -o report.html", "several runs in one page"),
)


def report_verb(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Folders that `brittle run` or `brittle failure-points` wrote.")
    ],
    output: Annotated[
        Path | None, option("--output", help="An .html file.", show_default="report.html in the first run")
    ] = None,
    title: Annotated[str | None, option("--title")] = None,
    reference: Annotated[
        str | None,
        option("--reference", show_default="the published one, where it is comparable"),
    ] = None,
) -> None:
    """Write a report about the models of some runs: what breaks them, at what strength, with confidence intervals.

    The page is one self-contained file, for light and dark screens, phones and paper.
    """
    from brittle.evaluation import holds_results, load_results
    from brittle.report.page import write_failure_report, write_report

    output = output or runs[0] / "report.html"
    if output.suffix.lower() not in (".html", ".htm"):
        raise BrittleError(f"the report is an .html file, got {str(output)!r}")
    searched = [run for run in runs if not holds_results(run)]
    if searched:
        from brittle.evaluation import load_failure_points

        searched = [run for run in searched if load_failure_points(run) is not None]
    if searched and len(searched) < len(runs):
        raise BrittleError(
            f"{str(searched[0])!r} holds failure points and no run of a benchmark; give it a report of its own: "
            f"brittle report {searched[0]}"
        )
    if not searched:
        results = load_results(*runs)
    with console(stderr=True).status("drawing the report"):
        if searched:
            write_failure_report(searched, output, title=title)
        else:
            write_report(results, output, title=title, reference=reference)
    console().print(f"{output}  {DIM}{output.stat().st_size / 1e6:.1f} MB, open it in a browser{END}", soft_wrap=True)
