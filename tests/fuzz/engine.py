"""One small engine for all fuzzers: a case is one line of plain values, so it can be printed, repeated and shrunk.

A fuzzer is a table of fields, each with its values, the simplest first, and a check that takes one value of each. Case
number n of seed s is drawn from a generator of (s, n) alone: it is the same on every machine, whatever ran before it.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, RunError

Case = dict[str, Any]

SENTENCES = (BrittleError, OSError, RunError)
"""What the command line prints as one sentence; every other exception of bad input is a finding."""

SEED = 19
"""The seed in the ordinary tests: the same cases every day, so that a test fails only if the code has changed."""


class Finding(AssertionError):  # noqa: N818
    """Something that must not happen did, without an exception of its own."""


@dataclass(frozen=True)
class Fuzzer:
    """Fields by name, each with its ordinary values; `check(**case)` gives a word for what happened, or raises.

    `odd` are further values of some fields. A case has at most three of them: with more, the first hides the others.
    """

    name: str
    fields: Mapping[str, Sequence[Any]]
    check: Callable[..., str]
    odd: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def case(self, seed: int, number: int) -> Case:
        """Case `number` of a seed: ordinary values, and odd ones in up to three fields."""
        rng = np.random.default_rng([seed, number])
        case = {name: values[int(rng.integers(len(values)))] for name, values in self.fields.items()}
        for _ in range(int(rng.integers(4)) if self.odd else 0):
            name = list(self.odd)[int(rng.integers(len(self.odd)))]
            case[name] = self.odd[name][int(rng.integers(len(self.odd[name])))]
        return case

    def values(self, name: str) -> Sequence[Any]:
        """All values of a field, the simplest first."""
        ordinary = self.fields[name]
        return [*ordinary, *self.odd[name]] if name in self.odd else ordinary

    def run(self, case: Case) -> str:
        """What happened in one case; warnings are errors, as in all tests, unless the check expects them."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return self.check(**case)

    def failure(self, case: Case) -> Exception | None:
        """The exception of a case; None if nothing is wrong with it."""
        try:
            self.run(case)
        except Exception as error:
            return error
        return None

    def shrunk(self, case: Case, seconds: float = 20) -> Case:
        """The simplest case nearby that fails in the same way: each field as near to its first value as goes."""
        error, end = self.failure(case), time.monotonic() + seconds
        kind, better = _kind(error), True
        while better and time.monotonic() < end:
            better = False
            for name in self.fields:
                for value in _simpler(self.values(name), case[name]):
                    tried = {**case, name: value}
                    found = self.failure(tried)
                    if found is not None and _kind(found) == kind:
                        case, better = tried, True
                        break
        return case


@dataclass
class Account:
    """How many cases there were, by what happened, and the failing ones, one of each kind."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, tuple[Case, Exception]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """How many were tried."""
        return sum(self.outcomes.values())

    def __str__(self) -> str:
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common())
        return f"{self.cases:,} cases in {self.seconds:.0f} s: {outcomes}"


def fuzz(
    fuzzer: Fuzzer, *, seed: int, seconds: float, cases: int | None = None, before: Callable[[str], Any] = str
) -> Account:
    """Try cases 0, 1, 2 … of a seed until time or `cases` are over; `before` is told each line before it is tried."""
    account, start = Account(), time.monotonic()
    number = 0
    with in_memory():
        while (cases is None or number < cases) and time.monotonic() - start < seconds:
            case = fuzzer.case(seed, number)
            before(line(case))
            try:
                account.outcomes[fuzzer.run(case)] += 1
            except Exception as error:
                account.outcomes["FAILED"] += 1
                account.failures.setdefault(_kind(error), (case, error))
            number += 1
    account.seconds = time.monotonic() - start
    return account


@contextmanager
def in_memory() -> Iterator[None]:
    """Temporary files in memory, where there is such a place: no disk is waited for."""
    before, place = tempfile.tempdir, Path("/dev/shm")
    tempfile.tempdir = str(place) if os.access(place, os.W_OK) else before
    try:
        yield
    finally:
        tempfile.tempdir = before


def assert_holds(fuzzer: Fuzzer, *, cases: int, seconds: float = 10) -> None:
    """A fuzzer in the ordinary tests: cases that are known to pass, and fewer on a machine that is slow."""
    account = fuzz(fuzzer, seed=SEED, seconds=seconds, cases=cases)
    assert account.cases > 0
    for case, error in account.failures.values():
        raise AssertionError(f"repeat it by: {repeat(fuzzer, fuzzer.shrunk(case))}") from error


def line(case: Case) -> str:
    """A case as one line."""
    return json.dumps(case, ensure_ascii=True)


def repeat(fuzzer: Fuzzer, case: Case) -> str:
    """The command that repeats a case."""
    quoted = line(case).replace("'", "'\\''")
    return f"python -m tests.fuzz {fuzzer.name} --case '{quoted}'"


def _kind(error: BaseException | None) -> str:
    """Exceptions of one type from one line of code are one failure."""
    if error is None:
        return ""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return f"{type(error).__name__} at {at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else type(error).__name__


def _simpler(values: Sequence[Any], value: Any) -> Iterator[Any]:
    """Values that stand before one in its field: the first, then halfway again and again, then the one before it."""
    place = values.index(value)
    tried, step = 0, place
    while tried < place:
        yield values[tried]
        step //= 2
        tried = place - step if step else place
