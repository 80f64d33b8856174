"""Syn2Nat: its groups, its models, and its experiments from end to end on very little data, at both scales."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import brittle.sliders
from brittle import BrittleError, load_benchmark
from brittle.benchmarks import load_sequence_benchmark
from brittle.datasets import Dataset, load_dataset
from brittle.datasets.classes import imagenet_classes, objectnet_folders
from brittle.design import Categories, Drops, OverlapMatrix, balanced, correlation_table, group_means, imbalance
from brittle.metrics import Estimate, published_table
from brittle.models import options_of
from brittle.models.load import model_options
from brittle.papers import Setting, find_experiments, load_paper_models, paper_models, reproduce, syn2nat_runs
from brittle.papers.syn2nat_groups import (
    COUPLES,
    couples,
    drawn_groups,
    group_sizes,
    imbalance_groups,
    plausible_sizes,
    published_change,
    same_size,
    says,
    shared_pairs,
)
from tests.datasets.fake_layouts import WNIDS, class_folders, idx, pixels
from tests.errors import naming

SIX = Categories({str(i): tuple(f"{i}.{j}" for j in range(size)) for i, size in enumerate((3, 7, 7, 7, 8, 8))})


def test_twelve_corruptions_of_six_categories_have_the_eight_printed_values_of_std() -> None:
    printed = [float(name.removeprefix("std_")) for name in published_table("syn2nat-table3").columns if "std" in name]
    assert group_sizes() == printed
    assert len(printed) == 1 + 8


def test_the_most_unbalanced_group_is_smaller_than_printed() -> None:
    for row in plausible_sizes(0):
        assert 0 < row["std 2.2"] < 200
        assert row["std 0.0"] == 1000
    groups = imbalance_groups(SIX, 6, 2, 0)
    assert all({imbalance(one, SIX) for one in group} == {float(title[4:])} for title, group in groups.items())


def test_fewer_categories_have_fewer_couples() -> None:
    assert couples(6) == couples(9) == list(COUPLES)
    assert couples(4) == [(2, 2), (4, 1), (2, 3), (3, 2), (4, 2), (4, 3)]
    assert couples(3) == [(2, 2), (2, 3), (3, 2), (3, 1), (3, 3)]
    assert same_size(COUPLES)[-1] == ("(2,3)", "(6,1)")
    assert [len(group) for group in drawn_groups(SIX, 0).values()] == [1000] * 6


def test_contrasts_of_the_tables_are_the_printed_ones() -> None:
    assert published_change("(2,3)", "(6,1)") == pytest.approx(0.716 - 0.668)
    assert published_change("std 2.2", "std 0.0") == pytest.approx(0.740 - 0.680)
    assert published_change("(2,2)", "(4,1)") is None
    assert [says(Estimate("gain", 0.1, *ends)) for ends in ((0.05, 0.2), (-0.1, 0.2), (-0.3, -0.1))] == [
        "holds",
        "cannot be told",
        "is reversed",
    ]


def test_pairs_that_both_put_together_are_counted() -> None:
    ours = Categories({"a": ("x", "y", "z"), "b": ("u",)})
    theirs = Categories({"1": ("x", "y"), "2": ("z", "u")})
    together, apart = shared_pairs(ours, theirs)
    assert (together.value, together.n, apart.value, apart.n) == (0.5, 2, 0.5, 4)


def test_means_of_groups_are_those_of_the_table_and_vary_with_the_models() -> None:
    rng = np.random.default_rng(0)
    skill = rng.random(12)
    values = np.column_stack([skill + spread * rng.random(12) for spread in (0.1, 0.1, 3, 3)])
    natural = {"a": skill + 0.1 * rng.random(12), "b": skill + 0.2 * rng.random(12)}
    groups = {"noisy": [("r", "s"), ("r",)], "true": [("p", "q"), ("p",)]}
    means = group_means(values, list("pqrs"), groups, natural, resamples=200)
    table = correlation_table(values, list("pqrs"), groups, natural)
    assert means.values.tolist() == pytest.approx([table["noisy"][-1], table["true"][-1]])
    gain = means.difference("noisy", "true")
    assert gain.low is not None
    assert gain.low > 0
    assert means.estimate("true").n == 12
    with pytest.raises(BrittleError, match=naming("false", "true")):
        means.estimate("false")
    with pytest.raises(BrittleError, match=naming(0)):
        group_means(values, list("pqrs"), {}, natural)


def test_the_models_of_the_papers() -> None:
    models = paper_models("syn2nat")
    printed = published_table("syn2nat-table1")
    assert [one.role for one in models].count("plain") == printed.text("role").count("plain") == 6
    assert len(models) == len(printed) == 21
    assert len({one.name for one in models}) == 21
    assert {one.counterpart for one in models if one.role == "robust"} == {
        one.name for one in models if one.role == "plain"
    }
    assert len(paper_models("noc")) == len(published_table("noc-table4"))
    for one in (*models, *paper_models("msd"), *paper_models("cns")):
        text, options = model_options(one.text("folder"))
        assert set(options) <= set(options_of(text)), one.name
        assert options["name"] == one.name
        assert bool(one.file) == bool(one.source)


def test_missing_checkpoints_and_bad_lists_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming("noc", "ANT3x3_Model.pth", "game-of-noise", "models.toml")):
        load_paper_models("noc", tmp_path)
    with pytest.raises(BrittleError, match=naming("kns", "syn2nat", "noc", "msd", "cns")):
        paper_models("kns")
    bad = {
        "[[model]": ("models.toml",),
        "": ("[[model]]",),
        '[[model]]\nname = "x"\npapers = ["noc"]\nrole = "plain"': ("x", "spec"),
        '[[model]]\nname = "x"\npapers = ["noc"]\nrole = "good"\nspec = "demo:standard"': ("x", "robust", "good"),
        '[[model]]\nname = "x"\npapers = ["noc"]\nrole = "plain"\nspec = "y"\nfile = "z"': ("x", "{checkpoints}"),
        '[[model]]\nname = "x"\nweight = "y"': ("weight",),
    }
    for text, values in bad.items():
        (tmp_path / "models.toml").write_text(text)
        with pytest.raises(BrittleError, match=naming(*values)):
            paper_models("noc", tmp_path)


NAMES = [entry.id for entry in load_benchmark("syn2nat-candidates").entries][:12]


def blocks(names: list[str], size: int = 3) -> OverlapMatrix:
    """Overlaps of corruptions in groups of three that overlap with their own group only."""
    labels = np.arange(len(names)) // size
    scores = np.where(labels[:, None] == labels, 0.6, 0.05) + 0.02 * np.random.default_rng(0).random((len(names),) * 2)
    scores = (scores + scores.T) / 2
    np.fill_diagonal(scores, 1)
    return OverlapMatrix(tuple(names), scores)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve candidates in four groups, two corruptions of ImageNet-C and one perturbation."""
    parts = {"syn2nat-candidates": NAMES, "cifar10-c": ["fog", "contrast"], "imagenet-c": ["fog", "contrast"]}
    monkeypatch.setattr(syn2nat_runs, "load_benchmark", lambda name: load_benchmark(name).cut(parts[name]))
    monkeypatch.setattr(
        syn2nat_runs, "load_sequence_benchmark", lambda name: load_sequence_benchmark(name).cut(["brightness"])
    )
    monkeypatch.setattr(syn2nat_runs, "measured_overlap", lambda _: blocks(NAMES))


