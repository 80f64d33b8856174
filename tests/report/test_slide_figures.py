"""Figures and pages about slides: they show the scores of CNS-Bench, and every name on them is escaped."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from PIL import Image as Pil

from brittle import BrittleError
from brittle.datasets import cns_bench
from brittle.evaluation import cns_scores
from brittle.evaluation.results import Results
from brittle.report import report_html, slide_sheet
from brittle.report.figures import (
    drop_figure,
    failure_figure,
    filter_figure,
    loss_figure,
    ooc_score_figure,
    ranking_figure,
    rce_figure,
    shift_curve_figure,
    slope_figure,
)
from tests.errors import naming
from tests.report.strict_html import StrictHtml
from tests.sliders.cns_folder import cns_folder

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<b>ü & "co"</script>'
SCALES = (0.0, 0.5, 1.0, 2.5)


def results(models: tuple[str, ...] = ("alexnet", "vit", NASTY), shifts=("heavy_fog", "heavy_snow")) -> Results:
    """Each model is right below a limit of its own, and each trajectory shifts it."""
    rows = []
    rng = np.random.default_rng(0)
    for place, model in enumerate(models):
        for shift in shifts:
            for seed in range(12):
                limit = 0.3 + 0.5 * place + rng.random()
                for scale in SCALES:
                    sample = f"{shift}/000_tench/seed_{seed:04}_scale_{round(1000 * scale):04}.jpg"
                    right = scale < limit and seed > place
                    rows.append((model, f"cns/{shift}", scale, sample, 0, 0 if right else 1, 0.9, right))
    names = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
    return Results(pl.LazyFrame(rows, schema=names, orient="row"))


RESULTS = results()
FOUND = cns_scores(RESULTS, baseline="alexnet")
ORDER = [NASTY, "vit", "alexnet"]
CURVES = pl.DataFrame(
    [
        (shift, scale, measure, sign * scale, sign * scale - 0.5, sign * scale + 0.5, 12)
        for shift in ("heavy_fog", NASTY)
        for measure, sign in (("ΔCLIP shift", 3.0), ("ΔCLIP class", -1.0))
        for scale in SCALES
    ],
    schema=["shift", "scale", "measure", "value", "low", "high", "trajectories"],
    orient="row",
)
QUALITY = pl.DataFrame(
    [
        ("2 of 4", 0.9, 0.8, 1, 0.1, 0, 0.2, 0.88, 0.8, 0.9, 50),
        (NASTY, 0.5, 0.4, 0.6, 0.3, 0.2, 0.4, 0.6, 0.5, 0.7, 50),
    ],
    schema=["filter", *(f"{w}{e}" for w in ("tpr", "fpr", "accuracy") for e in ("", "_low", "_high")), "images"],
    orient="row",
)
KNOWN = pl.DataFrame(
    {
        "out_of_class": [True] * 4 + [False] * 8,
        "CLIP_class": [1.0, 2, 3, 9, *range(4, 12)],
        "CLIP_ref": [None, *np.linspace(0, 1, 11)],
    }
)
FIGURES = {
    "drop": lambda: drop_figure(FOUND.accuracy, ORDER),
    "failure": lambda: failure_figure(FOUND.failure_points, ORDER),
    "ranking": lambda: ranking_figure(FOUND.rankings, FOUND.agreement, ORDER),
    "slope": lambda: slope_figure(FOUND.slopes),
    "rce": lambda: rce_figure(FOUND.rce, ORDER, "alexnet"),
    "curves": lambda: shift_curve_figure(CURVES),
    "filter": lambda: filter_figure(QUALITY),
    "scores": lambda: ooc_score_figure(KNOWN, {"CLIP_class": 3.5, "CLIP_ref": 0.25}),
    "loss": lambda: loss_figure({"fog": [1.0, 0.5, 0.1], NASTY: list(np.geomspace(1, 1e-3, 300))}),
}


def tips(figure: str) -> str:
    return "\n".join(node.text or "" for node in ElementTree.fromstring(figure).iter(f"{SVG}title"))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_whole_and_nothing_leaves_its_paper(name: str) -> None:
    root = ElementTree.fromstring(str(FIGURES[name]()))
    width, height = float(root.get("width")), float(root.get("height"))
    inner = [node for node in root.iter(f"{SVG}svg") if node is not root]
    assert inner
    boxes = [[float(node.get(key)) for key in ("x", "y", "width", "height")] for node in inner]
    top = float(re.search(r"translate\(0 ([\d.]+)\)", "".join(n.get("transform", "") for n in root))[1])
    assert all(x >= 0 and x + w <= width and top + y + h <= height for x, y, w, h in boxes)
    for i, (x, y, w, h) in enumerate(boxes):  # no panel lies on another
        assert all(x + w <= a or a + c <= x or y + h <= b or b + d <= y for a, b, c, d in boxes[i + 1 :])
    for panel in inner:
        assert panel.get("aria-label")
        _, _, wide, high = map(float, panel.get("viewBox").split())
        for mark in panel.iter(f"{SVG}circle"):
            assert 0 <= float(mark.get("cx")) <= wide
            assert 0 <= float(mark.get("cy")) <= high


def test_scores_are_counted_and_their_auc_is_the_share_of_right_pairs() -> None:
    root = ElementTree.fromstring(str(FIGURES["scores"]()))
    labels = [node.get("aria-label") for node in root.iter(f"{SVG}svg") if node is not root]
    lower = sum((a < b) + (a == b) / 2 for a in (1, 2, 3, 9) for b in range(4, 12)) / 32
    assert labels == [f"CLIP_class: AUC {lower:.2f}, threshold 3.5", "CLIP_ref: AUC 1.00, threshold 0.25"]
    shares = [float(share) for share in re.findall(r"out of class ([\d.]+) %", tips(FIGURES["scores"]()))]
    assert sum(shares[:32]) == pytest.approx(100)
    assert sum(shares[32:]) == pytest.approx(100, abs=0.3)


def test_drops_are_those_of_the_scores() -> None:
    shown = tips(FIGURES["drop"]())
    for row in FOUND.accuracy.filter(pl.col("shift") == "heavy_fog").iter_rows(named=True):
        words = f"{row['model']}  {100 * row['drop']:.1f} [{100 * row['drop_low']:.1f}, {100 * row['drop_high']:.1f}]"
        assert words.replace("-", "−") in shown


def test_failure_columns_are_as_high_as_their_shares() -> None:
    root = ElementTree.fromstring(str(failure_figure(FOUND.failure_points, ORDER)))
    panel = next(node for node in root.iter(f"{SVG}svg") if "heavy fog" in (node.get("aria-label") or ""))
    bars = [float(node.get("height")) for node in panel.iter(f"{SVG}rect") if node.get("class") == "column"]
    table = FOUND.failure_points.filter((pl.col("shift") == "heavy_fog") & (pl.col("scale") > 0))
    shares = [
        float(table.filter((pl.col("model") == model) & (pl.col("scale") == scale))["share"][0])
        for model in ORDER
        for scale in SCALES[1:]
    ]
    most = int(np.argmax(shares))
    np.testing.assert_allclose(np.array(bars) / bars[most], np.array(shares) / shares[most], atol=0.01)


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
    page = " ".join(StrictHtml(report_html(results(("vit",), ("heavy_fog",)))).words)
    assert "Accuracy along the scales" in page
    assert "Ranks" not in page
    assert "rCE" not in page.partition("Methods")[0].rpartition("In short")[2].partition("Definitions")[0]
    two = " ".join(StrictHtml(report_html(results(("vit", "deit")))).words)
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
    marked = np.asarray(slide_sheet(data, thumb=48, predictions=wrong))
    assert (marked == (194, 65, 12)).all(-1).any()
    with pytest.raises(BrittleError, match=naming(99)):
        slide_sheet(data, seed=99)
    assert isinstance(sheet, Pil.Image)


def test_a_figure_of_nothing_says_so() -> None:
    with pytest.raises(BrittleError, match="nothing to draw"):
        slope_figure(FOUND.slopes.clear())
    with pytest.raises(BrittleError, match="at least one slider"):
        loss_figure({})
