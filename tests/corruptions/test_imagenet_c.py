"""The 19 corruptions against a plain reading of their published definitions."""

import numpy as np
import pytest
from scipy import ndimage

import brittle
from brittle import BrittleError
from brittle.corruptions import Draws
from brittle.corruptions.imagenet_c import weather as frost
from brittle.corruptions.imagenet_c.digital import smooth_noise
from brittle.corruptions.imagenet_c.weather import _read, find_textures
from brittle.corruptions.imagenet_c.weather import plasma as fast_plasma
from brittle.corruptions.kernels.blur import gaussian, motion_blur, zoom
from brittle.corruptions.kernels.jpeg import through_jpeg
from brittle.corruptions.kernels.noise import count_photons
from brittle.corruptions.kernels.random_words import normals
from brittle.corruptions.kernels.shapes import mud_layer, water_layer
from brittle.datasets import photo
from tests.corruptions.reference import DETERMINISTIC, REFERENCE, plasma
from tests.errors import naming

RANDOM = [name for name in REFERENCE if name not in DETERMINISTIC]


@pytest.mark.parametrize("side", [32, 64, 224, 299])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_deterministic_ones_agree_pixel_by_pixel(name: str, side: int) -> None:
    for picture in ("cat", "coffee"):
        image = photo(picture, side)
        for severity in range(1, 6):
            parameters = brittle.get_corruption(f"imagenet-c/{name}").parameters(severity, side)
            gap = np.abs(
                brittle.corrupt(image, f"imagenet-c/{name}", severity).astype(int)
                - REFERENCE[name](image, None, **parameters)
            )
            assert gap.max() <= 1  # one more or less where exact arithmetic lands on a whole number
            assert gap.mean() < 0.15


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", RANDOM)
def test_random_ones_agree_in_distribution(name: str, severity: int) -> None:
    """Mean, standard deviation, detail and distance to the clean image, over 24 draws, within 5 sampling errors."""
    image = photo("cat", 32)
    parameters: dict[str, object] = dict(brittle.get_corruption(f"imagenet-c/{name}").parameters(severity, 32))
    if name == "frost":
        parameters["textures"] = [_read(path, 1, 3) for path in find_textures(frost.BUNDLED)]
    ours, read = [], []
    for draw in range(24):
        ours.append(_summary(brittle.corrupt(image, f"imagenet-c/{name}", severity, sample=draw), image))
        read.append(_summary(REFERENCE[name](image, np.random.default_rng(draw), **parameters), image))
    error = np.sqrt((np.var(ours, 0) + np.var(read, 0)) / 24) + 0.05
    assert (np.abs(np.mean(ours, 0) - np.mean(read, 0)) < 5 * error).all()


def _summary(out: np.ndarray, image: np.ndarray) -> list[float]:
    out = out.astype(float)
    detail = np.abs(np.diff(out, axis=0)).mean() + np.abs(np.diff(out, axis=1)).mean()
    return [
        out.mean(),
        out.std(),
        detail,
        np.abs(out - image).mean(),
        (out == 255).mean() * 100,
        (out == 0).mean() * 100,
    ]


def test_poisson_counts_have_poisson_moments() -> None:
    key = Draws(0, "test", 0).key("counts")
    for photons, grey in ((3, 128), (60, 200), (500, 30), (1900, 100), (2500, 100)):
        image = np.full((400, 400, 1), grey, np.uint8)
        counts = count_photons(image, key, photons).astype(float)
        rate = photons * grey / 255
        drawn = np.random.default_rng(0).poisson(rate, 400_000)
        expected = np.floor(np.minimum(drawn / photons, 1) * 255)
        assert counts.mean() == pytest.approx(expected.mean(), abs=5 * expected.std() / 300)
        assert counts.std() == pytest.approx(expected.std(), rel=0.02)


