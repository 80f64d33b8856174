"""Pages about slides: they show the scores of CNS-Bench, and every name on them is escaped."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image as Pil

from brittle import BrittleError
from brittle.datasets import cns_bench
from brittle.evaluation import cns_scores
from brittle.evaluation.results import Results
from brittle.report import report_html, slide_sheet
from tests.errors import naming
from tests.report.report_cases import NASTY, slides
from tests.report.strict_html import StrictHtml
from tests.sliders.cns_folder import cns_folder

RESULTS = slides()
FOUND = cns_scores(RESULTS, baseline="alexnet")


def test_the_page_of_slides_says_what_was_found() -> None:
    page = StrictHtml(report_html(RESULTS))
    words = " ".join(" ".join(page.words).split())
    for title in ("Accuracy along the scales", "Failure points", "Ranks", "ID/OOD slopes", "rCE", "mean margin"):
        assert title in words
    row = FOUND.rce.filter((pl.col("model") == "vit") & (pl.col("shift") == "mean")).row(0, named=True)
    assert f"{row['rce']:.2f}" in words
    assert "divided by that of alexnet." in words
    assert NASTY in words


def test_sections_that_need_several_models_are_left_out() -> None:
    page = " ".join(StrictHtml(report_html(slides(("vit",), ("heavy_fog",)))).words)
    assert "Accuracy along the scales" in page
    assert "Ranks" not in page
    assert "rCE" not in page.partition("Methods")[0].rpartition("In short")[2].partition("Definitions")[0]
    two = " ".join(StrictHtml(report_html(slides(("vit", "deit")))).words)
    assert "ID/OOD slopes" not in two.partition("Definitions")[0]
    assert "the worst model without a shift, since AlexNet was not run" in two


def test_an_undefined_rce_is_a_sentence() -> None:
    rows = RESULTS.rows.with_columns(correct=pl.lit(True))
    words = " ".join(StrictHtml(report_html(Results(rows))).words)
    assert "There is no rCE: rCE of the shift 'heavy_fog' is undefined" in words
    assert "without a shift it stays at" in words


def test_a_model_that_lacks_a_scale_is_left_out_and_named() -> None:
    rows = RESULTS.rows.filter(~((pl.col("model") == "vit") & (pl.col("level") == 2.5)))
    words = " ".join(StrictHtml(report_html(Results(rows))).words)
    assert "Not shown, because some cells are missing: vit." in words


def test_a_sheet_has_a_row_for_each_class_in_each_shift(tmp_path: Path) -> None:
    data = cns_bench(cns_folder(tmp_path / "cns"))
    sheet = slide_sheet(data, thumb=48)
    bare = slide_sheet(data, thumb=48, most=2)
    assert sheet.width * sheet.height > 2 * bare.width * bare.height
    wrong = {str(sample): ("tench", False) for sample in data.ids}
    marked, right = (
        np.asarray(slide_sheet(data, thumb=112, predictions=dict.fromkeys(wrong, ("tench", is_right))), np.int16)
        for is_right in (False, True)
    )
    orange = np.abs(marked - (194, 65, 12)).max(-1) < 40
    assert orange.any()
    assert not (np.abs(right - (194, 65, 12)).max(-1) < 40)[orange].any()
    with pytest.raises(BrittleError, match=naming(99)):
        slide_sheet(data, seed=99)
    assert isinstance(sheet, Pil.Image)
