"""Options that are whole numbers."""

from __future__ import annotations


def check_whole(**options: tuple[int, int]) -> None:
    """Raise unless each option, given as (value, least), is a whole number of at least that."""
    for option, (value, least) in options.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{option} is a whole number of at least {least}, got {value!r}")
