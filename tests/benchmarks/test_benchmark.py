from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import photo
from tests.errors import naming

PUBLISHED_ORDER = [
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
]


@pytest.mark.parametrize(
    ("name", "cells"), [("imagenet-c", 75), ("imagenet-c-extra", 20), ("cifar10-c", 75), ("tiny-imagenet-c", 75)]
)
def test_bundled_recipes_load_and_survive_a_round_trip(name: str, cells: int, tmp_path: Path) -> None:
    benchmark = brittle.load_benchmark(name)
    assert (benchmark.name, len(benchmark), len(benchmark.cells())) == (name, cells, cells)
    benchmark.save(tmp_path / "copy.toml")
    copy = brittle.load_benchmark(tmp_path / "copy.toml")
    assert copy == benchmark
    assert copy.hash == benchmark.hash


def test_the_published_order_is_kept() -> None:
    assert [entry.corruption.name for entry in brittle.load_benchmark("imagenet-c").entries] == PUBLISHED_ORDER
    assert set(brittle.list_benchmarks()) >= {"imagenet-c", "imagenet-c-extra", "cifar10-c", "tiny-imagenet-c"}


def test_the_hash_is_of_the_pixels_not_of_the_words() -> None:
    benchmark = brittle.load_benchmark("imagenet-c")
    same = replace(benchmark, name="x", title="y", source="z")
    assert same.hash == benchmark.hash
    others = [
        replace(benchmark, seed=1),
        replace(benchmark, storage="jpeg85"),
        replace(benchmark, table=224),
        replace(benchmark, entries=benchmark.entries[1:]),
        replace(benchmark, entries=(Entry("fog", (1, 2.5)),)),
        replace(benchmark, entries=(Entry("frost", (1,), {"textures": "elsewhere"}),)),
        replace(benchmark, version=2),
    ]
    assert len({b.hash for b in [benchmark, *others]}) == 8


def test_a_recipe_knows_its_own_corruptions_by_their_short_names() -> None:
    image = photo("cat", 32)
    out = brittle.load_benchmark("noc-candidates").apply(image, "contrast", 3, 0)
    np.testing.assert_array_equal(out, brittle.corrupt(image, "noc/contrast", 3, sample=0))


def test_a_name_that_a_recipe_has_twice_needs_its_set() -> None:
    blurs = Benchmark("blurs", tuple(Entry(name, (1,)) for name in ("noc/contrast", "syn2nat/blur", "noc/blur")))
    assert blurs.entry("contrast").id == "noc/contrast"
    with pytest.raises(BrittleError, match=naming("'blur'", "noc/blur", "syn2nat/blur")):
        blurs.entry("blur")


def test_bare_names_in_a_recipe_mean_imagenet_c() -> None:
    text = {"name": "mine", "levels": [1], "corruption": [{"id": "contrast"}, {"id": "noc/contrast"}]}
    assert [entry.id for entry in Benchmark.from_dict(text).entries] == ["imagenet-c/contrast", "noc/contrast"]
    assert Benchmark.from_dict(text).entry("contrast").id == "imagenet-c/contrast"