@pytest.mark.usefixtures("few")
def test_the_chain_at_small_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fashion").mkdir()
    for part, count in (("train", 160), ("t10k", 60)):
        idx(tmp_path / "fashion" / f"{part}-images-idx3-ubyte", pixels(count, 28, 28))
        idx(tmp_path / "fashion" / f"{part}-labels-idx1-ubyte", np.arange(count, dtype=np.uint8) % 10)
    chosen = ("plain", "noise", "blur", "geometry", "light")
    nets = {name: ("small:4", syn2nat_runs.CLASSIFIERS[name][1]) for name in chosen}
    sizes = {"TRAINING_IMAGES": 160, "TEST_IMAGES": 60, "C_IMAGES": 30, "SEQUENCES": 4, "SEEDS": 1}
    for name, value in {**sizes, "CLASSIFIERS": nets}.items():
        monkeypatch.setattr(syn2nat_runs, name, value)
    demo = replace(brittle.sliders.load_demo_pipeline(), shifts=("heavy_snow",))
    monkeypatch.setattr(brittle.sliders, "load_demo_pipeline", lambda: demo)
    names = ["fig1", "table1", "fig2", "section4", "table2", "table3", "picking", "findings"]
    found = reproduce("syn2nat", names, tmp_path / "out", paths={"fashion-mnist": tmp_path / "fashion"})
    by_name = {one.name: one for one in found}
    assert [row["group"] for row in by_name["table2"].tables["means"]][-3:] == ["ImageNet-C", "ImageNet-P", "picked"]
    assert [row["natural"] for row in by_name["table2"].tables["table2"]] == ["generated", "heavy snow", "mean"]
    contrasts = by_name["findings"].tables["contrasts"]
    assert {row["finding"] for row in contrasts} == {
        "1 categories",
        "2 balance",
        "3 size",
        "better than ImageNet-C",
        "better than ImageNet-P",
    }
    for row in contrasts:
        low, high, word = row["low"], row["high"], row["the paper's finding"]
        assert word == ("holds" if low > 0 else "is reversed" if high < 0 else "cannot be told")
        assert word in by_name["findings"].verdict
    assert all(one.differs for one in found)
    assert (tmp_path / "out" / "syn2nat" / "fig2" / "fig2.svg").is_file()


