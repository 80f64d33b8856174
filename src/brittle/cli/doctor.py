"""`brittle doctor`: what is wrong with a run's folder, and how it is set right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console, hint, print_json
from brittle.cli.options import option
from brittle.cli.scores import new_table

if TYPE_CHECKING:
    from brittle.evaluation import RunHealth

EXAMPLES = (
    ("brittle doctor run", "exit code 1 if something is damaged"),
    ("brittle doctor run --fix", "rename damaged files, and remove half-written files of killed processes"),
)

STYLES = {"damage": "red", "leftover": "yellow", "note": "dim"}


def doctor_verb(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `brittle run` wrote.")],
    fix: Annotated[bool, option("--fix")] = False,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Check every file of a run: is it complete, does it belong to the run, does it hold the expected rows?

    --fix renames damaged files to NAME.damaged, so that the command of the run makes them again, and removes
    half-written files of killed processes. It never removes a result.

    The exit code is 0 if nothing is damaged or all damage was repaired, and 1 if not.
    """
    from brittle.evaluation import check_run

    health = check_run(folder, fix=fix)
    if as_json:
        print_json({"sound": health.sound, **vars(health)})
    else:
        print_health(health)
    if not health.sound:
        if not fix:
            hint(f"brittle doctor {folder} --fix sets it right as far as possible")
        raise typer.Exit(1)


def print_health(health: RunHealth) -> None:
    """Print what a run holds, and a table of what is wrong with it."""
    from rich.text import Text

    screen = console()
    if health.findings:
        table = new_table()
        for column in ("file", "problem", "what to do"):
            table.add_column(column, overflow="fold")
        for one in health.findings:
            done = f"{one.mended}; {one.remedy}" if one.mended and one.kind == "damage" else one.mended or one.remedy
            table.add_row(*map(Text, (one.path, one.problem, done)), style=STYLES[one.kind])
        screen.print(table)
    models = f"{health.models} model{'s' * (health.models != 1)}"
    counts = f"{models}, {health.cells:,} whole cells, {health.rows:,} rows on {health.data or 'unknown data'}"
    damaged = sum(one.kind == "damage" for one in health.findings)
    state = "nothing is damaged" if not damaged else f"{damaged} damaged" + (", all set right" if health.sound else "")
    screen.print(f"{health.folder}: {counts}; {state}", soft_wrap=True)
