"""What `brittle run` and `brittle compare` do with sequences: which are shown, and how steady models are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brittle._errors import BrittleError
from brittle.cli.console import console

if TYPE_CHECKING:
    from brittle.benchmarks import SequenceBenchmark
    from brittle.evaluation import Results


def chosen_sequences(
    benchmark: str | None,
    data: str,
    perturbations: list[str],
    severities: list[float],
    seed: int | None,
    difficulty: int | None,
) -> SequenceBenchmark | None:
    """The benchmark of sequences that the options name; None if they name corrupted or clean images."""
    from dataclasses import replace

    from brittle.evaluation.inputs import as_sequence_benchmark

    chosen = as_sequence_benchmark(benchmark, data)
    if chosen is None:
        if difficulty is not None:
            raise BrittleError(f"--difficulty belongs to sequences such as --benchmark imagenet-p, got {difficulty}")
        return None
    if severities:
        raise BrittleError(f"sequences have no severities, got {severities}; give --difficulty 1, 2 or 3")
    return replace(chosen.cut(perturbations, seed=seed), difficulty=1 if difficulty is None else difficulty)


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
