"""`brittle leaderboard`: static pages that rank the models of many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle.cli.console import console
from brittle.cli.options import option
from brittle.cli.styles import DIM, END

EXAMPLES = (
    ("brittle leaderboard run-a run-b -o site", "a page for each benchmark, and site/index.html"),
    ("brittle leaderboard run -b cifar10-c -o site --title Ours", "one benchmark, with a title"),
)


def leaderboard_verb(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders that `brittle run` wrote.")],
    output: Annotated[Path, option("--output", help="Folder of the pages.")],
    benchmark: Annotated[str | None, option("--benchmark", show_default="all that the runs hold")] = None,
    title: Annotated[str | None, option("--title")] = None,
) -> None:
    """Write a leaderboard of the models of some runs as static pages, with intervals and groups of equal models.

    Models without a significant difference share a letter. Runs on different images, or of different recipes, are never
    ranked in one table. The pages are plain files that load nothing, for a disk or any server.
    """
    from brittle.evaluation import load_results
    from brittle.publish import write_leaderboard

    results = load_results(*runs)
    with console(stderr=True).status("ranking the models"):
        page = write_leaderboard(results, output, benchmark, title=title)
    count = len([path for path in output.glob("*.html") if path != page])
    console().print(f"{page}  {DIM}and {count} page{'s' * (count > 1)}, open it in a browser{END}", soft_wrap=True)
