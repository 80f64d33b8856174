"""`brittle list`: which corruptions there are, and what their severities mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console

if TYPE_CHECKING:
    from rich.table import Table

    from brittle.corruptions import Corruption

SHOWN = (1, 3, 5)

EXAMPLES = (
    ("brittle list", "all of them"),
    ("brittle list --family weather", "one family"),
    ("brittle list --benchmark cifar10-c --size 32", "a benchmark, at its image size"),
    ("brittle list fog frost", "two in detail: docs, every level, every size"),
    ("brittle list --json", "for programs"),
)


def list_verb(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Show these in detail: docs, every level and size.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", "-S", help="Only those of one published set.")] = None,
    family: Annotated[
        str | None, typer.Option("--family", "-f", help="Only one family: noise, blur, weather, digital, …")
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="Only those of a benchmark: its name, or its .toml file.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", help="The image side in pixels that parameters are for.", show_default="224")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, all levels, for programs.")] = False,
) -> None:
    """List the corruptions, with their parameters at severities 1, 3 and 5.

    Severity is a real number from 0, the clean image, to 5. The parameters pass through the published levels at
    1, 2, 3, 4 and 5, and depend on the size of the image.
    """
    import brittle

    chosen = brittle.corruptions(source=source, family=family)
    if benchmark is not None:
        members = [entry.corruption for entry in brittle.benchmark(benchmark).entries]
        chosen = [corruption for corruption in members if corruption in chosen]
    if names:
        wanted = [brittle.corruption(name) for name in names]
        for corruption in wanted:
            if corruption not in chosen:
                raise ValueError(f"{corruption.id} is not among those chosen by --source, --family and --benchmark")
        chosen = wanted
    if not chosen:
        raise ValueError("no corruption is of that source, family and benchmark at once; try fewer options")
    side = 224 if size is None else size
    if as_json:
        typer.echo(json.dumps([_plain(corruption, side) for corruption in chosen], indent=2))
    elif names:
        from brittle.cli.detail import print_detail

        for corruption in chosen:
            print_detail(corruption, size)
    else:
        screen = console()
        screen.print(_table(chosen, side, screen.width))
        screen.print(f"[dim]{len(chosen)} corruptions; 1, 3 and 5 are severities, on images of {side} px.[/]")
        screen.print(f"[dim]`brittle list {chosen[0].name}` shows one in detail.[/]")
        screen.print(f"[dim]Benchmarks: {', '.join(brittle.benchmarks())}.[/]")


def number(value: float) -> str:
    """A parameter in at most five characters or so."""
    return f"{value:.4g}"


def _plain(corruption: Corruption, size: int) -> dict[str, object]:
    return {
        "id": corruption.id,
        "name": corruption.name,
        "family": corruption.family,
        "source": corruption.source,
        "summary": corruption.summary,
        "size": size,
        "parameters": {str(s): corruption.parameters(s, size) for s in range(1, corruption.max_severity + 1)},
    }


def _table(chosen: list[Corruption], size: int, width: int) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.report.family_colours import FAMILY_COLOURS

    ids = max(len(corruption.id) for corruption in chosen)
    parameters = max(len(name) for corruption in chosen for name in corruption.levels)
    families, sources, words = width >= ids + parameters + 32, width >= ids + parameters + 62, width >= 140
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", leading=0)
    table.add_column("corruption", no_wrap=True)
    if families:
        table.add_column("family")
    if sources:
        table.add_column("source")
    table.add_column("parameter", style="dim", overflow="fold")
    for severity in SHOWN:
        table.add_column(f"{'severity ' if sources else ''}{severity}", justify="right", no_wrap=True)
    if words:
        table.add_column("what it is", style="dim", ratio=1)
    for index, corruption in enumerate(chosen):
        levels = [corruption.parameters(s, size) if s <= corruption.max_severity else {} for s in SHOWN]
        first = levels[0]
        table.add_row(
            f"[dim]{corruption.source}/[/]{corruption.name}" if families else corruption.name,
            *([Text(corruption.family, FAMILY_COLOURS.get(corruption.family, ""))] if families else []),
            *([corruption.source] if sources else []),
            "\n".join(first),
            *("\n".join(number(level[name]) if level else "–" for name in first) for level in levels),
            *([corruption.summary] if words else []),
            end_section=index + 1 < len(chosen) and chosen[index + 1].family != corruption.family,
        )
    return table
