"""NOC: what its printed numbers imply, and every experiment once on a handful of images."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from brittle import BrittleError
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.datasets.classes import imagenet_classes
from brittle.design import Reference, published_overlap
from brittle.metrics import balance, published_table
from brittle.papers import Finding, Setting, list_experiments, noc_models, noc_overlaps, noc_setup, reproduce
from brittle.papers.noc_setup import (
    agreement_of,
    all_candidates,
    imagenet_c,
    imagenet_noc,
    names_of,
    noc_plan,
    printed,
    published_number,
    relative_ce,
    to_standard,
)
from brittle.training import deviations
from tests.errors import naming

C = ("gaussian_noise", "defocus_blur", "snow", "frost", "fog", "contrast")
SHARING = ("fig1", "fig2", "fig3", "algorithm1", "coverage", "table1", "table3", "balance", "fig7", "table8")
EIGHT = tuple(entry.id for entry in load_benchmark("imagenet-noc").entries)


def test_every_table_and_figure_of_the_paper_is_listed() -> None:
    names = {one.name for one in list_experiments("noc")}
    assert {f"fig{number}" for number in range(1, 9)} | {f"table{number}" for number in range(1, 9)} <= names
    assert names >= {"algorithm1", "coverage", "balance"}


def test_the_joint_recipe_is_that_of_both_benchmarks(tmp_path: Path) -> None:
    paper, small = Setting(tmp_path, "paper"), Setting(tmp_path)
    assert len(all_candidates(paper).entries) == len(all_candidates(small).entries) == 38
    assert imagenet_c(paper).draws_like(load_benchmark("imagenet-c"))
    assert imagenet_noc(paper).draws_like(load_benchmark("imagenet-noc"))
    joint = load_benchmark("noc-joint")
    assert names_of(joint) == (*names_of(imagenet_c(paper)), *EIGHT)
    assert {entry.levels for entry in joint.entries} == {(1.0, 2.0, 3.0, 4.0, 5.0), ((1.0, 5.0),)}
    for entry in load_benchmark("cifar10-noc-joint").entries[15:]:
        assert entry == load_benchmark("cifar10-noc-candidates").entry(entry.id)


def test_the_paper_scale_trains_as_the_paper_does(tmp_path: Path) -> None:
    plan = noc_plan(Setting(tmp_path, "paper"), "timm:resnet18")
    assert plan.mode == "scratch"
    assert deviations(plan.standard, "noc") == {}
    shorter = noc_plan(Setting(tmp_path, "paper", training={"epochs": 3, "batch_size": 8}), "timm:resnet18")
    assert deviations(shorter.standard, "noc") == {"epochs": (3, 40), "batch_size": (8, 256)}


def test_alexnet_cancels_in_percent_of_the_standard_model() -> None:
    table, members = published_table("noc-table8"), EIGHT
    rebased = to_standard(table, members)
    assert np.allclose(rebased[0], 100)
    quantization = table.text("trained_with").index("quantization")
    assert rebased[quantization, 1] == pytest.approx(100 * 9 / 87)  # quantization is the second of EIGHT
    assert printed(table, "hue", ("noc/hue",)) == [1]


def test_a_corruption_that_hardly_harms_the_reference_has_no_relative_error() -> None:
    reference = Reference("r", 0.1, {"a": 0.5, "b": 0.11})
    scores = relative_ce(np.array([[0.3, 0.3]]), np.array([0.1]), reference, ("a", "b"))
    assert scores[0, 0] == pytest.approx(50)
    assert np.isnan(scores[0, 1])


def test_agreement_leaves_out_what_is_unknown() -> None:
    ours, theirs = [1, 2, 3, 4, np.nan], [2, 3, 4, 5, 6]
    rank, gap = agreement_of(ours, theirs, "all")
    assert (rank.value, gap.value, gap.n) == (pytest.approx(1), pytest.approx(1), 4)
    assert agreement_of([1, 1, 1, 1], [1, 2, 3, 4], "constant") == []


@pytest.fixture(scope="module")
def found(tiny_cifar10: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    """The experiments that share the first network, at small scale with fewer candidates and images."""

    def cut(name: str) -> Benchmark:
        recipe = load_benchmark(name)
        kept = {*EIGHT, "noc/gaussian", "noc/elastic", *(f"imagenet-c/{one}" for one in C)}
        return replace(recipe, entries=tuple(entry for entry in recipe.entries if entry.id in kept))

    with pytest.MonkeyPatch.context() as patch:
        for module in (noc_setup, noc_overlaps):
            patch.setattr(module, "load_benchmark", cut)
        for name, size in {"first": 800, "tuning": 32, "longer": 32, "test": 50}.items():
            patch.setitem(noc_setup.IMAGES, name, size)
        patch.setattr(noc_setup, "SMALL_LEVELS", (4.0,))
        patch.setitem(noc_setup.SMALL, "batch_size", 32)
        patch.setitem(noc_setup.NETWORKS, "small", ("small", "small:20"))  # both begin with the bundled weights
        folder = tmp_path_factory.mktemp("found")
        again = {}
        for _ in range(2):  # the second time nothing is done
            done = reproduce("noc", SHARING, folder, paths={"cifar10": tiny_cifar10})
            assert again in ({}, {one.name: one for one in done})
            again = {one.name: one for one in done}
    return again


def test_every_experiment_gives_a_sentence_and_its_files(found: dict[str, Finding]) -> None:
    for one in found.values():
        assert one.verdict.endswith(".")
        assert "nan" not in one.verdict
        assert one.tables or one.figures


def test_the_balance_of_the_printed_tables_is_the_papers(found: dict[str, Finding]) -> None:
    rows = {(row["benchmark"], row["measure"]): row for row in found["balance"].tables["balance"]}
    for title, measure, recomputed, text in (
        ("ImageNet-C", "range", 39.9, 40),
        ("ImageNet-C", "standard deviation", 12.1, 12.1),
        ("ImageNet-NOC", "range", 11.6, 11),
        ("ImageNet-NOC", "standard deviation", 3.8, 3.7),
    ):
        row = rows[title, measure]
        assert row["published, recomputed"] == pytest.approx(recomputed, abs=0.06)
        assert row["published, in the text"] == text


def test_algorithm_1_on_table_8_gives_imagenet_noc(found: dict[str, Finding]) -> None:
    ours, eight, fifteen = found["algorithm1"].tables["sets"]
    assert ours["candidates"] <= 10
    assert {*eight["members"].split(", ")} == {name.rpartition("/")[2] for name in EIGHT}
    assert (eight["size"], eight["sets of that size"], eight["of ImageNet-NOC"]) == (8, 1, 8)
    assert (fifteen["candidates"], fifteen["size"]) == (15, 3)


def test_published_columns_stand_beside_ours(found: dict[str, Finding]) -> None:
    row = next(row for row in found["table1"].tables["mIC-on-noc-eight"] if row["corruption"] == "hue")
    assert (row["published standard"], row["published mIC"]) == (88, 117)
    assert row["published mIC, standard = 100"] == pytest.approx(100 * 117 / 88)
    models = {row["model"]: row for row in found["table3"].tables["models"]}
    assert models["ResNet-50"]["published ImageNet-NOC"] == 81
    assert models["small"]["ImageNet-C"] == pytest.approx(100)
    assert found["table8"].tables["published"][0]["published mean"] == pytest.approx(88.5)


def test_sizes_grow_with_the_threshold(found: dict[str, Finding]) -> None:
    sizes = [row["size"] for row in found["fig7"].tables["thresholds"]]
    assert sizes == sorted(sizes)
    assert len(found["fig7"].tables["thresholds"][-1]["members"].split(", ")) == sizes[-1]


def test_the_papers_call_trains_on_photographs(
    tiny_imagenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {"imagenet-c/contrast", "noc/hue"}

    def cut(name: str) -> Benchmark:
        recipe = load_benchmark(name)
        chosen = tuple(entry for entry in recipe.entries if entry.id in few)
        return replace(recipe, entries=chosen)

    monkeypatch.setattr(noc_setup, "load_benchmark", cut)
    monkeypatch.setitem(noc_setup.NETWORKS, "paper", ("small:2", "small:3", "small:4"))
    options = {"scale": "paper", "paths": {"imagenet": tiny_imagenet}, "training": {"epochs": 1, "batch_size": 50}}
    with pytest.raises(BrittleError, match=naming("clean accuracy", 0)):  # networks of noise are right by chance alone
        reproduce("noc", "fig1", tmp_path, **options)
    trained = {path.stem for path in (tmp_path / "noc" / "work").rglob("*.safetensors")}
    assert trained == {"standard", "imagenet-c.contrast", "noc.hue"}
    assert balance([published_number("table2a_mCE_std"), published_number("table2b_mCE_std")]).range > 8
    assert len(noc_models.TORCHVISION) == len(published_table("noc-table3"))


def test_a_corruption_that_does_no_harm_leaves_its_column_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = published_overlap("noc-table8").names

    class Measured:
        matrix = published_overlap("noc-table8")

        def relative(self, _: Setting, chosen: Sequence[str]) -> NDArray[np.float64]:
            found = to_standard(published_table("noc-table8"), chosen).copy()
            found[:, 2] = np.nan
            return found

    monkeypatch.setattr(noc_overlaps, "measured_sets", lambda _: (Measured(), members, members))
    table8 = next(one for one in list_experiments("noc") if one.name == "table8")
    verdict = table8.run(Setting(tmp_path)).verdict
    assert "7 of 7 corruptions" in verdict
    assert verdict.endswith(f"does not get worse: {members[2].removeprefix('noc/')}.")


NETS = """
import torch

