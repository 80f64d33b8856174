"""What `brittle run` and `brittle compare` do with sequences: which are shown, and how steady models are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from brittle._errors import BrittleError
from brittle.cli.console import console, split_commas

if TYPE_CHECKING:
    from brittle.benchmarks import SequenceBenchmark
    from brittle.evaluation import Results


def cut_sequences(
    benchmark: SequenceBenchmark,
    corruptions: Sequence[str] | None,
    severities: Sequence[str] | None,
    *,
    seed: int | None = None,
    difficulty: int | None = None,
) -> SequenceBenchmark:
    """A benchmark of sequences as a command line changes it."""
    if severities:
        raise BrittleError(f"sequences have no severities, got {', '.join(severities)}; give --difficulty 1, 2 or 3")
    return benchmark.cut(split_commas(corruptions), seed=seed, difficulty=difficulty)


def print_sequences(results: Results, reference: str | None = None) -> None:
    """The tables of ImageNet-P: a row for each model, and one for each perturbation."""
    from brittle.evaluation import sequence_tables, table_parts

    screen = console()
    for table in sequence_tables(results, reference=reference):
        for part in table_parts(table, width=screen.width):
            screen.print(part)


def sequences_as_json(results: Results, reference: str | None = None) -> list[dict[str, Any]]:
    """The scores of sequences for programs."""
    from dataclasses import asdict

    from brittle.evaluation import sequence_scores

    return [asdict(score) for score in sequence_scores(results, reference=reference)]
