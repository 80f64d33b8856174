"""A minute of fuzzing: the same cases every day; `make fuzz` tries others. Below, what the fuzzers found before."""

import pytest

from tests.fuzz.__main__ import FUZZERS
from tests.fuzz.engine import Finding, Fuzzer, assert_holds, fuzz
from tests.fuzz.pages import PAYLOADS, active

CASES = {"calls": 1500, "files": 150, "run-folders": 60, "recipes": 1500, "outputs": 250, "pages": 60}
"""How many cases there are at most: about ten seconds of one core each."""


@pytest.mark.parametrize("name", FUZZERS)
def test_no_case_fails(name: str) -> None:
    assert_holds(FUZZERS[name], cases=CASES[name])


def test_a_case_depends_on_its_seed_and_number_alone() -> None:
    for fuzzer in FUZZERS.values():
        assert fuzzer.case(1, 5) == fuzzer.case(1, 5)
        assert len({str(fuzzer.case(1, number)) for number in range(50)}) > 25


def test_a_failure_is_counted_and_shrunk_to_its_simplest_case() -> None:
    def check(size: int, colour: str, extra: int) -> str:
        if size >= 7 and colour != "grey":
            raise Finding("large and coloured")
        return f"fine {extra % 2}"

    fields = {"size": range(1000), "colour": ("grey", "red", "blue"), "extra": range(10)}
    fuzzer = Fuzzer("example", fields, check)
    account = fuzz(fuzzer, seed=0, seconds=5, cases=100)
    assert account.cases == 100
    assert account.outcomes["FAILED"] > 30
    [(case, error)] = account.failures.values()
    assert isinstance(error, Finding)
    assert fuzzer.shrunk(case) == {"size": 7, "colour": "red", "extra": 0}
    with pytest.raises(AssertionError, match=r"python -m tests\.fuzz example --case"):
        assert_holds(fuzzer, cases=100)


@pytest.mark.parametrize("payload", PAYLOADS[1:8])
def test_a_page_that_does_not_escape_is_noticed(payload: str) -> None:
    pages = [
        f"<title>{payload}</title>",
        f'<p title="{payload}">x</p>',
        f"<p title='{payload}'>x</p>",
        f"<p>{payload}</p>",
    ]
    pages += [f"<script>let x = '{payload}'</script>", f"<style>p {{ content: '{payload}' }}</style>"]
    plain = [active(page.replace(payload, "plain")) for page in pages]
    assert any(active(page) != known for page, known in zip(pages, plain, strict=True))
