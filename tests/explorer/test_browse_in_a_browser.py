"""The pages of results and overlaps in a real browser: by mouse and by keyboard, light, dark and on a phone."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import brittle
from brittle.design import non_overlapping, published_overlap
from brittle.explorer import Explorer, explore
from tests.browser import Browser
from tests.explorer.browse_cases import MODELS, write_run, write_slides

SHOTS = os.environ.get("BRITTLE_SHOTS")
"""A folder that keeps pictures of the pages, to look at."""


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    place = tmp_path_factory.mktemp("browsed")
    with explore([], runs=[write_run(place / "run"), write_slides(place / "slides")]) as started:
        yield started


@pytest.fixture
def page(browser: Browser, explorer: Explorer) -> Browser:
    """A browser that has the cookie of the explorer."""
    browser.open(explorer.url)
    browser.wait("return document.querySelector('nav a')")
    browser.run("localStorage.removeItem('brittle-theme')")
    return browser


def query_of(browser: Browser) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(browser.driver.current_url).query).items()}


def settled(browser: Browser) -> None:
    browser.wait("return !document.body.hasAttribute('aria-busy') && document.readyState === 'complete'")


def count(browser: Browser) -> int:
    text = str(browser.run("const b = document.querySelectorAll('.count b'); return b.length ? b[1].textContent : '0'"))
    return int(text.replace(",", ""))


def choose(browser: Browser, name: str, value: str) -> None:
    """Choose from a list as people do, and wait for the page to follow."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    before = browser.driver.current_url
    Select(browser.driver.find_element(By.CSS_SELECTOR, f"#filters [name={name}]")).select_by_value(value)
    deadline = time.monotonic() + 20
    while browser.driver.current_url == before and time.monotonic() < deadline:
        time.sleep(0.02)
    settled(browser)


