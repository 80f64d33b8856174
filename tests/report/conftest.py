import pytest

from brittle.evaluation import Results
from brittle.report import report_html
from tests.report.report_cases import CASES


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory):
    """The results and the page of a case, made once."""
    known: dict[str, tuple[Results, str]] = {}

    def make(case: str) -> tuple[Results, str]:
        if case not in known:
            results = CASES[case](tmp_path_factory.mktemp("run") / "run")
            known[case] = results, report_html(results)
        return known[case]

    return make
