"""When clean accuracies differ so much that robustness scores mislead."""

import numpy as np
import pytest

import brittle
from brittle.datasets import arrays
from brittle.evaluation.score import uneven_clean_warning
from brittle.metrics import robustness_score, uneven_clean
from brittle.models import from_callable


@pytest.mark.parametrize(
    ("clean", "images", "reference", "expected"),
    [
        ({"a": 0.90, "b": 0.86}, 100_000, None, {}),  # 95.6 % of the best
        ({"a": 0.90, "b": 0.85}, 100_000, None, {"b": 0.85 / 0.90}),
        ({"a": 0.90, "b": 0.85}, 200, None, {}),  # within two standard errors, 0.066
        ({"a": 0.90, "b": 0.60}, 200, None, {"b": 0.60 / 0.90}),
        ({"standard": 0.60, "b": 0.90}, 1000, "standard", {"b": 1.5}),  # better than the reference misleads as well
        ({"a": 0.90}, 1000, None, {}),
        ({"a": 0.0, "b": 0.0}, 1000, None, {}),
    ],
)
def test_models_with_other_clean_accuracies_are_listed(clean, images, reference, expected) -> None:
    assert uneven_clean(clean, images, reference=reference) == pytest.approx(expected)


def test_the_case_that_noc_warns_of() -> None:
    """An untrained model is as bad on clean images as under any corruption: R = 1, the best score there is."""
    assert robustness_score(0.1, 0.1) == 1 > robustness_score(0.6, 0.9)
    assert set(uneven_clean({"trained": 0.9, "untrained": 0.1}, 1000)) == {"untrained"}


def test_scores_of_a_run_say_it() -> None:
    images = np.random.default_rng(0).integers(0, 256, (200, 8, 8, 3), np.uint8)
    images[:, 0, 0] = np.where(np.arange(200) % 2, 255, 0)[:, None]
    labels = np.arange(200) % 2

    def right(batch: np.ndarray) -> np.ndarray:
        bright = batch[:, 0, 0].mean(-1) > 127
        return np.stack([~bright, bright], 1).astype(float)

    models = [
        from_callable(right, name="right", version="1"),
        from_callable(lambda batch: np.tile([1.0, 0.0], (len(batch), 1)), name="constant", version="1"),
    ]
    results = brittle.evaluate(
        models, arrays(images, labels, ["dark", "bright"]), brittle.load_benchmark("cifar10-noc")
    )
    warning = uneven_clean_warning(results.scores())
    assert warning is not None
    assert "constant has 50%" in warning
    assert uneven_clean_warning(results.scores()[:1]) is None
