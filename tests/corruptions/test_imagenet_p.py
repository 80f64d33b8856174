"""Perturbation sequences against the published table and the maths of each sequence."""

import cv2
import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle.corruptions.imagenet_p import perturbations
from brittle.datasets import photo
from tests.errors import naming

ALL = [p.name for p in perturbations()]
TEST = {
    *("gaussian_noise", "shot_noise", "motion_blur", "zoom_blur", "snow"),
    *("brightness", "translate", "rotate", "tilt", "scale"),
}
FRAMES = {"motion_blur": (31, 31, 21), "translate": (41, 31, 16)}


def frames_of(name: str, image: np.ndarray, **how: object) -> np.ndarray:
    return np.asarray(brittle.sequence(image, name, **how)).astype(int)  # type: ignore[arg-type]


def test_ten_make_the_test_and_four_are_for_validation() -> None:
    assert {p.name for p in perturbations(test=True)} == TEST
    assert sorted(p.name for p in perturbations(test=False)) == ["gaussian_blur", "shear", "spatter", "speckle_noise"]


@pytest.mark.parametrize("name", ALL)
def test_films_have_the_published_number_of_frames(name: str) -> None:
    for side, frames in zip((224, 64, 32), FRAMES.get(name, (31, 31, 31)), strict=True):
        assert len(brittle.sequence(photo("cat", side), name)) == frames


