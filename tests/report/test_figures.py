"""Figures of benchmark design: what they say is what was measured, and nothing leaves the paper."""

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import brittle
from brittle import BrittleError
from brittle.design import (
    Calibration,
    OverlapMatrix,
    categories,
    correlation_table,
    non_overlapping,
    published_overlap,
    sweep,
)
from brittle.plots import contrast_ratio
from brittle.report.figures import (
    calibration_figure,
    category_figure,
    correlation_figure,
    coverage_figure,
    overlap_figure,
    save_figure,
    sweep_figure,
)
from tests.report.test_report_in_a_browser import BROWSER, browse

SVG = "{http://www.w3.org/2000/svg}"
TABLE = published_overlap("noc-table7")


def texts(figure: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(figure).iter(f"{SVG}text")]


def tips(figure: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(figure).iter(f"{SVG}title")]


def masked_matrix(names: list[str]) -> OverlapMatrix:
    """Random overlaps; those of the second are masked."""
    shares = np.random.default_rng(1).random((len(names), len(names)))
    scores = (shares + shares.T) / 2
    scores[1] = scores[:, 1] = np.nan
    np.fill_diagonal(scores, 1)
    high = scores + 0.1
    high[0, -1] = high[-1, 0] = np.inf
    np.fill_diagonal(high, 1)
    return OverlapMatrix(tuple(names), scores, scores, high)


def calibration(name: str) -> Calibration:
    evaluations = ((0.0, 1.0), (1.25, 0.94), (2.5, 0.7), (5.0, 0.63))
    return Calibration(name, (1.25, 5.0), (0.94, 0.63), (True, False), evaluations)


def correlations() -> pl.DataFrame:
    drops = np.random.default_rng(2).random((6, 4))
    groups = {"(2,1)": [("a", "c"), ("b", "d")], "fixed": [("a", "b")]}
    return correlation_table(drops, list("abcd"), groups, {"nature": drops[:, 0], "world": -drops[:, 1]})


FIGURES = {
    "overlap": lambda: overlap_figure(TABLE),
    "long names": lambda: overlap_figure(masked_matrix([c.id for c in brittle.list_corruptions(source="c-bar")])),
    "two": lambda: overlap_figure(masked_matrix(["noc/rain", "<odd> & name"])),
    "forty": lambda: category_figure(*split([c.id for c in brittle.list_corruptions(source="syn2nat")])),
    "categories": lambda: category_figure(TABLE, categories(TABLE)),
    "sweep": lambda: sweep_figure(sweep(TABLE, [0.05, 0.1, 0.3]), chosen=0.1),
    "one threshold": lambda: sweep_figure(sweep(TABLE, [-1])),
    "correlation": lambda: correlation_figure(correlations()),
    "coverage": lambda: coverage_figure(TABLE, ["fog", "snow"], of=TABLE.names),
    "calibration": lambda: calibration_figure(
        [calibration(e.id) for e in brittle.load_benchmark("noc-candidates").entries], robustness=(0.95, 0.5)
    ),
}


def split(names: list[str]) -> tuple:
    overlap = masked_matrix(names).subset([names[0], *names[2:]])
    return overlap, categories(overlap, count=6, starts=2)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_one_strict_file_for_light_and_dark(name: str, tmp_path: Path) -> None:
    path = save_figure(FIGURES[name](), tmp_path / "new" / "figure.svg")
    page = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(page)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text
    assert page.count("prefers-color-scheme:dark") == 1
    assert not re.findall(r"(?:href|src|@import|url\((?!#))", page)
    assert not re.search(r"\bnan\b", page, re.I)


