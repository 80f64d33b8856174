"""Every corruption on any number of channels, at any depth: what it does, and that the registry says so."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle.corruptions import Corruption
from brittle.datasets import photo
from tests.errors import naming

ALL = brittle.list_corruptions()
every_corruption = pytest.mark.parametrize("corruption", ALL, ids=lambda c: c.id)
SIDE, SEVERITY = 32, 3

ROUNDS_ON_THE_WAY = {
    "imagenet-c/defocus_blur": 1.5,  # between two levels, which are bytes before they are blended
    "imagenet-c/glass_blur": 2,  # blurred twice, and cut to bytes each time
    "imagenet-c/saturate": 1.1,  # a grey image: three channels are cut, and their luminance is rounded
    "c-bar/pseudocolor": 1.5,  # likewise
    "c-bar/color_balance": 1.6,  # the luma is a whole number
    "c-bar/lines": 3,  # each line is cut to bytes before the next one
    "noc/thumbnail_resize": 1.5,  # Pillow rounds rows, then columns, on both ways
    "syn2nat/random_fog": 2.5,  # each disc is rounded before the next one
    "syn2nat/random_sun_flare": 3,  # likewise
}
"""How far the 8-bit result may be from the full depth, in grey levels, where that is more than one."""

FEW_VALUES = ("imagenet-c/shot_noise",)
"""Photons are whole: at this severity there are few of them."""


def bands(count: int, side: int = SIDE) -> np.ndarray:
    """A photograph with more bands than it has: each is another part of it."""
    large = photo("coffee", side + 16)
    return np.stack([large[i : i + side, i : i + side, i % 3] for i in range(count)], axis=2)


def noise_of_its_own(corruption: Corruption) -> bool:
    return corruption.channels == "any"


@every_corruption
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 13])
def test_the_registry_says_what_each_does(corruption: Corruption, count: int) -> None:
    """Each input is really corrupted; what is refused, and how many values there are, is as the registry says."""
    image = bands(count)
    if corruption.channels == "rgb" and count not in (1, 3, 4):
        with pytest.raises(BrittleError, match=naming(corruption.id, count, "image[..., [2, 1, 0]]")):
            brittle.corrupt(image, corruption, SEVERITY)
        return
    expected = brittle.corrupt(image, corruption, SEVERITY)
    assert (expected.shape, expected.dtype) == (image.shape, np.uint8)
    assert not np.array_equal(expected, image) or (corruption.channels == "rgb" and count == 1)
    deep, real = image.astype(np.uint16) * 257, image.astype(np.float32) * np.float32(2) - 100
    for given, data_range in ((deep, 65535), (real, (-100, 410))):
        before = given.copy()
        out = brittle.corrupt(given, corruption, SEVERITY, data_range=data_range)
        np.testing.assert_array_equal(given, before)
        assert (out.shape, out.dtype) == (given.shape, given.dtype)
        greys = out / 257 if data_range == 65535 else (out.astype(np.float64) + 100) / 2
        if corruption.full_depth:
            gap = ROUNDS_ON_THE_WAY.get(corruption.id, 1.001)
            assert np.abs(greys - expected).max() < gap
        else:
            np.testing.assert_allclose(greys, expected, atol=1e-4)
        if count == 4:
            np.testing.assert_array_equal(out[..., 3], given[..., 3])


@every_corruption
def test_full_depth_is_more_than_256_values(corruption: Corruption) -> None:
    ramp = np.linspace(6000, 60000, 64 * 64).astype(np.uint16).reshape(64, 64)
    image = np.stack([ramp, ramp.T, ramp[::-1]], axis=2)
    values = len(np.unique(brittle.corrupt(image, corruption, SEVERITY, data_range=65535)))
    assert (values > 400) == (corruption.full_depth and corruption.id not in FEW_VALUES)
    assert values > 400 or values <= 256


@every_corruption
def test_bands_are_grey_images_with_the_same_draws(corruption: Corruption) -> None:
    image = bands(5)
    if corruption.channels == "rgb":
        with pytest.raises(BrittleError, match=naming(corruption.id, 3)):
            brittle.corrupt(image[..., :3], corruption, SEVERITY, bands=True)
        return
    for count in (2, 3, 4, 5):
        out = brittle.corrupt(image[..., :count], corruption, SEVERITY, bands=True, sample="x")
        alone = [brittle.corrupt(image[..., i], corruption, SEVERITY, sample="x") for i in range(count)]
        if noise_of_its_own(corruption):
            noise = out.astype(int) - image[..., :count]
            assert not np.array_equal(noise[..., 0], noise[..., 1])
            strength = np.abs(noise).mean()
            assert corruption.family != "noise" or strength == pytest.approx(
                np.abs(np.stack(alone, 2).astype(int) - image[..., :count]).mean(), rel=0.3
            )
        else:
            np.testing.assert_array_equal(out, np.stack(alone, axis=2))


@pytest.mark.parametrize("name", ["gaussian_noise", "shot_noise", "impulse_noise", "blue_noise", "noc/gaussian"])
def test_noise_of_two_bands_is_independent(name: str) -> None:
    flat = np.full((64, 64, 6), 120, np.uint8)
    noise = brittle.corrupt(flat, name, 3).reshape(-1, 6).astype(float)
    correlation = np.corrcoef(noise.T) - np.eye(6)
    assert np.abs(correlation).max() < 0.06


@pytest.mark.parametrize("name", ["contrast", "gaussian_noise", "saturate", "imagenet-c/jpeg_compression", "fog"])
def test_alpha_is_kept_unless_there_are_four_bands(name: str) -> None:
    image = bands(4)
    np.testing.assert_array_equal(brittle.corrupt(image, name, 3)[..., 3], image[..., 3])
    if name != "saturate":
        assert not np.array_equal(brittle.corrupt(image, name, 3, bands=True)[..., 3], image[..., 3])


@every_corruption
@pytest.mark.parametrize(
    ("image", "data_range"),
    [
        (bands(3, 16).astype(np.uint16) * 257, 65535),
        (bands(5, 16) * np.float32(0.1) - 5, (-10, 40)),
        (bands(4, 16) / 7.3, 40),
        (np.float16(bands(3, 16)) - 100, (-100, 160)),
    ],
    ids=["uint16", "float32 bands", "float64 RGBA", "float16"],
)
def test_severity_zero_gives_the_same_values(corruption: Corruption, image: np.ndarray, data_range: object) -> None:
    if corruption.channels == "rgb" and image.shape[2] == 5:
        return
    out = brittle.corrupt(image, corruption, 0, data_range=data_range)  # type: ignore[arg-type]
    np.testing.assert_array_equal(out, image)
    assert not np.shares_memory(out, image)


@every_corruption
def test_a_batch_of_bands_is_its_images(corruption: Corruption) -> None:
    if corruption.channels == "rgb":
        return
    batch = np.stack([bands(5, 16) * np.float32(3), bands(5, 16)[::-1] * np.float32(2)])
    out = brittle.corrupt(batch, corruption, SEVERITY, data_range=765, sample=["a", "b"])
    for image, sample, one in zip(batch, ["a", "b"], out, strict=True):
        np.testing.assert_array_equal(one, brittle.corrupt(image, corruption, SEVERITY, data_range=765, sample=sample))


def test_a_ramp_of_16_bits_stays_smooth() -> None:
    ramp = np.tile(np.linspace(0, 65535, 512).astype(np.uint16), (8, 1))
    for name, severity in (("contrast", 3), ("gaussian_blur", 2), ("noc/brightness", 1), ("syn2nat/random_gamma", 2)):
        line = brittle.corrupt(ramp, name, severity, data_range=65535)[4].astype(int)
        steps = np.abs(np.diff(line[40:-40], 2))
        inside = (line[40:-42] < 65535) & (line[42:-40] < 65535) & (line[40:-42] > 0) & (line[42:-40] > 0)
        assert steps[inside].max() <= 20, name  # a step of 8 bits is 257
    coarse = brittle.corrupt(ramp, "posterize", 3, data_range=65535)
    assert len(np.unique(coarse)) < 30


def test_photons_of_16_bits_have_the_right_mean_and_variance() -> None:
    """The fraction of a grey level counts too: between two greys mean and variance are between theirs."""
    photons = brittle.get_corruption("shot_noise").parameters(1, table=224)["photons"]
    for value in (20.5, 20.75, 100.25, 0.5):
        image = np.full((400, 400), value / 255)
        out = brittle.corrupt(image, "shot_noise", 1, data_range=1, table=224) * photons
        rate = photons * value / 255
        assert out.mean() == pytest.approx(rate, abs=5 * (rate / out.size) ** 0.5)
        assert out.var() == pytest.approx(rate, rel=0.03)


def test_values_that_stay_are_exact() -> None:
    image = np.random.default_rng(0).normal(0, 1e-3, (40, 40, 3))
    out = brittle.corrupt(image, "noc/obstruction", 3, data_range=(-0.01, 0.01))
    same = out == image
    assert 0.3 < same.mean() < 1
    assert len(np.unique(out[~same])) == 1


@pytest.mark.parametrize("low", [-1000, 0, 200])
def test_an_8_bit_range_inside_16_bits_gives_the_8_bit_picture(low: int) -> None:
    """So the range is used: values 0 … 255 above `low` are the grey levels."""
    image = photo("cat", 32)
    for name in ("imagenet-c/jpeg_compression", "circular_motion_blur"):
        expected = brittle.corrupt(image, name, 3)
        out = brittle.corrupt(image.astype(np.int16) + np.int16(low), name, 3, data_range=(low, low + 255))
        np.testing.assert_array_equal(out - low, expected)
    np.testing.assert_array_equal(
        brittle.corrupt(image, "fog", 3, data_range=(0, 255)), brittle.corrupt(image, "fog", 3)
    )


def test_pil_images_of_16_bits_and_floats() -> None:
    deep = Pil.fromarray(bands(1)[..., 0].astype(np.uint16) * 257)
    real = Pil.fromarray(bands(1)[..., 0].astype(np.float32))
    for image, data_range in ((deep, 65535), (real, 255)):
        out = brittle.corrupt(image, "fog", 3, data_range=data_range)
        assert (out.mode, out.size) == (image.mode, image.size)
        np.testing.assert_array_equal(
            np.asarray(out), brittle.corrupt(np.asarray(image), "fog", 3, data_range=data_range)
        )
    with pytest.raises(BrittleError, match=naming("uint16", "data_range", 65535)):
        brittle.corrupt(deep, "fog", 3)


GREY16 = np.full((8, 8), 3000, np.uint16)


@pytest.mark.parametrize(
    ("image", "options", "values"),
    [
        (GREY16, {}, ("uint16", "data_range", "3000")),
        (GREY16, {"data_range": 2000}, ("3000", "2000", "np.clip")),
        (GREY16, {"data_range": (3500, 4000)}, ("3000", "3500")),
        (GREY16, {"data_range": 70000}, ("uint16", "65535", "70000")),
        (GREY16, {"data_range": 0}, ("0",)),
        (GREY16, {"data_range": (5, 5)}, ("(5, 5)",)),
        (GREY16, {"data_range": (0, float("inf"))}, ("inf",)),
        (GREY16, {"data_range": (0, 1, 2)}, ("(0, 1, 2)",)),
        (GREY16, {"data_range": "4095"}, ("'4095'",)),
        (GREY16, {"data_range": True}, ("True",)),
        (GREY16, {"data_range": 4095, "bands": "no"}, ("'no'",)),
        (np.full((8, 8), np.nan), {"data_range": 10}, ("nan",)),
        (np.full((8, 8), np.inf), {"data_range": 10}, ("inf", "10")),
        (np.full((8, 8, 3), 12.0), {}, ("[0, 1]", "12", "data_range")),
        (np.zeros((9, 9, 5), np.uint8), {}, ("(9, 9, 5)", "bands=True")),
        (np.zeros((13, 64, 64), np.uint8), {}, ("(13, 64, 64)", "bands=True", "array[..., None]")),
        (np.zeros((2, 13, 64, 64), np.uint8), {}, ("(2, 13, 64, 64)", "bands=True")),
    ],
)
def test_what_is_not_clear_is_refused(image: np.ndarray, options: dict, values: tuple) -> None:
    with pytest.raises((BrittleError, TypeError), match=naming(*values)):
        brittle.corrupt(image, "fog", 3, **options)
    if "bands" not in options and image.ndim > 2 and image.shape[-1] > 4:
        assert brittle.corrupt(image, "fog", 3, bands=True).shape == image.shape


def test_an_alpha_channel_may_hold_what_it_likes() -> None:
    image = np.concatenate([bands(3).astype(np.uint16) * 16, np.full((SIDE, SIDE, 1), 65535, np.uint16)], axis=2)
    out = brittle.corrupt(image, "fog", 3, data_range=4095)
    np.testing.assert_array_equal(out[..., 3], image[..., 3])
    assert out[..., :3].max() <= 4095
    with pytest.raises(BrittleError, match=naming(65535, 4095)):
        brittle.corrupt(image, "fog", 3, data_range=4095, bands=True)


def test_a_corruption_of_ones_own_gets_grey_images_of_8_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    from brittle.corruptions import corruption, levels, registry

    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))
    seen = []

    @corruption(family="colour", source="mine", amount=levels(1, 2, 3, 4, 5, clean=0))
    def darker(image, rng, *, amount):  # noqa: ARG001
        seen.append((image.shape, image.dtype))
        return (image // (1 + amount)).astype(np.uint8)

    out = brittle.corrupt(bands(7, 16) * np.float32(4), "mine/darker", 1, data_range=1020)
    assert set(seen) == {((16, 16, 1), np.dtype(np.uint8))}
    np.testing.assert_array_equal(out, bands(7, 16) // 2 * np.float32(4))


def test_transforms_take_them_too() -> None:
    import torch

    image = bands(6)
    deep = image.astype(np.int16) * 16
    transform = brittle.Transform("fog", severity=3, data_range=4095)
    expected = brittle.corrupt(deep, *transform.draw(7), sample=7, data_range=4095)
    np.testing.assert_array_equal(transform.apply(deep, 7), expected)
    out = transform.apply(torch.from_numpy(deep.transpose(2, 0, 1).copy()), 7)
    assert (tuple(out.shape), out.dtype) == ((6, SIDE, SIDE), torch.int16)
    np.testing.assert_array_equal(out.numpy().transpose(1, 2, 0), expected)
    with pytest.raises(BrittleError, match=naming("int16", "data_range")):
        brittle.Transform("fog", p=0)(deep)
    four = brittle.Transform("fog", severity=3, bands=True)
    assert not np.array_equal(four(image[..., :4])[..., 3], image[..., 3])


@pytest.mark.parametrize(("name", "severity"), [("gaussian_noise", 3), ("fog", 3), ("fog", 0)])
def test_a_last_jpeg_compresses_each_band_alone(name: str, severity: float) -> None:
    for image, how in ((bands(7), {}), (bands(2), {}), (bands(3), {"bands": True})):
        before = brittle.corrupt(image, name, severity, **how)
        out = brittle.corrupt(image, name, severity, jpeg85=True, **how)
        for band in range(image.shape[2]):
            through = brittle.corrupt(before[..., band], "fog", 0, jpeg85=True)
            np.testing.assert_array_equal(out[..., band], through)


def test_values_at_the_ends_of_a_range_that_single_precision_rounds_stay_numbers() -> None:
    image = np.full((32, 32), 0.7, np.float32)
    for name in ("syn2nat/random_gamma", "shot_noise"):
        out = brittle.corrupt(image, name, 3, data_range=(0.7, 10))
        assert np.isfinite(out).all()
        assert out.min() >= np.float32(0.7)


def test_bands_of_a_pil_image_are_no_colours() -> None:
    photo = Pil.fromarray(bands(3))
    with pytest.raises(BrittleError, match=naming("imagenet-c/saturate", 3)):
        brittle.corrupt(photo, "saturate", 3, bands=True)
    with pytest.raises(BrittleError, match=naming("'I'", "uint16", "data_range")):
        brittle.corrupt(Pil.fromarray(bands(3)[..., 0].astype(np.int32)), "fog", 3)


def test_the_support_matrix_of_the_docs_says_the_same() -> None:
    """Its cells are tried out when the page is built; here they are compared with the registry."""
    place = Path(__file__).parents[2] / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", place)
    assert spec is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)  # type: ignore[union-attr]
    lines = [line for line in generate.support() if line.startswith("| [") or line.startswith("| corruption")]
    columns = [cell.strip() for cell in lines[0].strip("| ").split("|")]
    rows = [
        dict(zip(columns, (cell.strip() for cell in line.strip("| ").split("|")), strict=True))
        for line in lines
        if line.startswith("| [")
    ]
    assert len(rows) == len(ALL)
    for corruption, row in zip(ALL, rows, strict=True):
        assert row["corruption"].startswith(f"[{corruption.name}]")
        assert row["7 bands"] == row["float of any range"].replace("✓ as RGB", "✓") or corruption.channels == "rgb"
        assert (row["7 bands"] == "refused") == (corruption.channels == "rgb")
        assert "refused" not in (row["uint16"], row["RGBA"], row["grey"])
        assert row["depth"] == ("full" if corruption.full_depth else "8 bit")
        assert row["moves pixels"] == ("yes" if corruption.moves_pixels else "no")


def test_adapters_take_them_too() -> None:
    import torch

    from brittle.transforms import as_maite, as_torchvision

    image = bands(6).astype(np.int16) * 16
    planes = image.transpose(2, 0, 1).copy()
    expected = brittle.corrupt(image, "fog", 3, sample="a", data_range=4095)
    out = as_torchvision("fog", 3, data_range=4095)(torch.from_numpy(planes), sample="a")
    assert out.dtype == torch.int16
    np.testing.assert_array_equal(out.numpy().transpose(1, 2, 0), expected)
    images, _, _ = as_maite("fog", 3, data_range=4095)(([planes], [None], [{"id": "a"}]))
    np.testing.assert_array_equal(images[0].transpose(1, 2, 0), expected)
    alone = as_torchvision("gaussian_noise", 3, data_range=4095)  # no id: that of the content
    one, other = alone(torch.from_numpy(planes)), alone(torch.from_numpy(planes + np.int16(1)))
    assert (other - one - 1).abs().max() > 50  # other pixels have other draws
