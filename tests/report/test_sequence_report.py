"""What the report shows of sequences, beside what the evaluation says of them."""

import re
from pathlib import Path

import pytest

import brittle
from brittle.benchmarks import Benchmark, Entry, SequenceBenchmark
from brittle.report import report_html
from tests.evaluation.test_sequences import DATA, touchy
from tests.report.shown_numbers import shown_numbers
from tests.report.strict_html import StrictHtml

SHORT = SequenceBenchmark("short", ("rotate", "gaussian_noise", "translate"))
MODELS = [touchy(1, "one"), touchy(-1, "two")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sequences") / "run"
    brittle.evaluate(MODELS, DATA, SHORT, folder, progress=None)
    return folder


def test_flips_and_distances_are_those_of_the_evaluation(run: Path) -> None:
    results = brittle.load_results(run)
    page = report_html(results, reference="one")
    StrictHtml(page)
    shown = shown_numbers(page)["part1-steadiness"]

    def cell(place: str) -> list[str]:
        return next(texts for label, texts in shown.items() if label.endswith(place))

    for score in results.sequence_scores(reference="one"):
        for column, value in (("flip probability", score.flip_probability), ("mFR", score.mfr)):
            [text] = cell(f"{score.model} × {column}")
            assert text.startswith("–" if value is None else f"{100 * value.value:.1f}")
        [text] = cell(f"{score.model} × top-5 distance")
        assert text.startswith(f"{score.top5_distance.value:.2f}")
        for name, flips in score.flip_probabilities.items():
            [text] = cell(f"{name.rpartition('/')[2]} × {score.model}")
            assert [float(end) for end in re.findall(r"[\d.]+", text)] == pytest.approx(
                [round(100 * end, 1) for end in (flips.value, flips.low, flips.high)], abs=0.051
            )


def test_without_a_reference_there_is_no_mfr(run: Path) -> None:
    page = report_html(brittle.load_results(run))
    assert not [label for label in shown_numbers(page)["part1-steadiness"] if label.endswith("× mFR")]


def test_sequences_stand_beside_the_benchmark_of_the_same_images(run: Path, tmp_path: Path) -> None:
    """Two folders, one of them with a benchmark: sequences are a part of their own, and alter nothing else."""
    blur = Benchmark("blur", (Entry("gaussian_blur", (1, 3)),))
    plain = brittle.evaluate(MODELS, DATA, blur, tmp_path / "blur", progress=None)
    both = report_html(brittle.load_results(tmp_path / "blur", run))
    alone = shown_numbers(report_html(plain))
    together = shown_numbers(both)
    assert {key: value for key, value in together.items() if key in alone and key != "methods"} == {
        key: value for key, value in alone.items() if key != "methods"
    }
    assert [key for key in together if key.endswith("-steadiness")] == ["part2-steadiness"]


def test_sequences_of_two_difficulties_are_refused_in_the_page(run: Path, tmp_path: Path) -> None:
    harder = SequenceBenchmark("short", SHORT.perturbations, difficulty=2)
    brittle.evaluate(MODELS, DATA, harder, tmp_path / "harder", progress=None)
    page = report_html(brittle.load_results(run, tmp_path / "harder"))
    assert "difficulties [1.0, 2.0]" in page
    assert "part1-steadiness" in page


def test_published_sequences_need_no_clean_images(run: Path) -> None:
    results = brittle.load_results(run)
    assert results.sequences is not None
    alone = brittle.Results(results.rows.limit(0), results.runs, results.sequences)
    shown = shown_numbers(report_html(alone))
    assert [key for key in shown if key.startswith("part")] == ["part1-steadiness"]