def test_applying_is_corrupting() -> None:
    image = photo("cat", 32)
    benchmark = Benchmark("mine", (Entry("fog", (2.5,)),), seed=9, storage="jpeg85", table=224)
    expected = brittle.corrupt(image, "fog", 2.5, seed=9, sample="a", jpeg85=True, table=224)
    np.testing.assert_array_equal(benchmark.apply(image, "fog", 2.5, "a"), expected)
    with pytest.raises(BrittleError, match=naming("c/snow", "mine")):
        benchmark.apply(image, "snow", 1, 0)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("name = 1 2", ("broken.toml", "TOML", "line 1")),
        ("title = 'x'", ("broken.toml", "name", "[[corruption]]", "id")),
        ("name = 'x'\nlevels = [1]", ("broken.toml", "name", "[[corruption]]", "id")),
        ("name = 'x'\nlevls = [1]\n[[corruption]]\nid = 'fog'", ("broken.toml", "levls", "levels")),
        ("name = 'x'\n[[corruption]]\nid = 'fog'", ("[[corruption]]", "broken.toml", "id", "levels")),
        ("name = 'x'\nlevels = 3\n[[corruption]]\nid = 'fog'", ("levels", "broken.toml", 3)),
        ("name = 'x'\nlevels = [9]\n[[corruption]]\nid = 'fog'", ("severity", 0, 5, 9)),
        ("name = 'x'\nlevels = [1, 1]\n[[corruption]]\nid = 'fog'", ("imagenet-c/fog", "[1.0, 1.0]")),
        ("name = 'x'\nlevels = []\n[[corruption]]\nid = 'fog'", ("imagenet-c/fog", "levels")),
        ("name = 'x'\nlevels = [1]\n[[corruption]]\nid = 'fgo'", ("fgo", "imagenet-c/fog")),
        (
            "name = 'x'\nlevels = [1]\n[[corruption]]\nid = 'fog'\n[[corruption]]\nid = 'fog'",
            ("'x'", "imagenet-c/fog"),
        ),
        (
            "name = 'x'\nlevels = [1]\nstorage = 'gif'\n[[corruption]]\nid = 'fog'",
            ("storage", "none", "jpeg85", "gif"),
        ),
        (
            "name = 'x'\nlevels = [1]\ntable = 100\n[[corruption]]\nid = 'fog'",
            ("imagenet-c/fog", 32, 64, 224, 299, "table=100"),
        ),
        ("name = 'x'\nuniform = [5, 1]\n[[corruption]]\nid = 'fog'", ("[5, 1]", "imagenet-c/fog")),
        (
            "name = 'x'\nuniform = [1, 2, 3]\n[[corruption]]\nid = 'fog'",
            ("[low, high]", "(1, 2, 3)", "imagenet-c/fog"),
        ),
        ("name = 'x'\nuniform = 3\n[[corruption]]\nid = 'fog'", ("uniform", "broken.toml", "[low, high]", 3)),
        (
            "name = 'x'\nuniform = [1, 5]\nlevels = [1]\n[[corruption]]\nid = 'fog'",
            ("broken.toml", "levels", "uniform"),
        ),
        ("name = ''\nlevels = [1]\n[[corruption]]\nid = 'fog'", ("name", "''")),
    ],
)
def test_broken_recipes_are_explained(text: str, values: tuple, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(BrittleError, match=naming(*values)):
        brittle.load_benchmark(path)


def test_a_severity_can_be_drawn_for_each_sample(tmp_path: Path) -> None:
    path = tmp_path / "drawn.toml"
    path.write_text("name = 'drawn'\nseed = 3\nuniform = [1, 5]\n[[corruption]]\nid = 'imagenet-c/brightness'\n")
    benchmark = brittle.load_benchmark(path)
    assert [(cell.corruption, cell.level) for cell in benchmark.cells()] == [("imagenet-c/brightness", (1, 5))]
    benchmark.save(path)
    assert brittle.load_benchmark(path) == benchmark
    images = np.full((50, 4, 4, 3), 60, np.uint8)
    out = benchmark.apply(images, "imagenet-c/brightness", (1, 5), range(50))
    greys = out[:, 0, 0, 0].astype(int)
    low, high = (int(brittle.corrupt(images[0], "imagenet-c/brightness", s)[0, 0, 0]) for s in (1, 5))
    assert len(set(greys)) > 15
    assert low <= greys.min() < low + 15
    assert high - 15 < greys.max() <= high
    for sample in (0, 17, 49):
        np.testing.assert_array_equal(benchmark.apply(images[0], "imagenet-c/brightness", (1, 5), sample), out[sample])


def test_unknown_benchmarks_get_a_hint() -> None:
    with pytest.raises(BrittleError, match=naming("imagenet-c")):
        brittle.load_benchmark("imagenetc")
    with pytest.raises(FileNotFoundError, match=naming("none.toml")):
        brittle.load_benchmark("none.toml")
