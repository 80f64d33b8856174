"""What is asked of every verb's answer."""

from xml.etree import ElementTree

from typer.testing import Result

from tests.errors import unnamed


def good(result: Result) -> str:
    """What was printed, in 80 columns, by a verb that ended well."""
    assert result.exit_code == 0, result.stderr or result.exception
    assert max(map(len, result.stdout.splitlines())) <= 80, result.stdout
    return result.stdout


def refused(result: Result, *values: object) -> None:
    """A mistake is one red sentence that names these values."""
    assert result.exit_code == 2, result.exception or result.output
    assert result.stderr.startswith("Error: ")
    assert unnamed(result.stderr, *values) == [], result.stderr
    assert result.stderr.count("\n") <= 2


def options(given: dict[str, object]) -> list[object]:
    """A command line from its options and their values."""
    return [part for pair in given.items() for part in pair]


def words_of(path: str) -> str:
    """All text of a figure."""
    root = ElementTree.parse(path).getroot()
    return " ".join(node.text or "" for node in root.iter())
