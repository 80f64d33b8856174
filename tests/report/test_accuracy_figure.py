"""Models side by side under each corruption."""

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle.datasets import load_dataset
from brittle.evaluation import Results
from brittle.models import from_callable
from brittle.report.figures import accuracy_figure

DATA = load_dataset("demo").subset(range(40))
TWO = brittle.Benchmark("two", tuple(brittle.load_benchmark("cifar10-c").entry(name) for name in ("fog", "contrast")))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    models = [
        from_callable(lambda x, c=c: x.mean((1, 2))[:, [c] * 10] * np.linspace(0, 1, 10), name=f"by channel {c}")
        for c in range(3)
    ]
    return brittle.evaluate(models, DATA, TWO, tmp_path_factory.mktemp("run"))


def test_every_model_has_a_mark_in_every_row(results: Results) -> None:
    drawn = str(accuracy_figure(results, [TWO]))
    assert drawn.count("<title>by channel 0,") == 2
    assert all(f"by channel {c}, {name}:" in drawn for c in range(3) for name in ("fog", "contrast"))


def test_models_and_benchmarks_can_be_chosen(results: Results) -> None:
    drawn = str(accuracy_figure(results, [TWO, TWO], models=["by channel 1"], title="One"))
    assert drawn.count("<title>by channel 1,") == 4
    assert "by channel 0" not in drawn
    with pytest.raises(BrittleError, match="at least one benchmark"):
        accuracy_figure(results, [])
    with pytest.raises(BrittleError, match="no model was run through all"):
        accuracy_figure(results, [brittle.load_benchmark("cifar10-c-bar")])
