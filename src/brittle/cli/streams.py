"""What `brittle run` and `brittle compare` do with streams: which are shown, and the error over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle._errors import BrittleError
from brittle.cli.console import console, split_commas, split_numbers

if TYPE_CHECKING:
    from brittle.benchmarks import StreamBenchmark
    from brittle.evaluation import Results


def cut_stream(
    stream: StreamBenchmark,
    corruptions: Sequence[str] | None,
    severities: Sequence[str] | None,
    *,
    seed: int | None = None,
    textures: Path | None = None,
) -> StreamBenchmark:
    """A stream as a command line changes it."""
    if textures is not None:
        raise BrittleError(f"a stream has the textures of its recipe; name {str(textures)!r} in the recipe's options")
    return stream.cut(split_commas(corruptions), severities=split_numbers(severities, "severities"), seed=seed)


def has_stream(results: Results, name: str | None) -> bool:
    """Whether some results hold this stream, or without a name any."""
    from brittle.evaluation.streams import stream_names

    names = stream_names(results)
    return bool(names) if name is None else name in (*names, *names.values())


def print_streams(results: Results, name: str | None = None) -> None:
    """A table for each stream: the error of each model under each corruption, in the order of time."""
    from brittle.evaluation import stream_tables, table_parts

    screen = console()
    for table in stream_tables(results, name):
        for part in table_parts(table, width=screen.width):
            screen.print(part)


def streams_as_json(results: Results, name: str | None = None) -> list[dict[str, Any]]:
    """The scores of streams for programs."""
    from dataclasses import asdict

    from brittle.evaluation import stream_scores

    return [asdict(score) for score in stream_scores(results, name)]
