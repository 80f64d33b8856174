"""The 40 candidates of the Syn2Nat study against a plain reading of their published definitions."""

import cv2
import numpy as np
import pytest
from scipy import stats

import brittle
from brittle.corruptions import Draws
from brittle.datasets import photo
from tests.corruptions.syn2nat_reference import REFERENCE

PIXELWISE_NOISE = {"gauss_noise", "iso_noise", "multiplicative_noise"}
CURVED = {"rotate", "solarize"}
"""Their parameters move along a curve of their own."""


def corrupted(image: np.ndarray, name: str, sample: int = 0, severity: float = 5) -> np.ndarray:
    return brittle.corrupt(image, f"syn2nat/{name}", severity, sample=sample)


def test_all_forty_are_there_one_of_them_twice() -> None:
    corruptions = {c.name: c for c in brittle.list_corruptions(source="syn2nat")}
    assert len(corruptions) == 40
    assert corruptions["image_compression"].alias_of == "syn2nat/jpeg_compression"
    assert {name for name, c in corruptions.items() if c.alias_of is None} == set(REFERENCE) | PIXELWISE_NOISE


@pytest.mark.parametrize("name", REFERENCE)
def test_severity_five_is_the_published_range_pixel_by_pixel(name: str) -> None:
    for picture, samples in (("cat", range(4)), ("coffee", range(4, 8))):
        image = photo(picture, 224)
        for sample in samples:
            expected = REFERENCE[name](image, Draws(0, f"syn2nat/{name}", sample))
            gap = np.abs(corrupted(image, name, sample).astype(int) - expected)
            # One more or less where exact arithmetic lands on a half; what comes after hue in the jitter enlarges that.
            assert gap.max() <= (3 if name == "color_jitter" else 1), sample
            assert gap.mean() < 0.15


@pytest.mark.parametrize("c", brittle.list_corruptions(source="syn2nat"), ids=lambda c: c.name)
def test_each_severity_goes_a_fifth_of_the_way(c: brittle.Corruption) -> None:
    assert c.max_severity == 5
    for parameter, level in c.levels.items() if c.name not in CURVED else ():
        last = c.parameters(5)[parameter]
        for severity in (0.5, 1, 2, 3, 4, 4.5):
            expected = level.clean + (last - level.clean) * severity / 5
            assert c.parameters(severity)[parameter] == pytest.approx(expected, abs=0.51 if level.integer else 1e-9)


@pytest.mark.parametrize("name", ["flip", "invert_img"])
def test_some_are_on_or_off(name: str) -> None:
    image = photo("cat", 64)
    np.testing.assert_array_equal(corrupted(image, name, severity=0.01), corrupted(image, name, severity=5))


def test_both_compressions_are_one_function() -> None:
    one, other = brittle.get_corruption("syn2nat/jpeg_compression"), brittle.get_corruption("syn2nat/image_compression")
    assert one.function is other.function


def test_gauss_noise_has_the_published_variance() -> None:
    image = np.full((224, 224, 3), 128, np.uint8)
    for sample in range(5):
        out = corrupted(image, "gauss_noise", sample).astype(float) - 127.5
        variance = Draws(0, "syn2nat/gauss_noise", sample).uniform("variance", 500, 1000)
        assert out.mean() == pytest.approx(0, abs=0.5)
        assert out.var() == pytest.approx(variance, rel=0.02)  # uncut: 128 is four standard deviations from 0
    assert 500 < out.var() < 1000


def test_multiplicative_noise_is_uniform_and_shared_by_the_channels() -> None:
    image = np.full((224, 224, 3), 180, np.uint8)
    out = corrupted(image, "multiplicative_noise").astype(float)
    assert (out == out[..., :1]).all()
    assert out.min() == 126
    assert out.max() == 233
    assert out.mean() == pytest.approx(179.5, abs=0.7)
    assert out.std() == pytest.approx(180 * 0.6 / np.sqrt(12), rel=0.02)


@pytest.mark.parametrize("sample", range(3))
def test_iso_noise_is_poisson_in_lightness_and_normal_in_hue(sample: int) -> None:
    """Two lightnesses of one hue and saturation, so that the standard deviation of the lightness is known."""
    hls = np.zeros((224, 224, 3), np.float32)
    hls[...] = (180, 0.3, 0.5)
    hls[::2, :, 1] = 0.6
    image = np.rint(cv2.cvtColor(hls, cv2.COLOR_HLS2RGB) * 255).astype(np.uint8)
    out = cv2.cvtColor(corrupted(image, "iso_noise", sample).astype(np.float32) / 255, cv2.COLOR_RGB2HLS)
    rng = Draws(0, "syn2nat/iso_noise", sample)
    intensity, shift = rng.uniform("intensity", 0.5, 1), rng.uniform("shift", 0.2, 0.5)
    rate = 255 * intensity * 0.15
    for rows, light in ((slice(1, None, 2), 0.3), (slice(0, None, 2), 0.6)):
        counts = (out[rows, :, 1] - light) / (1 - light) * 255
        assert counts.mean() == pytest.approx(rate, abs=1.2)
        assert counts.var() == pytest.approx(rate, rel=0.08)
    turned = np.deg2rad(out[..., 0] - 180)
    # A normal of standard deviation σ, wrapped around the circle, has a mean cosine of exp(−σ²/2).
    assert np.cos(turned).mean() == pytest.approx(np.exp(-((2 * np.pi * shift * intensity) ** 2) / 2), abs=0.02)
    assert np.sin(turned).mean() == pytest.approx(0, abs=0.02)


