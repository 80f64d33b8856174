"""What the live page shows against `brittle.corrupt`, and where predictions flip against the search of `evaluation`."""

import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle._errors import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import arrays, photo, square
from brittle.evaluation.cell import Drawn
from brittle.evaluation.failures.search import bisect
from brittle.explorer import live
from brittle.explorer.live import Layer, Reading, View
from brittle.explorer.state import Picture, State
from brittle.models import from_callable, load_model
from tests.errors import naming
from tests.explorer.conftest import light, small_state

CAT = Picture("b0", "cat", photo("cat", 300), "cat", "brittle.datasets.photo('cat', size=300)", ("cat",))


@pytest.mark.parametrize("corruption", brittle.list_corruptions(), ids=lambda each: each.id)
def test_a_picture_is_what_corrupt_gives(corruption: brittle.Corruption) -> None:
    severity = 0.43 * corruption.max_severity
    shown = live.corrupted_pixels(CAT, View("b0", (Layer(corruption.id, severity),), seed=3, size=48))
    expected = brittle.corrupt(square(CAT.pixels, 48), corruption, severity, seed=3, sample="cat")
    assert np.array_equal(shown, expected)
    assert shown.shape == (48, 48, 3)


def test_a_stack_is_applied_in_its_order() -> None:
    layers = (Layer("fog", 2.0), Layer("pixelate", 5.0), Layer("fog", 1.0))
    image = square(CAT.pixels, 64)
    for name, severity in layers:
        image = brittle.corrupt(image, name, severity, seed=7, sample="cat")
    assert np.array_equal(live.corrupted_pixels(CAT, View("b0", layers, 7, 64)), image)
    other = live.corrupted_pixels(CAT, View("b0", layers[::-1], 7, 64))
    assert not np.array_equal(other, image)


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        ({"layers": ["fog:nan"]}, ("nan", 5)),
        ({"layers": ["fog:inf"]}, ("inf", 5)),
        ({"layers": ["fog:-0.1"]}, ("-0.1", 5)),
        ({"layers": ["fog:1e308"]}, ("1e+308", 5)),
        ({"layers": ["fog:lots"]}, ("lots",)),
        ({"layers": ["fog"]}, ("fog",)),
        ({"layers": ["fgo:1"]}, ("fgo", "fog")),
        ({"layers": ["../../etc/passwd:1"]}, ("passwd",)),
        ({"layers": ["fog:1"] * 7}, (6, 7)),
        ({"layers": [], "seed": "-1"}, ("-1",)),
        ({"layers": [], "seed": "9" * 40}, ("9" * 40,)),
        ({"layers": [], "seed": "٣"}, ("٣",)),
        ({"layers": [], "size": "15"}, (16, 15)),
        ({"layers": [], "size": "1025"}, (1024, 1025)),
        ({"layers": [], "size": "1e3"}, ("1e3",)),
    ],
)
def test_what_cannot_be_shown_is_refused(texts: dict[str, object], named: tuple[object, ...]) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        live.parse_view("b0", **texts)


def test_the_address_of_a_view_is_read_exactly() -> None:
    view = live.parse_view("d3", ["imagenet-c/fog:2.314453125", "noc/rain:0.1"], "12", "96")
    assert view == View("d3", (Layer("imagenet-c/fog", 2.314453125), Layer("noc/rain", 0.1)), 12, 96)


STANDARD = ["demo:standard", "demo:augmix"]


def readings(name: str) -> tuple[Reading, Picture]:
    """A demo model on an image of the demo data."""
    data = brittle.load_dataset("demo")
    image = data.image(0)
    shown = Picture("d0", "0", image, data.ids[0], "data.image(0)", (), int(data.labels[0]), from_data=True)
    return Reading.of(load_model(name, device="cpu"), data, image, from_data=True), shown


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize(
    "corruption", ["fog", "gaussian_noise", "snow", "contrast", "c-bar/perlin_noise", "noc/rotation"]
)
def test_a_failure_point_is_that_of_the_search_for_failure_points(name: str, corruption: str) -> None:
    pytest.importorskip("torch")
    reading, shown = readings(name)
    chosen = brittle.get_corruption(corruption)
    highest, target = float(chosen.max_severity), shown.label
    assert target is not None
    recipe = Benchmark("one", [Entry(corruption, [1.0])], seed=5)
    source = Drawn(shown.pixels[None], [shown.sample], recipe)

    def draw(severity: float) -> np.ndarray:
        return live.corrupted_pixels(shown, View("d0", (Layer(corruption, severity),), seed=5))

    strip = live.strip(reading, draw, highest, target)
    for step, tolerance, seen in ((highest / live.STEPS, live.TOLERANCE, strip), (1.0, 0.05, None)):
        expected = bisect(reading.model, source, np.array([target]), chosen.id, step=step, tolerance=tolerance)
        if seen is None:
            [failure] = [each.failure for each in live.breaks(reading, shown, View("d0", seed=5), [chosen])]
        else:
            failure = live.failure_of(reading, draw, seen, tolerance=tolerance)
        assert failure.failed == pytest.approx(expected.failed[0], abs=1e-12)
        assert failure.held == pytest.approx(expected.held[0], abs=1e-12)
        assert (failure.prediction if math.isfinite(failure.failed) else -1) == expected.prediction[0]


