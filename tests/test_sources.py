"""A metric, a dataset and a model source of somebody's own are known as soon as their module is imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import brittle
from brittle.cli import app
from brittle.datasets import Dataset, arrays, dataset_source, dataset_sources
from brittle.datasets import dataset as datasets
from brittle.evaluation import scores
from brittle.metrics import corruption_error, list_metrics, metric
from brittle.models import Model, from_callable, model_source, model_sources
from brittle.models import model as models
from tests.errors import naming

MINE = """
import numpy as np
from brittle.datasets import Dataset, arrays, dataset_source
from brittle.metrics import metric
from brittle.models import Model, from_callable, model_source


@metric("worst corruption")
def worst(accuracy):
    return accuracy.min(axis=-1)


@dataset_source("squares")
def squares(path: str, *, side: int = 8) -> Dataset:
    count = int(path)
    return arrays(np.random.default_rng(0).integers(0, 256, (count, side, side, 3), np.uint8), np.arange(count) % 2)


@model_source("tones")
def tones(text: str) -> Model:
    return from_callable(lambda x: np.stack([x.mean((1, 2, 3)), np.full(len(x), float(text))], 1), name=f"tones-{text}")
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """What a test registers is known in that test only."""
    kept = [(known, dict(known)) for known in (datasets.SOURCES, models.SOURCES, corruption_error._metrics)]
    yield
    for known, before in kept:
        known.clear()
        known.update(before)


def test_all_three_from_one_file_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    call = ["run", "-m", "tones:120", "-d", "squares:20", "-c", "contrast,brightness", "-s", "2"]
    done = CliRunner().invoke(app, ["--import", str(tmp_path / "mine.py"), *call, "-o", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "worst corruption" in done.stdout
    told = CliRunner().invoke(app, ["compare", str(tmp_path / "run"), "--json"])
    [model] = json.loads(told.stdout)["custom"]["models"]
    each = [one["accuracy"]["value"] for one in model["corruptions"]]
    assert model["more"]["worst"]["value"] == min(each)
    assert model["more"]["worst"]["low"] <= min(each) <= model["more"]["worst"]["high"]


def test_a_metric_gets_what_it_names_and_is_left_out_where_that_is_not_known(tmp_path: Path) -> None:
    @metric("share of the reference's error", field="share")
    def share(accuracy: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return np.asarray((1 - accuracy).mean(-1) / reference.mean())

    images = np.random.default_rng(0).integers(0, 256, (30, 8, 8, 3), np.uint8)
    model = from_callable(lambda x: np.stack([x.mean((1, 2, 3)), np.full(len(x), 127.0)], 1), name="tones")
    recipe = brittle.load_benchmark("imagenet-c").cut(["contrast"])
    results = brittle.evaluate(model, (images, np.arange(30) % 2), recipe, tmp_path / "run", progress=None)
    [plain] = scores(results, recipe)
    assert "share" not in plain.more
    [against] = scores(results, recipe, reference="tones")
    assert against.more["share"].value == pytest.approx(1)
    assert against.more["share"] in against.all()


@pytest.mark.parametrize(
    ("register", "known"),
    [(dataset_source, dataset_sources), (model_source, model_sources)],
)
def test_a_scheme_is_registered_once_and_named_by_a_word(register, known) -> None:
    @register("lab")
    def mine(path: str) -> None:
        raise NotImplementedError(path)

    assert known()["lab"] is mine
    with pytest.raises(brittle.BrittleError, match=naming("'x'")):
        register("x")
    taken = next(iter(known()))
    with pytest.raises(brittle.BrittleError, match=naming(repr(taken))):
        register(taken)(mine)


def test_metrics_are_registered_once_and_ask_for_what_there_is() -> None:
    with pytest.raises(brittle.BrittleError, match=naming("'of colours'", "'colour'", "accuracy", "clean_reference")):
        metric("of colours")(lambda colour: colour)
    with pytest.raises(brittle.BrittleError, match=naming("'mce'", "brittle.metrics.corruption_error")):
        metric("another", field="mce")(lambda accuracy: accuracy)
    assert [one.field for one in list_metrics()][:2] == ["mean_accuracy", "error"]


def test_sources_make_datasets_and_models() -> None:
    assert all(callable(reader) for reader in dataset_sources().values())
    assert isinstance(arrays(np.zeros((1, 2, 2, 3), np.uint8)), Dataset)
    assert {"demo", "timm", "onnx", "torch"} <= set(model_sources())
    assert isinstance(from_callable(lambda x: x, name="f"), Model)
