"""Models along sequences: what is stored for every frame, and the scores made from it."""

from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import brittle
from brittle._errors import BrittleError
from brittle._types import Image
from brittle.benchmarks import SequenceBenchmark, load_sequence_benchmark
from brittle.datasets import arrays
from brittle.design import flip_rates, load_drops
from brittle.evaluation import sequence_tables, steadiness
from brittle.models import Model, from_callable
from tests.errors import naming

TEN = load_sequence_benchmark("cifar10-p").perturbations
RNG = np.random.default_rng(5)
PICTURES = (
    cv2.resize(RNG.integers(0, 256, (6, 6, 3 * 7), np.uint8), (32, 32)).reshape(32, 32, 7, 3).transpose(2, 0, 1, 3)
)
LABELS = np.arange(7) % 6
DATA = arrays(np.ascontiguousarray(PICTURES), LABELS, list("abcdef"), name="seven")
SHORT = SequenceBenchmark("short", ("rotate", "gaussian_noise", "translate"))


def touchy(scale: float, name: str) -> Model:
    """Scores that depend on the mean colour of six fields of the picture, so that small movements flip some."""

    def scores(images: Image) -> NDArray[np.float32]:
        fields = images[:, 4:28, 4:28].astype(np.float32).reshape(len(images), 2, 12, 3, 8, 3).mean((2, 4, 5))
        return scale * fields.reshape(len(images), 6)

    return from_callable(scores, name=name, version="1")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> brittle.Results:
    folder = tmp_path_factory.mktemp("sequences") / "run"
    return brittle.evaluate([touchy(1, "one"), touchy(-1, "two")], DATA, SHORT, folder, progress=None)


def independent_flips(model: Model, perturbation: str, difficulty: int = 1) -> list[float]:
    """The share of flips of each image by a plain loop: noise against the first frame, else the frame before."""
    shares = []
    noise = perturbation.endswith("noise")
    for index, image in enumerate(PICTURES):
        strength = difficulty if noise else 1
        frames = np.stack(list(brittle.sequence(image, perturbation, difficulty=strength, sample=DATA.ids[index])))
        seen = [int(score.argmax()) for score in model.scores(frames)]
        step = 1 if noise else difficulty
        pairs = [(0 if noise else j - step, j) for j in range(step, len(seen))]
        shares.append(sum(seen[a] != seen[b] for a, b in pairs) / len(pairs))
    return shares


@pytest.mark.parametrize("name", ["one", "two"])
def test_flips_are_those_of_a_plain_loop(results: brittle.Results, name: str) -> None:
    model = touchy(1 if name == "one" else -1, name)
    measured = next(one for one in steadiness(results) if one.model == name)
    order = [measured.samples.index(str(sample)) for sample in DATA.ids]
    total = 0.0
    for place, perturbation in enumerate(measured.perturbations):
        expected = independent_flips(model, perturbation)
        np.testing.assert_allclose(measured.flips[order, place], expected)
        total += sum(expected)
    assert total > 0.5  # the models do flip, or this says nothing


def test_every_frame_is_a_row_and_distances_belong_to_the_frame_before(results: brittle.Results) -> None:
    assert results.sequences is not None
    rows = results.sequences.collect()
    counts = {"imagenet-p/rotate": 31, "imagenet-p/gaussian_noise": 31, "imagenet-p/translate": 16}
    assert len(rows) == 2 * 7 * sum(counts.values())
    for (name,), part in rows.partition_by("corruption", as_dict=True).items():
        assert part["frame"].max() == counts[str(name)] - 1
        first = part.filter(pl.col("frame") == 0)
        assert np.isnan(first["top5_distance"].to_numpy()).all()
        assert not np.isnan(part.filter(pl.col("frame") > 0)["zipf_distance"].to_numpy()).any()
    image, perturbation = PICTURES[2], "rotate"
    frames = np.stack(list(brittle.sequence(image, perturbation, sample=DATA.ids[2])))
    scores = touchy(1, "one").scores(frames)
    order = (-scores).argsort(axis=1, kind="stable")
    kept = rows.filter(
        (pl.col("model") == "one") & (pl.col("corruption") == "imagenet-p/rotate") & (pl.col("sample") == "2")
    )
    for frame in (1, 9, 30):
        before, after = order[frame - 1].tolist(), order[frame].tolist()
        expected = sum(abs(min(i, 5) - min(after.index(before[i]), 5)) for i in range(5))
        assert kept.filter(pl.col("frame") == frame)["top5_distance"].item() == expected


