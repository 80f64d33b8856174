"""What the server answers to the script of the live page, and to what no script of ours would ask."""

import json
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle.datasets import photo, square
from brittle.explorer import State
from tests.explorer.conftest import HOSTILE, broken, light
from tests.explorer.test_state import NO_PICTURES, file_of

pytest.importorskip("starlette")

FOG = {"picture": "b0", "c": "imagenet-c/fog:2.5", "size": "64"}


def pixels(answer: Any) -> np.ndarray:
    return np.asarray(Pil.open(BytesIO(answer.content)).convert("RGB"))


def test_the_page_has_all_corruptions_and_pictures(client: Any) -> None:
    page = client.get("/live").text
    start = json.loads(page.partition('id="start">')[2].partition("</script>")[0])
    assert [each["id"] for each in start["corruptions"]] == [each.id for each in brittle.list_corruptions()]
    assert [each["name"] for each in start["pictures"]] == ["cat", "coffee"]
    assert [model["name"] for model in start["models"]] == ["light", "texture", "broken"]
    assert "Search 112 corruptions" in page


def test_a_picture_on_the_screen_is_exact_and_has_its_facts(client: Any) -> None:
    answer = client.get("/live/picture", params=FOG)
    expected = brittle.corrupt(square(photo("cat", 300), 64), "fog", 2.5, sample="cat")
    assert answer.headers["content-type"] == "image/png"
    assert np.array_equal(pixels(answer), expected)
    facts = json.loads(answer.headers["x-facts"])
    assert (facts["width"], facts["height"]) == (64, 64)
    values = brittle.get_corruption("fog").parameters(2.5, 64)
    assert {key: float(text) for key, text in facts["layers"][0]["parameters"].items()} == pytest.approx(
        values, rel=1e-3
    )
    assert float(facts["psnr"].split()[0]) == pytest.approx(
        brittle.metrics.psnr(square(photo("cat", 300), 64), expected), abs=0.05
    )


def test_a_large_picture_is_a_good_jpeg_and_is_saved_exactly(client: Any) -> None:
    large = {**FOG, "size": "512"}
    shown, saved = client.get("/live/picture", params=large), client.get("/live/save", params=large)
    expected = brittle.corrupt(square(photo("cat", 300), 512), "fog", 2.5, sample="cat")
    assert shown.headers["content-type"] == "image/jpeg"
    assert brittle.metrics.psnr(expected, pixels(shown)) > 36
    assert np.array_equal(pixels(saved), expected)
    assert 'filename="cat-fog-2.5.png"' in saved.headers["content-disposition"]


def test_predictions_are_those_of_the_model(client: Any) -> None:
    answered = client.get("/live/predictions", params=FOG).json()
    scores = light(brittle.corrupt(square(photo("cat", 300), 64), "fog", 2.5, sample="cat")[None])[0]
    shares = np.exp(scores) / np.exp(scores).sum()
    assert [each["share"] for each in answered["top"]] == pytest.approx(sorted(shares, reverse=True), rel=1e-5)
    assert answered["top"][0]["output"] == int(scores.argmax())
    assert not answered["known"]


def test_a_label_says_what_is_right(client: Any) -> None:
    wrong = client.get("/live/predictions", params={"picture": "d3"}).json()
    assert (wrong["known"], wrong["target"]) == (True, "grey")
    dark = client.get("/live/predictions", params={"picture": "d1"}).json()
    assert (dark["right"], dark["target"], dark["flipped"]) == (True, "dark", False)
    bright = client.get("/live/predictions", params={"picture": "d1", "c": "imagenet-c/brightness:5"}).json()
    assert bright["flipped"] is (bright["top"][0]["name"] != "dark")


def test_a_strip_ends_at_the_failure_point(client: Any) -> None:
    answered = client.get("/live/strip", params={"picture": "d1", "c": "imagenet-c/brightness:1", "place": "0"}).json()
    failed, held = answered["failure"]["failed"], answered["failure"]["held"]
    assert 0 < failed - held <= 0.002
    for severity, right in ((held, True), (failed, False)):
        view = {"picture": "d1", "c": f"imagenet-c/brightness:{severity!r}"}
        assert client.get("/live/predictions", params=view).json()["right"] is right
    assert len(answered["severities"]) == 41
    first_wrong = answered["right"].index(False)
    assert answered["severities"][first_wrong - 1] <= held < failed <= answered["severities"][first_wrong]


