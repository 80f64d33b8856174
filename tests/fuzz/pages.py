"""Pages with payloads in every name: report, explorer, labelling page, papers, leaderboard, evidence, notebook pieces.

A page is read by a parser that knows no more than browsers do: it may have the scripts that it has without payloads and
no others, no attribute that is a handler, and no address that is a script.
"""

import shutil
import tempfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

import brittle
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import Dataset
from brittle.evaluation import Results, evaluate, search_failure_points
from brittle.models import from_callable
from brittle.report import report_html, write_failure_report
from tests.fuzz.engine import SENTENCES, Finding, Fuzzer

PAYLOADS = (
    "plain",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '" onfocus="alert(1)" autofocus x="',
    "</script><script>alert(1)</script>",
    "</style><svg onload=alert(1)>",
    "</title><script>alert(1)</script>",
    "javascript:alert(1)",
    "<!--<script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
    "{{ 7 * 7 }}{% for x in () %}",
    "__DATA____TITLE__",
    "<svg><script>alert&#40;1)</script></svg>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=javascript:alert(1)>x</a>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
    "\u2028alert(1)//",
    "`${alert(1)}`",
    "';alert(1)//",
    '";alert(1)//',
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "\x00<script>alert(1)</script>",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "[bold red]x[/bold red][/red]",
    "\u202egnp.exe",
    "x" * 2000,
    "../../etc/passwd",
    "url(javascript:alert(1))",
    "expression(alert(1))",
)
PLACES = (
    "class",
    "model",
    "data",
    "sample",
    "recipe title",
    "recipe source",
    "recipe name",
    "page title",
    "note",
    "reason",
)
PAGES_OF = ("report", "failures", "explorer", "live", "label", "papers", "notebook", "leaderboard", "evidence")
ADDRESSES = ("href", "src", "action", "formaction", "xlink:href", "data", "poster")
RUNS = ("javascript:", "vbscript:", "data:text", "data:application", "//", "http")
HANDLED = ("script", "iframe", "object", "embed", "base", "frame", "applet")


class Parts(HTMLParser):
    """What of a page a browser would run or load."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.active: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note scripts, frames, handlers and addresses."""
        if tag in HANDLED or (tag in ("meta", "link") and any(name in ("http-equiv", "href") for name, _ in attrs)):
            self.active.append(f"<{tag}>")
        for name, value in attrs:
            text = "".join((value or "").split()).lower()
            if name.startswith("on") or name == "srcdoc":
                self.active.append(f"<{tag} {name}>")
            if name in ADDRESSES and text.startswith(RUNS):
                self.active.append(f"<{tag} {name}={text[:20]}>")
            if name == "style" and ("javascript:" in text or "expression(" in text):
                self.active.append(f"<{tag} style>")


def active(page: str) -> list[str]:
    """Everything in a page that runs or loads, in order."""
    return Parts(page).active


def names(payload: str, place: str) -> dict[str, str]:
    """The name of each place: the payload in one of them, or in all."""
    return {one: payload if place in (one, "all") else f"some {one}" for one in PLACES}


def scores(images: np.ndarray) -> np.ndarray:
    """By brightness, so that some predictions are wrong."""
    return -np.abs(images.mean((1, 2, 3))[:, None] - 60 * np.arange(1, 5))


def dataset(given: dict[str, str]) -> Dataset:
    """Squares with these names."""
    rng = np.random.default_rng(0)
    labels = np.arange(12) % 4
    images = np.clip(
        60 * (labels + 1)[:, None, None, None] + rng.normal(0, 30, (12, 1, 1, 1)) + np.zeros((12, 8, 8, 3)), 0, 255
    )
    ids = [f"{given['class']}/{given['sample']}", *(f"c/{i}.png" for i in range(11))]
    classes = (given["class"], "b", "c", "d")
    pixels = images.astype(np.uint8)

    def read(index: int) -> np.ndarray:
        if index == 11:
            raise brittle.datasets.UnreadableImage(given["reason"])
        return pixels[index]

    return Dataset(
        given["data"], read, ids, content=lambda: "1", labels=labels, classes=classes, notes=(given["note"],)
    )


def recipe(given: dict[str, str]) -> Benchmark:
    """One corruption at two levels."""
    entries = (Entry("imagenet-c/contrast", (1, 5)),)
    return Benchmark(given["recipe name"], entries, title=given["recipe title"], source=given["recipe source"])


def run(folder: Path, given: dict[str, str]) -> Results:
    """A run with these names."""
    models = [from_callable(scores, name=given["model"], version="1"), from_callable(scores, name="other", version="2")]
    return evaluate(models, dataset(given), recipe(given), folder, progress=None, threads=1)