@pytest.mark.parametrize("difficulty", [2, 3])
def test_difficulty_skips_frames_and_strengthens_noise(difficulty: int) -> None:
    recipe = SequenceBenchmark("hard", ("rotate", "gaussian_noise"), difficulty=difficulty)
    [measured] = steadiness(brittle.evaluate(touchy(1, "one"), DATA, recipe, progress=None))
    for place, perturbation in enumerate(measured.perturbations):
        expected = independent_flips(touchy(1, "one"), perturbation, difficulty)
        order = [measured.samples.index(str(sample)) for sample in DATA.ids]
        np.testing.assert_allclose(measured.flips[order, place], expected)


def test_scores_are_means_and_ratios_with_intervals(results: brittle.Results) -> None:
    scored = {score.model: score for score in results.sequence_scores(reference="one")}
    measured = {one.model: one for one in steadiness(results)}
    for name, score in scored.items():
        assert score.flip_probability.value == pytest.approx(measured[name].flips.mean())
        assert score.top5_distance.value == pytest.approx(measured[name].top5_distance.mean())
        assert score.flip_probability.low is not None
        assert score.flip_probability.low <= score.flip_probability.value <= (score.flip_probability.high or 0)
        assert score.mfr is not None
        ratio = measured[name].flips.mean(axis=0) / measured["one"].flips.mean(axis=0)
        assert score.mfr.value == pytest.approx(ratio.mean())
    assert scored["one"].mfr is not None
    assert scored["one"].mfr.value == pytest.approx(1)
    overall, by_perturbation = sequence_tables(results, reference="one")
    assert [column.name for column in overall.columns][:3] == ["model", "flip probability", "mFR"]
    assert by_perturbation["perturbation"] == ["gaussian_noise", "translate", "rotate"]


class Counting:
    """A model that counts the images it is shown."""

    def __init__(self) -> None:
        self.name, self.key, self.shown = "counting", "1", 0

    def scores(self, images: Image) -> NDArray[np.float32]:
        self.shown += len(images)
        return np.asarray(touchy(1, "one").scores(images))


def test_a_run_resumes_where_it_stopped_and_adds_what_is_missing(tmp_path: Path) -> None:
    model = Counting()
    brittle.evaluate(model, DATA, SequenceBenchmark("few", ("rotate",)), tmp_path / "run", progress=None)
    first = model.shown
    brittle.evaluate(model, DATA, SequenceBenchmark("few", ("rotate", "translate")), tmp_path / "run", progress=None)
    assert model.shown - first == 7 * 16
    brittle.evaluate(model, DATA, SequenceBenchmark("few", ("rotate", "translate")), tmp_path / "run", progress=None)
    assert model.shown - first == 7 * 16
    with pytest.raises(BrittleError, match=naming("rotate", "seed", "overwrite=True")):
        brittle.evaluate(model, DATA, SequenceBenchmark("few", ("rotate",), seed=1), tmp_path / "run", progress=None)


def test_predictions_do_not_depend_on_batches_or_threads() -> None:
    runs = [
        brittle.evaluate(touchy(1, "one"), DATA, SHORT, progress=None, batch_size=size, threads=threads)
        for size, threads in ((1, 1), (100, 2))
    ]
    tables = [
        run.sequences.sort("corruption", "sample", "frame").collect() for run in runs if run.sequences is not None
    ]
    assert tables[0].equals(tables[1])


def test_photographs_are_perturbed_before_they_are_cropped() -> None:
    rng = np.random.default_rng(1)
    wide = cv2.resize(rng.integers(0, 256, (9, 12, 3), np.uint8), (400, 300))
    data = arrays(wide[np.newaxis], [0], ["a", "b", "c", "d", "e", "f"]).prepared("imagenet")
    seen: list[Image] = []

    def scores(images: Image) -> NDArray[np.float32]:
        seen.append(images)
        return np.zeros((len(images), 6), np.float32)

    model = from_callable(scores, name="sees", version="1")
    brittle.evaluate(model, data, SequenceBenchmark("one", ("rotate",)), progress=None)
    shown = seen[-1]
    assert shown.shape == (31, 224, 224, 3)
    assert (shown[3] == 0).all(axis=-1).mean() < 0.01  # the border of 256 px hides most of a rotation by 12 degrees
    scaled = data.uncropped(0)
    assert scaled.shape[0] == 256
    np.testing.assert_array_equal(shown[3], brittle.sequence(scaled, "rotate", crop=224, sample=0)[3])