def test_black_stays_black_even_at_the_largest_random_word() -> None:
    """Word 0 of the key (z, …) is SplitMix64's mix of z; this z is mixed into all ones."""

    def unxorshift(value: int, shift: int) -> int:
        result = value
        for _ in range(64 // shift + 1):
            result = value ^ (result >> shift)
        return result

    z = unxorshift(2**64 - 1, 31)
    z = unxorshift(z * pow(0x94D049BB133111EB, -1, 2**64) % 2**64, 27)
    z = unxorshift(z * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64, 30)
    key = np.array([z, 1], np.uint64)
    for photons in (3.0, 60.0, 500.0):
        assert not count_photons(np.zeros((1, 2, 1), np.uint8), key, photons).any()


@pytest.mark.parametrize(("height", "width"), [(427, 640), (17, 23), (90, 61), (100, 33)])
def test_pixelate_has_pillows_boxes_at_any_size(height: int, width: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    for severity in range(1, 6):
        parameters = brittle.get_corruption("imagenet-c/pixelate").parameters(severity, (height, width))
        np.testing.assert_array_equal(
            brittle.corrupt(image, "imagenet-c/pixelate", severity), REFERENCE["pixelate"](image, None, **parameters)
        )


@pytest.mark.parametrize("decay", [1.4, 2.0, 3.0])
def test_plasma_has_the_published_roughness(decay: float) -> None:
    ours = [fast_plasma(Draws(0, "p", i).key("p"), 64, decay) for i in range(40)]
    read = [plasma(64, decay, np.random.default_rng(i)) for i in range(40)]
    assert all(field.min() == 0 and field.max() == 1 for field in ours)
    for step in (1, 4, 16):
        a, b = (np.mean([np.abs(f - np.roll(f, step, 1)).mean() for f in fields]) for fields in (ours, read))
        assert a == pytest.approx(b, rel=0.2)


@pytest.mark.parametrize(
    ("alpha", "sigma", "rms"), [(488, 19.52, 4.7), (12.2, 2.44, 0.82), (17.08, 2.44, 1.18), (29.28, 2.44, 2.0)]
)
def test_elastic_fields_have_the_measured_strength(alpha: float, sigma: float, rms: float) -> None:
    """Root mean squares measured on the published code at 224 px."""
    fields = [alpha * smooth_noise(Draws(0, "e", i).key("dx"), 224, 224, sigma) for i in range(60)]
    assert np.sqrt(np.mean(np.square(fields))) == pytest.approx(rms, rel=0.15)


@pytest.mark.parametrize("sigma", [9.0, 19.52, 40.0, 170.8])
def test_smoothing_through_cosines_is_smoothing(sigma: float) -> None:
    key = Draws(0, "e", 0).key("dx")
    from brittle.corruptions.kernels.random_words import uniforms

    noise = uniforms(key, 90, 130).astype(float)
    slow = ndimage.gaussian_filter(noise, sigma, mode="reflect", truncate=3)
    np.testing.assert_allclose(smooth_noise(key, 90, 130, sigma), slow, atol=0.03 * np.abs(slow).max())


@pytest.mark.parametrize("shape", [(40, 60), (40, 60, 3), (40, 60, 1)])
@pytest.mark.parametrize(("cut", "mirrored", "mode"), [(4, False, "nearest"), (3, True, "reflect")])
@pytest.mark.parametrize("sigma", [0.05, 0.25, 0.7, 2.0, 6.0, 11.0])
def test_gaussian_is_scipys(sigma: float, cut: int, mirrored: bool, mode: str, shape: tuple[int, ...]) -> None:
    field = np.random.default_rng(0).random(shape).astype(np.float32)
    sigmas = (sigma, sigma, 0)[: len(shape)]
    slow = ndimage.gaussian_filter(field.astype(float), sigmas, mode=mode, truncate=cut)
    np.testing.assert_allclose(gaussian(field, sigma, cut=cut, mirrored=mirrored), slow, atol=1e-5)


def test_wide_gaussians_are_close_to_scipys() -> None:
    image = photo("cat", 299).astype(np.float32)
    slow = ndimage.gaussian_filter(image.astype(float), (30, 30, 0), mode="nearest")
    assert np.abs(gaussian(image, 30) - slow).max() < 0.6


def test_long_trails_are_close_to_exact_ones() -> None:
    from tests.corruptions.reference import trail

    image = photo("cat", 224)
    assert np.abs(motion_blur(image, 60, 45, 20) - trail(image.astype(float), 60, 45, 20)).mean() < 1


@pytest.mark.parametrize(("side", "coverage"), [(224, (3.8, 15, 24, 12, 20)), (32, (3.0, 8.8, 32, 4.2, 7.0))])
def test_spatter_covers_what_was_measured(side: int, coverage: tuple[float, ...]) -> None:
    for severity, expected in enumerate(coverage, start=1):
        p = brittle.get_corruption("spatter").parameters(severity, side)
        share = []
        for i in range(40):
            field = gaussian(p["loc"] + p["scale"] * normals(Draws(0, "s", i).key("s"), side, side), p["sigma"])
            cover = mud_layer(field, p["threshold"], p["mud_blur"]) if p["mud"] else field > p["threshold"]
            share.append((cover > 0).mean() * 100)
        assert np.mean(share) == pytest.approx(expected, rel=0.2)


def test_spatter_without_a_drop_leaves_the_image_alone() -> None:
    dry = np.zeros((16, 16), np.float32)
    assert not water_layer(dry, 0.7).any()
    assert not mud_layer(dry, 0.7, 0.6).any()


def test_zoom_reads_between_pixels_as_scipy_does() -> None:
    from tests.corruptions.reference import clipped_zoom

    field = np.random.default_rng(0).random((57, 57)).astype(np.float32)
    for factor in (1.0, 1.07, 1.75, 2.25, 4.5):
        np.testing.assert_allclose(zoom(field, factor), clipped_zoom(field, factor), atol=1e-5)


def test_glass_blur_copies_and_never_swaps() -> None:
    """Row 0 and column 0 are never touched, and colours get lost, which an exchange cannot do."""
    from brittle.corruptions.imagenet_c.blur import copy_from_neighbours

    image = np.stack([*np.mgrid[:40, :40], np.zeros((40, 40))], -1).astype(np.uint8)
    out = copy_from_neighbours(image, Draws(0, "g", 0).key("o"), 1, 1)
    np.testing.assert_array_equal(out[0], image[0])
    np.testing.assert_array_equal(out[:, 0], image[:, 0])
    assert len(np.unique(out.reshape(-1, 3), axis=0)) < len(np.unique(image.reshape(-1, 3), axis=0))


def test_saturate_turns_grey_red_and_an_impulse_is_coloured() -> None:
    grey = np.full((8, 8, 3), 100, np.uint8)
    np.testing.assert_array_equal(brittle.corrupt(grey, "saturate", 5, table=224)[0, 0], [100, 80, 80])
    specks = brittle.corrupt(grey, "impulse_noise", 5, table=224)
    assert {tuple(np.unique(pixel)) for pixel in specks.reshape(-1, 3)} > {(0, 100), (100, 255)}


def test_fog_leaves_black_black_and_keeps_the_brightest() -> None:
    assert not brittle.corrupt(np.zeros((32, 32, 3), np.uint8), "fog", 5).any()
    assert brittle.corrupt(photo("cat", 224), "fog", 5).max() <= photo("cat", 224).max()


def test_frost_takes_textures_from_a_folder(tmp_path) -> None:
    import cv2

    image = photo("cat", 32)
    for name in ("b.png", "a.png"):
        cv2.imwrite(str(tmp_path / name), np.full((50, 80, 3), 200, np.uint8))
    out = brittle.corrupt(image, "frost", 5, table=224, textures=tmp_path)
    np.testing.assert_array_equal(out, np.clip(0.6 * image + 0.75 * 200, 0, 255).astype(np.uint8))
    with pytest.raises(BrittleError, match=naming("textures", "none")):
        brittle.corrupt(image, "frost", 5, textures=tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BrittleError, match=naming("empty", ".jpg", ".png")):
        brittle.corrupt(image, "frost", 5, textures=tmp_path / "empty")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.jpg").write_text("no picture")
    with pytest.raises(BrittleError, match=naming("x.jpg")):
        brittle.corrupt(image, "frost", 5, textures=tmp_path / "broken")


def test_the_sixth_published_frost_photograph_is_never_drawn(tmp_path) -> None:
    for name in ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg", "frost6.jpg"):
        (tmp_path / name).touch()
    assert [path.name for path in find_textures(tmp_path)][-1] == "frost5.jpg"


@pytest.mark.parametrize("quality", [7, 25, 85])
def test_jpeg_has_pillows_pixels(quality: int) -> None:
    image = photo("coffee", 224)
    np.testing.assert_array_equal(
        through_jpeg(image, quality), REFERENCE["jpeg_compression"](image, None, quality=quality)
    )


def test_the_storage_pass_is_a_jpeg_of_quality_85() -> None:
    image = photo("cat", 64)
    stored = brittle.corrupt(image, "imagenet-c/contrast", 3, jpeg85=True)
    np.testing.assert_array_equal(stored, through_jpeg(brittle.corrupt(image, "imagenet-c/contrast", 3), 85))
    np.testing.assert_array_equal(
        brittle.corrupt(image, "imagenet-c/contrast", 0, jpeg85=True), through_jpeg(image, 85)
    )