def test_numbers_in_cells_are_the_overlaps_in_their_order() -> None:
    figure = overlap_figure(TABLE)
    order = TABLE.ordered()
    written = texts(figure)
    short = [name.rpartition("/")[2] for name in order]
    assert [text for text in written if text in short] == [*short, *short]
    wanted = [f"{TABLE[a, b]:.2f}" if TABLE[a, b] else "0" for a in order for b in order if a != b]
    cells = [text for text in written if re.fullmatch(r"0|\d\.\d\d", text)]
    assert cells[: len(wanted)] == wanted
    noises = "imagenet-c/gaussian_noise", "imagenet-c/shot_noise"
    assert f"{' and '.join(noises)}: {TABLE[noises]:.3f}" in tips(figure)


def test_masked_cells_are_hatched_and_many_names_have_no_numbers() -> None:
    names = [f"noc/{letter}" for letter in "abcdefgh"]
    figure = overlap_figure(masked_matrix(names))
    assert figure.count("url(#hatch)") == 2 * 7 + 1  # and the key
    assert "masked" in texts(figure)
    assert "a" in texts(figure)  # the set is the same for all, so it is left out
    assert any(tip.endswith("to ∞") for tip in tips(figure))
    many = masked_matrix([f"noc/{i:02}" for i in range(26)])
    assert not [text for text in texts(overlap_figure(many)) if re.fullmatch(r"0\.\d\d", text)]


def test_each_figure_says_what_was_found() -> None:
    table = sweep(TABLE, [0.1, 0.3])
    assert [t for t in tips(sweep_figure(table)) if t.startswith("threshold 0.3: 6 corruptions")]
    best = non_overlapping(TABLE, 0.3)
    assert any(", ".join(best.members) in tip for tip in tips(sweep_figure(table)))
    written = texts(coverage_figure(TABLE, ["fog", "snow"], of=TABLE.names))
    assert "0.49 by fog" in written  # contrast, as NOC's text has it
    assert written.count("a member") == 2
    assert "1.25 to 5.00 (R ≥ 0.63)" in texts(calibration_figure([calibration("noc/hue")]))
    assert "category 3" in texts(category_figure(TABLE, categories(TABLE)))
    rows = correlations()
    assert f"{rows['(2,1)'][0]:.3f}".replace("-", "−") in texts(correlation_figure(rows))


def test_text_can_be_read_on_every_step_of_the_ramps() -> None:
    css = overlap_figure(TABLE)
    for part in css.split("@media"):
        fills = dict(re.findall(r"\.([od]\d+)\{fill:(#\w{6})\}", part))
        inks = dict(re.findall(r"text\.([od]\d+)t\{fill:(#\w{6})\}", part))
        assert len(fills) == len(inks) == 42
        assert min(contrast_ratio(fills[step], inks[step]) for step in fills) > 4.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: save_figure(overlap_figure(TABLE), "a.png"), "a figure is an .svg file, .* got 'a.png'"),
        (lambda: sweep_figure(sweep(TABLE, [0.1]).head(0)), "at least one threshold"),
        (lambda: calibration_figure([]), "at least one calibration"),
        (lambda: correlation_figure(pl.DataFrame({"natural": ["a"]})), "one column a group"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises(BrittleError, match=message):
        call()


MEASURE = """<script>
const out = [];
for (const svg of document.querySelectorAll("svg")) {
  const paper = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    if (box.left < paper.left || box.right > paper.right + 1 || box.top < paper.top || box.bottom > paper.bottom)
      out.push(text.textContent);
  }
}
document.body.dataset.outside = out.join("; ") || "none";
</script>"""


@pytest.mark.skipif(BROWSER is None or shutil.which("chromium") is None, reason="needs chromium")
def test_no_word_leaves_the_paper(tmp_path: Path) -> None:
    figures = "\n".join(make() for make in FIGURES.values())
    (tmp_path / "all.html").write_text(f"<!doctype html><meta charset=utf-8><body>{figures}{MEASURE}</body>")
    shown, complaints = browse(f"file://{tmp_path}/all.html", tmp_path / "home")
    assert complaints == ""
    assert re.search(r'data-outside="([^"]*)"', shown).group(1) == "none"