def test_from_the_heat_map_to_a_sample_and_back(page: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.by import By

    driver = page.driver
    page.open(f"{explorer.address}/results?model={MODELS[0]}")
    cell = driver.find_element(By.CSS_SELECTOR, "td a[href*='fog'][href*='level=5']")
    page.run("arguments[0].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))", cell)
    assert "images" in str(page.run("return document.querySelector('.readout').textContent"))
    cell.click()
    settled(page)
    assert query_of(page) == {"run": "0", "model": MODELS[0], "corruption": "imagenet-c/fog", "level": "5.0"}
    every = count(page)
    assert every > 5
    first = page.run("return document.querySelector('.card .where.line').textContent")

    choose(page, "sort", "unsure")
    assert query_of(page)["sort"] == "unsure"
    assert page.run("return document.querySelector('.card .where.line').textContent") != first
    assert page.run("return document.activeElement.name") == "sort"

    choose(page, "label", "3")
    filtered = count(page)
    assert 0 < filtered < every
    driver.back()
    page.wait(f"return document.querySelectorAll('.count b')[1].textContent === '{every}'")
    assert page.run("return document.querySelector('#filters [name=label]').value") == ""
    assert page.run("return document.querySelector('#filters [name=sort]').value") == "unsure"
    driver.forward()
    page.wait(f"return document.querySelectorAll('.count b')[1].textContent === '{filtered}'")

    choose(page, "corruption", "")
    assert "level" not in query_of(page)
    choose(page, "right_by", MODELS[1])
    assert query_of(page)["right_by"] == MODELS[1]
    driver.refresh()
    settled(page)
    assert page.run("return document.querySelector('#filters [name=right_by]').value") == MODELS[1]

    page.open(f"{explorer.address}/results/failures")
    driver.find_element(By.CSS_SELECTOR, ".card a").click()
    page.wait("return location.pathname.endsWith('/sample')")
    page.wait("return [...document.images].length > 4")
    page.run("document.querySelectorAll('img').forEach(image => { image.loading = 'eager'; })")
    page.wait("return [...document.images].every(image => image.complete && image.naturalWidth > 0)")
    driver.back()
    page.wait("return location.pathname.endsWith('/failures')")


def test_pages_turn_and_the_address_keeps_the_place(page: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.by import By

    page.open(f"{explorer.address}/results/failures?sort=earliest")
    texts = "return [...document.querySelectorAll('.card')].map(card => card.textContent)"
    first = page.run(texts)
    page.driver.find_element(By.CSS_SELECTOR, "a[rel=next]").click()
    page.wait("return location.search.includes('after=')")
    settled(page)
    second = page.run(texts)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert not set(first) & set(second)
    page.driver.refresh()
    settled(page)
    assert page.run(texts) == second
    page.driver.find_element(By.CSS_SELECTOR, "a[rel=prev]").click()
    page.wait("return location.search.includes('before=')")
    settled(page)
    assert page.run(texts) == first


def test_a_row_is_gone_to_by_its_number(page: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    page.open(f"{explorer.address}/results/failures?sort=latest")
    field = page.driver.find_element(By.ID, "f-row")
    field.clear()
    field.send_keys("101", Keys.ENTER)
    page.wait("return document.querySelector('.count b').textContent.startsWith('101')")
    assert query_of(page) == {"run": "0", "sort": "latest", "row": "101"}


def test_the_pages_work_below_a_token(page: Browser, explorer: Explorer) -> None:
    """As in the frame of a notebook, whose addresses all begin with the token."""
    from selenium.webdriver.common.by import By

    page.open(f"{explorer.address}/t/{explorer.token}/results")
    for link in (".cells td a", ".card a"):
        page.driver.find_element(By.CSS_SELECTOR, link).click()
        settled(page)
        assert urlsplit(page.driver.current_url).path.startswith(f"/t/{explorer.token}/results/")
    page.wait("return [...document.images].some(image => image.complete && image.naturalWidth > 0)")
    page.open(f"{explorer.address}/t/{explorer.token}/overlap")
    page.wait("return document.getElementById('picture-a').naturalWidth > 0")
    assert f"/t/{explorer.token}/" in str(page.run("return document.getElementById('save').href"))


def test_arrow_keys_move_through_the_heat_map(page: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    page.open(f"{explorer.address}/results")
    page.run("document.querySelector('.cells td a').focus()")
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    assert "level=5" in str(page.run("return document.activeElement.href"))
    assert page.run("return document.querySelector('.readout').textContent === document.activeElement.dataset.tip")
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    page.wait("return location.pathname.endsWith('/failures')")


def test_the_threshold_is_dragged_by_mouse_and_moved_by_keys(page: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    overlap = published_overlap("noc-table7")
    page.open(f"{explorer.address}/overlap?matrix=noc-table7&threshold=0.10")
    slider = page.driver.find_element(By.ID, "threshold")

    def shown() -> tuple[int, float]:
        size, threshold = (page.driver.find_element(By.ID, name).text for name in ("size", "threshold-value"))
        return int(size), float(threshold)

    assert shown() == (non_overlapping(overlap, 0.1).size, 0.1)
    ActionChains(page.driver).drag_and_drop_by_offset(slider, 40, 0).perform()  # from the middle of the slider
    size, threshold = shown()
    assert threshold > 0.5
    assert size == non_overlapping(overlap, threshold).size
    slider.send_keys(Keys.HOME)
    assert shown() == (1, 0.0)
    slider.send_keys(*[Keys.ARROW_RIGHT] * 30)
    assert shown() == (non_overlapping(overlap, 0.3).size, 0.3)
    assert query_of(page)["threshold"] == "0.30"
    members = page.run("return document.querySelectorAll('#members li').length")
    assert members == shown()[0] == page.run("return document.querySelectorAll('th.member').length")


def test_the_set_is_saved_as_a_recipe_that_loads(page: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    page.open(f"{explorer.address}/overlap?matrix=noc-table7&threshold=0.29")
    page.driver.find_element(By.ID, "threshold").send_keys(Keys.ARROW_RIGHT)
    page.driver.find_element(By.ID, "save").click()
    file = Path(page.downloads) / "non-overlapping-0.3.toml"
    deadline = time.monotonic() + 20
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    recipe = brittle.load_benchmark(file)
    ties = non_overlapping(published_overlap("noc-table7"), 0.3).ties
    assert {entry.id for entry in recipe.entries} in [set(tie) for tie in ties]


def test_a_pair_is_drawn_where_the_pointer_or_the_keys_are(page: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    page.open(f"{explorer.address}/overlap?matrix=noc-table7")
    title = "return document.getElementById('pair-title').textContent"
    sources = "return ['a', 'b'].map(side => document.getElementById(`picture-${side}`).src)"
    cell = page.driver.find_element(By.CSS_SELECTOR, "td[data-row='2'][data-column='7']")
    ActionChains(page.driver).move_to_element(cell).perform()
    page.wait("return document.getElementById('picture-b').src.includes('row=7')")
    assert "row=2" in str(page.run(sources))
    cell.click()
    ActionChains(page.driver).send_keys(Keys.ARROW_DOWN).perform()
    page.wait("return document.getElementById('picture-a').src.includes('row=3')")
    assert page.run(title) == page.run("return document.activeElement.getAttribute('aria-label')")
    page.wait("return [...document.images].every(image => image.complete && image.naturalWidth > 0)")


PAGES = {
    "overview": "/results",
    "failures": "/results/failures",
    "sample": "/results/sample?id=4.png",
    "compare": "/results/compare",
    "slides": "/results/failures?run=1",
    "overlap": "/overlap?threshold=0.3",
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_every_page_fits_and_can_be_read(page: Browser, explorer: Explorer, name: str, width: int, theme: str) -> None:
    page.run("localStorage.setItem('brittle-theme', arguments[0])", theme)
    page.resize(width, 900)
    page.open(explorer.address + PAGES[name])
    settled(page)
    assert page.too_wide == 0
    assert page.run("return document.documentElement.dataset.theme") == theme
    assert page.run("return document.querySelectorAll('h1').length") == 1
    unnamed = page.run(
        "return [...document.querySelectorAll('a, button, select, input:not([type=hidden])')].filter(one => "
        "!(one.textContent.trim() || one.ariaLabel || (one.labels && one.labels.length))).length"
    )
    assert unnamed == 0
    assert page.run("return [...document.images].every(image => image.hasAttribute('alt'))")
    assert page.run(CONTRAST) == []
    if SHOTS:
        page.driver.save_screenshot(str(Path(SHOTS) / f"{name}-{width}-{theme}.png"))


CONTRAST = """
const light = (text) => {
  const parts = text.match(/[\\d.]+/g).map(c => Number(c) / 255);
  const [r, g, b] = parts.map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (one) => {
  for (; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const poor = new Set();
for (const one of document.querySelectorAll('main *')) {
  const hasText = [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  if (!hasText || !one.checkVisibility()) continue;
  if (one.closest('option, svg, .visually-hidden')) continue;
  const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) poor.add(`${one.tagName}.${one.className}: ${one.textContent.slice(0, 30)}`);
}
return [...poor];
"""
"""The texts whose contrast to their ground is too low to be read by everybody."""
