"""A real browser for tests: headless, with a fresh profile, cut off from the network, with its complaints kept.

`tests/conftest.py` makes the fixture `browser` known to every test.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
LOCAL = {"", "localhost", "127.0.0.1"}
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)


class Browser:
    """A Chromium with its Selenium `driver`; what it complained about and asked of the network since it was opened."""

    def __init__(self, home: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for option in (*OPTIONS, f"--user-data-dir={home / 'profile'}"):
            options.add_argument(option)
        self.downloads = home / "downloads"
        options.add_experimental_option("prefs", {"download.default_directory": str(self.downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, Service(str(DRIVER)))
        self._foreign: list[str] = []
        self._errors: list[str] = []
        self.resize(1280, 900)

    def open(self, address: str | Path, html: str | None = None) -> None:
        """Load a page by its address, or a file, which is written first if its text is given."""
        if isinstance(address, Path):
            if html is not None:
                address.write_text(html, encoding="utf-8")
            address = address.resolve().as_uri()
        self.driver.get(address)

    def run(self, script: str, *arguments: object) -> object:
        """Run a script in the page and give what it returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, seconds: float = 20) -> object:
        """Run a script until it returns something true, and give that."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.05).until(lambda _: self.run(script))

    def resize(self, width: int, height: int) -> None:
        """Give the page a screen of this size, also one that is narrower than a window can be."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    @property
    def too_wide(self) -> int:
        """By how many pixels the page is wider than its screen."""
        wide = self.run("const d = document.documentElement; return d.scrollWidth - d.clientWidth;")
        return int(str(wide))

    @property
    def errors(self) -> list[str]:
        """Everything that the console has complained about so far."""
        logs = self.driver.get_log("browser")
        self._errors += [log["message"] for log in logs if log["level"] in ("SEVERE", "WARNING")]
        return self._errors

    @property
    def foreign(self) -> list[str]:
        """The addresses, other than files and this machine, that any page has asked for so far."""
        for log in self.driver.get_log("performance"):
            message = json.loads(log["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = urlsplit(message["params"]["request"]["url"])
                if address.scheme in ("http", "https", "ws", "wss") and address.hostname not in LOCAL:
                    self._foreign.append(address.geturl())
        return self._foreign

    def forget(self) -> None:
        """Begin anew with nothing complained about."""
        assert self.errors is self._errors
        assert self.foreign is self._foreign
        self._errors.clear()
        self._foreign.clear()


@pytest.fixture(scope="module")
def started_browser() -> Iterator[Browser]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("a browser is needed: install chromium and chromedriver")
    pytest.importorskip("selenium", reason="a driver of browsers is needed: pip install selenium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        started = Browser(Path(home))
        try:
            yield started
        finally:
            started.driver.quit()


@pytest.fixture
def browser(started_browser: Browser) -> Iterator[Browser]:
    """A browser, of which a test that uses it requires that it never complained and never left this machine."""
    started_browser.forget()
    started_browser.resize(1280, 900)
    yield started_browser
    assert started_browser.errors == []
    assert started_browser.foreign == []
