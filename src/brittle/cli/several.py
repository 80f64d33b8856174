"""Options that take several values, repeated or with commas: `-c fog -c snow` is `-c fog,snow`."""

from __future__ import annotations

from collections.abc import Sequence


def several(values: Sequence[str] | None) -> list[str]:
    """Every value, in the order given, each once."""
    words = (word.strip() for value in values or () for word in value.split(","))
    return list(dict.fromkeys(word for word in words if word))


def several_numbers(values: Sequence[str] | None, what: str) -> list[float]:
    """Every number, in the order given, each once."""
    numbers = []
    for word in several(values):
        try:
            numbers.append(float(word))
        except ValueError:
            raise ValueError(f"{what} must be numbers such as 1,2.5,5; got {word!r}") from None
    return list(dict.fromkeys(numbers))
