"""A folder with everything that goes wrong on real disks: what can be read is read, the rest is counted and named."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import arrays, load_dataset
from brittle.evaluation import evaluate
from brittle.models import from_callable
from tests.errors import naming

RECIPE = Benchmark("one", (Entry("fog", (2,)),))
WIDE = np.zeros((24, 32, 3), np.uint8)
WIDE[:, :16] = (200, 30, 30)


def tones(images: np.ndarray) -> np.ndarray:
    return images.mean((1, 2))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three classes, one of them empty, of pictures good, odd and broken."""
    root = tmp_path / "données été"
    good, odd = root / "good", root / "ödd 猫"
    for place in (good, odd, root / "empty"):
        place.mkdir(parents=True)
    picture = Pil.fromarray(WIDE)
    picture.save(good / "plain.png")
    picture.convert("CMYK").save(odd / "cmyk.jpg", quality=95)
    Pil.fromarray(WIDE[..., 0].astype(np.uint16) * 257).save(odd / "deep.png")
    frames = [picture, Pil.fromarray(255 - WIDE)]
    frames[0].save(odd / "moving.gif", save_all=True, append_images=frames[1:])
    turned = Pil.fromarray(np.rot90(WIDE))
    exif = Pil.Exif()
    exif[0x0112] = 6  # turn by 90° clockwise to see it upright
    turned.save(odd / "turned.jpg", quality=95, exif=exif)
    whole = (odd / "cmyk.jpg").read_bytes()
    (good / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (good / "nothing.jpg").touch()
    (good / "words.jpg").write_text("this is no picture")
    return root


def test_what_can_be_read_is_read_and_the_rest_is_counted(folder: Path, tmp_path: Path) -> None:
    data = load_dataset(folder)
    results = evaluate(from_callable(tones, name="tones"), data, RECIPE, tmp_path / "run")
    [run] = results.runs
    assert sorted(run.skipped) == ["good/cut.jpg", "good/nothing.jpg", "good/words.jpg"]
    assert all(reason for reason in run.skipped.values())
    assert run.calls[0].unreadable == 3
    assert any("empty" in note for note in run.calls[0].notes)
    read = sorted(results.rows.filter(brittle.evaluation.results.pl.col("level") == 0).collect()["sample"])
    assert read == [
        "good/plain.png",
        *(f"ödd 猫/{name}" for name in ("cmyk.jpg", "deep.png", "moving.gif", "turned.jpg")),
    ]


def test_odd_pictures_look_as_they_should(folder: Path) -> None:
    data = load_dataset(folder)
    seen = {Path(str(name)).name: data.image(i) for i, name in enumerate(data.ids) if not str(name).startswith("good/")}
    for name in ("cmyk.jpg", "moving.gif", "turned.jpg"):
        assert np.abs(seen[name].astype(int) - WIDE).mean() < 12, name
    assert np.abs(seen["deep.png"].astype(int) - WIDE[..., :1]).max() <= 1


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda: arrays(WIDE[None], [3], ["a", "b"]), ("arrays", 3, 0, 1)),
        (lambda: arrays(WIDE[None], [-1]), ("arrays", -1, 0)),
        (lambda: arrays(WIDE[None], [0.5]), ("arrays", 0, "float64")),
        (lambda: arrays(WIDE[None].astype(float) * 3, [0]), ("float64", 600)),
    ],
)
def test_bad_labels_and_pixels_are_one_sentence(make, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        make()


def test_a_model_for_another_number_of_classes_is_named(folder: Path, tmp_path: Path) -> None:
    few = from_callable(lambda x: np.zeros((len(x), 2)), name="few")
    with pytest.raises(BrittleError, match=naming(2, 3)):
        evaluate(few, load_dataset(folder), RECIPE, tmp_path / "run")
    nan = from_callable(lambda x: np.full((len(x), 3), np.nan), name="nan")
    with pytest.raises(BrittleError, match=naming("nan")):
        evaluate(nan, load_dataset(folder), RECIPE, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"images.npy", "images.json"}


def test_a_wrong_class_count_is_told_before_anything_runs(tmp_path: Path) -> None:
    for name in ("n01440764", "n01443537"):
        (tmp_path / name).mkdir()
        Pil.fromarray(WIDE).save(tmp_path / name / "a.png")
    with pytest.raises(BrittleError, match=naming("n01484850", 1000, "partial=True")):
        load_dataset(f"imagenet:{tmp_path}")
