"""The experiments of the MSD paper, on data so small that both scales take seconds."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import brittle
from brittle import BrittleError
from brittle.papers import find_experiments, msd_steps, msd_tables, reproduce
from brittle.papers.experiments import Setting
from brittle.training.augmentation import BASES
from tests.errors import naming

COLOURS = np.random.default_rng(0).integers(30, 226, (10, 3))
TINY = replace(
    msd_steps.SCALES["small"],
    network="small:4",
    tuning_images=64,
    test_images=20,
    severities=(5.0,),
    schemes=14,
    samples=10,
    corruption_samples=2,
    feature_images=4,
    shares=(1.0, 0.5, 0.0),
    choices=(2, 4),
    second="small:4",
    second_images=64,
    second_training={"epochs": 1, "batch_size": 32},
    scanned_images=20,
    scan_samples=1,
    table_images=10,
    epochs=1,
    batch_size=32,
)


@pytest.fixture(scope="module")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CIFAR-10 of 320 training and 40 test images, in the authors' layout: noise around a colour for each class."""
    folder = tmp_path_factory.mktemp("cifar10")
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        labels = np.arange(64 if number < 5 else 40) % 10
        noise = np.random.default_rng(number).normal(0, 40, (len(labels), 32, 32, 3))
        images = np.clip(COLOURS[labels][:, None, None] + noise, 0, 255).astype(np.uint8)
        rows = {b"data": images.transpose(0, 3, 1, 2).reshape(len(images), -1), b"labels": labels.tolist()}
        (folder / name).write_bytes(pickle.dumps(rows))
    return folder


@pytest.fixture(scope="module")
def weights(cifar: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that knows these classes a little, in the place of demo:standard."""
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("start") / "start.safetensors"
    config = brittle.training.training_config(epochs=3, batch_size=32)
    brittle.training.train_network(
        brittle.load_dataset(f"cifar10:{cifar}", train=True), path, config, network="small:4"
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all experiments, which share their work as a user's do."""
    return tmp_path_factory.mktemp("found")


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch, weights: Path) -> None:
    torch.set_num_threads(1)
    small = replace(TINY, start=str(weights))
    paper = replace(
        small,
        network="wide-resnet-10-1",
        preset="msd-cifar",
        start=None,
        mode="scratch",
        schemes=5,
        seeds=1,
        second="wide-resnet-10-1",
        runs=1,
    )
    monkeypatch.setattr(msd_steps, "SCALES", {"small": small, "paper": paper})


def found(name: str, folder: Path, cifar: Path, **options: object) -> object:
    [finding] = reproduce("msd", [name], folder, paths={"cifar10": cifar}, device="cpu", **options)
    return finding


STUDY = ["fig1", "fig3", "fig4", "fig5", "mmd", "batchnorm"]
OTHERS = ["fig2a", "fig2b", "fig6", "closest", "extractor", "table1", "table1-imagenet", "table2", "leak"]


@pytest.mark.parametrize("name", [*STUDY, *OTHERS])
def test_every_experiment_runs_at_small_scale(name: str, folder: Path, cifar: Path) -> None:
    finding = found(name, folder, cifar)
    assert finding.verdict.endswith(".")
    assert finding.claim
    assert all(rows for rows in finding.tables.values())
    for file in finding.figures:
        assert (folder / "msd" / name / file).stat().st_size > 1000
    assert name in (folder / "findings.md").read_text()
    clock = finding.seconds
    assert found(name, folder, cifar).seconds == clock  # it is not done again


def test_all_of_the_paper_is_listed() -> None:
    names = [one.name for one in find_experiments("msd")]
    assert names[:6] == ["fig1", "fig2a", "fig2b", "fig3", "fig4", "fig5"]
    assert {*STUDY, *OTHERS, "c-bar"} == set(names)


@pytest.mark.parametrize("name", ["fig3", "fig2b", "closest", "table1", "c-bar"])
def test_the_call_of_the_papers_scale_is_the_same(name: str, tmp_path: Path, cifar: Path) -> None:
    finding = found(name, tmp_path, cifar, scale="paper")
    assert finding.scale == "paper"
    assert not [text for text in finding.differs if "fine-tuned from" in text]
    trained = next((tmp_path / "msd" / "work" / "paper").rglob("*.safetensors"))
    assert type(brittle.load_model(str(trained), device="cpu").module).__name__ == "WideResNet"


def test_the_papers_scale_is_the_papers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    setting = Setting(tmp_path, "paper")
    plan, scale = msd_steps.plan_of(setting), msd_steps.scale_of(setting)
    assert (plan.mode, plan.network, plan.standard.epochs, plan.standard.batch_size) == (
        "scratch",
        "wide-resnet-40-2",
        100,
        128,
    )
    assert (plan.standard.learning_rate, plan.standard.weight_decay, plan.standard.nesterov) == (0.1, 5e-4, True)
    assert (scale.samples, scale.corruption_samples, scale.feature_images, scale.seeds) == (100_000, 100, 100, 10)
    schemes = msd_steps.powerset_schemes(setting)
    assert len(schemes) == len({frozenset(scheme.bases) for scheme in schemes.values()}) == 512
    assert len(msd_steps.corruptions_of(setting).cells()) == 75