def test_a_flat_picture_has_no_iso_noise() -> None:
    image = np.full((32, 32, 3), 90, np.uint8)
    np.testing.assert_array_equal(corrupted(image, "iso_noise"), image)


def test_one_draw_in_six_of_random_contrast_is_black() -> None:
    image = np.full((2, 2, 3), 255, np.uint8)
    black = sum(not corrupted(image, "random_contrast", sample).any() for sample in range(600))
    assert stats.binomtest(black, 600, 1 / 6).pvalue > 0.01


@pytest.mark.parametrize(
    ("name", "odds"),
    [
        ("blur", {5: 1 / 3, 7: 1 / 3, 9: 1 / 3}),
        ("gaussian_blur", {9: 1 / 5, 11: 2 / 5, 13: 2 / 5}),
    ],
)
def test_kernels_have_the_published_sizes_and_odds(name: str, odds: dict[int, float]) -> None:
    line = np.zeros((224, 224, 1), np.uint8)
    line[112] = 255
    sizes = [np.count_nonzero(corrupted(line, name, sample)[:, 50]) for sample in range(200)]
    assert set(sizes) == set(odds)
    expected = [200 * share for share in odds.values()]
    assert stats.chisquare([sizes.count(size) for size in odds], expected).pvalue > 0.01


def test_dropout_makes_sixteen_to_forty_eight_holes() -> None:
    image = np.full((224, 224, 1), 255, np.uint8)
    covered = [(corrupted(image, "coarse_dropout", sample) == 0).mean() for sample in range(300)]
    # n squares with a random overlap leave (1 − 64/217²)^n, about; n is uniform on 16 … 48.
    expected = np.mean([1 - (1 - 64 / 224**2) ** n for n in range(16, 49)])
    assert np.mean(covered) == pytest.approx(expected, rel=0.05)
    assert max(covered) <= 48 * 64 / 224**2


def test_cutout_is_moved_in_at_one_end_and_cut_off_at_the_other() -> None:
    """A centre uniform on 0 … 224; the square is moved in at the top left, and cut off at the bottom right."""
    image = np.full((224, 224, 1), 255, np.uint8)
    covered = np.mean([corrupted(image, "cutout", sample)[:, :, 0] == 0 for sample in range(400)], axis=0)
    rows = np.arange(225)
    starts = np.clip(rows - 75, 0, None)
    expected = [np.mean((starts <= y) & (y < starts + 150)) for y in range(224)]
    np.testing.assert_allclose(covered[:, 100] / covered[:, 100].max(), np.array(expected) / max(expected), atol=0.08)


def test_rain_always_falls_to_the_right() -> None:
    image = np.zeros((224, 224, 1), np.uint8)
    for sample in range(4):
        out = corrupted(image, "random_rain", sample)[:, :, 0].astype(float)
        aligned = [np.mean(out[10:] * np.roll(out, shift, 1)[:-10]) for shift in (-5, 5)]
        assert aligned[1] > 1.5 * aligned[0]


def test_fog_has_the_published_number_of_discs() -> None:
    """Rings of hw//10 and 2·(hw//10) discs; a pixel in n of them has 255·(1 − (1 − a)^n) of black."""
    from brittle.corruptions.syn2nat.weather import _points

    for hw in range(59, 75):
        midx, midy, count, ring = 112 - 2 * hw, 112 - hw, 0, 1
        while midx > -hw or midy > -hw:
            count += hw // 10 * ring
            midx, midy, ring = midx - 3 * hw // 2, midy - 3 * hw // 2, ring + 1
        assert len(_points(Draws(0, "f", 0), hw, 1.0)[0]) == count


@pytest.mark.parametrize("name", [c.name for c in brittle.list_corruptions(source="syn2nat")])
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 3), (3, 2), (5, 700), (700, 5), (37, 211)])
def test_any_proportions_work(name: str, shape: tuple[int, int]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    for sample, severity in enumerate((0.02, 1, 3.7, 5)):
        for each in (image, image[..., :1]):
            assert corrupted(each, name, sample, severity).shape == each.shape


def test_the_recipes_hold_the_published_names() -> None:
    chosen, candidates = brittle.load_benchmark("syn2nat"), brittle.load_benchmark("syn2nat-candidates")
    assert [len(recipe.entries) for recipe in (chosen, candidates)] == [18, 40]
    assert {e.id for e in candidates.entries} == {c.id for c in brittle.list_corruptions(source="syn2nat")}
    assert {e.id for e in chosen.entries} < {e.id for e in candidates.entries}
    assert all(e.levels == (5,) for e in (*chosen.entries, *candidates.entries))
