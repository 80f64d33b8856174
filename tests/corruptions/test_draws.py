"""Addressed randomness: who shares a draw, who does not, and whether the numbers are random at all."""

import os

import numpy as np
import pytest
from scipy import stats

import brittle
from brittle.corruptions import Draws
from brittle.corruptions.kernels.arithmetic import compiled
from brittle.corruptions.kernels.random_words import normal_table, normals, uniforms, word
from tests.errors import naming

GOLDEN_RATIO = 0x9E3779B97F4A7C15


@compiled
def _first_words(key, count):
    out = np.empty(count, np.uint64)
    for i in range(count):
        out[i] = word(key, i)
    return out


def test_words_are_splitmix64() -> None:
    """The first five outputs of SplitMix64 seeded with 1234567, as its authors' reference program prints them."""
    key = np.array([(1234567 + GOLDEN_RATIO) % 2**64, GOLDEN_RATIO], np.uint64)
    assert _first_words(key, 5).tolist() == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip


def test_normals_are_normal() -> None:
    table = normal_table().astype(float)
    assert (table.mean(), table.std()) == (pytest.approx(0, abs=1e-7), pytest.approx(1, abs=1e-6))
    sample = normals(Draws(0, "test", 0).key("n"), 500, 401)
    assert stats.kstest(sample.ravel()[:50000], "norm").pvalue > 0.001
    assert abs(np.corrcoef(sample[:, :-1].ravel(), sample[:, 1:].ravel())[0, 1]) < 0.01


def test_uniforms_are_uniform() -> None:
    sample = uniforms(Draws(0, "test", 0).key("u"), 300, 300)
    assert sample.min() >= -1
    assert sample.max() < 1
    assert stats.kstest(sample.ravel(), "uniform", args=(-1, 2)).pvalue > 0.001


def test_streams_differ_by_seed_corruption_sample_and_name() -> None:
    keys = [
        Draws(seed, corruption, sample).key(name).tobytes()
        for seed in (0, 1, -1)
        for corruption in ("a", "b")
        for sample in (0, 1, "0", "cat.jpg")
        for name in ("x", "y")
    ]
    assert len(set(keys)) == len(keys)


def test_draws_do_not_depend_on_their_order() -> None:
    one, other = Draws(0, "fog", 1), Draws(0, "fog", 1)
    first = (one.uniform("a"), one.integer("b", 10), one.key("c").tolist())
    last = (other.key("c").tolist(), other.integer("b", 10), other.uniform("a"))
    assert first == last[::-1]


def test_integers_cover_their_range() -> None:
    drawn = [Draws(0, "x", sample).integer("i", 5) for sample in range(500)]
    assert stats.chisquare(np.bincount(drawn, minlength=5)).pvalue > 0.001


@pytest.mark.parametrize("name", ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"])
def test_noise_grows_in_place(name: str) -> None:
    """The same noise field at every severity: where it brightens at 2 it brightens at 4."""
    image = np.full((64, 64, 3), 128, np.uint8)
    weak, strong = (brittle.corrupt(image, name, s, table=224).astype(int) - 128 for s in (2, 4))
    changed = (weak != 0) & (strong != 0)
    assert (np.sign(weak[changed]) == np.sign(strong[changed])).mean() > 0.93
    if name == "impulse_noise":
        np.testing.assert_array_equal(weak[weak != 0], strong[weak != 0])


@pytest.mark.parametrize("name", ["fog", "frost", "imagenet-c/motion_blur", "snow", "imagenet-c/elastic_transform"])
def test_layers_stay_in_place_as_severity_grows(name: str) -> None:
    """A small step in severity is a small step in the picture; another sample is another picture."""
    image = brittle.corrupt(np.full((64, 64, 3), 100, np.uint8), "gaussian_noise", 3)
    at, near, other = (
        brittle.corrupt(image, name, severity, sample=sample, table=224).astype(int)
        for severity, sample in ((3, 0), (3.02, 0), (3, 1))
    )
    assert np.abs(at - near).mean() < 0.25 * np.abs(at - other).mean()


def test_a_file_name_of_any_bytes_is_a_sample_id() -> None:
    name = os.fsdecode(b"caf\xe9.jpg")
    image = np.full((8, 8, 3), 99, np.uint8)
    assert not np.array_equal(
        brittle.corrupt(image, "fog", 3, sample=name), brittle.corrupt(image, "fog", 3, sample="caf.jpg")
    )


@pytest.mark.parametrize("sample", [1.5, (1,), True, b"x"])
def test_a_sample_id_is_a_number_or_a_string(sample: object) -> None:
    with pytest.raises(TypeError, match=naming(repr(sample), type(sample).__name__)):
        brittle.corrupt(np.zeros((4, 4, 3), np.uint8), "fog", 1, sample=sample)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1.0, "0", None])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(TypeError, match=naming("seed", repr(seed), type(seed).__name__)):
        brittle.corrupt(np.zeros((4, 4, 3), np.uint8), "fog", 1, seed=seed)  # type: ignore[arg-type]
