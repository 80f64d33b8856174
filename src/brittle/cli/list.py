"""`brittle list`: the corruptions and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console, print_json
from brittle.cli.options import option
from brittle.cli.styles import BOLD, DIM, END
from brittle.corruptions import Corruption

if TYPE_CHECKING:
    from rich.table import Table


def print_detail(corruption: Corruption, size: int | None) -> None:
    """Print docs, options and levels; a size that was asked for comes after the published ones."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.plots import FAMILY_COLOURS

    screen = console()
    colour = FAMILY_COLOURS.get(corruption.family, "")
    screen.print(Text.assemble("\n", (corruption.id, "bold"), "   ", (corruption.family, colour)))
    for paragraph in corruption.docs.split("\n\n"):
        screen.print(Text("\n" + " ".join(paragraph.split())), width=min(screen.width, 100))
    fits = "no longer fit the picture" if corruption.moves_pixels else "still fit the picture"
    answer = "yes" if corruption.moves_pixels else "no"
    screen.print(Text.assemble("\nMoves pixels  ", (answer, "bold"), f": masks, boxes and keypoints {fits}"))
    if corruption.options:
        options = ", ".join(f"{name}={default!r}" for name, default in corruption.options.items())
        screen.print(Text.assemble("\nOptions  ", (options, "bold")))
    if not corruption.levels:
        return
    steps = range(0, corruption.max_severity + 1, 1 if corruption.max_severity <= 5 else 2)
    sizes = [*corruption.table_sides, *([] if size is None or size in corruption.table_sides else [size])]
    gap = 2 if corruption.max_severity <= 5 else 1
    table = Table(box=SIMPLE_HEAD, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("image", justify="right", no_wrap=True)
    table.add_column("parameter", overflow="fold", style="dim")
    for severity in steps:
        table.add_column(str(severity) if severity else "clean", justify="right", no_wrap=True)
    for side in sizes:
        levels = [corruption.parameters(severity, side) for severity in steps]
        for index, name in enumerate(corruption.levels):
            values = (number(level[name]) for level in levels)
            table.add_row("" if index else f"{side} px", name, *values, end_section=index + 1 == len(corruption.levels))
    screen.print()
    screen.print(table)
    published = ", ".join(map(str, corruption.table_sides))
    screen.print(
        Text(
            f"Columns are severities. Sizes with a published table: {published} px; `--image-size` shows any other.",
            "dim",
        )
    )


SHOWN = (1, 3, 5)
"""Of five even steps to the largest severity, those that are shown."""

MOVES = " ↔"
"""The mark beside the family of a corruption that moves pixels."""

EXAMPLES = (
    ("brittle list", "all corruptions"),
    ("brittle list --family weather", "one family"),
    ("brittle list --benchmark cifar10-c --image-size 32", "a benchmark, at its image size"),
    ("brittle list fog frost", "two in detail: docs, every level, every size"),
    ("brittle list --json", "for programs"),
)


def list_verb(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Show these in detail: docs, every level and size.")
    ] = None,
    source: Annotated[str | None, option("--source")] = None,
    family: Annotated[str | None, option("--family")] = None,
    benchmark: Annotated[str | None, option("--benchmark")] = None,
    image_size: Annotated[int | None, option("--image-size", show_default="224")] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """List the corruptions, set by set, with their parameters at a weak, a middle and the strongest severity.

    Severity is a real number from 0, the clean image, to 5, or to 10 in c-bar. Whole numbers are the published levels.
    The parameters depend on the size of the image.
    """
    import brittle
    from brittle.benchmarks import find_corruptions, list_streams

    chosen = find_corruptions(names or (), source=source, family=family, benchmark=benchmark)
    side = 224 if image_size is None else image_size
    if as_json:
        print_json([_as_data(corruption, side) for corruption in chosen])
    elif names:
        for corruption in chosen:
            print_detail(corruption, image_size)
    else:
        screen = console()
        sets = {c.source: [d for d in chosen if d.source == c.source] for c in chosen}
        tables = {source: _table(members, side, screen.width) for source, members in sets.items()}
        for source, table in tables.items():
            count = len(sets[source])
            screen.print(f"\n{BOLD}{source}{END} {DIM}· {count} of its corruptions, for images of {side} px{END}")
            screen.print(table)
        if any(corruption.moves_pixels for corruption in chosen):
            screen.print(
                f"{DIM}{MOVES.strip()} moves pixels: masks, boxes and keypoints no longer fit the picture.{END}"
            )
        screen.print(f"{DIM}{len(chosen)} corruptions. `brittle list {chosen[0].id}` shows one in detail.{END}")
        screen.print(f"{DIM}Benchmarks: {', '.join(brittle.list_benchmarks())}.{END}")
        screen.print(f"{DIM}Streams: {', '.join(list_streams())}.{END}")


def number(value: float) -> str:
    """A parameter in at most five characters or so."""
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}" if value == 0 or abs(value) >= 0.001 else f"{value:.1e}"


def _as_data(corruption: Corruption, size: int) -> dict[str, object]:
    return {
        "id": corruption.id,
        "name": corruption.name,
        "family": corruption.family,
        "source": corruption.source,
        "summary": corruption.summary,
        "moves_pixels": corruption.moves_pixels,
        "size": size,
        "parameters": {str(s): corruption.parameters(s, size) for s in range(1, corruption.max_severity + 1)},
    }


def _table(members: list[Corruption], size: int, width: int) -> Table:
    """One published set: a row for each corruption, a line for each of its parameters at three severities."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.plots import FAMILY_COLOURS

    wide = width >= 110
    largest = members[0].max_severity
    shown = " / ".join(f"{largest * step / 5:g}" for step in SHOWN)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", leading=0)
    table.add_column("corruption", no_wrap=True)
    table.add_column("family", no_wrap=True)
    if wide:
        table.add_column("source", no_wrap=True)
    table.add_column(f"parameters at severity {shown}", overflow="fold")
    if width >= 150:
        table.add_column("what it is", style="dim", ratio=1)
    for index, corruption in enumerate(members):
        table.add_row(
            corruption.id if wide else corruption.name,
            Text.assemble(
                (corruption.family, FAMILY_COLOURS.get(corruption.family, "")), MOVES if corruption.moves_pixels else ""
            ),
            *([corruption.source] if wide else []),
            "\n".join(_lines(corruption, size)) or f"{DIM}on or off{END}",
            *([corruption.summary] if width >= 150 else []),
            end_section=index + 1 < len(members) and members[index + 1].family != corruption.family,
        )
    return table


def _lines(corruption: Corruption, size: int) -> list[str]:
    largest = corruption.max_severity
    levels = [corruption.parameters(largest * step / 5, size) for step in SHOWN]
    return [f"{name} {DIM}{' / '.join(number(level[name]) for level in levels)}{END}" for name in corruption.levels]
