"""Styles of printed lines, in which every bracket is text.

Verbs print names that users gave, such as photos[red].png, in the midst of their lines. In the markup of Rich these
would be styles, and each name would have to be escaped; so styles begin with a character that no name has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

MARK = "\ufdd0"
"""What surrounds the name of a style: a code point that Unicode keeps from texts, for use within a program."""

BOLD, DIM, RED, GREEN, YELLOW = (f"{MARK}{name}{MARK}" for name in ("bold", "dim", "red", "green", "yellow"))
"""The following text has this style, up to the next `END`; written as f"{DIM}…{END}"."""

END = f"{MARK}{MARK}"
"""The last style that began ends here."""

TAG = re.compile(f"{MARK}([a-z]*){MARK}")


CODE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that steer a terminal: names of files and classes may hold them."""


def without_codes(text: str) -> str:
    r"""A text with its codes spelt out, such as \x1b; new lines and tabs stay."""
    return CODE.sub(lambda code: f"\\x{ord(code[0]):02x}", text)


def styled(text: str) -> Text:
    """A line with `BOLD`, `DIM`, … and `END` as a text with styles; everything else in it is printed as it is."""
    from rich.text import Text

    shown, place = Text(), 0
    begun: list[tuple[str, int]] = []
    for tag in TAG.finditer(text):
        shown.append(text[place : tag.start()])
        place = tag.end()
        if tag[1]:
            begun.append((tag[1], len(shown)))
        elif begun:
            name, start = begun.pop()
            shown.stylize(name, start)
    shown.append(text[place:])
    for name, start in begun:
        shown.stylize(name, start)
    return shown
