"""The accuracy drops that a command line names: of runs, or in a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brittle.design import Drops


def synthetic_drops(given: Sequence[str], wanted: Sequence[str] | None = None) -> Drops:
    """The drops of models under corruptions, from one .csv file or from runs; under `wanted` only, if it is given.

    Of runs, only models that were run through all of them count.
    """
    import numpy as np

    import brittle
    from brittle.design import Drops, drops_of, members_in, read_drops
    from brittle.evaluation.cell import CLEAN

    if is_table(given):
        table = read_drops(given[0])
        names = table.names if wanted is None else members_in(wanted, table.names)
        columns = table.columns()
        values = [[columns[name][row] for name in names] for row in range(len(table.models))]
        return Drops(table.models, tuple(wanted or names), np.array(values))
    results = brittle.load_results(*given)
    there = tuple(sorted({name for name, _ in results.cells} - {CLEAN}))
    if not there:
        raise ValueError(f"{', '.join(given)} holds clean results only; run the models through a benchmark first")
    names = there if wanted is None else members_in(wanted, there)
    models = results.models_with([cell for cell in results.cells if cell[0] in {CLEAN, *names}])
    found = drops_of(results, models=models or None, corruptions=names)
    return Drops(found.models, tuple(wanted or names), found.values)


def natural_drops(given: Sequence[str], synthetic: Sequence[str]) -> Drops:
    """The drops on natural shifts, each `NAME=RUN`; the clean accuracy is that of the synthetic runs."""
    import brittle
    from brittle.design import shift_drops

    if is_table(synthetic):
        raise ValueError(
            "a natural run needs clean results of the same models, and a .csv of drops has none; give the synthetic "
            "runs, or the natural drops as --natural-csv"
        )
    shifts = {}
    for text in given:
        name, equals, run = text.partition("=")
        if not equals or not name or not run:
            raise ValueError(f"a natural shift is NAME=RUN, such as imagenet-a=runs/a, got {text!r}")
        shifts[name] = brittle.load_results(run)
    return shift_drops(brittle.load_results(*synthetic), shifts)


def is_table(given: Sequence[str]) -> bool:
    """Whether drops come from a CSV file; one of them at most."""
    tables = [text for text in given if Path(text).suffix == ".csv"]
    if tables and len(given) > 1:
        raise ValueError(f"give one .csv file of drops or several runs, got {', '.join(given)}")
    return bool(tables)
