"""How nouns look in a notebook: whole HTML, names escaped, nothing loaded from anywhere, no colours of one theme."""

import re
import warnings

import numpy as np
import pytest

import brittle
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import registry
from brittle.corruptions.registry import describe, stand_in
from brittle.datasets import arrays
from brittle.design import OverlapMatrix
from brittle.evaluation import evaluate
from tests.report.strict_html import StrictHtml

NAME = "<b>&\"'"
RECIPE = Benchmark(NAME, (Entry("contrast", (1, 3)), Entry("brightness", (2.5, (1, 5)))), title=NAME)
IMAGES = np.random.default_rng(0).integers(0, 256, (6, 16, 16, 3), np.uint8)
DATA = arrays(IMAGES, [0, 1, 2] * 2, [NAME, "second", "third"], name=NAME)
MATRIX = OverlapMatrix((NAME, "noc/rain", "c"), np.array([[1, 0.5, np.nan], [0.5, 1, 0.25], [np.nan, 0.25, 1]]))


def tones(images: np.ndarray) -> np.ndarray:
    return images.mean((1, 2))


RESULTS = evaluate({NAME: tones, "other": lambda images: -tones(images)}, DATA, RECIPE, threads=1)
NOUNS = {
    "results": (RESULTS, ["other", "mean accuracy"]),
    "clean results": (evaluate({NAME: tones}, DATA, threads=1), ["clean", "accuracy"]),
    "scores": (RESULTS.scores(), ["other", "mean accuracy"]),
    "score": (next(s for s in RESULTS.scores() if s.model == NAME), ["imagenet-c/contrast"]),
    "comparison": (RESULTS.compare(), ["to the best"]),
    "corruptions": (RESULTS.by_corruption(), ["imagenet-c/brightness", "error"]),
    "ranks": (RESULTS.ranks(by="severity"), ["severity 3", "rank", "other"]),
    "failure points": (RESULTS.failure_points("contrast"), ["half fail at"]),
    "benchmark": (RECIPE, ["imagenet-c/contrast", "1-5", "●"]),
    "dataset": (DATA, ["6 images", "second", "third"]),
    "unlabelled": (arrays(IMAGES, name=NAME), ["unlabelled"]),
    "matrix": (MATRIX, ["rain", "0.50", "0.25", "–"]),
}


@pytest.mark.parametrize("noun", NOUNS)
def test_html_is_whole_escaped_and_needs_nothing(noun: str) -> None:
    value, words = NOUNS[noun]
    html = value._repr_html_()
    StrictHtml(f"<!doctype html>\n{html}")
    assert '<b>&"' not in html
    if noun != "failure points":
        assert "&lt;b&gt;&amp;" in html
    assert not re.search(r"<script|<link|https?://|@import|url\(", html)
    assert not re.search(r"color:\s*(#|black|white|rgb\()", html), "text takes the colour of the page"
    for word in words:
        assert word in html


@pytest.mark.parametrize("noun", NOUNS)
def test_the_text_is_short_and_has_no_address(noun: str) -> None:
    text = repr(NOUNS[noun][0])
    assert " at 0x" not in text
    assert len(text.splitlines()) < 20
    assert max(map(len, text.splitlines())) < 240


def pictures(html: str) -> list[np.ndarray]:
    return StrictHtml(f"<!doctype html>\n{html}").pictures


def test_a_corruption_shows_the_cat_from_clean_to_its_strongest_level() -> None:
    shown = pictures(brittle.get_corruption("contrast")._repr_html_())
    assert [picture.shape for picture in shown] == [(96, 96, 3)] * 6
    spread = [picture.std() for picture in shown]
    assert spread == sorted(spread, reverse=True)
    np.testing.assert_array_equal(shown[3], brittle.corrupt(shown[0], "contrast", 3))


def test_a_corruption_without_its_code_shows_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))
    stand_in({**describe(brittle.get_corruption("contrast")), "id": "elsewhere/contrast", "source": "elsewhere"})
    html = brittle.get_corruption("elsewhere/contrast")._repr_html_()
    assert "elsewhere/contrast" in html
    assert not pictures(html)


def test_a_dataset_shows_its_images_evenly() -> None:
    shown = pictures(brittle.load_dataset("demo")._repr_html_())
    assert len(shown) == 8
    np.testing.assert_array_equal(shown[0], brittle.load_dataset("demo").image(0))
    np.testing.assert_array_equal(shown[1], brittle.load_dataset("demo").image(125))


def test_a_published_table_shows_its_numbers() -> None:
    table = brittle.published_table("imagenet-c-alexnet")
    assert "0.819324" in table._repr_html_()
    assert "imagenet-c-alexnet" in repr(table)


def test_without_widgets_a_notebook_shows_results_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Rich believes to be in a notebook it would warn of a missing ipywidgets, and display empty outputs."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = evaluate({"tones": tones}, DATA, RECIPE, threads=1)
        for shown in (results, results.scores(), results.by_corruption()):
            assert "tones" in repr(shown)
