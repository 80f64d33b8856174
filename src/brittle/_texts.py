"""Text files that users give: TOML, JSON, CSV, and lines; whatever is wrong with one is one sentence."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle._errors import BrittleError

if TYPE_CHECKING:
    import polars as pl


def read_toml_file(path: Path, contents: str) -> dict[str, Any]:
    """The data of a TOML file; `contents` says in an error what it should hold."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r} of {contents}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also of numbers with thousands of digits
        raise BrittleError(f"{str(path)!r} is not a TOML file: {error}") from error


def read_json_file(path: Path) -> Any:
    """The value of a JSON file; a ValueError says what is wrong, also if lists are nested too deep to be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        raise ValueError(str(error)) from error


def read_csv(path: str | Path) -> pl.DataFrame:
    """A CSV file as a table of strings: an empty cell is null, empty lines are left out."""
    import polars as pl

    try:
        table = pl.read_csv(path, glob=False, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"{str(path)!r} is not a CSV table with a header row: {reason}") from error
    return table.filter(~pl.all_horizontal(pl.all().is_null()))


def read_lines(path: Path, contents: str) -> list[str]:
    """The lines of a text file in UTF-8, without blanks at their ends; `contents` says in an error what they are."""
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError as error:
        raise BrittleError(
            f"{str(path)!r} is not a text file of {contents} in UTF-8 (byte {error.start} is none); save it as UTF-8"
        ) from error