def test_what_breaks_it_comes_line_by_line(client: Any) -> None:
    lines = client.get("/live/breaks", params={"picture": "d1", "benchmark": "imagenet-c"}).text.splitlines()
    first, *rest = map(json.loads, lines)
    assert first["total"] == len(rest) == 15
    assert {each["id"] for each in rest} == {entry.id for entry in brittle.load_benchmark("imagenet-c").entries}
    for each in rest:
        failed = each["failure"]["failed"]
        if failed:
            shown = client.get("/live/predictions", params={"picture": "d1", "c": f"{each['id']}:{failed!r}"}).json()
            assert shown["flipped"]
            assert shown["top"][0]["name"] == each["failure"]["becomes"]


def test_the_images_of_the_dataset_are_paged(client: Any) -> None:
    answered = client.get("/live/samples", params={"page": "0"}).json()
    assert [each["id"] for each in answered["samples"]] == ["d0", "d1", "d2", "d3"]
    assert answered["samples"][1]["label"] == "dark"
    assert client.get("/live/samples", params={"page": "1"}).status_code == 422
    assert client.get("/live/samples", params={"id": "d1"}).json()["width"] == 48
    assert pixels(client.get("/live/thumb", params={"picture": "d1", "side": "72"})).shape == (48, 48, 3)
    assert pixels(client.get("/live/thumb", params={"picture": "b0", "side": "72"})).shape == (72, 72, 3)


def test_a_picture_that_is_dropped_can_be_corrupted(client: Any) -> None:
    image = photo("coffee", 90)
    put = client.post("/live/pictures", params={"name": "my cup.png"}, content=file_of(image))
    assert put.status_code == 200
    identity = put.json()["id"]
    view = {"picture": identity, "c": "imagenet-c/snow:2"}
    assert np.array_equal(
        pixels(client.get("/live/picture", params=view)), brittle.corrupt(image, "snow", 2, sample="my cup.png")
    )
    commands = client.get("/live/commands", params=view).json()
    assert "my cup.png" in commands["python"]
    assert commands["shell"].startswith("brittle corrupt 'my cup.png' picture.png")


@pytest.mark.parametrize(("content", "named"), NO_PICTURES.values(), ids=NO_PICTURES)
def test_an_upload_that_is_no_picture_is_refused(client: Any, content: bytes, named: tuple[object, ...]) -> None:
    answer = client.post("/live/pictures", params={"name": "x.png"}, content=content)
    assert answer.status_code == 422
    assert set(answer.json()) == {"error"}
    assert all(str(value) in answer.json()["error"] for value in named)
    assert client.get("/live/picture", params=FOG).status_code == 200


def test_an_upload_without_a_length_is_cut_off(client: Any) -> None:
    parts = (bytes(2**20) for _ in range(64))
    assert client.post("/live/pictures", content=parts).status_code == 422


