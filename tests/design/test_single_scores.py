"""The balance of a benchmark, from models that know one corruption each."""

from dataclasses import replace

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets.classes import imagenet_names
from brittle.design import Reference, alexnet_reference, fits_alexnet, published_single_scores, single_scores
from brittle.metrics import baseline, errors_from_relative, published_table
from tests.errors import naming

NAMES = ("fog", "snow", "rain")


def cube(errors: list[list[float]], samples: int = 1000) -> np.ndarray:
    """Exactly these errors, models × test sets."""
    table = np.array(errors)
    return np.arange(samples) >= np.round(table * samples)[..., None]


ERRORS = [
    [0.1, 0.4, 0.5, 0.2],  # the standard model: clean, fog, snow, rain
    [0.1, 0.2, 0.5, 0.2],
    [0.1, 0.4, 0.3, 0.2],
    [0.2, 0.3, 0.3, 0.2],
]


def test_scores_are_relative_to_what_corruptions_add_to_the_standard_model() -> None:
    singles = single_scores(cube(ERRORS), NAMES)
    fog, snow, rain = (1 / 3 + 1 + 1) / 3, (1 + 1 / 2 + 1) / 3, (1 / 3 + 1 / 4 + 0) / 3
    values = {name: one.value for name, one in singles.scores.items()}
    assert values == pytest.approx({"fog": 100 * fog, "snow": 100 * snow, "rain": 100 * rain})
    assert singles.balance.range == pytest.approx(100 * (snow - rain))
    assert singles.balance.std == pytest.approx(100 * np.std([fog, snow, rain]))
    assert singles.reference == "the standard model"
    assert singles.std.low is not None
    assert singles.std.low <= singles.std.value <= singles.std.high


@pytest.mark.parametrize(
    ("table", "recipe", "errors", "spread", "std"),
    [
        ("noc-table7", "imagenet-c", "alexnet-imagenet-c", 39.9, 12.1),
        ("noc-table8", "imagenet-noc", "alexnet-imagenet-noc", 11.6, 3.8),
    ],
)
def test_the_published_errors_give_the_published_balance(
    table: str, recipe: str, errors: str, spread: float, std: float
) -> None:
    """NOC's Tables 7 and 8, turned back into errors, and scored as NOC's section 5.3 scores them."""
    printed, alexnet = published_table(table), baseline(errors)
    names = printed.text("trained_with")[1:]
    clean = printed.numbers("clean_error")
    under = errors_from_relative(printed.numbers(*names) / 100, clean, alexnet.of(names), alexnet.clean_error)
    entries = tuple(map(brittle.load_benchmark(recipe).entry, names))
    ids = [entry.id for entry in entries]
    reference = alexnet_reference(Benchmark("members", entries))
    correct = cube(np.column_stack([clean, under]).tolist(), samples=20_000)
    singles = single_scores(correct, ids, reference=reference, resamples=2)
    assert round(singles.balance.range, 1) == spread
    assert round(singles.balance.std, 1) == std
    assert singles.reference == "AlexNet, as published"
    means = printed.numbers(*names)[1:].mean(axis=1)
    assert [one.value for one in singles.scores.values()] == pytest.approx(means, abs=0.05)
    direct = published_single_scores(table)
    assert (round(direct.balance.range, 1), round(direct.balance.std, 1)) == (spread, std)
    assert list(direct.scores) == ids
    two = published_single_scores(table, ids[:2])
    assert two.scores[ids[1]].value == printed.numbers(*names[:2])[2].mean()


def test_members_alone_are_scored_and_tested() -> None:
    singles = single_scores(cube(ERRORS), NAMES, ["snow", "fog"])
    assert {name: one.value for name, one in singles.scores.items()} == pytest.approx({"snow": 75, "fog": 200 / 3})


def test_what_hardly_troubles_the_reference_is_left_out() -> None:
    easy = [[*row[:3], 0.11] for row in ERRORS]
    singles = single_scores(cube(easy), NAMES)
    assert singles.left_out == ("rain",)
    assert list(singles.scores) == ["fog", "snow"]
    with pytest.raises(BrittleError, match=naming(2)):
        single_scores(
            cube(ERRORS), NAMES, reference=Reference("a weak one", 0.3, {"fog": 0.9, "snow": 0.3, "rain": 0.2})
        )


def test_bad_input_is_told() -> None:
    with pytest.raises(BrittleError, match=naming(3, 4)):
        single_scores(cube(ERRORS)[:3], NAMES)
    with pytest.raises(BrittleError, match="at least two of fog, snow, rain; got hail"):
        single_scores(cube(ERRORS), NAMES, ["fog", "hail"])
    with pytest.raises(BrittleError, match="half of it has no error under rain"):
        single_scores(cube(ERRORS), NAMES, reference=Reference("half of it", 0.1, {"fog": 0.5, "snow": 0.5}))
    with pytest.raises(BrittleError, match=naming(0, 1, "1.5")):
        Reference("percents", 0.1, {"fog": 1.5})


def test_alexnets_errors_belong_to_a_recipe_and_to_its_data() -> None:
    noc, names = brittle.load_benchmark("noc-candidates"), imagenet_names()
    assert fits_alexnet(noc, names, 224)
    assert fits_alexnet(brittle.load_benchmark("imagenet-c"), names, 224)
    assert not fits_alexnet(noc, names, 32)
    assert not fits_alexnet(noc, names[:100], 224)
    assert not fits_alexnet(brittle.load_benchmark("cifar10-noc-candidates"), names, 224)
    assert not fits_alexnet(replace(noc, storage="jpeg85"), names, 224)
    assert alexnet_reference(noc).errors["noc/rain"] == 0.748
    with pytest.raises(BrittleError, match=naming("noc/rain", "mine")):
        alexnet_reference(Benchmark("mine", (Entry("noc/rain", ((1, 3),)),)))
    with pytest.raises(BrittleError, match="not for c-bar/"):
        alexnet_reference(brittle.load_benchmark("imagenet-c-bar"))
