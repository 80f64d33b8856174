"""Coverage: what a benchmark says about corruptions outside it."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.design import OverlapMatrix, coverage, published_overlap
from tests.errors import naming

NOISES = ["gaussian_noise", "shot_noise", "impulse_noise"]
OVERLAP = OverlapMatrix(
    ("a", "b", "c", "d"),
    np.array([[1, 0.4, 0.3, 0], [0.4, 1, 0.7, np.nan], [0.3, 0.7, 1, 0.1], [0, np.nan, 0.1, 1]]),
)


def test_one_noise_covers_all_noises() -> None:
    overlap = published_overlap("noc-table7")
    assert coverage(overlap, ["shot_noise"], of=NOISES).share == 1
    assert coverage(overlap, ["brightness"], of=NOISES).share == 0
    one_of_each = ["gaussian_noise", "brightness", "elastic_transform"]  # the example of NOC's section 3.2
    everything = [coverage(overlap, benchmark, of=overlap.names).share for benchmark in (NOISES, one_of_each)]
    assert everything[0] < everything[1]


def test_nothing_of_imagenet_noc_covers_the_rest() -> None:
    overlap = published_overlap("noc-table8")
    for name in overlap.names:
        assert coverage(overlap, [name], of=overlap.names).covered == [name]


def test_who_covers_whom() -> None:
    covered = coverage(OVERLAP, ["a", "b"], of=["c", "d", "b"])
    assert covered.covered_by == {"c": {"b": 0.7}, "d": {}, "b": {"b": 1.0, "a": 0.4}}  # 0.3 is not more than 0.3
    assert (covered.covered, covered.uncovered, covered.unknown) == (["c", "b"], ["d"], ("d",))
    assert covered.share == 2 / 3
    assert str(covered) == "2 of 3 covered (overlap > 0.3), 1 unknown"
    assert coverage(OVERLAP, ["a", "b"], of=["c"], threshold=0.2).covered_by == {"c": {"b": 0.7, "a": 0.3}}


@pytest.mark.parametrize(
    ("benchmark", "of", "threshold", "values"),
    [
        (["a", "e"], ["b"], 0.3, ("'e'", "a, b, c, d")),
        (["a"], ["e"], 0.3, ("'e'", "a, b, c, d")),
        ([], ["a"], 0.3, ("[]",)),
        (["a"], [], 0.3, ("[]",)),
        (["a"], ["b", "b"], 0.3, ("'b'",)),
        (["a"], ["b"], float("nan"), ("threshold", "0.3", "nan")),
    ],
)
def test_bad_input(benchmark: list[str], of: list[str], threshold: float, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        coverage(OVERLAP, benchmark, of=of, threshold=threshold)
