"""What a test asks of an error: its type, and the values that it names; not its wording, which may get better.

A value is what was given, what is allowed, or what to do: an option, a file, a name, a number, a command to type.
"""

import re


def _pattern(value: object) -> str:
    """The value as a token: 1 is not named by 10 nor by 1.5, and fog is not named by foggy."""
    text = str(value)
    number = re.fullmatch(r"-?\d+(\.\d+)?", text)
    before = r"(?<![\w.-])" if number else r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w|\.\d)" if number else r"(?!\w)" if re.search(r"\w$", text) else ""
    return before + r"\s+".join(map(re.escape, text.split())) + after


def naming(*values: object) -> str:
    """A pattern for `pytest.raises(…, match=…)`: the message names all of these values, anywhere and in any order."""
    return "(?s)^" + "".join(f"(?=.*{_pattern(value)})" for value in values)


def unnamed(text: str, *values: object) -> list[object]:
    """The values that a text does not name, wherever its lines are broken; none of them if it is as it should be."""
    return [value for value in values if not re.search(_pattern(value), text)]
