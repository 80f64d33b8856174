"""A model's own code failed: who, on what, and why, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ModelError(RuntimeError):
    """What a model's own code raised, told in one sentence; `__cause__` is the error itself, with its traceback."""


@contextmanager
def telling(model: str, when: str) -> Iterator[None]:
    """Turn whatever is raised here, in code that is not ours, into a `ModelError`; `when` is such as "on fog 3"."""
    try:
        yield
    except Exception as error:
        first, *more = str(error).strip().splitlines() or [""]
        reason = f"{type(error).__name__}: {first}" if first else type(error).__name__
        raise ModelError(f"the model {model!r} failed {when}: {reason}{' …' if more else ''}") from error
