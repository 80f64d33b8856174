"""What a test asks of an error: its type, and the values that it names; not its wording, which may get better."""

import re


def naming(*values: object) -> str:
    """A pattern for `pytest.raises(…, match=…)`: the message names all of these values, anywhere and in any order."""
    return "(?s)^" + "".join(f"(?=.*{re.escape(str(value))})" for value in values)
