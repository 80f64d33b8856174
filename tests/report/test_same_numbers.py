"""The page of a second edition shows every number that the first one showed, section by section, model by model."""

import json
from pathlib import Path

import pytest

from brittle.evaluation import search_failure_points
from brittle.report import report_html, write_failure_report
from tests.report.demo_cut import demo_cut
from tests.report.report_cases import CASES, STEPS, dataset, models
from tests.report.shown_numbers import Facts, lacking, shown_numbers

FILE = Path(__file__).with_name("shown_numbers.json")
KEPT = (
    *("two recipes", "one model", "clean only", "mixed levels", "ranges", "never right", "several runs"),
    *("no clean images", "rows without a run", "slides", "searched"),
)


def pages(folder: Path) -> dict[str, str]:
    """The pages that are compared: small runs of every shape, a cut of the demo, and failure points alone."""
    made = {name: report_html(CASES[name](folder / name.replace(" ", "-"))) for name in KEPT}
    made["demo"] = report_html(demo_cut(folder / "demo"))
    search_failure_points(models("a", "b"), dataset(), STEPS, folder / "points", tolerance=0.25)
    made["failure points"] = write_failure_report([folder / "points"], folder / "page.html").read_text()
    return made


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Facts]:
    return {name: shown_numbers(page) for name, page in pages(tmp_path_factory.mktemp("pages")).items()}


@pytest.mark.parametrize("name", [*KEPT, "demo", "failure points"])
def test_every_number_of_the_first_edition_is_shown(shown: dict[str, Facts], name: str) -> None:
    before: Facts = json.loads(FILE.read_text(encoding="utf-8"))[name]
    assert sum(len(labels) for labels in before.values()) > 5
    assert lacking(before, shown[name]) == []


def test_a_changed_or_lost_number_is_noticed() -> None:
    page = """<section id="part1-heat"><h3>Cells</h3><h4>net</h4><table><tr><th scope="col">corruption</th>
    <th scope="col">clean</th></tr><tr><th scope="row">fo<wbr>g</th><td><b>57.2</b> [1, 2]</td></tr></table>
    <dl><dt>mean</dt><dd>3.5\u202f%</dd></dl><figure><svg><text>7</text><rect><title>fog, 3\nnet 12.5 %</title></rect>
    </svg></figure></section>"""
    facts = shown_numbers(page)
    assert facts == {
        "part1-heat": {
            "net | fog × clean": ["57.2 [1, 2]"],
            "net | mean": ["3.5 %"],
            "net | tip fog, 3": ["net 12.5 %"],
        }
    }
    assert lacking(facts, facts) == []
    for old, new in (("57.2", "57.3"), ("3.5", "3.6"), ("12.5", "12.4")):
        assert len(lacking(facts, shown_numbers(page.replace(old, new)))) == 1
