"""The live page in a real browser: mouse, keyboard, files that are dropped and pasted, code that is copied."""

import os
import shlex
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle.datasets import photo, square
from brittle.explorer import Explorer
from brittle.models import from_callable
from tests.browser import Browser
from tests.explorer.conftest import HOSTILE, broken, light, small_data, texture
from tests.explorer.test_state import file_of

pytest.importorskip("uvicorn")

READY = """return document.querySelectorAll('.model .bars li').length > 4
  && document.querySelectorAll('#strip .curve').length === 2 && document.querySelector('#shown').naturalWidth > 0"""
VERDICTS = "return [...document.querySelectorAll('.verdict')].map((each) => each.textContent)"
SEVERITY = "return Number(document.querySelector('#exact').value)"
SHOWN = """const image = document.querySelector('#shown'), canvas = document.createElement('canvas');
if (!image.complete || !image.naturalWidth) return null;
[canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
const pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0);
return [canvas.width, canvas.height, ...pen.getImageData(0, 0, canvas.width, canvas.height).data];"""
FAILURE = """const mark = document.querySelector('#strip .fail');
const box = document.querySelector('#strip').getBoundingClientRect();
return mark && [Number(mark.getAttribute('x1')) - box.width / 2, box.width / 2];"""
GIVE = """const bytes = Uint8Array.from(atob(arguments[0]), (each) => each.charCodeAt(0));
const [, name, kind] = arguments, transfer = new DataTransfer();
transfer.items.add(new File([bytes], name, { type: 'image/png' }));
document.body.dispatchEvent(kind === 'paste' ? new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true })
  : new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));"""
UNNAMED = """const name = (each) => each.textContent.trim() || each.getAttribute('aria-label')
  || each.labels?.[0]?.textContent.trim() || each.querySelector('img[alt]');
return [...document.querySelectorAll('button, input, select, a')].filter((each) => each.offsetParent && !name(each))
  .map((each) => each.outerHTML);"""
POINTS = """return [...document.querySelectorAll('.break .text')]
  .map((each) => parseFloat(each.children[1].textContent.slice(3)));"""
KEEP = """window.copied = [];
navigator.clipboard.writeText = (text) => { window.copied.push(text); return Promise.resolve(); };"""
VIEW = "?picture=b0&size=64&c=imagenet-c%2Fbrightness%3A1"


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    models = {"light": from_callable(light, name="light"), HOSTILE: from_callable(texture, name="texture")}
    with brittle.explore(models, data=small_data()) as running:
        running.state.loaded.wait(30)
        yield running


@pytest.fixture
def live(browser: Browser, explorer: Explorer) -> Browser:
    """The live page, ready, with brightness on the cat."""
    browser.open(explorer.url)
    browser.open(f"{explorer.address}/live{VIEW}")
    browser.wait(READY)
    return browser


def shown(browser: Browser) -> np.ndarray:
    """The pixels on the screen, once a picture is there: while one is replaced there is none."""
    from selenium.webdriver.support.ui import WebDriverWait

    width, height, *values = WebDriverWait(browser.driver, 20).until(lambda _: browser.run(SHOWN))
    return np.array(values, np.uint8).reshape(height, width, 4)[:, :, :3]


def corrupted(name: str, severity: float, image: np.ndarray | None = None, sample: str = "cat") -> np.ndarray:
    clean = square(photo("cat", 300), 64) if image is None else image
    return np.asarray(brittle.corrupt(clean, name, severity, sample=sample))


def settled(browser: Browser, expected: np.ndarray) -> bool:
    """Wait until the screen shows these pixels."""
    from selenium.webdriver.support.ui import WebDriverWait

    return bool(WebDriverWait(browser.driver, 20, 0.1).until(lambda _: np.array_equal(shown(browser), expected)))


def test_the_page_shows_the_exact_picture_and_what_models_say(live: Browser) -> None:
    assert settled(live, corrupted("brightness", 1))
    [first, _] = live.run(VERDICTS)  # type: ignore[misc]
    scores = light(corrupted("brightness", 1)[None])[0]
    assert first.startswith(["dark", "grey", HOSTILE][int(scores.argmax())])