def limited(folder: str, count: int, load: Callable[..., Dataset] = load_dataset) -> Dataset:
    return load(folder).prepared("36,32").limited(count)


@pytest.mark.usefixtures("few")
def test_the_chain_at_the_papers_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = imagenet_classes()
    folders = {
        "imagenet": WNIDS,
        "imagenet-a": [row.wnid for row in rows if row.in_a],
        "imagenet-r": [row.wnid for row in rows if row.in_r],
        "imagenet-v2": map(str, range(1000)),
        "imagenet-sketch": WNIDS,
        "objectnet": sorted(objectnet_folders()),
    }
    paths = {name: class_folders(tmp_path / name / "set", names) for name, names in folders.items()}
    paths |= {"imagenet-100": tmp_path / "checkpoints", "checkpoints": tmp_path / "checkpoints"}
    (tmp_path / "checkpoints").mkdir()
    nets = "\n".join(
        f"def net{seed}():\n    weights = np.random.default_rng({seed}).normal(size=(32 * 32 * 3, 1000))\n"
        "    return lambda images: images.reshape(len(images), -1) / 255 @ weights\n"
        for seed in range(4)
    )
    (tmp_path / "checkpoints" / "nets.py").write_text("import numpy as np\n" + nets)
    listed = "".join(
        f'[[model]]\nname = "net{seed}"\npapers = ["syn2nat"]\nrole = "{"plain" if seed else "robust"}"\n'
        f'spec = "{{checkpoints}}/nets.py:net{seed}"\nfile = "nets.py"\nsource = "this test"\n'
        for seed in range(4)
    )
    (tmp_path / "checkpoints" / "models.toml").write_text(listed)
    monkeypatch.setattr(syn2nat_runs, "load_dataset", lambda spec: limited(spec, 12))
    monkeypatch.setattr(Setting, "data", lambda setting, name: limited(f"{name}:{setting.path(name)}", 12))
    drops = {name: np.random.default_rng(7).random(4) for name in syn2nat_runs.NATURAL}
    measured = syn2nat_runs.natural_drops(Setting(tmp_path / "first", "paper", {n: str(p) for n, p in paths.items()}))
    assert measured.names == tuple(syn2nat_runs.NATURAL)
    assert len(measured.models) == 4
    same = Drops(measured.models, tuple(drops), np.array(list(drops.values())).T)  # 12 grey images rank no models
    monkeypatch.setattr(syn2nat_runs, "natural_drops", lambda _: same)
    random = Drops(measured.models, tuple(NAMES), np.random.default_rng(8).random((4, len(NAMES))))
    monkeypatch.setattr(syn2nat_runs, "candidate_drops", lambda _: random)
    for name in ("imagenet_c_drops", "imagenet_p_flips"):
        columns = getattr(syn2nat_runs, name)(
            Setting(tmp_path / "first", "paper", {n: str(p) for n, p in paths.items()})
        )
        assert columns.models == measured.models
        noisy = Drops(columns.models, columns.names, np.random.default_rng(9).random(columns.values.shape))
        monkeypatch.setattr(syn2nat_runs, name, lambda _, noisy=noisy: noisy)
    found = reproduce("syn2nat", ["table2", "table3", "findings"], tmp_path / "out", scale="paper", paths=paths)
    row = found[0].tables["table2"][0]
    assert row["natural"] == "ImageNet-A"
    assert row["published ImageNet-C"] == 0.642
    assert [each["name"] for each in found[0].agreement] == ["Spearman correlation", "mean absolute difference"]


def test_what_is_missing_at_the_papers_scale_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming("syn2nat/table2", "imagenet-100", "objectnet", "checkpoints")):
        reproduce("syn2nat", ["table2"], tmp_path, scale="paper")
    assert len(find_experiments("syn2nat")) == 8


@pytest.mark.usefixtures("few")
def test_benchmarks_are_drawn_from_large_categories_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syn2nat_runs, "measured_overlap", lambda _: blocks(NAMES[:5], 2))
    with pytest.raises(BrittleError, match=naming(3, 4, 5)):
        reproduce("syn2nat", ["findings"], tmp_path)
    assert balanced(SIX, 6, 3, count=2) == balanced(SIX, 6, 3, count=2)