def test_a_strip_is_the_model_at_every_severity() -> None:
    data = arrays(CAT.pixels[None], [1], ["dark", "grey", "bright"])
    reading = Reading.of(from_callable(light, name="light"), data, CAT.pixels, from_data=False)
    view = View("b0", (Layer("brightness", 0.0), Layer("contrast", 2.0)), size=32)

    def draw(severity: float) -> np.ndarray:
        return live.corrupted_pixels(CAT, view.at(0, severity))

    strip = live.strip(reading, draw, 5, 1)
    assert strip.severities.tolist() == pytest.approx([k / 8 for k in range(41)])
    for place in (0, 13, 40):
        scores = light(draw(float(strip.severities[place]))[None])[0]
        weights = np.exp(scores) / np.exp(scores).sum()  # scores that do not sum to 1 are taken for logits
        assert strip.confidence[place] == pytest.approx(weights[1], rel=1e-5)
        assert strip.predicted[place] == scores.argmax()
    failure = live.failure_of(reading, draw, strip)
    grid = [s for s in np.linspace(0, 5, 5001) if light(draw(float(s))[None])[0].argmax() != 1]
    assert (failure.failed if grid else math.inf) == pytest.approx(grid[0] if grid else math.inf, abs=0.004)


def test_a_dataset_that_counts_some_outputs_is_read_so() -> None:
    def ten(images: np.ndarray) -> np.ndarray:
        return np.tile(np.arange(10, dtype=float) / 45, (len(images), 1))

    data = arrays(CAT.pixels[None], [1], list("abcdefghij"))
    plain = Reading.of(from_callable(ten, name="ten"), data, CAT.pixels, from_data=True)
    shares = plain.shares([CAT.pixels])
    assert [each["name"] for each in plain.top(shares[0])] == list("jihgf")
    data.class_subset = np.array([2, 4])
    counted = Reading.of(from_callable(ten, name="ten"), data, CAT.pixels, from_data=True)
    assert counted.predicted(counted.shares([CAT.pixels])).tolist() == [4]
    data.class_subset, data.class_map, data.classes = None, np.array([0] * 9 + [1]), ("old", "new")
    mapped = Reading.of(from_callable(ten, name="ten"), data, CAT.pixels, from_data=True)
    shares = mapped.shares([CAT.pixels])
    assert mapped.predicted(shares).tolist() == [1]
    assert mapped.name(1) == "new"
    assert mapped.confidence(shares, 0) == pytest.approx([8 / 45])


VIEWS = [
    View("b0", (Layer("imagenet-c/fog", 2.314453125),), seed=3, size=96),
    View("b1", (Layer("imagenet-c/snow", 1.0), Layer("imagenet-c/snow", 1.0), Layer("noc/rain", 0.1)), size=64),
    View("b0", (), size=None),
    View("d1", (Layer("imagenet-c/gaussian_noise", 4.0),), seed=11),
    View("d2", (Layer("imagenet-c/frost", 2.5),), size=24),
]


@pytest.mark.parametrize("view", VIEWS, ids=[f"{view.picture} {len(view.layers)}" for view in VIEWS])
@pytest.mark.parametrize("language", ["python", "shell"])
def test_the_copied_code_makes_the_same_pixels(view: View, language: str, tmp_path: Path) -> None:
    state = State.of((), data="demo")
    state.load()
    run_code(state, view, language, tmp_path)


@pytest.mark.parametrize("language", ["python", "shell"])
def test_the_code_of_a_file_with_a_wild_name(language: str, tmp_path: Path) -> None:
    name = 'it\'s $HOME; `x` "quoted".png'
    Pil.fromarray(photo("coffee", 70)).save(tmp_path / name)
    state = State.of((), pictures=[tmp_path / name])
    view = View("p0", (Layer("imagenet-c/shot_noise", 3.25),), size=48)
    run_code(state, view, language, tmp_path)
    uploaded = state.upload((tmp_path / name).read_bytes(), "plain.png")
    (tmp_path / name).rename(tmp_path / "plain.png")
    run_code(state, View(uploaded.id, view.layers), language, tmp_path)


def run_code(state: State, view: View, language: str, folder: Path) -> None:
    """Run what the page gives to copy, in a folder, and compare what it makes with what the page shows."""
    shown = state.picture(view.picture)
    if language == "python":
        code = live.python_code(shown, view, state.data_in_python, None, None)
        here: dict[str, object] = {}
        before = Path.cwd()
        os.chdir(folder)
        try:
            exec(code, here)
        finally:
            os.chdir(before)
        made = here["image"]
    else:
        command_words = shlex.split(live.shell_command(shown, view))
        assert command_words[0] == "brittle"
        command = [sys.executable, "-m", *command_words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
        assert done.returncode == 0, done.stderr
        made = np.asarray(Pil.open(folder / "picture.png"))
    assert np.array_equal(made, live.corrupted_pixels(shown, view))


def test_the_code_has_the_scores_that_are_shown() -> None:
    pytest.importorskip("torch")
    state = State.of("demo:standard")
    state.load()
    view, given = View("b0", (Layer("imagenet-c/fog", 2.5),), size=224), state.models[0]
    here: dict[str, object] = {}
    exec(live.python_code(state.picture("b0"), view, None, given.model, given.text), here)
    reading = Reading.of(given.model, None, state.picture("b0").pixels, from_data=False)
    shares = reading.shares([live.corrupted_pixels(state.picture("b0"), view)])
    assert np.argmax(here["scores"]) == shares.argmax()
    assert shares.shape == (1, 10)


def test_a_picture_of_python_has_code_with_a_place_for_it() -> None:
    state = State.of((), pictures=photo("cat", 40))
    view = View("p0", (Layer("imagenet-c/fog", 1.0),))
    code = live.python_code(state.picture("p0"), view, None, None, None).replace("…", "given")
    here = {"given": photo("cat", 40)}
    exec(code, here)
    assert np.array_equal(here["image"], live.corrupted_pixels(state.picture("p0"), view))
    assert live.shell_command(state.picture("p0"), view) == ""


def test_the_state_of_tests_is_what_tests_believe() -> None:
    state = small_state()
    assert [model.status for model in state.models] == ["ready"] * 3
    assert state.picture("d1").label == 0
