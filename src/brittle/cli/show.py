"""`brittle show`: a contact sheet of corruptions on a photograph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle.cli.console import compile_first, console, progress_bar, split_commas, split_numbers
from brittle.cli.options import option
from brittle.cli.styles import DIM, END

EXAMPLES = (
    ("brittle show", "all corruptions on the bundled cat, to grid.png"),
    ("brittle show photo.jpg -c fog,snow -o weather.png", "two of them on your photograph"),
    ("brittle show -s 0.5,1,2.5", "at severities between the published ones"),
    ("brittle show -b cifar10-c --image-size 32", "as a classifier for 32 px images sees them"),
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

    The photograph's central square is resized to --image-size, corrupted, and then reduced to --thumb.
    """
    from brittle.benchmarks import Entry
    from brittle.datasets import check_picture, load_photo, save_picture
    from brittle.report import corruption_sheet, sheet_rows

    check_picture(output)
    levels = split_numbers(severities, "severities")
    rows = sheet_rows(split_commas(corruptions), levels, source=source, benchmark=benchmark)
    picture = load_photo(photo)
    compile_first(row.corruption if isinstance(row, Entry) else row for row in rows)
    with progress_bar() as bar:
        task = bar.add_task("drawing", total=None, unit="images")
        sheet = corruption_sheet(
            picture,
            rows,
            levels,
            benchmark=benchmark,
            image_size=image_size,
            seed=seed,
            thumb=thumb,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    save_picture(sheet, output)
    console().print(f"{output}  {DIM}{sheet.width}×{sheet.height} px{END}", soft_wrap=True)
