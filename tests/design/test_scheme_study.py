"""Models of augmentation schemes, distance against error, and mixtures."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from scipy.stats import spearmanr

from brittle import BrittleError
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.datasets import arrays
from brittle.design import Plan
from brittle.design.studies import (
    evaluate_schemes,
    mixing_points,
    mixture_of,
    scheme_correlations,
    scheme_features,
    scheme_models,
    scheme_points,
)
from brittle.distance import corruption_features, feature_images, mmd, msd, transform_features
from brittle.training import Corrupted, TrainingConfig
from brittle.training.augmentation import AugMix, FlipCrop, some_schemes
from tests.errors import naming

RNG = np.random.default_rng(0)
LABELS = np.arange(128) % 3
SHOWN = np.clip(RNG.normal(0, 40, (128, 16, 16, 3)) + np.eye(3)[LABELS][:, None, None] * 200, 0, 255).astype(np.uint8)
DATA = arrays(SHOWN, LABELS, ["red", "green", "blue"])
SHORT = TrainingConfig(epochs=1, batch_size=32, learning_rate=0.05, crop=2)
PLAN = Plan("finetune", "small:4", standard=SHORT, tuning=SHORT, tuning_images=64)
NOISE = Benchmark("noise", (Entry("imagenet-c/gaussian_noise", (2.0, 5.0)), Entry("imagenet-c/contrast", (3.0,))))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_study_goes_from_schemes_to_correlations_and_resumes(tmp_path: Path) -> None:
    schemes = some_schemes(4)
    progress = []
    models = scheme_models(schemes, DATA, tmp_path / "models", PLAN, progress=lambda *what: progress.append(what))
    assert list(models) == ["standard", *schemes]
    assert progress[0][0] == "training standard"
    keys = {model.key for model in models.values()}
    assert len(keys) == 5  # each learned something else
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").glob("*.safetensors")}
    again = scheme_models(schemes, DATA, tmp_path / "models", PLAN)
    assert {model.key for model in again.values()} == keys
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    standard = models.pop("standard")
    results = evaluate_schemes(models, DATA, NOISE, tmp_path / "run", batch_size=64)
    images = feature_images(DATA, 5)
    features = scheme_features(schemes, standard, images, tmp_path / "features", samples=8)
    cells = corruption_features(standard, images, NOISE, samples=3)
    points = scheme_points(features, cells, results, NOISE)
    assert len(points) == 4 * 2
    row = points.filter((pl.col("scheme") == "none") & (pl.col("corruption") == "imagenet-c/contrast")).row(
        0, named=True
    )
    rows = np.asarray(features["none"])
    assert row["msd"] == pytest.approx(msd(rows, cells.means[2:]), rel=1e-5)
    assert row["mmd"] == pytest.approx(mmd(rows, cells.means[2:]), rel=1e-5)
    right = results.matrix("none", [Cell("imagenet-c/contrast", 3.0)]).values.mean()
    assert row["error"] == pytest.approx(1 - right)
    with pytest.raises(BrittleError, match=naming("models", "plan")):
        scheme_models(schemes, DATA, tmp_path / "models", Plan("scratch", "small:4"))


def test_from_scratch_the_standard_model_may_be_left_out(tmp_path: Path) -> None:
    plan = Plan("scratch", "small:4", standard=SHORT, tuning=SHORT)
    assert list(scheme_models({"mix": AugMix()}, DATA, tmp_path, plan, standard=False)) == ["mix"]
    with pytest.raises(BrittleError, match=naming("finetune", "standard")):
        scheme_models({"mix": AugMix()}, DATA, tmp_path / "other", PLAN, standard=False)


@pytest.mark.parametrize("mode", ["scratch", "batchnorm"])
def test_models_can_be_made_in_other_ways(mode: str, tmp_path: Path) -> None:
    plan = Plan(mode, "small:4", standard=SHORT, tuning=SHORT, tuning_images=64)
    models = scheme_models({"mix": AugMix()}, DATA, tmp_path, plan)
    assert models["mix"].key != models["standard"].key
    with pytest.raises(BrittleError, match=naming("standard")):
        scheme_models({"standard": AugMix()}, DATA, tmp_path, plan)
    with pytest.raises(BrittleError, match=naming("'arrays'", "labels")):
        scheme_models({"mix": AugMix()}, arrays(SHOWN), tmp_path, plan)


def test_correlations_are_scipys_and_need_a_difference() -> None:
    names = [f"s{i}" for i in range(9)]
    columns = {"msd": RNG.random(9), "mmd": RNG.random(9), "error": RNG.random(9)}
    table = pl.DataFrame({"scheme": names, "corruption": "fog", **columns})
    flat = table.with_columns(corruption=pl.lit("snow"), error=pl.lit(0.5))
    correlations = scheme_correlations(pl.concat([table, flat]))
    expected = spearmanr(columns["msd"], columns["error"])
    first, second = correlations.iter_rows(named=True)
    assert first["msd"] == pytest.approx(expected.statistic)
    assert first["msd_p"] == pytest.approx(expected.pvalue)
    assert first["mmd"] == pytest.approx(spearmanr(columns["mmd"], columns["error"]).statistic)
    assert first["msd_low"] < first["msd"] < first["msd_high"]
    assert second["msd"] is None
    with pytest.raises(BrittleError, match=naming("(2,)")):
        scheme_correlations(table.head(2))


def test_a_mixture_needs_no_second_look() -> None:
    """Composed from the features of its parts, it is what looking at the mixture itself gives."""
    from brittle.models import from_torch
    from brittle.training import build_network

    model, images = from_torch(build_network("small:4", 3), name="net", device="cpu"), feature_images(DATA, 4)
    cells = corruption_features(model, images, NOISE, samples=3)
    near, far = Corrupted(NOISE, ["imagenet-c/contrast"], share=1.0), FlipCrop(crop=2)
    parts = [transform_features(model, images, scheme, samples=40, seed=6) for scheme in (near, far)]
    points = mixing_points(*parts, cells, [1.0, 0.5, 0.1, 0.0], seed=6)
    for row in points.iter_rows(named=True):
        mixed = np.asarray(transform_features(model, images, mixture_of(near, far, row["share"]), samples=40, seed=6))
        one = [[msd(mixed, mean[None]), mmd(mixed, mean[None])] for mean in cells.means]
        both = cells.over_levels(np.array(one).T).mean(-1)
        assert [row["msd"], row["mmd"]] == pytest.approx(both, rel=1e-4)
    assert points["picked"].to_list()[::3] == [40, 0]
    with pytest.raises(BrittleError, match=naming(0, 1)):
        mixing_points(*parts, cells, [1.5])
    with pytest.raises(BrittleError, match=naming("(3, 2)", "(4, 2)")):
        mixing_points(np.zeros((3, 2)), np.zeros((4, 2)), cells, [0.5])
