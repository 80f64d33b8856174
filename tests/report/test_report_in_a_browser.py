"""A real browser reads the report without complaint, on a phone too, and its script does what it should."""

import csv
import io
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from brittle.evaluation import Results
from brittle.report import report_html
from tests.browser import Browser
from tests.report.report_cases import CASES, slides

CATCH = """
window.saved = [];
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[download]");
  if (link) { event.preventDefault(); saved.push([link.download, link.href]); }
}, true);
"""
"""Files are not written; what would be in them is kept."""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_has_nothing_to_complain_about(made, browser: Browser, tmp_path: Path, case: str, width: int) -> None:
    browser.resize(width, 900)
    browser.open(tmp_path / "page.html", made(case)[1])
    assert browser.run("return innerWidth") == width
    assert browser.too_wide == 0
    assert browser.run("return document.querySelector('#tip') !== null")  # the script ran to its end
    views, switches = browser.run("return ['.views', '.switch'].map((s) => document.querySelectorAll(s).length)")
    assert views == switches


def test_twenty_models_fit(browser: Browser, tmp_path: Path) -> None:
    page = report_html(slides(tuple(f"model-{i:02}" for i in range(20))))
    browser.resize(390, 900)
    browser.open(tmp_path / "page.html", page)
    assert browser.too_wide == 0
    assert browser.run("return document.querySelectorAll('.card').length") == 6


def columns(browser: Browser, table: str, column: int) -> list[str]:
    script = (
        "return [...document.querySelector(arguments[0]).tBodies[0].rows].map((r) => r.cells[arguments[1]].innerText)"
    )
    return list(browser.run(script, table, column))


