"""Evidence for a safety case: every number and digest is in it, in every format, and what it does not prove."""

import shutil
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from brittle._errors import BrittleError
from brittle.evaluation import Results, check_rules, load_results, load_rules
from brittle.publish import write_evidence
from brittle.publish.clauses import CLAUSES
from brittle.publish.evidence import BROWSERS, ORDER, evidence_sections
from tests.browser import Browser
from tests.errors import naming
from tests.publish.conftest import SMALL
from tests.report.strict_html import StrictHtml

RULES = """
[[rule]]
name = "a | rule <b>"
metric = "accuracy"
at_least = 0.99

[[rule]]
metric = "clean accuracy"
at_least = 0.0
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize("ending", ["md", "html"])
def test_everything_that_was_tested_and_found_is_in_it(two: Results, tmp_path: Path, rules: Path, ending: str) -> None:
    text = write_evidence(two, tmp_path / f"evidence.{ending}", rules=rules).read_text("utf-8")
    run = two.runs[0]
    for wanted in (
        *(SMALL.hash, run.data_key, sha256(RULES.encode()).hexdigest(), "What this does not prove", "Art. 15(3)"),
        *(model.key for model in run.models),
        *(f"{100 * row.mean_accuracy.value:.1f}" for row in two.scores()),
        *(f"{row.mean['nll'].value:.3f}" for row in two.calibration()),
        *("24029-1", "24029-3", "FAILS", "not covered here"),
    ):
        assert wanted in text, wanted
    outcomes = check_rules(two, load_rules(rules))
    assert text.count("FAILS") >= sum(one.verdict == "fails" for one in outcomes) > 0
    if ending == "html":
        StrictHtml(text)
        assert "<b>a |" not in text
    else:
        assert "a \\| rule \\<b>" in text


def test_predictions_without_confidences_have_no_table_of_them(two: Results) -> None:
    bare = Results(two.rows.with_columns(pl.lit(None, pl.Float32).alias("confidence")), two.runs)
    [results] = [section for section in evidence_sections(bare, [SMALL]) if section.key == "results"]
    [confidences] = [table for caption, table in results.tables if "confidences" in caption]
    assert "ECE (%)" not in confidences.head
    nothing = Results(bare.rows.drop("label_probability", "label_in_top5", "square_sum"), two.runs)
    [results] = [section for section in evidence_sections(nothing, [SMALL]) if section.key == "results"]
    assert not any("confidences" in caption for caption, _ in results.tables)


def test_the_clauses_point_to_sections_that_exist(two: Results) -> None:
    sections = evidence_sections(two, [SMALL])
    assert [section.key for section in sections] == list(ORDER)
    assert {key for clause in CLAUSES for key in clause.sections} <= set(ORDER)
    assert any("No rules were given" in text for section in sections for text in section.paragraphs)


def test_a_changed_prediction_changes_the_digest(two: Results, tmp_path: Path) -> None:
    copy = shutil.copytree(two.runs[0].folder, tmp_path / "run")
    before = evidence_sections(load_results(copy), [SMALL])[-1].tables[0][1].rows[0][2]
    assert before == evidence_sections(two, [SMALL])[-1].tables[0][1].rows[0][2]
    shutil.rmtree(next(copy.glob("cells/*")))
    assert evidence_sections(load_results(copy), [SMALL])[-1].tables[0][1].rows[0][2] != before


def test_a_browser_has_nothing_to_complain_about(two: Results, tmp_path: Path, rules: Path, browser: Browser) -> None:
    page = write_evidence(two, tmp_path / "evidence.html", rules=rules)
    for width in (400, 1280):
        browser.resize(width, 900)
        browser.open(page)
        assert browser.too_wide == 0


def test_a_pdf_is_printed_by_an_installed_browser(two: Results, tmp_path: Path) -> None:
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("a browser that prints is needed: install chromium")
    path = write_evidence(two, tmp_path / "new" / "evidence.pdf")
    assert path.read_bytes().startswith(b"%PDF")
    assert [one.name for one in path.parent.iterdir()] == ["evidence.pdf"]


def test_what_cannot_be_written_is_one_sentence(
    two: Results, other_images: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BrittleError, match=naming("evidence.docx", ".html", ".md", ".pdf")):
        write_evidence(two, tmp_path / "evidence.docx")
    both = load_results(two.runs[0].folder, other_images.runs[0].folder)
    with pytest.raises(BrittleError, match=naming("different images")):
        write_evidence(both, tmp_path / "evidence.md")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BrittleError, match=naming(".pdf", ".html", "Chromium")):
        write_evidence(two, tmp_path / "evidence.pdf")
