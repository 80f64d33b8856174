"""Every public name shows how it is used, by an example that is run here."""

import doctest

import pytest

import brittle

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def examples(name: str) -> list[doctest.DocTest]:
    """The examples of one public name: those of its docstring, or of the package's where it is no class or function."""
    value = getattr(brittle, name)
    noun = value if callable(value) else brittle
    found = doctest.DocTestParser().get_doctest(noun.__doc__ or "", {}, f"brittle.{name}", None, None)
    lines = [example for example in found.examples if f"brittle.{name}" in example.source or noun is value]
    return [found] if lines else []


@pytest.mark.parametrize("name", dir(brittle))
def test_the_example_of_every_public_name_runs(name: str) -> None:
    found = examples(name)
    assert found, f"brittle.{name} has no example in its docstring"
    [test] = found
    written: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=written.append)
    assert tried
    assert not failed, "".join(written)


def test_a_name_without_an_example_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brittle.corrupt, "__doc__", "Corrupt an image.")
    assert not examples("corrupt")


def test_an_example_that_is_wrong_fails() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed == 1