PATHS = ["picture", "save", "predictions", "strip", "breaks", "commands"]
HOSTILE_VIEWS = [
    {"picture": "../../etc/passwd"},
    {"picture": "/etc/passwd"},
    {"picture": "file:///etc/passwd"},
    {"picture": "b0\0.png"},
    {"picture": ""},
    {},
    {"picture": "d99999999999999999999"},
    {"picture": "b0", "c": "imagenet-c/fog:nan"},
    {"picture": "b0", "c": "imagenet-c/fog:inf"},
    {"picture": "b0", "c": "imagenet-c/fog:-inf"},
    {"picture": "b0", "c": "imagenet-c/fog:1e300"},
    {"picture": "b0", "c": "imagenet-c/fog:5.0000001"},
    {"picture": "b0", "c": "os/system:1"},
    {"picture": "b0", "c": HOSTILE},
    {"picture": "b0", "c": ["imagenet-c/fog:1"] * 500},
    {"picture": "b0", "seed": "1.5"},
    {"picture": "b0", "seed": "-3"},
    {"picture": "b0", "seed": "9" * 5000},
    {"picture": "b0", "size": "100000"},
    {"picture": "b0", "size": "-64"},
    {"picture": "b0", "size": HOSTILE},
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("view", HOSTILE_VIEWS, ids=lambda view: str(view)[:60])
def test_what_no_script_of_ours_asks_is_answered_by_a_sentence(client: Any, path: str, view: dict[str, Any]) -> None:
    answer = client.get(f"/live/{path}", params=view)
    assert answer.status_code == 422, answer.text
    assert set(answer.json()) == {"error"}
    assert "Traceback" not in answer.text
    assert len(answer.text) < 4000
    assert "root:" not in answer.text


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("predictions", {**FOG, "model": "9"}),
        ("predictions", {**FOG, "model": "-1"}),
        ("predictions", {**FOG, "model": "1e9"}),
        ("strip", {**FOG, "place": "1"}),
        ("strip", {"picture": "b0", "size": "64"}),
        ("breaks", {**FOG, "benchmark": "../../etc/passwd"}),
        ("breaks", {**FOG, "benchmark": "/tmp/x.toml"}),
        ("thumb", {"picture": "b0", "side": "100000"}),
        ("thumb", {"picture": "../x", "side": "72"}),
        ("samples", {"page": "-1"}),
        ("samples", {"page": "9" * 6}),
        ("samples", {"id": "../../etc/passwd"}),
        ("picture", {**FOG, "thumb": "99999"}),
    ],
)
def test_numbers_that_no_page_has_are_refused(client: Any, path: str, params: dict[str, str]) -> None:
    answer = client.get(f"/live/{path}", params=params)
    assert answer.status_code == 422, answer.text
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/../etc/passwd"]
)
def test_no_file_but_those_of_the_pages_is_served(client: Any, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_a_model_that_raises_is_told_as_text_and_the_server_lives(client: Any) -> None:
    for path in ("predictions", "strip"):
        answer = client.get(f"/live/{path}", params={**FOG, "model": "2"})
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["status"] == "failed"
        assert HOSTILE in answer.json()["error"]
    assert client.get("/live/breaks", params={**FOG, "model": "2"}).status_code == 422
    other = client.get("/live/predictions", params={"picture": "d0", "model": "1"}).json()
    assert "texture" in other["error"]  # two outputs for data of three classes
    assert client.get("/live/predictions", params=FOG).status_code == 200


def test_an_error_on_the_way_ends_the_stream_with_a_sentence() -> None:
    from starlette.testclient import TestClient

    from brittle.explorer import create_app
    from brittle.models import from_callable

    calls: list[int] = []

    def tired(images: np.ndarray) -> np.ndarray:
        calls.append(len(images))
        return broken(images) if len(calls) > 8 else light(images)

    state = State.of(from_callable(tired, name="tired", version="1"))
    state.load()
    lines = TestClient(create_app(state)).get("/live/breaks", params={"picture": "b0", "size": "32"}).text.splitlines()
    assert 2 <= len(lines) < 112
    assert "tired" in json.loads(lines[-1])["error"]


def test_names_with_markup_are_text_in_the_page() -> None:
    from starlette.testclient import TestClient

    from brittle.explorer import create_app

    state = State.of({HOSTILE: light}, pictures={HOSTILE: photo("cat", 40)})
    state.load()
    page = TestClient(create_app(state)).get("/live").text
    assert HOSTILE not in page
    assert page.count("<script") == page.count("</script>") == 3
    missing = TestClient(create_app(state)).get(f"/{HOSTILE}", headers={"accept": "text/html"})
    assert missing.status_code == 404
    assert HOSTILE not in missing.text


def test_an_error_of_ours_is_one_sentence_too(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    from brittle.explorer import create_app, live

    def wrong(*_: object) -> None:
        raise AttributeError(HOSTILE)

    monkeypatch.setattr(live, "parameters_in_words", wrong)
    client = TestClient(create_app(state), raise_server_exceptions=False)
    answer = client.get("/live/picture", params={**FOG, "seed": "77"})
    assert answer.status_code == 500
    assert "AttributeError" in answer.json()["error"]
    page = client.get("/live/picture", params={**FOG, "seed": "77"}, headers={"accept": "text/html"})
    assert HOSTILE not in page.text
