"""The balance of a benchmark, from models that know one corruption each."""

import numpy as np
import pytest

from brittle.design import single_scores
from brittle.report.figures import balance_figure

NAMES = ("fog", "snow", "rain")


def cube(errors: list[list[float]], samples: int = 1000) -> np.ndarray:
    """Exactly these errors, models × test sets."""
    table = np.array(errors)
    return np.arange(samples) >= np.round(table * samples)[..., None]


ERRORS = [
    [0.1, 0.4, 0.5, 0.2],  # the standard model: clean, fog, snow, rain
    [0.1, 0.2, 0.5, 0.2],
    [0.1, 0.4, 0.25, 0.2],
    [0.1, 0.2, 0.25, 0.1],
]


def test_scores_are_mean_errors_in_percent_of_the_standard_model() -> None:
    found = single_scores(cube(ERRORS), NAMES)
    values = {name: round(one.value, 6) for name, one in found.scores.items()}
    assert values == {"fog": round(250 / 3, 6), "snow": round(250 / 3, 6), "rain": 50}
    assert found.balance.range == pytest.approx(100 / 3)
    assert found.balance.std == pytest.approx(np.std([250 / 3, 250 / 3, 50]))
    assert found.std.low is not None
    assert found.std.low <= found.std.value <= found.std.high


def test_members_alone_are_scored_and_tested() -> None:
    found = single_scores(cube(ERRORS), NAMES, ["snow", "fog"])
    assert {name: one.value for name, one in found.scores.items()} == pytest.approx({"snow": 75, "fog": 75})
    assert found.balance.range == pytest.approx(0)


def test_bad_input_is_told() -> None:
    with pytest.raises(ValueError, match="3 corruptions need 4 models × 4 test sets"):
        single_scores(cube(ERRORS)[:3], NAMES)
    with pytest.raises(ValueError, match="at least two of fog, snow, rain; got hail"):
        single_scores(cube(ERRORS), NAMES, ["fog", "hail"])
    perfect = [[0.0] * 4, *ERRORS[1:]]
    with pytest.raises(ValueError, match="makes no error"):
        single_scores(cube(perfect), NAMES)


def test_the_figure_shows_every_model() -> None:
    drawn = str(balance_figure({"all": single_scores(cube(ERRORS), NAMES)}))
    assert drawn.count("<circle") == 3
    assert "range 33.3" in drawn
    with pytest.raises(ValueError, match="at least one"):
        balance_figure({})
