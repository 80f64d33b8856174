"""The pages of results and overlaps, asked for by a client without a browser."""

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from PIL import Image as Pil
from starlette.testclient import TestClient

import brittle
from brittle.design import OverlapMatrix, coverage, non_overlapping, published_overlap
from brittle.evaluation import evaluate, load_results
from brittle.explorer import State, create_app
from brittle.explorer.overlaps import SMALL, BrowsedOverlap
from tests.explorer.browse_cases import (
    CLASSES,
    IMAGES,
    MODELS,
    RECIPE,
    SAMPLES,
    by_brightness,
    pixels,
    squares,
    write_run,
    write_slides,
)

HTML = {"accept": "text/html"}


class Page(HTMLParser):
    """The links, pictures, tags and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.images: list[str] = []
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self.texts: list[str] = []
        self.cards: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attributes)
        self.handlers += [name for name in given if name.startswith("on")]
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag == "img":
            self.images.append(given.get("src") or "")
        if tag == "ul":
            self.cards = []
        if given.get("class") == "card":
            self.cards.append("")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(" ".join(data.split()))
            if self.cards and self.texts[-1] not in ("First", "Previous", "Next"):
                self.cards[-1] += f" {self.texts[-1]}"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("browsed")
    return write_run(place / "run"), write_slides(place / "slides")


@pytest.fixture(scope="module")
def client(folders: tuple[Path, Path]) -> TestClient:
    return TestClient(create_app(State.of(models=[], runs=folders)), raise_server_exceptions=False)


def get(client: TestClient, address: str, **values: object) -> Page:
    answer = client.get(address, params=values or None, headers=HTML)
    assert answer.status_code == 200, answer.text
    page = Page(answer.text)
    assert page.handlers == []
    assert "i" not in page.tags
    return page


def test_a_run_is_what_is_shown_first(client: TestClient) -> None:
    assert client.get("/", follow_redirects=False).headers["location"] == "/results"


def test_every_cell_leads_to_its_failures(client: TestClient, folders: tuple[Path, Path]) -> None:
    accuracy = {row[:3]: row[3:] for row in load_results(folders[0]).accuracy().rows()}
    seen = set()
    for model in MODELS:
        page = get(client, "/results", run=0, model=model)
        cells = [link for link in page.links if "level=" in link]
        assert len(cells) == len(RECIPE)
        for link in cells:
            shown = get(client, link)
            [(corruption, level)] = re.findall(r"corruption=([^&]+)&level=([^&]+)", link)
            samples, share = accuracy[model, corruption.replace("%2F", "/"), float(level)]
            wrong = round(samples * (1 - share))
            assert any(f"{wrong}" == text for text in shown.texts) or "Nothing matches" in " ".join(shown.texts)
            assert len([one for one in shown.links if "/results/sample" in one]) == min(wrong, 48)
            seen.add((model, corruption, level))
    assert len(seen) == len(MODELS) * len(RECIPE)


def test_following_next_meets_every_failure_once_and_previous_goes_back(client: TestClient) -> None:
    address, pages = "/results/failures?run=0&sort=unsure", []
    while address:
        page = get(client, address)
        pages.append(page.cards)
        turns = {
            "after": [one for one in page.links if "after=" in one],
            "before": [one for one in page.links if "before=" in one],
        }
        address = turns["after"][0] if turns["after"] else ""
    shown = [one for page in pages for one in page]
    total = load_total(client)
    assert len(pages) > 1
    assert len(shown) == total
    back = get(client, turns["before"][0])
    assert back.cards == pages[-2]
    assert len(set(shown)) == total


def load_total(client: TestClient) -> int:
    text = " ".join(get(client, "/results/failures", run=0).texts)
    return int(re.search(r"of ([\d,]+) wrong predictions", text)[1].replace(",", ""))  # type: ignore[index]


def test_the_filters_are_kept_while_paging(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brittle.explorer.results_pages.PAGE_ROWS", 1)
    query = {"run": 0, "model": MODELS[0], "label": 0, "right_by": MODELS[1], "sort": "latest"}
    page = get(client, "/results/failures", **query)
    link = next(one for one in page.links if "after=" in one)
    assert {name: [str(value)] for name, value in query.items()}.items() <= parse_qs(urlsplit(link).query).items()


def test_pictures_are_what_the_models_saw(client: TestClient) -> None:
    clean = pixels()
    for number, sample in enumerate(SAMPLES):
        drawn = RECIPE.apply(clean[number], "imagenet-c/fog", 3.0, sample)
        ranged = RECIPE.apply(clean[number], "noc/hue", (1.0, 5.0), sample)
        for corruption, level, expected in (
            ("clean", 0, clean[number]),
            ("imagenet-c/fog", 3, drawn),
            ("noc/hue", 3, ranged),
        ):
            answer = client.get(
                "/results/picture", params={"run": 0, "id": sample, "corruption": corruption, "level": level}
            )
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "image/png"
            assert np.array_equal(np.asarray(Pil.open(io.BytesIO(answer.content))), expected)


def test_slides_show_their_files(client: TestClient, folders: tuple[Path, Path]) -> None:
    page = get(client, "/results/failures", run=1, sort="earliest")
    sample = next(one for one in page.links if "/results/sample" in one)
    strip = get(client, sample)
    assert len(strip.images) == 3
    for address, scale in zip(strip.images, (0, 500, 1000), strict=True):
        answer = client.get(address)
        name = re.search(r"id=([^&]+)", address)[1].replace("%2F", "/")  # type: ignore[index]
        assert name.endswith(f"_scale_{scale}.png")
        file = folders[1].parent / "slides-pictures" / name
        assert np.array_equal(np.asarray(Pil.open(io.BytesIO(answer.content))), np.asarray(Pil.open(file)))


@pytest.mark.parametrize(
    "address",
    [
        "/results",
        "/results/failures",
        "/results/compare",
        "/results/sample?id=%3Cimg+src%3Dx+onerror%3Dalert%283%29%3E",
    ],
)
def test_hostile_names_are_text(client: TestClient, address: str) -> None:
    answer = client.get(address, headers=HTML)
    assert answer.status_code == 200
    page = Page(answer.text)
    assert page.handlers == []
    assert "<script>alert" not in answer.text
    assert "49" not in page.texts
    texts = " ".join(page.texts)
    assert MODELS[1] in texts
    if "compare" not in address and "failures" not in address:
        assert any(name in texts for name in (CLASSES[1], "squares <i>"))


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/results?run=9", 404),
        ("/results?run=-1", 404),
        ("/results?run=x", 422),
        ("/results?run=1e400", 422),
        ("/results?model=nobody", 404),
        ("/results?model=../../etc/passwd", 404),
        ("/results/failures?model=nobody", 404),
        ("/results/failures?right_by=nobody", 404),
        ("/results/failures?corruption=../../etc/passwd", 404),
        ("/results/failures?corruption=imagenet-c/fog&level=4.5", 404),
        ("/results/failures?corruption=imagenet-c/fog&level=nan", 422),
        ("/results/failures?label=1.5", 422),
        ("/results/failures?label=inf", 422),
        ("/results/failures?sort=size", 422),
        ("/results/failures?after=AAAA", 422),
        ("/results/failures?row=1e308", 200),
        ("/results/failures?row=-5", 200),
        ("/results/failures?label=99", 200),
        ("/results/sample?id=nobody", 404),
        ("/results/sample", 404),
        ("/results/sample?id=" + "x" * 5000, 404),
        ("/results/compare?a=nobody", 404),
        ("/results/picture?id=../../../../etc/passwd&corruption=imagenet-c/fog&level=1", 404),
        ("/results/picture?id=%2Fetc%2Fpasswd", 404),
        ("/results/picture?id=4.png&corruption=imagenet-c/snow&level=1", 404),
        ("/results/picture?id=4.png&corruption=imagenet-c/fog&level=nan", 422),
        ("/results/picture?run=1&id=../../../etc/passwd&corruption=cns/dusk&level=0.5", 404),
        ("/overlap?matrix=../../etc/passwd", 404),
        ("/overlap?threshold=nan", 422),
        ("/overlap?threshold=2", 422),
        ("/overlap/recipe?threshold=-1", 422),
        ("/overlap/recipe?matrix=nobody", 404),
        ("/overlap/picture?row=99", 404),
        ("/overlap/picture?row=1.5", 422),
        ("/overlap/picture?photo=../../etc/passwd", 422),
        ("/results/nothing", 404),
    ],
)
def test_what_is_not_there_is_one_sentence(client: TestClient, address: str, status: int) -> None:
    answer = client.get(address, headers=HTML)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert "root:" not in answer.text
    if status != 200:
        assert len(client.get(address).json()["error"]) < 400


def test_without_a_run_the_page_says_how_to_make_one() -> None:
    page = get(TestClient(create_app(State.of(models=[], data="demo"))), "/results")
    assert "brittle explore run" in " ".join(page.texts)


def test_a_run_that_grows_is_read_again(tmp_path: Path) -> None:
    client = TestClient(create_app(State.of(models=[], runs=write_run(tmp_path / "run"))))
    assert "third" not in get(client, "/results").texts
    evaluate(by_brightness("third", 5), squares(), RECIPE, tmp_path / "run")
    assert "third" in get(client, "/results").texts
    assert "third" in get(client, "/results/failures").texts


def test_a_run_whose_account_is_lost_is_one_sentence(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "run" / "run.toml").write_text("")
    client = TestClient(create_app(State.of(models=[], runs=tmp_path / "run")), raise_server_exceptions=False)
    answer = client.get("/results")
    assert answer.status_code == 422
    assert "run.toml" in answer.json()["error"]


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.55, 1.0])
def test_the_overlap_page_has_the_set_of_every_threshold(client: TestClient, threshold: float) -> None:
    answer = client.get("/overlap", params={"matrix": "noc-table7", "threshold": threshold}, headers=HTML)
    data = json.loads(re.search(r'id="overlap-data">(.*?)</script>', answer.text, re.S)[1])  # type: ignore[index]
    overlap = published_overlap("noc-table7")
    step, expected = data["steps"][round(100 * threshold)], non_overlapping(overlap, threshold)
    ids = {name.rpartition("/")[2]: name for name in overlap.names}
    members = [ids[data["names"][place]] for place in step["members"]]
    assert set(members) in [set(tie) for tie in expected.ties]
    assert step["count"] == expected.count
    covered = coverage(overlap, members, of=overlap.names).covered
    assert {ids[data["names"][place]] for place in step["covered"]} == set(covered)
    assert client.get("/overlap/step", params={"threshold": threshold}).json() == step


def test_the_recipe_is_a_file_that_loads(client: TestClient, tmp_path: Path) -> None:
    answer = client.get("/overlap/recipe", params={"matrix": "noc-table7", "threshold": 0.3})
    assert "attachment" in answer.headers["content-disposition"]
    (tmp_path / "set.toml").write_bytes(answer.content)
    recipe = brittle.load_benchmark(tmp_path / "set.toml")
    expected = non_overlapping(published_overlap("noc-table7"), 0.3)
    assert {entry.id for entry in recipe.entries} in [set(tie) for tie in expected.ties]
    candidates = published_overlap("noc-table7").candidates
    assert candidates is not None
    assert all(entry == candidates.entry(entry.id) for entry in recipe.entries)


def test_both_corruptions_of_a_pair_are_drawn_on_the_photograph(client: TestClient) -> None:
    clean, first, second = (client.get("/overlap/picture", params=one) for one in ({}, {"row": 0}, {"row": 5}))
    assert {answer.status_code for answer in (clean, first, second)} == {200}
    assert len({answer.content for answer in (clean, first, second)}) == 3


def test_a_matrix_of_ones_own_comes_first_and_needs_no_recipe(tmp_path: Path) -> None:
    scores = np.array([[1, 0.2, np.nan], [0.2, 1, -0.1], [np.nan, -0.1, 1]])
    OverlapMatrix(("<i>one", "two", "three"), scores).save(tmp_path / "matrix" / "overlap.parquet")
    client = TestClient(create_app(State.of(models=[], runs=tmp_path / "matrix")), raise_server_exceptions=False)
    assert client.get("/", follow_redirects=False).headers["location"] == "/overlap"
    page = get(client, "/overlap")
    assert "<i>one" in page.texts
    assert "i" not in page.tags
    assert not [link for link in page.links if "recipe" in link]
    assert client.get("/overlap/recipe").status_code == 404
    assert client.get("/overlap/picture?row=1").status_code == 404
    assert "brittle explore run" in " ".join(get(client, "/results").texts)


def test_a_large_matrix_is_computed_step_by_step() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((SMALL + 5, SMALL + 5))
    scores = (scores + scores.T) / 2
    np.fill_diagonal(scores, 1)
    shown = BrowsedOverlap("m0", "large", OverlapMatrix(tuple(f"c{i}" for i in range(len(scores))), scores))
    assert len(shown.steps()) == 101
    expected = non_overlapping(shown.overlap, 0.3)
    assert shown.step(30).members == tuple(shown.overlap.positions(expected.members))
    assert shown.steps()[30] == shown.step(30)


def test_a_comparison_leads_to_what_only_one_gets_right(client: TestClient, folders: tuple[Path, Path]) -> None:
    rows = load_results(folders[0]).rows.collect()
    wide = rows.pivot("model", index=["corruption", "level", "sample"], values="correct")
    page = get(client, "/results/compare", run=0, a=MODELS[0], b=MODELS[1])
    link = next(one for one in page.links if "level=3.0" in one and "fog" in one)
    shown = get(client, link)
    a, b = MODELS if "model=%3Cb%3Edark" in link else MODELS[::-1]
    expected = wide.filter((wide["corruption"] == "imagenet-c/fog") & (wide["level"] == 3.0) & wide[a] & ~wide[b])
    assert len([one for one in shown.links if "/results/sample" in one]) == min(48, len(expected))
    assert wide["sample"].n_unique() == IMAGES