def test_the_mouse_drags_the_severity_and_all_follows(live: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    slider = live.driver.find_element("id", "severity")
    live.run(f"window.before = (() => {{ {VERDICTS} }})().join()")
    drag = ActionChains(live.driver, duration=20).move_to_element(slider).click_and_hold()
    for _ in range(12):
        drag.move_by_offset(slider.size["width"] // 30, 0)
    drag.release().perform()
    severity = float(str(live.run(SEVERITY)))
    assert 3.5 < severity < 5
    assert settled(live, corrupted("brightness", severity))
    assert live.wait(f"return (() => {{ {VERDICTS} }})().join() !== window.before")
    assert live.wait(f"return location.search.includes('brightness%3A{severity:g}')")


def test_the_keyboard_moves_the_severity_in_fine_and_coarse_steps(live: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    slider = live.driver.find_element("id", "severity")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert live.run(SEVERITY) == 1.05
    slider.send_keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_LEFT)
    assert live.run(SEVERITY) == 1.1
    slider.send_keys(Keys.SHIFT, Keys.ARROW_RIGHT)
    assert live.run(SEVERITY) == 1.6
    assert "brightness, severity 1.6 of 5" in str(slider.get_attribute("aria-valuetext"))
    slider.send_keys(Keys.END)
    assert live.run(SEVERITY) == 5
    slider.send_keys(Keys.HOME)
    assert settled(live, corrupted("brightness", 0))
    live.driver.find_element("tag name", "body").send_keys(Keys.ARROW_RIGHT)
    assert live.run(SEVERITY) == 0.05
    assert "light" in str(live.wait("return document.querySelector('#live-region').textContent"))


def test_a_click_on_the_strip_jumps_and_near_a_failure_point_to_it_exactly(live: Browser, explorer: Explorer) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    strip = live.driver.find_element("id", "strip")
    x, half = live.wait(FAILURE)  # type: ignore[misc]
    ActionChains(live.driver).move_to_element_with_offset(strip, round(-half / 2), 0).click().perform()
    quarter = 5 * (half / 2 - 12) / (2 * half - 24)
    assert live.run(SEVERITY) == pytest.approx(quarter, abs=0.02)
    ActionChains(live.driver).move_to_element_with_offset(strip, round(x) + 3, 0).click().perform()
    exact = [
        number
        for number in range(2)
        for failed in [live_strip(explorer, number)]
        if failed is not None and failed == pytest.approx(float(str(live.run(SEVERITY))), abs=0.005)
    ]
    assert exact
    jump = live.driver.find_element("css selector", ".fails button")
    live.run("document.querySelector('#severity').value = 0")
    jump.click()
    assert live.wait("return document.querySelector('.badge.bad')")


def live_strip(explorer: Explorer, number: int) -> float | None:
    """The failure point of a model on the cat, from the library."""
    from brittle.explorer.live import parse_view
    from brittle.explorer.session import Session

    view = parse_view("b0", ["imagenet-c/brightness:1"], "0", "64")
    failed = Session(explorer.state).strip(number, view, 0)["failure"]["failed"]
    return None if failed is None else float(failed)


@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_a_file_is_dropped_or_pasted(live: Browser, kind: str) -> None:
    image = photo("coffee", 72)
    if kind == "drop":
        live.run(GIVE, "", "cup.png", "dragover")
        assert live.run("return !document.querySelector('#drop').hidden")
    live.run(GIVE, b64encode(file_of(image)).decode(), "cup.png", kind)
    live.wait("return document.querySelectorAll('#pictures .thumb').length > 2")
    live.run(
        "document.querySelector('#size').value = ''; document.querySelector('#size').dispatchEvent(new Event('change'))"
    )
    assert settled(live, corrupted("brightness", 1, image, "cup.png"))
    assert live.run("return document.querySelector('#drop').hidden")


def test_a_file_is_chosen(live: Browser, tmp_path: Path) -> None:
    Pil.fromarray(photo("coffee", 80)).save(tmp_path / "chosen.png")
    live.driver.find_element("id", "file").send_keys(str(tmp_path / "chosen.png"))
    assert live.wait("return document.querySelector('#shown').alt.includes('chosen.png')")


def test_what_is_no_picture_is_told_in_a_sentence(browser: Browser, live: Browser) -> None:
    live.run(GIVE, b64encode(b"root:x:0:0").decode(), "passwd", "drop")
    assert "not a picture" in str(live.wait("return document.querySelector('#message.error')?.textContent"))
    assert settled(live, corrupted("brightness", 1))
    assert all("422" in error for error in browser.errors)  # the browser itself says that a request was refused
    browser.forget()


def test_corruptions_are_searched_stacked_and_taken_off(live: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    search = live.driver.find_element("id", "search")
    search.send_keys("contrast imagenet")
    assert live.run("return [...document.querySelectorAll('.option')].filter((each) => each.offsetParent).length") == 1
    live.driver.find_element("id", "add").click()
    search.send_keys(Keys.ENTER)
    assert live.run("return document.querySelectorAll('.chip').length") == 2
    assert settled(live, corrupted("contrast", 2.5, corrupted("brightness", 1)))
    live.driver.find_element("css selector", ".chip .off").click()
    assert settled(live, corrupted("contrast", 2.5))
    search.clear()
    search.send_keys("pixelate", Keys.ENTER)
    assert settled(live, corrupted("pixelate", 2.5))
    assert live.run("return document.querySelectorAll('.chip').length") == 1


def test_an_image_of_the_dataset_with_a_hostile_class_is_text(live: Browser) -> None:
    live.driver.find_element("id", "samples-open").click()
    live.wait("return document.querySelectorAll('.sample').length === 4")
    live.run("document.querySelectorAll('.sample')[3].click()")
    assert live.wait("return document.querySelector('#shown').alt.startsWith('3')")
    assert live.wait(f"return document.body.textContent.includes({HOSTILE!r})")
    assert live.run("return document.querySelectorAll('main script').length") == 0


def test_the_copied_code_makes_what_is_on_the_screen(live: Browser, tmp_path: Path) -> None:
    live.run(KEEP)
    live.driver.find_element("id", "copy-python").click()
    live.wait("return window.copied.length === 1")
    live.driver.find_element("id", "copy-shell").click()
    python, shell = live.wait("return window.copied.length === 2 && window.copied")  # type: ignore[misc]
    here: dict[str, object] = {}
    exec(python, here)
    expected = shown(live)
    assert np.array_equal(here["image"], expected)  # type: ignore[arg-type]
    command = [sys.executable, "-m", *shlex.split(shell)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=os.environ)
    assert np.array_equal(np.asarray(Pil.open(tmp_path / "picture.png")), expected)
    assert "clipboard" in str(live.run("return document.querySelector('#message').textContent"))


def test_the_saved_picture_is_the_one_on_the_screen(live: Browser) -> None:
    fetched = live.driver.execute_async_script(
        """const done = arguments[0];
        fetch(document.querySelector('#save').href).then((answer) => answer.arrayBuffer())
          .then((buffer) => done([...new Uint8Array(buffer)]));"""
    )
    assert np.array_equal(np.asarray(Pil.open(BytesIO(bytes(fetched)))), shown(live))


def test_holding_the_button_shows_the_clean_picture(live: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    button = live.driver.find_element("id", "hold")
    ActionChains(live.driver).click_and_hold(button).perform()
    assert settled(live, square(photo("cat", 300), 64))
    ActionChains(live.driver).release().perform()
    assert settled(live, corrupted("brightness", 1))


def test_what_breaks_it_is_found_ranked_and_opened(live: Browser) -> None:
    live.run("document.querySelector('#breaks-benchmark').value = 'imagenet-c'")
    live.driver.find_element("id", "breaks-go").click()
    live.wait("return document.querySelector('#breaks-progress').textContent.startsWith('15 of 15')", 60)
    points = live.run(POINTS)
    assert points == sorted(points)  # type: ignore[type-var]
    assert points
    live.wait("return [...document.querySelectorAll('.break img')].slice(0, 3).every((each) => each.naturalWidth > 0)")
    live.run("document.querySelector('.break').click()")
    live.wait("return document.querySelectorAll('.chip').length === 1")
    assert live.run(SEVERITY) == pytest.approx(points[0], abs=0.006)  # type: ignore[index]
    assert live.wait("return document.querySelector('.model .badge.bad')")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1000, 390, 320])
def test_every_screen_shows_it_without_scrolling_sideways(live: Browser, theme: str, width: int) -> None:
    live.resize(width, 844)
    if live.run("return explorer.isDark()") != (theme == "dark"):
        live.driver.find_element("id", "theme").click()
    ground = str(live.run("return getComputedStyle(document.body).backgroundColor"))
    assert (int(ground.strip("rgb()").split(",")[0]) < 128) == (theme == "dark")
    assert live.too_wide == 0
    assert live.run(UNNAMED) == []


def test_a_model_that_raises_is_told_and_the_page_lives(browser: Browser) -> None:
    models = {"light": from_callable(light, name="light"), "broken": from_callable(broken, name="broken")}
    with brittle.explore(models) as running:
        running.state.loaded.wait(30)
        browser.open(running.url)
        sentence = browser.wait("return document.querySelectorAll('.model')[1]?.querySelector('.error')?.textContent")
        assert HOSTILE in str(sentence)
        assert browser.wait("return document.querySelectorAll('.model')[0].querySelectorAll('.bars li').length === 3")


def test_a_frame_of_another_site_works_as_in_a_notebook(browser: Browser, explorer: Explorer, tmp_path: Path) -> None:
    """The notebook is a page of another site (here a file), so the frame is sent no cookie."""
    cell = f"<!doctype html><link rel=icon href=data:,><body>{explorer._repr_html_()}</body>"
    browser.open(tmp_path / "notebook.html", cell)
    browser.driver.switch_to.frame(0)
    try:
        browser.wait(READY)
        assert browser.run("return document.body.classList.contains('framed')")
    finally:
        browser.driver.switch_to.default_content()
