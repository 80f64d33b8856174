"""Every corruption × every kind of image."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle.datasets import photo
from tests.errors import naming

ALL = [c.id for c in brittle.list_corruptions()]
every_corruption = pytest.mark.parametrize("name", ALL)
few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

sides = st.integers(1, 48)
severities = st.one_of(st.sampled_from([1, 2, 3, 4, 5]), st.floats(0.001, 5))
channels = st.sampled_from([None, 1, 3, 4])


def picture(height: int, width: int, channels: int | None, seed: int = 0) -> np.ndarray:
    shape = (height, width) if channels is None else (height, width, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@every_corruption
@few
@given(sides, sides, channels, severities, st.integers(0, 2**40))
def test_any_image_keeps_its_kind(
    name: str, height: int, width: int, channels: int | None, severity: float, sample: int
) -> None:
    image = picture(height, width, channels)
    before = image.copy()
    out = brittle.corrupt(image, name, severity, sample=sample)
    assert (out.shape, out.dtype) == (image.shape, np.uint8)
    np.testing.assert_array_equal(image, before)
    assert not np.shares_memory(out, image)
    if channels == 4:
        np.testing.assert_array_equal(out[..., 3], image[..., 3])
    np.testing.assert_array_equal(out, brittle.corrupt(image, name, severity, sample=sample))


@every_corruption
def test_severity_zero_is_an_equal_copy(name: str) -> None:
    for image in (picture(20, 31, 3), picture(20, 31, None), picture(5, 5, 4), picture(8, 8, 3) / 255):
        out = brittle.corrupt(image, name, 0)
        np.testing.assert_array_equal(out, image)
        assert out is not image
        assert not np.shares_memory(out, image)


class Subclass(np.ndarray):
    pass


@pytest.mark.parametrize("severity", [0, 2.5])
@pytest.mark.parametrize("shape", [(8, 6, 3), (8, 6), (8, 6, 4), (2, 8, 6, 3)])
def test_subclasses_come_back_as_plain_arrays(shape: tuple[int, ...], severity: float) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    out = brittle.corrupt(image.view(Subclass), "contrast", severity)
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, brittle.corrupt(image, "contrast", severity))


@pytest.mark.parametrize("name", [c.id for c in brittle.list_corruptions() if c.fades and c.levels])
@pytest.mark.parametrize("side", [32, 64, 224])
def test_near_severity_zero_is_near_the_image(name: str, side: int) -> None:
    image = photo("cat", side)
    assert np.abs(brittle.corrupt(image, name, 0.01).astype(int) - image).mean() < 1.6


@pytest.mark.parametrize("name", [c.id for c in brittle.list_corruptions() if c.monotone and c.levels])
@pytest.mark.parametrize("side", [32, 64])
def test_no_effect_collapses_between_two_levels(name: str, side: int) -> None:
    image = photo("cat", side)
    corruption = brittle.get_corruption(name)

    def distance(severity: float) -> float:
        outs = [brittle.corrupt(image, name, severity, sample=i).astype(int) for i in range(3)]
        return float(np.mean([np.abs(out - image).mean() for out in outs]))

    at_level = [distance(level) for level in range(corruption.max_severity + 1)]
    for fifth in range(1, 5 * corruption.max_severity):
        below = fifth // 5
        weaker = min(at_level[below : below + 2])
        assert distance(fifth / 5) >= 0.75 * weaker - 0.3, fifth / 5


@every_corruption
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_come_back_as_floats(name: str, dtype: type) -> None:
    image = picture(24, 17, 3)
    out = brittle.corrupt((image / 255).astype(dtype), name, 3)
    assert out.dtype == dtype
    atol = 0.1 if dtype is np.float16 else 1e-3
    np.testing.assert_allclose(out.astype(np.float64) * 255, brittle.corrupt(image, name, 3), atol=atol)


@every_corruption
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_pil_images_come_back_as_pil_images(name: str, mode: str) -> None:
    image = Pil.fromarray(picture(24, 17, 3)).convert(mode)
    out = brittle.corrupt(image, name, 3)
    assert (out.mode, out.size) == (mode, image.size)
    np.testing.assert_array_equal(np.asarray(out), brittle.corrupt(np.asarray(image), name, 3))


@every_corruption
def test_memory_layout_does_not_matter(name: str) -> None:
    image = picture(20, 26, 3)
    expected = brittle.corrupt(image, name, 3)
    frozen = image.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(image), image[::-1][::-1], np.repeat(image, 2, 1)[:, ::2], frozen):
        np.testing.assert_array_equal(brittle.corrupt(same, name, 3), expected)
    for other, how in (((image / 255).astype(np.float32), {}), (image.astype(np.uint16) * 257, {"data_range": 65535})):
        planes = np.ascontiguousarray(other.transpose(2, 0, 1)).transpose(1, 2, 0)
        expected = brittle.corrupt(other, name, 3, **how)
        np.testing.assert_array_equal(brittle.corrupt(planes, name, 3, **how), expected)


@every_corruption
def test_a_batch_is_its_images(name: str) -> None:
    batch = np.stack([picture(16, 20, 3, seed) for seed in range(3)])
    out = brittle.corrupt(batch, name, 3, sample=["a", 7, "c"])
    for image, sample, one in zip(batch, ["a", 7, "c"], out, strict=True):
        np.testing.assert_array_equal(one, brittle.corrupt(image, name, 3, sample=sample))
    np.testing.assert_array_equal(brittle.corrupt(batch, name, 3)[2], brittle.corrupt(batch[2], name, 3, sample=2))


@every_corruption
def test_large_images_work(name: str) -> None:
    """Two megapixels, wide: here the ways for very wide blurs, long trails and large textures are taken."""
    image = np.tile(photo("coffee", 250), (4, 8, 1)) * np.linspace(0.4, 1, 2000)[:, np.newaxis]
    image = image.astype(np.uint8)
    for severity in (1, 5):
        out = brittle.corrupt(image, name, severity)
        assert out.shape == image.shape
        assert not np.array_equal(out, image)


@every_corruption
def test_alpha_stays_to_the_last_bit(name: str) -> None:
    image = np.random.default_rng(0).random((9, 9, 4))
    np.testing.assert_array_equal(brittle.corrupt(image, name, 3)[..., 3], image[..., 3])


@every_corruption
def test_grey_noise_is_as_strong_as_colour_noise(name: str) -> None:
    """A grey image gets the effect of its own single channel, not the mean of three."""
    grey = photo("cat", 64).mean(-1).astype(np.uint8)
    colour = np.repeat(grey[..., None], 3, 2)
    one = np.abs(brittle.corrupt(grey, name, 4).astype(int) - grey).mean()
    three = np.abs(brittle.corrupt(colour, name, 4).astype(int) - colour).mean()
    assert one == pytest.approx(three, rel=0.35, abs=1)


@every_corruption
@pytest.mark.parametrize("side", [32, 224])
def test_distance_to_the_clean_image_grows_with_severity(name: str, side: int) -> None:
    corruption = brittle.get_corruption(name)
    severities = [0, 0.5, *range(1, corruption.max_severity + 1)]
    images = {each: photo(each, side).astype(int) for each in ("cat", "coffee")}
    distance = [
        np.mean(
            [
                np.abs(brittle.corrupt(image.astype(np.uint8), name, severity, sample=i) - image).mean()
                for image in images.values()
                for i in range(6)
            ]
        )
        for severity in severities
    ]
    assert distance[0] == 0 < min(distance[1:])
    if corruption.monotone:
        # Published strengths stand still now and then (fog has 2.5 at 3 and at 4): 5 % less is standing still.
        assert (np.array(distance) >= 0.95 * np.maximum.accumulate(distance)).all(), np.round(distance, 2)
    if corruption.levels and corruption.fades:
        assert distance[1] < distance[2]


@pytest.mark.parametrize(
    ("image", "error", "values"),
    [
        (np.zeros((4, 4, 3), np.int32), TypeError, ("int32", "uint8", "float32")),
        (np.zeros(4, np.uint8), ValueError, ("(4,)", "H×W×3")),
        (np.zeros((1, 1, 4, 4, 3), np.uint8), ValueError, ("(1, 1, 4, 4, 3)", "N×H×W×C")),
        (np.zeros((0, 4, 3), np.uint8), ValueError, ("(0, 4, 3)", 1)),
        (np.full((4, 4, 3), 255.0), ValueError, ("[0, 1]", 255)),
        (np.full((4, 4, 3), np.nan), ValueError, ("[0, 1]", "nan")),
        ("cat.jpg", TypeError, ("str", "PIL.Image.open")),
        (np.zeros((3, 20, 20), np.uint8), ValueError, ("(3, 20, 20)", "transpose")),
        (np.zeros((7, 28, 28), np.uint8), ValueError, ("(7, 28, 28)", "array[..., None]")),
        (np.full((4, 4, 3), 200.0), ValueError, ("[0, 1]", 200, 255)),
        (None, TypeError, ("NoneType", "H×W×3")),
        ([[1, 2], [3, 4]], TypeError, ("list", "np.stack")),
        (np.ma.masked_array(np.zeros((4, 4, 3), np.uint8)), TypeError, ("MaskedArray", "np.asarray(image)")),
        (np.zeros((0, 4, 4, 3), np.uint8), ValueError, ("(0, 4, 4, 3)", 1)),
        (Pil.new("CMYK", (4, 4)), ValueError, ("'CMYK'", "image.convert('RGB')")),
        (Pil.new("P", (4, 4)), ValueError, ("'P'", "image.convert('RGB')")),
    ],
)
def test_what_is_not_an_image_is_named(image: object, error: type[Exception], values: tuple) -> None:
    with pytest.raises(error, match=naming(*values)):
        brittle.corrupt(image, "fog", 3)


@pytest.mark.parametrize("sample", [0, "a", [1], [1, 2, 3], {"a", "b"}, {"a": 1, "b": 2}])
def test_a_batch_needs_one_sample_id_each(sample: object) -> None:
    with pytest.raises(BrittleError, match=naming(2)):
        brittle.corrupt(np.zeros((2, 4, 4, 3), np.uint8), "fog", 3, sample=sample)  # type: ignore[arg-type]