@pytest.mark.parametrize("name", ALL)
def test_frames_are_addressed(name: str) -> None:
    """Any frame alone, in any order, of an equal sequence, is the same frame; another sample is another sequence."""
    image = photo("cat", 32)
    frames = [frame.tobytes() for frame in brittle.sequence(image, name, sample="a")]
    again = brittle.sequence(image, name, sample="a")
    assert [again[i].tobytes() for i in reversed(range(len(again)))] == frames[::-1]
    assert again[-1].tobytes() == frames[-1]
    random = name in ("gaussian_noise", "shot_noise", "speckle_noise", "snow", "spatter")
    other = [frame.tobytes() for frame in brittle.sequence(image, name, sample="b")]
    assert (other != frames) == random


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(1, 1, 3), (40, 31, 3), (24, 24)])
def test_any_image_can_be_filmed(name: str, shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    sequence = brittle.sequence(image, name)
    for i in (0, len(sequence) // 2, len(sequence) - 1):
        assert sequence[i].shape == shape
    assert isinstance(brittle.sequence(Pil.fromarray(image), name)[1], Pil.Image)


@pytest.mark.parametrize(
    ("name", "side", "expected"),
    [
        ("gaussian_noise", 224, (0.03, 0.05, 0.08)),
        ("gaussian_noise", 32, (0.02, 0.04, 0.06)),
        ("speckle_noise", 64, (0.05, 0.1, 0.15)),
    ],
)
def test_noise_has_the_published_strength_and_is_not_cumulative(name: str, side: int, expected: tuple) -> None:
    image = np.full((side, side, 3), 128, np.uint8)
    for difficulty, sigma in enumerate(expected, start=1):
        noise = frames_of(name, image, difficulty=difficulty) - 128
        assert not noise[0].any()
        scale = 255 if name == "gaussian_noise" else 128
        np.testing.assert_allclose(noise[1:].std((1, 2, 3)), sigma * scale, rtol=0.06, atol=0.3)
        assert abs(np.corrcoef(noise[1].ravel(), noise[2].ravel())[0, 1]) < 0.1


def test_brightness_passes_through_the_clean_image() -> None:
    image = photo("cat", 224)
    greys = frames_of("brightness", image)
    np.testing.assert_array_equal(greys[15], image)
    value = greys.max(-1).mean((1, 2))
    assert (np.diff(value) > 0).all()
    assert value[16] - value[15] == pytest.approx(0.02 * 255, abs=0.6)


def test_translation_is_by_whole_pixels_and_black_outside() -> None:
    image = photo("cat", 224)
    frames = frames_of("translate", image)
    np.testing.assert_array_equal(frames[20], image)
    np.testing.assert_array_equal(frames[25][:, 5:], image[:, :-5])
    assert not frames[25][:, :5].any()
    np.testing.assert_array_equal(frames[0][:, :-20], image[:, 20:])


@pytest.mark.parametrize(("name", "clean"), [("rotate", 15), ("tilt", 15), ("shear", 15), ("scale", 24)])
def test_geometry_passes_through_the_clean_image(name: str, clean: int) -> None:
    image = photo("cat", 224)
    assert np.abs(frames_of(name, image)[clean] - image).max() <= 1


def test_rotation_and_scale_do_what_they_say() -> None:
    y, x = np.mgrid[:101, :101] - 50
    ray = ((np.abs(y) < 2) & (x > 0)).astype(np.uint8)[..., None].repeat(3, -1) * 255
    turned = frames_of("rotate", ray)[25][..., 0]
    tip = np.argwhere(turned[:, 90] > 128).mean()
    assert (50 - tip) / 40 == pytest.approx(np.tan(np.radians(10)), abs=0.04)
    white = np.full((100, 100, 3), 255, np.uint8)
    assert (frames_of("scale", white)[0] > 128).mean() == pytest.approx(0.4**2, abs=0.02)


def test_zoom_blur_is_a_running_mean() -> None:
    from tests.corruptions.reference import clipped_zoom

    image = photo("cat", 64)
    frames = frames_of("zoom_blur", image)
    expected = np.mean([clipped_zoom(image / 255, 1 + 0.004 * i) for i in range(21)], axis=0) * 255
    assert np.abs(frames[20] - np.floor(expected)).max() <= 1
    np.testing.assert_array_equal(frames[0], image)


def test_cropping_hides_the_border() -> None:
    frames = frames_of("rotate", photo("cat", 256), crop=224)
    assert frames.shape[1:] == (224, 224, 3)
    np.testing.assert_array_equal(frames[15], photo("cat", 256)[16:240, 16:240].astype(int))


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({"perturbation": "rotat"}, ("rotat", "rotate")),
        ({"perturbation": "rotate", "difficulty": 2}, ("difficulty", "imagenet-p/rotate", 1, 2)),
        ({"perturbation": "shot_noise", "difficulty": 4}, ("difficulty", "imagenet-p/shot_noise", 1, 2, 3, 4)),
        ({"perturbation": "rotate", "crop": 99}, ("(32, 32)", "crop", 1, 99)),
    ],
)
def test_bad_requests_are_named(how: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        brittle.sequence(photo("cat", 32), **how)


def test_an_index_out_of_range_is_named() -> None:
    with pytest.raises(IndexError, match=naming(31)):
        brittle.sequence(photo("cat", 32), "rotate")[31]


def test_published_films_are_read(tmp_path) -> None:
    from brittle.datasets import find_sequences, read_sequence, read_sequence_array

    frames = frames_of("brightness", photo("cat", 64)).astype(np.uint8)
    (tmp_path / "n01440764").mkdir()
    path = tmp_path / "n01440764" / "val_1.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), 30, (64, 64))
    for frame in frames:
        writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    writer.release()
    assert find_sequences(tmp_path) == ["n01440764/val_1.mp4"]
    read = read_sequence(path)
    assert read.shape == frames.shape
    assert np.abs(read.astype(int) - frames).mean() < 6
    np.save(tmp_path / "brightness.npy", frames[None])
    np.testing.assert_array_equal(read_sequence_array(tmp_path / "brightness.npy")[0], frames)
    (tmp_path / "broken.mp4").write_text("no video")
    for call, wrong, values in (
        (read_sequence, "broken.mp4", ("broken.mp4", "OpenCV")),
        (read_sequence_array, "n01440764", ("n01440764",)),
        (read_sequence, "none.mp4", ("none.mp4",)),
    ):
        with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
            call(tmp_path / wrong)