def net(width):
    torch.manual_seed(width)
    return torch.nn.Sequential(
        torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, width), torch.nn.Linear(width, 1000)
    )

def plain():
    return net(3)

def robust():
    return net(5)
"""


def test_table_4_takes_the_models_of_the_papers_list(
    tiny_imagenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = next((tiny_imagenet / "val").rglob("*.JPEG"))
    for number, row in enumerate(imagenet_classes()):
        folder = tmp_path / "imagenet" / row.wnid
        folder.mkdir(parents=True)
        if number % 100 == 0:
            shutil.copy(source, folder)
    paths = {"imagenet": tmp_path / "imagenet", "checkpoints": tmp_path}
    with pytest.raises(BrittleError, match=naming("ANT3x3_Model.pth", "game-of-noise")):
        reproduce("noc", "table4", tmp_path / "out", scale="paper", paths=paths)
    (tmp_path / "nets.py").write_text(NETS)
    listed = {"ResNet-50": ("plain", "plain"), "AugMix": ("robust", "robust")}
    (tmp_path / "models.toml").write_text(
        "".join(
            f'[[model]]\nname = "{name}"\npapers = ["noc"]\nrole = "{role}"\nfile = "nets.py"\n'
            f'source = "here"\nspec = "{{checkpoints}}/nets.py:{function}"\n'
            for name, (role, function) in listed.items()
        )
    )
    few = ("imagenet-c/defocus_blur", "noc/hue", "noc/border")

    def cut(name: str) -> Benchmark:
        recipe = load_benchmark(name)
        return replace(recipe, entries=tuple(entry for entry in recipe.entries if entry.id in few))

    monkeypatch.setattr(noc_setup, "load_benchmark", cut)
    found = reproduce("noc", "table4", tmp_path / "out", scale="paper", paths=paths, device="cpu")[0]
    rows = {row["model"]: row for row in found.tables["models"]}
    assert [name for name, row in rows.items() if row["border"] is not None] == ["Standard", "Augmix"]
    assert rows["Augmix"]["published NOC rank"] == 1
    assert all(one.endswith("all models") for one in (each["name"] for each in found.agreement))