def made(page: str, folder: Path, given: dict[str, str]) -> list[str]:
    """The texts of a page, or of all pages of the explorer."""
    if page == "report":
        return [report_html(run(folder / "run", given), title=given["page title"])]
    if page == "notebook":
        results = run(folder / "run", given)
        shown = (results, dataset(given), recipe(given), results.scores(), results.compare())
        return [text._repr_html_() for text in shown if hasattr(text, "_repr_html_")]
    if page == "leaderboard":
        from brittle.publish import write_leaderboard

        write_leaderboard(run(folder / "run", given), folder / "site", title=given["page title"])
        return [path.read_text("utf-8") for path in sorted((folder / "site").glob("*.html"))]
    if page == "evidence":
        from brittle.publish import write_evidence

        page_file = folder / "evidence.html"
        return [write_evidence(run(folder / "run", given), page_file, title=given["page title"]).read_text("utf-8")]
    if page == "failures":
        model = from_callable(scores, name=given["model"], version="1")
        search_failure_points(model, dataset(given), recipe(given), folder / "run", tolerance=1.0, progress=None)
        return [write_failure_report([folder / "run"], folder / "f.html", title=given["page title"]).read_text("utf-8")]
    if page == "label":
        from brittle.sliders import write_labelling_page

        write_labelling_page(dataset(given), folder / "label.html")
        return [(folder / "label.html").read_text("utf-8")]
    if page == "papers":
        return [papers_page(folder, given)]
    return explorer_pages(page, folder, given)


def papers_page(folder: Path, given: dict[str, str]) -> str:
    """A page of findings whose texts, columns and rows have these names."""
    from brittle.papers import list_experiments
    from brittle.papers.experiments import Finding as Found
    from brittle.papers.page import page_html

    rows = [{given["class"]: given["model"], "ours": 1.5, "published": 2}]
    found = Found(
        experiment=list_experiments()[0].id,
        title=given["page title"],
        claim=given["note"],
        scale="small",
        seed=0,
        key="0",
        seconds=1.0,
        verdict=given["reason"],
        tables={given["data"]: rows},
        agreement=[{"name": given["recipe name"], "value": 0.5, "low": 0.1, "high": 0.8, "n": 9, "percent": False}],
        differs=[given["recipe title"]],
        figures=[],
    )
    return page_html(folder, [found])


def explorer_pages(page: str, folder: Path, given: dict[str, str]) -> list[str]:
    """Every page that the explorer shows of a run, or the live page."""
    from starlette.testclient import TestClient

    from brittle.explorer import State, create_app

    data = dataset(given)
    results = run(folder / "run", given)
    model = from_callable(scores, name=given["model"], version="1")
    state = State.of({given["model"]: model}, data=data, runs=[folder / "run"])
    state.load()
    with TestClient(create_app(state), base_url="http://127.0.0.1") as client:
        if page == "live":
            return [client.get("/live").text]
        sample = results.rows.collect()["sample"][0]
        addresses = [
            ("/results", {}),
            ("/results/failures", {"corruption": "imagenet-c/contrast", "model": given["model"]}),
        ]
        addresses += [
            ("/results/sample", {"id": sample}),
            ("/results/compare", {"first": given["model"], "second": "other"}),
        ]
        addresses += [("/results/sample", {"id": given["reason"]}), ("/live", {"picture": given["reason"]})]
        answers = [client.get(path, params=params) for path, params in addresses]
        for answer in answers:
            if answer.status_code >= 500:
                raise Finding(f"{answer.status_code} at {answer.url}")
            if not answer.headers["content-type"].startswith(("text/html", "application/json")):
                raise Finding(f"{answer.headers['content-type']} at {answer.url}")
        return [answer.text for answer in answers if answer.headers["content-type"].startswith("text/html")]


@cache
def expected(page: str) -> list[list[str]]:
    """What runs in the same pages with plain names."""
    with tempfile.TemporaryDirectory(prefix="brittle-fuzz-") as folder:
        return [active(text) for text in made(page, Path(folder), names("plain", "none"))]


def check(page: str, payload: str, place: str) -> str:
    """Nothing runs in a page that does not run in it with plain names."""
    plain = expected(page)
    folder = Path(tempfile.mkdtemp(prefix="brittle-fuzz-"))
    try:
        pages = made(page, folder, names(payload, place))
    except SENTENCES as error:
        if len(str(error)) < 15:
            raise
        return "refused"
    finally:
        shutil.rmtree(folder)
    for text, known in zip(pages, plain, strict=True):
        if active(text) != known:
            new = [part for part in active(text) if part not in known]
            raise Finding(f"this runs or loads in the page: {new or active(text)}")
    return "text"


PAGES = Fuzzer("pages", {"page": PAGES_OF, "payload": PAYLOADS, "place": ("all", *PLACES)}, check)
