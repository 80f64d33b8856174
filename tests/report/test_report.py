"""The report says what the scores say, shows what the models saw, and stands alone."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.evaluation import (
    CONFIDENCE_METRICS,
    Results,
    compare_all,
    evaluate,
    load_results,
    scores,
    search_failure_points,
)
from brittle.metrics import failure_points
from brittle.models import from_callable
from brittle.report import page_templates, report_html, write_report
from tests.report.report_cases import CASES, NASTY, STEPS, dataset, models, scores_of
from tests.report.shown_numbers import parse, shown_numbers
from tests.report.strict_html import StrictHtml

LIMIT = 1_000_000


def plain(text: str) -> str:
    return text.replace("−", "-")


@pytest.mark.parametrize("case", CASES)
def test_every_page_is_whole_and_stands_alone(made, case: str) -> None:
    _, page = made(case)
    assert len(page.encode()) < LIMIT
    read = StrictHtml(page)
    assert read.tags.count("h1") == 1
    assert "nan" not in plain(read.text).lower().split()
    assert not re.search(r'="[^"]*\bnan\b', page)


@pytest.mark.parametrize(
    "case", ["two recipes", "one model", "mixed levels", "ranges", "never right", "no clean images"]
)
def test_numbers_are_those_of_the_scores(made, case: str) -> None:
    results, page = made(case)
    text = plain(StrictHtml(page).text)
    for recipe in results.benchmarks():
        for score in scores(results, recipe):
            for estimate in filter(
                None, (score.clean, score.mean_accuracy, score.robustness, score.mce or score.error)
            ):
                assert str(estimate) in text, score.model


def test_differences_are_paired(made) -> None:
    results, page = made("mixed levels")
    best, *others = scores(results, results.benchmarks()[0])
    text = plain(StrictHtml(page).text)
    gaps = compare_all(results, results.benchmarks()[0], [best.model, *(other.model for other in others)])
    assert len(gaps) == 2
    assert "hold all at once for 3 models" in text
    assert "adjusted for 2 tests by Holm's method" in text
    for gap in gaps.values():
        words = f"{100 * gap.value:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
        assert re.sub(r"[+-]0\.0\b", "0.0", words) in text


def test_every_cell_shows_its_accuracy(made) -> None:
    results, page = made("one model")
    shown = shown_numbers(page)["part1-heat"]
    clean = f"{100 * results.clean_accuracy('only'):.1f}"
    for (corruption,), group in results.accuracy().filter(pl.col("corruption") != "clean").group_by("corruption"):
        name = str(corruption).rpartition("/")[2]
        assert shown[f"{name} × clean"] == [clean]
        assert shown[f"{name} × mean"] == [f"{100 * group['accuracy'].mean():.1f}"]
        for row in group.iter_rows(named=True):
            assert shown[f"{name} × severity {row['level']:g}"] == [f"{100 * row['accuracy']:.1f}"]


def test_scores_of_each_corruption_are_those_of_the_table(tmp_path: Path) -> None:
    """CE and relative CE need a reference: here the other model."""
    results = evaluate(models("a", "b"), dataset(), STEPS, tmp_path / "run")
    shown = shown_numbers(report_html(results, reference="b"))["part1-corruptions"]
    table = results.by_corruption(reference="b").to_polars().filter(pl.col("model") == "a")
    columns = {"accuracy": "accuracy", "CE": "corruption_error", "relative CE": "relative_corruption_error"}
    rows = {row.corruption: row for row in results.scores(reference="b")[0].corruptions}
    assert len(table) == len(rows) == 3
    for corruption, row in rows.items():
        name = corruption.rpartition("/")[2]
        for title, field in columns.items():
            estimate = getattr(row, field)
            if estimate is not None:
                value = f"{100 * estimate.value:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
                assert plain(shown[f"a | {name} × {title}"][0]) == value, (name, title)
    assert any("× CE" in label for label in shown)


def test_largest_losses_are_those_of_the_rows(made) -> None:
    """The first line of what to fix, from the rows by hand."""
    results, page = made("one model")
    rows = results.rows.collect()
    means = rows.group_by("corruption", "label").agg(pl.col("correct").mean(), pl.col("sample").n_unique().alias("n"))
    clean = {
        row["label"]: row["correct"] for row in means.filter(pl.col("corruption") == "clean").iter_rows(named=True)
    }
    losses = {
        (row["corruption"], row["label"]): clean[row["label"]] - row["correct"]
        for row in means.filter(pl.col("corruption") != "clean").iter_rows(named=True)
    }
    (corruption, label), loss = max(losses.items(), key=lambda item: item[1])
    node = next(node for node in parse(page).all("section") if node.attributes.get("id") == "part1-fix")
    first = [cell.text for cell in node.all("tbody")[0].all("tr")[0].all("th", "td")]
    assert first[0] == dataset().classes[label]
    assert first[1].replace(" ", "") == corruption.rpartition("/")[2]
    assert plain(first[2]).startswith(f"{100 * loss:.1f} [")
    assert f"hold for all {len(losses)} pairs" in node.text


def test_a_verdict_names_the_worst_condition_and_the_images(made) -> None:
    results, page = made("two recipes")
    best = scores(results, STEPS)[0]
    section = next(n for n in parse(page).all("section") if n.attributes.get("id") == "part1-summary")
    verdict = section.all("p")[0].text
    assert verdict.startswith(best.model)
    assert "38 images" in verdict
    assert best.worst_first()[0].corruption.rpartition("/")[2] in verdict
    ends = [f"{100 * end:.1f}" for end in (best.mean_accuracy.low, best.mean_accuracy.high)]
    assert f"between {ends[0]} and {ends[1]}" in verdict


def test_classes_and_mistakes_are_counted_from_the_rows(made) -> None:
    results, page = made("one model")
    rows = results.rows.collect()
    shown = shown_numbers(page)["part1-classes"]
    for (label,), class_rows in rows.filter(pl.col("corruption") != "clean").group_by("label"):
        name = dataset().classes[label]
        assert plain(shown[f"{' '.join(name.split())} × corrupted"][0]).startswith(
            f"{100 * class_rows['correct'].mean():.1f} %"
        )


def test_calibration_is_that_of_its_scores(made) -> None:
    results, page = made("one model")
    shown = shown_numbers(page)["part1-calibration"]
    [scored] = results.calibration()
    assert len(scored.clean) == len(CONFIDENCE_METRICS)
    for one in CONFIDENCE_METRICS:
        for place, estimates in enumerate((scored.clean, scored.mean)):
            text = str(estimates[one.field]).removeprefix(f"{one.name} ")
            assert plain(shown[f"only × {one.short}"][place]) == plain(text)


def test_calibration_without_the_columns_of_old_runs(made) -> None:
    results, _ = made("one model")
    old = Results(results.rows.drop("label_probability", "label_in_top5", "square_sum"), results.runs)
    page = report_html(old)
    shown = shown_numbers(page)["part1-calibration"]
    assert "only × ECE" in shown
    assert "only × NLL" not in shown
    assert results.calibration()[0].missing == ""
    assert old.calibration()[0].missing in StrictHtml(page).text


def test_the_command_and_the_recipe_can_be_copied(tmp_path: Path) -> None:
    results = evaluate(models("a"), dataset(), STEPS, tmp_path / "run")
    command = 'command = "run"\nbrittle = "1"\n[options]\nmodel = ["a b"]\nlimit = 20\nquick = true\n'
    (tmp_path / "run" / "command.toml").write_text(command)
    texts = [node.text for node in parse(report_html(results)).all("pre")]
    assert "brittle run --model 'a b' --limit 20 --quick" in texts
    recipe = next(text for text in texts if "corruption" in text)
    assert 'name = "steps"' in recipe
    (tmp_path / "run" / "command.toml").write_text("not = toml = at all")
    assert "brittle run" not in report_html(results)


@pytest.mark.parametrize("case", ["one model", "mixed levels"])
def test_failure_points_are_those_of_the_metric(made, case: str) -> None:
    results, page = made(case)
    model = scores(results, results.benchmarks()[0])[0].model
    text = StrictHtml(page).text
    for entry in results.benchmarks()[0].entries:
        if len(entry.levels) > 1:
            correct, severities, _ = results.correct(model, entry.id)
            points = failure_points(correct, severities).right_at_zero()
            last = severities[-1]
            median = f"> {last:g}" if np.isinf(points.median()) else f"{points.median():g}"
            survive = f"{100 * points.survival([last])[0]:.1f} %"
            assert f"{entry.corruption.name} {median} {points.mean():.2f} {survive}" in text


def test_names_are_escaped_everywhere(made) -> None:
    _, page = made("two recipes")
    read = StrictHtml(page)
    assert "<b>ü" not in page
    assert NASTY in read.text
    assert page.count("</script>") == read.tags.count("script") == 2
    assert any(NASTY in title for title in read.titles)
    evil = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
    evil_page = report_html(Results(made("one model")[0].rows.with_columns(model=pl.lit(evil))))
    assert StrictHtml(evil_page).tags.count("script") == 2
    assert evil in StrictHtml(evil_page).text
    title = f"A & B {NASTY}"
    again = StrictHtml(report_html(made("one model")[0], title=title))
    assert again.text.count(title) == 2  # in the head and on the page


@pytest.mark.parametrize("name", ["squares", "files"])  # sample ids are numbers, or names of files
def test_pictures_are_what_the_model_saw(tmp_path: Path, name: str) -> None:
    """Under each picture stand the right class and the wrong one: the model says the same of the pictures."""
    page = report_html(evaluate(models("a"), dataset(name=name), STEPS, tmp_path / "run"))
    names = list(dataset().classes)
    shots = re.findall(r'<figure class="shot">.*?</figure>', page, re.S)
    assert len(shots) > 3
    for shot in shots:
        read = StrictHtml(f"<!doctype html>\n{shot}")
        clean, seen = (int(scores_of(0)(picture[None]).argmax()) for picture in read.pictures)
        words = " ".join(read.words).split()
        assert words[words.index("✓") + 1] == names[clean].split()[0]
        assert words[words.index("✗") + 1] == names[seen].split()[0]
        assert clean != seen


def test_skipped_images_are_counted(made) -> None:
    text = StrictHtml(made("two recipes")[1]).text
    assert "2 images, left out of every cell" in text
    assert "cut off at <3>" in text
    assert "38 images" in text


def test_sections_follow_the_results(made) -> None:
    sections = {case: set(re.findall(r'id="part1-(\w+)"', made(case)[1])) for case in CASES}
    assert sections["two recipes"] == {
        *(
            "summary",
            "fix",
            "families",
            "corruptions",
            "heat",
            "failure",
            "examples",
            "classes",
            "calibration",
            "models",
        )
    }
    assert "models" not in sections["one model"]
    assert sections["clean only"] == {"summary", "calibration", "models"}
    assert "failure" not in sections["ranges"]
    assert not {"failure", "fix"} & sections["no clean images"]
    assert "searched" in sections["searched"]
    assert {"drops", "failure", "ranks", "slopes", "rce"} < sections["slides"]
    ranges = made("ranges")[1]
    assert "part1-corruptions" in ranges
    assert not any("severity" in label for label in shown_numbers(ranges)["part1-corruptions"])  # one level, no curve
    assert "1–5" in StrictHtml(ranges).text


def test_many_models_do_not_burst_the_page(made) -> None:
    page = made("forty models")[1]
    assert page.count('class="card ') == 6
    assert "34 other models" in page
    section = next(node for node in parse(page).all("section") if node.attributes.get("id") == "part1-models")
    assert len(section.all("tbody")[0].all("tr")) == 40


def test_several_runs_keep_their_images_apart(made) -> None:
    results, page = made("several runs")
    text = StrictHtml(page).text
    assert page.count('class="part"') == 3
    assert "Not shown, because some cells are missing: b." in text  # it was not run through the second recipe
    assert results.models == ["a", "b"]


def test_the_same_results_give_the_same_bytes(made, tmp_path: Path) -> None:
    results, page = made("two recipes")
    path = write_report(results, tmp_path / "new" / "report.html")
    assert path.read_bytes() == page.encode() == report_html(results).encode()


def test_the_date_is_that_of_the_run(tmp_path: Path) -> None:
    results = evaluate(models("a"), dataset(), STEPS, tmp_path / "run")
    results.runs[0].calls[0].started = "2001-02-03T04:05:06+00:00"
    assert "3 February 2001" in report_html(results)


def test_without_its_images_a_run_has_no_pictures(tmp_path: Path) -> None:
    results = evaluate(models("a"), dataset(), STEPS, tmp_path / "run")
    (tmp_path / "run" / "images.npy").unlink()
    read = StrictHtml(report_html(results))
    assert not read.pictures
    assert "There are no pictures" in read.text


def test_large_images_are_reduced(tmp_path: Path) -> None:
    small = dataset(12)
    small._read = lambda i, read=small._read: np.kron(read(i), np.ones((20, 20, 1), np.uint8))
    page = StrictHtml(report_html(evaluate(models("a"), small, STEPS, tmp_path / "run")))
    assert page.pictures
    assert max(max(picture.shape[:2]) for picture in page.pictures) <= 144


def test_a_folder_is_no_file(tmp_path: Path, made) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder; name the HTML file"):
        write_report(made("one model")[0], tmp_path)


def test_results_without_a_whole_cell_say_so() -> None:
    rows = pl.DataFrame({"model": ["a"], "corruption": ["odd"], "level": [1.0], "sample": ["0"], "correct": [True]})
    with pytest.raises(
        BrittleError, match="none of the models a has results on all cells of a recipe, or on clean images"
    ):
        report_html(Results(rows.lazy()))


def test_failure_points_between_the_levels_are_drawn(tmp_path: Path) -> None:
    run, data = tmp_path / "run", dataset()
    results = evaluate(models("a", "b"), data, STEPS, run)
    assert "Between the levels" not in report_html(results)
    table = search_failure_points(models("a", "b"), data, STEPS, run, tolerance=0.25)
    page = report_html(results)
    text = StrictHtml(page).text
    assert "Between the levels" in text
    words = f"{table['evaluations'].mean():.1f} evaluations per image and corruption, where a grid as fine takes 21"
    assert words in " ".join(text.split())


def test_two_runs_of_one_name_and_different_weights_stay_apart(tmp_path: Path) -> None:
    for version in "12":
        model = from_callable(scores_of(7.0 * int(version)), name="net", version=version)
        evaluate(model, dataset(), STEPS, tmp_path / version)
    results = load_results(tmp_path / "1", tmp_path / "2")
    assert len(results.models) == 2
    text = StrictHtml(report_html(results)).text
    assert all(name in text for name in results.models)


def test_other_pages_put_their_own_into_the_blocks() -> None:
    own_main = '{% extends "base.html" %}{% block main %}<p>something else</p>{% endblock %}'
    page = page_templates().overlay().from_string(own_main).render(title="Ours") + "\n"
    read = StrictHtml(page)
    assert "something else" in read.text
    assert "Methods" not in read.text