def test_table_1_trains_on_photographs_at_the_papers_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brittle.papers import msd_c_bar

    monkeypatch.setattr(msd_c_bar, "IMAGENET_NETWORK", "small:4")
    monkeypatch.setattr(msd_c_bar, "IMAGENET_SEEDS", 1)
    monkeypatch.setattr(msd_c_bar, "IMAGENET_SETTINGS", {"epochs": 1, "batch_size": 4, "side": 32})
    monkeypatch.setattr(msd_c_bar, "load_benchmark", lambda name: brittle.load_benchmark(name).cut(severities=[3]))
    for part, count in (("train", 4), ("val", 2)):
        for wnid, colour in (("n01440764", 60), ("n02123045", 190)):
            folder = tmp_path / "imagenet" / part / wnid
            folder.mkdir(parents=True)
            for number in range(count):
                noise = np.random.default_rng(number + colour).integers(-50, 50, (48, 40 + number, 3))
                Image.fromarray((colour + noise).astype(np.uint8)).save(folder / f"{number}.jpg")
    paths = {"imagenet": tmp_path / "imagenet"}
    [finding] = reproduce("msd", ["table1-imagenet"], tmp_path / "out", scale="paper", paths=paths, device="cpu")
    rows = {row["method"]: row for row in finding.tables["errors"]}
    assert list(rows) == ["Baseline", "AA", "AugMix", "PG"]
    assert rows["PG"]["published C-bar error"] == 56.6
    assert any("2 classes" in text for text in finding.differs)


def test_a_small_powerset_has_every_base_alone(tmp_path: Path) -> None:
    schemes = msd_steps.powerset_schemes(Setting(tmp_path))
    assert len(schemes) == TINY.schemes
    assert set(BASES) < set(schemes)
    assert {"none", msd_steps.ALL_BASES} < set(schemes)


def test_table_1_has_the_published_numbers_beside(folder: Path, cifar: Path) -> None:
    rows = {row["method"]: row for row in found("table1", folder, cifar).tables["errors"]}
    assert list(rows) == ["Baseline", "AA", "AugMix", "PG"]
    assert rows["PG"]["published C error"] == 17.0
    assert rows["PG"]["published transverse_chromatic_abberation"] == 59.5
    assert rows["AA"]["runs"] == 2
    assert rows["AA"]["Δ"] == pytest.approx(rows["AA"]["C-bar error"] - rows["AA"]["C error"])
    corruptions = [rows["AA"][entry.corruption.name] for entry in brittle.load_benchmark("cifar10-c-bar").entries]
    assert rows["AA"]["C-bar error"] == pytest.approx(np.mean(corruptions))


def test_the_text_of_table_1_follows_from_its_rows(folder: Path, cifar: Path) -> None:
    rows = {row["method"]: row for row in found("table1-imagenet", folder, cifar).tables["printed"]}
    for method, printed in (("Baseline", 57.4), ("AA", 57.3), ("PG", 57.2), ("AugMix", 54.3)):
        assert rows[method]["without two"] == pytest.approx(printed, abs=0.15)
        assert rows[method]["published without two"] == printed


def test_a_verdict_is_computed(folder: Path, cifar: Path) -> None:
    from brittle.papers import msd_c_bar

    finding = found("fig3", folder, cifar)
    strong = sum((row["Spearman"] or 0) > 0.6 for row in finding.tables["correlations"])
    assert finding.verdict.startswith(f"{strong} of 15 corruptions")
    assert len(finding.tables["points"]) == 15 * TINY.schemes
    rows = [{"method": "Baseline", "C error": 20.0, "C-bar error": 21.0, "Δ": 1.0}]
    rows += [{"method": "A", "C error": 10.0, "C-bar error": 22.0, "Δ": 12.0}]
    for row in rows:
        row |= {f"published {name}": None for name in ("C error", "C-bar error", "Δ")}
    assert "1 of 1 methods lose more" in msd_c_bar._methods_outcome(rows, []).verdict
    assert "the ranking changes" in msd_c_bar._methods_outcome(rows, []).verdict


def test_ten_blind_draws_have_three_in_common() -> None:
    chances = [msd_tables.chance_in_common(common, 30, 10, 10) for common in range(11)]
    assert chances[0] == 1
    assert sum(chances[1:]) == pytest.approx(100 / 30)  # the expected number


def test_what_an_experiment_needs_is_told(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming("msd/table1-imagenet", "paper", "imagenet")):
        reproduce("msd", ["table1-imagenet"], tmp_path, scale="paper")
    with pytest.raises(BrittleError, match=naming("fig33", "fig3")):
        reproduce("msd", ["fig33"], tmp_path)
    with pytest.raises(FileNotFoundError, match=naming("cifar10")):
        reproduce("msd", ["fig3"], tmp_path, paths={"cifar10": tmp_path / "none"})
