"""The values of options in the text of a model."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from brittle._errors import BrittleError


def option_value(option: str, text: str, builder: Callable[..., Any] | None = None) -> Any:
    """The value of an option from its text: numbers, sides, a boolean, or the text itself.

    The `classes` of most builders of models are their number; of one that takes no integer they are a file of names.
    """
    if option in ("mean", "std"):
        return _floats(option, text)
    if option in ("size", "crop"):
        return _sides(option, text)
    if option == "classes" and builder is not None and not _takes_integer(builder, option):
        return text
    if option in ("classes", "timesteps", "samples", "seed", "batch_size", "keep", "keep_after"):
        return _integer(option, text)
    if option in ("prior", "memory"):
        return _number(option, text)
    if option in ("pretrained", "bf16", "background"):
        return _yes_or_no(option, text)
    if option == "providers":
        return [word.strip() for word in text.split(",")]
    return None if option == "weights" and text.lower() == "none" else text


def _floats(option: str, text: str) -> tuple[float, ...]:
    """Three numbers, separated by commas, semicolons or blanks; one number is repeated."""
    try:
        numbers = tuple(float(word) for word in re.split(r"[,;\s]+", text.strip()))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 3):
        raise BrittleError(f"{option} is one number or three, such as {option}=0.5,0.5,0.5; got {text!r}")
    return numbers * 3 if len(numbers) == 1 else numbers


def _sides(option: str, text: str) -> int | tuple[int, int]:
    """A side, or height and width."""
    sides = re.split(r"[,;x×\s]+", text.strip())
    if len(sides) > 2 or not all(side.isdecimal() for side in sides):
        raise BrittleError(
            f"{option} is a side such as {option}=224, or height and width such as 256x224; got {text!r}"
        )
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))


def _integer(option: str, text: str) -> int:
    if not text.lstrip("-").isdecimal():
        raise BrittleError(f"{option} is a whole number, got {text!r}")
    return int(text)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BrittleError(f"{option} is a number, got {text!r}") from None


def _yes_or_no(option: str, text: str) -> bool:
    if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
        raise BrittleError(f"{option} is true or false, got {text!r}")
    return text.lower() in ("true", "yes", "1")


def _takes_integer(builder: Callable[..., Any], option: str) -> bool:
    annotation = inspect.signature(builder).parameters[option].annotation
    shown = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.search(r"\bint\b", shown) is not None
