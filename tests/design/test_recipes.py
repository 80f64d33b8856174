"""From names to recipes and back, published categories, and how light the room's door is."""

import subprocess
import sys

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.design import OverlapMatrix, benchmark_of, members_in, published_categories
from tests.errors import naming


def test_members_keep_what_they_have_among_the_candidates() -> None:
    candidates = brittle.load_benchmark("noc-candidates")
    recipe = benchmark_of(["rain", "noc/hue"], candidates, name="two")
    assert [entry.id for entry in recipe.entries] == ["noc/rain", "noc/hue"]
    assert [entry.levels for entry in recipe.entries] == [((1.0, 5.0),)] * 2
    assert (recipe.seed, recipe.image_size, recipe.title) == (0, 224, "2 of the 23 corruptions of noc-candidates")


def test_members_keep_what_they_have_in_the_matrix_that_was_measured() -> None:
    candidates = brittle.load_benchmark("cifar10-noc-candidates")
    names = [entry.id for entry in candidates.entries]
    matrix = OverlapMatrix(tuple(names), np.eye(len(names)), candidates=candidates)
    recipe = benchmark_of(["rain", "noc/hue"], matrix, name="two")
    assert recipe.entries == (candidates.entry("noc/rain"), candidates.entry("noc/hue"))
    with pytest.raises(BrittleError, match=naming("candidates", "recipe")):
        benchmark_of(["noc/rain"], OverlapMatrix(("noc/rain",), np.eye(1)), name="one")


def test_names_meet_with_and_without_their_set() -> None:
    recipe = brittle.load_benchmark("imagenet-noc")
    ids = [entry.id for entry in recipe.entries]
    plain = [one.rpartition("/")[2] for one in ids]
    assert members_in(recipe, ids) == tuple(ids)
    assert members_in(recipe, plain) == tuple(plain)
    assert members_in(plain, ids) == tuple(ids)
    assert members_in(["noc/brightness"], ["imagenet-c/brightness", "noc/brightness"]) == ("noc/brightness",)


@pytest.mark.parametrize(
    ("asked", "names", "values"),
    [
        (["contrast"], ["noc/contrast", "imagenet-c/contrast"], ("'contrast'", "noc/contrast", "imagenet-c/contrast")),
        (["noc/contrast", "imagenet-c/contrast"], ["contrast"], ("'noc/contrast'", "imagenet-c/contrast")),
        (["noc/rainn"], ["noc/rain"], ("'noc/rainn'", "'noc/rain'")),
        (["noc/contrast"], ["imagenet-c/contrast"], ("'noc/contrast'", "'imagenet-c/contrast'")),
        (Benchmark("one", (Entry("noc/hue", (1,)),)), ["noc/rain"], ("'noc/hue'", "noc/rain")),
    ],
)
def test_names_that_cannot_be_told_apart_or_found(asked, names: list[str], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        members_in(asked, names)


def test_the_published_memberships_of_syn2nat() -> None:
    known = published_categories("syn2nat")
    assert (len(known), len(known.names), known.smallest) == (6, 20, 3)
    for name in known.names:
        assert brittle.get_corruption(name).id == name
    first = [one for group in known.members.values() for one in group[:3]]
    assert first == [entry.id for entry in brittle.load_benchmark("syn2nat").entries]
    with pytest.raises(BrittleError, match=naming("noc")):
        published_categories("noc")


@pytest.mark.parametrize("first", ["pass", "from brittle.design.plans import Plan"])
def test_the_door_is_light_and_functions_keep_their_names(first: str) -> None:
    light = "import sys, brittle.design as d; heavy = 'torch' in sys.modules"
    code = f"{light}; {first}; from brittle.design import measure_overlap, calibrate, coverage, match_error"
    code += (
        "; print(heavy, *(callable(x) for x in (measure_overlap, calibrate, coverage, match_error)), d.Plan.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", *["True"] * 4, "Plan"]


def test_an_unknown_name_of_the_room_is_told() -> None:
    import brittle.design

    with pytest.raises(AttributeError, match=naming("overlaps")):
        brittle.design.overlaps  # noqa: B018
