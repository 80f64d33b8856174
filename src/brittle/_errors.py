"""What is raised when something was asked for that cannot be, and what somebody may have meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class BrittleError(ValueError):
    """What somebody asked for cannot be done; it says what was given, what is allowed and what to do.

    >>> import brittle
    >>> brittle.get_corruption("fgo")
    Traceback (most recent call last):
    brittle._errors.BrittleError: there is no corruption 'fgo'; did you mean 'fog'?

    The command line prints it as one sentence. Other errors are ours, and keep their traceback.
    """


class BrittleTypeError(BrittleError, TypeError):
    """The same for an object of the wrong kind, such as a class where an object of it is needed."""


def did_you_mean(given: str, known: Collection[str]) -> str:
    """ "did you mean …?", or the list of what there is."""
    close = get_close_matches(given, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are: {', '.join(sorted(known))}" if known else "there are none"


class RunError(RuntimeError):
    """Work that could not be finished though nothing wrong was asked for: a worker died, memory or a link was lost.

    The command line prints it as one sentence; what was finished before is kept.
    """


class ModelError(RunError):
    """What a model's own code raised, told in one sentence; `__cause__` is the error itself, with its traceback."""


@contextmanager
def model_errors(model: str, when: str) -> Iterator[None]:
    """Turn whatever is raised here, in code that is not ours, into a `ModelError`; `when` is such as "on fog 3"."""
    try:
        yield
    except Exception as error:
        first, *more = str(error).strip().splitlines() or [""]
        reason = f"{type(error).__name__}: {first}" if first else type(error).__name__
        raise ModelError(f"the model {model!r} failed {when}: {reason}{' …' if more else ''}") from error
