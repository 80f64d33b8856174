"""The classes that sliders are for: number, name, and the words of their prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from brittle.datasets.class_table import imagenet_names
from brittle.datasets.near import nearest

SOME = 30
"""More names than these are not listed."""


@dataclass(frozen=True)
class SlidClass:
    """A class of a slider; `prompt` is its name, or a learnt token such as "<bald eagle-22>"."""

    number: int
    name: str
    prompt: str


def class_names(file: str | Path | None = None) -> tuple[str, ...]:
    """The names of all classes by number: the lines of a file, or the 1000 of ImageNet."""
    if file is None:
        return tuple(name.replace("_", " ") for name in imagenet_names())
    path = Path(file).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of class names {str(file)!r}; it has one name a line, class 0 first")
    names = tuple(" ".join(line.replace("_", " ").split()) for line in path.read_text(encoding="utf-8").splitlines())
    if not names or not all(names):
        raise ValueError(f"{str(file)!r} has one class name a line, class 0 first, and no empty lines")
    return names


def find_class(given: str, names: Sequence[str], tokens: Sequence[str] | None = None) -> SlidClass:
    """A class by its number or its name; the prompt is its token, if there are tokens."""
    text = " ".join(str(given).replace("_", " ").split())
    if text.isdecimal():
        number = int(text)
        if number >= len(names):
            raise ValueError(f"there is no class {number}; classes are numbered 0 to {len(names) - 1}")
    else:
        called = [i for i, name in enumerate(names) if name.casefold() == text.casefold()]
        if len(called) > 1:
            raise ValueError(
                f"{len(called)} classes are called {given!r}; give a number: {', '.join(map(str, called))}"
            )
        if not called:
            hint = nearest(text, names) if len(names) <= SOME else _few(text, names)
            raise ValueError(f"there is no class {given!r}; {hint}")
        [number] = called
    if tokens is not None and number >= len(tokens):
        raise ValueError(f"there is no token of class {number}; there are {len(tokens)}")
    return SlidClass(number, names[number], names[number] if tokens is None else tokens[number])


def _few(text: str, names: Sequence[str]) -> str:
    hint = nearest(text, names)
    return hint if hint.startswith("did") else f"there are {len(names)}, such as {', '.join(names[:3])}"