def test_tables_are_sorted_by_clicks_and_by_keys(made, browser: Browser, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(tmp_path / "page.html", made("forty models")[1])
    table = "#part1-models table"
    heads = browser.driver.find_elements("css selector", f"{table} thead th")
    browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", heads[2])
    heads[2].find_element("css selector", "button").click()
    clean = [float(text.split()[0]) for text in columns(browser, table, 2)]
    assert clean == sorted(clean, reverse=True)
    assert len(set(clean)) > 3
    assert heads[2].get_attribute("aria-sort") == "descending"
    heads[2].find_element("css selector", "button").send_keys(Keys.ENTER)
    clean = [float(text.split()[0]) for text in columns(browser, table, 2)]
    assert clean == sorted(clean)
    assert heads[2].get_attribute("aria-sort") == "ascending"
    heads[1].find_element("css selector", "button").send_keys(Keys.SPACE)
    assert columns(browser, table, 1) == [f"model-{i:02}" for i in range(40)]
    assert heads[2].get_attribute("aria-sort") is None
    assert [head.get_attribute("aria-sort") for head in heads].count("ascending") == 1


def test_tables_with_two_rows_of_headings_are_sorted_by_the_right_column(
    made, browser: Browser, tmp_path: Path
) -> None:
    browser.open(tmp_path / "page.html", made("mixed levels")[1])
    table = "#part1-failure table"
    browser.run(f"document.querySelectorAll('{table} thead tr:last-child button')[4].click()")  # mean, second model
    means = [float(text) for text in columns(browser, table, 5)]
    assert means == sorted(means, reverse=True)


def test_every_chart_is_saved_as_a_picture_and_as_numbers(made, browser: Browser, tmp_path: Path) -> None:
    results, page = made("mixed levels")
    browser.open(tmp_path / "page.html", page)
    browser.run(CATCH)
    browser.run("document.querySelectorAll('.view').forEach((view) => { view.hidden = false; })")
    browser.run("document.querySelectorAll('.save button').forEach((one) => one.click())")
    saved = [(name, unquote(link.partition(",")[2])) for name, link in browser.run("return saved")]
    pictures = {name: text for name, text in saved if name.endswith(".svg")}
    numbers = {name: text for name, text in saved if name.endswith(".csv")}
    charts = browser.run("return document.querySelectorAll('figure.chart').length")
    assert len(saved) == 2 * charts
    assert len(pictures) == len(numbers) == charts  # every file has a name of its own
    for name, text in pictures.items():
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg", name
        assert "var(--" not in text, name  # colours stand in the file itself
        assert len(list(root.iter())) > 5, name
    curve = list(csv.DictReader(io.StringIO(numbers["part1-corruptions-contrast.csv"])))
    accuracy = {(row["model"], f"{row['level']:g}"): row["accuracy"] for row in results.accuracy().iter_rows(named=True)
                if row["corruption"] in ("clean", "imagenet-c/contrast")}  # fmt: skip
    assert {
        (row["series"], row["severity"]): pytest.approx(float(row["accuracy"]), abs=1e-5) for row in curve
    } == accuracy
    heat = list(csv.reader(io.StringIO(numbers["part1-heat-a-heat-map.csv"])))
    assert heat[0][:2] == ["corruption", "clean"]
    assert float(heat[1][1]) == pytest.approx(100 * results.clean_accuracy("a"), abs=0.05)


def test_the_script_switches_remembers_and_tells(made, browser: Browser, tmp_path: Path) -> None:
    browser.open(tmp_path / "page.html", made("forty models")[1])
    list_of_models = "const list = document.querySelector('#part1-heat .switch select');"
    browser.run(f"{list_of_models} list.selectedIndex = 39; list.dispatchEvent(new Event('change'))")
    shown = browser.run("return document.querySelector('#part1-heat .view:not([hidden]) summary').textContent")
    assert shown.startswith("model-")
    start = browser.run("return document.documentElement.dataset.theme || 'light'")
    browser.run("document.querySelector('#theme').click()")
    theme = browser.run("return document.documentElement.dataset.theme")
    assert theme != start
    browser.driver.refresh()
    assert browser.run("return document.documentElement.dataset.theme") == theme
    browser.run("document.querySelector('#theme').click()")
    browser.run("document.querySelector('.hit').dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))")
    assert browser.run("return document.querySelector('#tip').textContent").startswith("fog, severity 0\n")


def test_everything_that_can_be_pressed_is_reached_by_tab_and_outlined(made, browser: Browser, tmp_path: Path) -> None:
    browser.open(tmp_path / "page.html", made("one model")[1])
    hidden = browser.run(
        "return [...document.querySelectorAll('button, a[href], select, summary')].filter((e) => e.tabIndex < 0).length"
    )
    assert hidden == 0
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    reached = set()
    for _ in range(30):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        name, outline = browser.run(
            "const e = document.activeElement, look = getComputedStyle(e);"
            "return [e.tagName + e.textContent + e.ariaLabel, look.outlineStyle]"
        )
        reached.add(name)
        assert outline == "solid", name
    assert len(reached) > 20
    browser.run("document.querySelector('.dot').focus({focusVisible: true})")
    assert "%" in browser.run("return document.querySelector('#tip').textContent")


def test_hostile_names_stay_text(made, browser: Browser, tmp_path: Path) -> None:
    import polars as pl

    evil = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    rows = made("mixed levels")[0].rows.with_columns(pl.col("model") + evil)
    browser.open(tmp_path / "page.html", report_html(Results(rows)))
    browser.run("document.querySelectorAll('.sort, .switch button, .save button').forEach((one) => one.click())")
    assert browser.driver.title != "taken"
    assert evil in browser.run("return document.querySelector('.model-name').textContent")
    assert browser.run("return document.querySelectorAll('main script, img[src=x]').length") == 0


def test_paper_shows_every_part_and_no_buttons(made, browser: Browser, tmp_path: Path) -> None:
    browser.open(tmp_path / "page.html", made("two recipes")[1])
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        script = "return [...document.querySelectorAll(arguments[0])].filter((e) => e.checkVisibility()).length"
        assert browser.run(script, ".part") == 2
        assert browser.run(script, "button, .toc") == browser.run(script, ".sort")  # headings stay, as words
        assert browser.run(script, ".view") == browser.run("return document.querySelectorAll('.view').length")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
