"""The values of options in the text of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brittle.models.options import option_value


class Hint:
    """A type whose name has that of whole numbers in it."""


def of_text(classes: int | None = None) -> None: ...
def of_names(classes: str | Path | None = None) -> None: ...
def of_hints(classes: Hint | str | None = None) -> None: ...
def of_points(classes: list[Hint] | None = None) -> None: ...


def with_type(kind: Any) -> Callable[..., None]:
    """A builder whose annotation is a type and no text."""

    def build(classes: Any = None) -> None: ...

    build.__annotations__["classes"] = kind
    return build


@pytest.mark.parametrize(
    ("builder", "value"),
    [
        (None, 10),
        (of_text, 10),
        (with_type(int), 10),
        (with_type(int | None), 10),
        (of_names, "10"),
        (of_hints, "10"),
        (of_points, "10"),
        (with_type(Hint), "10"),
    ],
)
def test_classes_are_a_number_for_builders_that_take_one(builder: Callable[..., None] | None, value: object) -> None:
    assert option_value("classes", "10", builder) == value
