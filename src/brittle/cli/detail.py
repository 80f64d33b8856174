"""One corruption in detail: what it does, and its parameters at every severity and published size."""

from __future__ import annotations

from brittle.cli.console import console
from brittle.cli.list import number
from brittle.corruptions import Corruption


def print_detail(corruption: Corruption, size: int | None) -> None:
    """Print docs, options and levels; a size that was asked for comes after the published ones."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.report.family_colours import FAMILY_COLOURS

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
        Text(f"Columns are severities. Sizes with a published table: {published} px; `--size` shows any other.", "dim")
    )
