"""Static pages that rank models: groups against brute force, one table for each recipe and set of images."""

import json
import re
from pathlib import Path

import pytest

import brittle
from brittle._errors import BrittleError
from brittle.evaluation import Results, compare_all, evaluate, load_results
from brittle.models import from_callable
from brittle.publish import leaderboard_tables, write_leaderboard
from brittle.publish.leaderboard import letter
from tests.browser import Browser
from tests.errors import naming
from tests.publish.conftest import SMALL, by_brightness, models
from tests.report.strict_html import StrictHtml

NASTY = "<b>\"'</script>" + "x" * 300


def test_models_of_one_group_are_those_that_no_interval_tells_apart(two: Results) -> None:
    [table] = leaderboard_tables(two)
    names = [row.model for row in table.scores]
    gap = compare_all(two, SMALL, names)[names[1]]
    assert table.differences[0, 1].value == pytest.approx(-gap.value)
    assert table.differences[0, 1].low == pytest.approx(-gap.high, abs=1e-9)
    apart = gap.high < 0
    assert (len(table.groups) == 2) == apart
    assert bool(set(table.letters(0)) & set(table.letters(1))) != apart


def test_other_images_and_other_recipes_have_tables_of_their_own(
    two: Results, other_images: Results, tmp_path: Path
) -> None:
    other_seed = SMALL.cut(seed=1)
    evaluate(models("one"), brittle.load_dataset("demo").limited(40), other_seed, tmp_path / "seed", progress=None)
    folders = [two.runs[0].folder, other_images.runs[0].folder, tmp_path / "seed"]
    tables = leaderboard_tables(load_results(*folders))
    assert len(tables) == 3
    assert len({(table.recipe.hash, table.data_key) for table in tables}) == 3
    assert sorted(len(table.scores) for table in tables) == [1, 1, 2]
    page = write_leaderboard(load_results(*folders), tmp_path / "site")
    pages = {path.name for path in page.parent.iterdir()}
    assert {"index.html", "leaderboard.json", f"{SMALL.name}.html"} <= pages
    assert "must not be compared" in (page.parent / f"{SMALL.name}.html").read_text("utf-8")
    assert len(json.loads((page.parent / "leaderboard.json").read_text("utf-8"))) == 3


def test_runs_on_the_same_images_are_ranked_together(two: Results, tmp_path: Path) -> None:
    third = from_callable(by_brightness(60.0), name="three", version="3")
    evaluate(third, brittle.load_dataset("demo").limited(40), SMALL, tmp_path / "run", progress=None)
    [table] = leaderboard_tables(load_results(two.runs[0].folder, tmp_path / "run"))
    assert {row.model for row in table.scores} == {"one", "two", "three"}
    values = [row.mean_accuracy.value for row in table.scores]
    assert values == sorted(values, reverse=True)
    assert set(table.differences) == {(0, 1), (0, 2), (1, 2)}


def test_what_cannot_be_ranked_is_one_sentence(two: Results, tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming("'cifar10-c-bar'", SMALL.name)):
        leaderboard_tables(two, "cifar10-c-bar")
    clean = evaluate(models("one"), brittle.load_dataset("demo").limited(10), folder=tmp_path / "clean")
    with pytest.raises(BrittleError, match=naming("nothing to rank", "-b")):
        leaderboard_tables(clean)
    (tmp_path / "file").write_text("")
    with pytest.raises(BrittleError, match=naming("is a file")):
        write_leaderboard(two, tmp_path / "file")


def test_a_recipe_may_be_named_by_its_file(two: Results, tmp_path: Path) -> None:
    SMALL.save(tmp_path / "mine.toml")
    assert leaderboard_tables(two, str(tmp_path / "mine.toml"))[0].recipe.hash == SMALL.hash
    other = SMALL.cut(seed=1)
    other.save(tmp_path / "other.toml")
    with pytest.raises(BrittleError, match=naming(other.hash, SMALL.hash)):
        leaderboard_tables(two, str(tmp_path / "other.toml"))


def test_the_same_results_give_the_same_bytes(two: Results, tmp_path: Path) -> None:
    first, second = (write_leaderboard(two, tmp_path / name).parent for name in ("a", "b"))
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_letters_go_on_after_z() -> None:
    assert [letter(i) for i in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


def test_pages_are_strict_html_and_a_browser_has_nothing_to_complain_about(browser: Browser, tmp_path: Path) -> None:
    named = [from_callable(by_brightness(12.0 * i), name=n, version=str(i)) for i, n in enumerate(("a", NASTY, "c"))]
    recipe = brittle.Benchmark("index", SMALL.entries, title="Index: <i>nasty</i>")
    results = evaluate(named, brittle.load_dataset("demo").limited(12), recipe, tmp_path / "run", progress=None)
    index = write_leaderboard(results, tmp_path / "site", title="</title>Ours & theirs")
    names = sorted(path.name for path in index.parent.glob("*.html"))
    assert names == ["index-benchmark.html", "index.html"]  # a recipe may have the name of the first page
    for name in names:
        StrictHtml(re.sub(r' href="[a-z-]+\.html"', "", (index.parent / name).read_text("utf-8")))  # links among them
        for width in (400, 1280):
            browser.resize(width, 900)
            browser.open(index.parent / name)
            assert browser.too_wide == 0
            assert browser.run("return document.querySelector('#tip') !== null")
    browser.open(index)
    browser.driver.find_element("css selector", ".card h2 a").click()
    ranks = "return [...document.querySelectorAll('.board tbody tr')].map((row) => row.cells[0].innerText)"
    assert browser.wait(ranks) == ["1", "2", "3"]
    for _ in range(2):  # by the mean, the highest first, and then the lowest
        browser.driver.find_elements("css selector", ".board thead .sort")[2].click()
    assert browser.run(ranks) == ["3", "2", "1"]
