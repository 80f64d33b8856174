"""What somebody may have meant."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def nearest(given: str, known: Collection[str]) -> str:
    """ "did you mean …?", or the list of what there is."""
    close = get_close_matches(given, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are: {', '.join(sorted(known))}" if known else "there are none"