def test_published_arrays_and_videos_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "CIFAR-10-P"
    folder.mkdir()
    for name in ("rotate", "gaussian_noise"):
        drawn = [np.asarray(brittle.sequence(p, name, sample=i)) for i, p in enumerate(PICTURES)]
        np.save(folder / f"{name}.npy", np.stack(drawn))
    stored = brittle.evaluate(touchy(1, "one"), f"cifar10-p:{folder}", progress=None)
    drawn_here = brittle.evaluate(
        touchy(1, "one"), DATA, SequenceBenchmark("s", ("rotate", "gaussian_noise")), progress=None
    )
    [from_disk], [from_memory] = steadiness(stored), steadiness(drawn_here)
    np.testing.assert_array_equal(from_disk.flips, from_memory.flips)

    videos = tmp_path / "ImageNet-P" / "rotate" / "n01440764"
    videos.mkdir(parents=True)
    writer = cv2.VideoWriter(str(videos / "fish.mp4"), cv2.VideoWriter_fourcc(*"mp4v"), 30, (64, 64))  # type: ignore[attr-defined]
    for shade in range(0, 250, 25):
        writer.write(np.full((64, 64, 3), shade, np.uint8))
    writer.release()
    model = from_callable(lambda images: np.eye(1000, dtype=np.float32)[(images.mean((1, 2, 3)) > 128).astype(int)],
                          name="bright", version="1")  # fmt: skip
    results = brittle.evaluate(model, f"imagenet-p:{tmp_path / 'ImageNet-P'}", progress=None)
    [measured] = steadiness(results)
    assert measured.samples == ("n01440764/fish.mp4",)
    assert measured.flips.item() == pytest.approx(1 / 9)
    assert results.sequences is not None
    assert results.sequences.collect()["correct"].sum() == 6  # dark frames are called a tench, class 0


def test_flip_rates_stand_beside_accuracy_drops(results: brittle.Results, tmp_path: Path) -> None:
    rates = flip_rates(results)
    assert rates.models == ("one", "two")
    assert set(rates.names) == set(SHORT.perturbations)
    folder = tmp_path / "both"
    brittle.evaluate([touchy(1, "one"), touchy(-1, "two")], DATA, SHORT, folder, progress=None)
    brittle.evaluate(
        [touchy(1, "one"), touchy(-1, "two")],
        DATA,
        brittle.Benchmark("fog", [brittle.benchmarks.Entry("fog", [1, 3])]),
        folder,
        progress=None,
    )
    drops = load_drops([folder])
    assert drops.names == ("imagenet-c/fog", *rates.names)
    np.testing.assert_allclose(drops.values[:, 1:], rates.values)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: SequenceBenchmark("x", ("rotat",)), ("'rotat'", "'rotate'")),
        (lambda: SequenceBenchmark("x", ("rotate", "imagenet-p/rotate")), ("rotate",)),
        (lambda: SequenceBenchmark("x", difficulty=4), ("1, 2 or 3", "4")),
        (lambda: load_sequence_benchmark("imagenet-q"), ("imagenet-p", "cifar10-p", "'imagenet-q'")),
        (lambda: brittle.evaluate(touchy(1, "a"), DATA, "cifar10-p", engine="ray"), ("local", "'ray'")),
        (lambda: brittle.evaluate(touchy(1, "a"), DATA).sequence_scores(), ("imagenet-p",)),
    ],
)
def test_what_cannot_be_is_one_sentence(make: object, named: tuple[str, ...]) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        make()  # type: ignore[operator]


def test_a_reference_that_was_not_run_is_named(results: brittle.Results) -> None:
    with pytest.raises(BrittleError, match=naming("'alexnet'", "one", "two")):
        results.sequence_scores(reference="alexnet")


def test_the_ten_of_the_test_are_the_default() -> None:
    assert len(TEN) == 10
    assert "imagenet-p/snow" in TEN
    assert "imagenet-p/spatter" not in TEN
