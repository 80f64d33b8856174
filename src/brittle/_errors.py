"""The exceptions of brittle, and suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


class BrittleError(ValueError):
    """A user error: the message says what was given, what is allowed and what to do.

    >>> import brittle
    >>> brittle.get_corruption("fgo")
    Traceback (most recent call last):
    brittle._errors.BrittleError: there is no corruption 'fgo'; did you mean 'fog'?

    The command line prints it as one sentence. Other errors are ours, and keep their traceback.
    """


class BrittleTypeError(BrittleError, TypeError):
    """A user error about an object of the wrong type, such as a class where an instance is needed."""


def did_you_mean(name: str, names: Collection[str]) -> str:
    """ "did you mean …?" with the closest name, or the list of all names."""
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are: {', '.join(sorted(names))}" if names else "there are none"


class CallbackFailed(UserWarning):
    """A callback raised an error, and is not called again."""


class SkippedImages(UserWarning):
    """Training images that could not be read, and were left out of their batches."""


class RunError(RuntimeError):
    """A valid run that could not finish: a worker died, memory ran out, or a connection was lost.

    The command line prints it as one sentence; finished results are kept.
    """


class ModelError(RunError):
    """An error raised by a model's code, in one sentence; `__cause__` is the original error with its traceback."""
