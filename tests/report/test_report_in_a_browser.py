"""A real browser reads the report without complaint, on a phone too, and its script does what it should."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.report.strict_html import StrictHtml

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")

PHONE = """<!doctype html><body><iframe src="page.html" style="width:390px;height:900px"></iframe><script>
addEventListener("message", (event) => { document.body.dataset.answer = event.data; });
</script></body>"""
ASK = """<script>
const { scrollWidth, clientWidth } = document.documentElement;
parent.postMessage(`${clientWidth > 300}, ${scrollWidth - clientWidth} too wide`, "*");
</script>"""


def browse(address: str, home: Path) -> tuple[str, str]:
    """The page as a browser has it after its script ran, and what the browser complained about."""
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        *quiet,
        f"--user-data-dir={home}",
    ]
    command += ["--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.mark.parametrize("case", ["two recipes", "forty models", "clean only"])
def test_a_browser_has_nothing_to_complain_about(made, case: str, tmp_path: Path) -> None:
    page = made(case)[1]
    if BROWSER is None:  # then at least: all that the script looks for is there, and the page is readable without it
        read = StrictHtml(page)
        assert {"theme", "part1", "methods"} <= set(read.ids)
        assert ("details" in read.tags) == (case != "clean only")
        assert 'class="part" hidden' not in page
        return
    (tmp_path / "page.html").write_text(page.replace("</body>", f"{ASK}</body>"))
    (tmp_path / "phone.html").write_text(PHONE)
    shown, complaints = browse(f"file://{tmp_path}/page.html", tmp_path / "home")
    assert complaints == ""
    assert shown.count('class="switch"') == page.count('class="views"')  # the script ran to its end
    assert 'id="tip"' in shown
    phone, complaints = browse(f"file://{tmp_path}/phone.html", tmp_path / "home")
    assert complaints == ""
    assert 'data-answer="true, 0 too wide"' in phone


TRY = """<script>
const rows = () => [...document.querySelectorAll(".sortable tbody tr")];
const cells = (column) => rows().map((row) => row.cells[column].dataset.v);
const [rank, , clean] = document.querySelectorAll(".sortable th button");
const list = document.querySelector(".switch select");
const said = [];
clean.click();
said.push(cells(2).every((x, i, all) => i === 0 || Number(all[i - 1]) >= Number(x)));
rank.click();
said.push(cells(0).join() === [...Array(40).keys()].map((i) => i + 1).join());
list.selectedIndex = 39;
list.dispatchEvent(new Event("change"));
said.push(document.querySelector(".views .view:not([hidden]) summary").textContent);
document.querySelector("#theme").click();
said.push(document.documentElement.dataset.theme);
document.querySelector(".hit").dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
said.push(document.querySelector("#tip").textContent.split("\\n")[0]);
document.body.dataset.said = said.join("; ");
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="needs chromium or google-chrome")
def test_the_script_sorts_switches_and_tells(made, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(made("forty models")[1].replace("</body>", f"{TRY}</body>"))
    shown, complaints = browse(f"file://{tmp_path}/page.html", tmp_path / "home")
    assert complaints == ""
    (said,) = re.findall('data-said="([^"]*)"', shown)
    assert re.fullmatch(r"true; true; model-\d\d; dark; fog, severity 0", said), said
