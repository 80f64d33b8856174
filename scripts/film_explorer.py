"""Film the explorer in a real browser, for the docs and the README: docs/images/explore.webp.

Needs chromium, chromedriver and selenium. The severity moves until both demo models flip, then the search for what
breaks the picture is made.
"""

from __future__ import annotations

import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path

from PIL import Image as Pil

import brittle

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser import Browser  # noqa: E402

TARGET = ROOT / "docs" / "images" / "explore.webp"
SIZE, SHOWN = (1240, 800), (992, 640)
READY = "return document.querySelectorAll('#strip .curve').length === 2"
HAND = """const hand = document.createElement('div'); hand.id = 'hand';
hand.style.cssText = 'position:fixed;width:22px;height:22px;border-radius:50%;background:rgba(200,60,20,.45);'
  + 'border:2px solid rgba(200,60,20,.9);transform:translate(-50%,-50%);pointer-events:none;z-index:99';
document.body.append(hand);"""
DRAG = """const slider = document.querySelector('#severity'), box = slider.getBoundingClientRect();
slider.value = arguments[0];
slider.dispatchEvent(new Event('input', { bubbles: true }));
document.querySelector('#hand').style.left = `${box.x + 12 + (box.width - 24) * arguments[0] / 5}px`;
document.querySelector('#hand').style.top = `${box.y + box.height / 2}px`;"""
SEARCH = """document.querySelector('#hand').remove();
document.querySelector('#breaks-benchmark').value = 'imagenet-c';
document.querySelector('#breaks-go').click();"""


def main() -> None:
    """Make the film."""
    frames: list[tuple[Pil.Image, int]] = []
    with brittle.explore() as explorer, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        explorer.state.loaded.wait(60)
        browser = Browser(Path(home))
        browser.resize(*SIZE)

        def shot(milliseconds: int) -> None:
            picture = Pil.open(BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")
            frames.append((picture.resize(SHOWN, Pil.Resampling.LANCZOS), milliseconds))

        browser.open(explorer.url)
        browser.open(f"{explorer.address}/live?picture=b0&size=224&c=imagenet-c%2Fsnow%3A0")
        browser.wait(READY)
        time.sleep(0.8)
        browser.run(HAND)
        browser.run(DRAG, 0)
        shot(900)
        for severity in (*(k * 0.1 for k in range(1, 20)), 2.2, 2.6, 3.0, 2.6, 2.2, 1.8, 1.5, 1.3, 1.2):
            browser.run(DRAG, severity)
            time.sleep(0.4)
            shot(120)
        shot(1200)
        browser.run(SEARCH)
        for _ in range(60):
            time.sleep(0.15)
            browser.run("document.querySelector('.breaks').scrollIntoView({ block: 'end' })")
            if browser.run("return document.querySelector('#breaks-progress').textContent.startsWith('15 of')"):
                break
            shot(140)
        time.sleep(0.7)
        shot(1800)
        browser.driver.quit()
    pictures, durations = zip(*frames, strict=True)
    pictures[0].save(
        TARGET,
        save_all=True,
        append_images=pictures[1:],
        duration=durations,
        loop=0,
        quality=70,
        method=6,
        minimize_size=True,
    )
    print(f"{TARGET.relative_to(ROOT)}: {len(frames)} frames, {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
