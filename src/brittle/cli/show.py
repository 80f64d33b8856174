"""`brittle show`: a contact sheet of corruptions on a photograph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import (
    check_picture,
    compile_first,
    console,
    progress_bar,
    save_picture,
    split_commas,
    split_numbers,
)
from brittle.cli.options import option

if TYPE_CHECKING:
    from brittle.benchmarks import Entry
    from brittle.corruptions import Corruption

EXAMPLES = (
    ("brittle show", "all corruptions on the bundled cat, to grid.png"),
    ("brittle show photo.jpg -c fog,snow -o weather.png", "two of them on your photograph"),
    ("brittle show -s 0.5,1,2.5", "at severities between the published ones"),
    ("brittle show -b cifar10-c --image-size 32", "what a classifier of 32 px images sees"),
)


def show_verb(
    photo: Annotated[
        str, typer.Argument(metavar="PHOTO", help="An image file; or `cat` or `coffee`, which are bundled.")
    ] = "cat",
    corruptions: Annotated[
        list[str] | None,
        option("--corruption", show_default="all"),
    ] = None,
    source: Annotated[str | None, option("--source")] = None,
    benchmark: Annotated[str | None, option("--benchmark")] = None,
    severities: Annotated[
        list[str] | None,
        option("--severity", show_default="five steps"),
    ] = None,
    image_size: Annotated[int, option("--image-size")] = 224,
    seed: Annotated[int | None, option("--seed", show_default="0")] = None,
    thumb: Annotated[int, option("--thumb")] = 112,
    output: Annotated[
        Path, option("--output", help="File to write: a .png, .jpg or .webp file.", dir_okay=False)
    ] = Path("grid.png"),
) -> None:
    """Draw a labelled contact sheet: a row for each corruption, a column for each severity.

    The photograph's central square is brought to --image-size, corrupted there and then reduced to --thumb.
    """
    import brittle
    from brittle.benchmarks import Entry
    from brittle.evaluation import load_photo
    from brittle.report import contact_sheet

    check_picture(output)
    recipe = None if benchmark is None else brittle.load_benchmark(benchmark)
    levels = split_numbers(severities, "severities")
    named = split_commas(corruptions)
    rows: list[Entry] | list[Corruption]
    if recipe is not None:
        rows = [recipe.entry(name) for name in named] if named else list(recipe.entries)
    else:
        rows = [brittle.get_corruption(name) for name in named] or brittle.list_corruptions(source=source)
    _check(levels, rows)
    if seed is None:
        seed = recipe.seed if recipe is not None else 0
    picture = load_photo(photo)
    compile_first(row.corruption if isinstance(row, Entry) else row for row in rows)
    with progress_bar() as bar:
        task = bar.add_task("drawing", total=len(rows) * (len(levels) or 5), unit="images")
        sheet = contact_sheet(
            picture,
            rows,
            levels or None,
            seed=seed,
            size=image_size,
            thumb=thumb,
            table=None if recipe is None else recipe.table,
            progress=lambda: bar.advance(task),
        )
    save_picture(sheet, output)
    console().print(f"{output}  [dim]{sheet.width}×{sheet.height} px[/]", soft_wrap=True)


def _check(levels: list[float], rows: list[Entry] | list[Corruption]) -> None:
    from brittle.benchmarks import Entry
    from brittle.corruptions.severity import check_severity

    largest = max((row.corruption if isinstance(row, Entry) else row).max_severity for row in rows)
    for level in levels:
        check_severity(level, largest)
