"""Metrics reproduce published tables from published inputs."""

import re
import tomllib

import numpy as np
import pytest

from brittle import BrittleError, metrics
from brittle.metrics.published_tables import COLUMNS, FOLDER, PRINTED
from tests.errors import naming

IMAGENET_C = list(metrics.baseline().errors)[:15]
NOC = ["quantization", "blur", "vertical_artifacts", "rain", "border", "shear", "brightness", "hue"]
C_BAR_PRINTED = {"c-bar-table1-imagenet": "imagenet_c", "c-bar-table1-cifar10": "cifar10_c"}


def baseline_of(names: list[str]) -> metrics.Baseline:
    return metrics.baseline("alexnet-imagenet-noc" if names is NOC else "alexnet-imagenet-c")


@pytest.mark.parametrize(
    ("table", "corruptions", "odd_rows"),
    [
        ("noc-table1-imagenet-c", IMAGENET_C, {"mINOC": 79.9}),  # printed 81
        ("noc-table1-imagenet-noc", NOC, {}),
        ("noc-table5", IMAGENET_C, {}),
        ("noc-table6", NOC, {}),
        ("noc-table7", IMAGENET_C, {"standard": 104.8}),  # printed 104
        ("noc-table8", NOC, {}),
    ],
)
def test_relative_mce_of_noc(table: str, corruptions: list[str], odd_rows: dict[str, float]) -> None:
    """From the printed terms to errors and back to the printed means."""
    read = metrics.published_table(table)
    base = baseline_of(corruptions)
    terms = read.numbers(*corruptions) / 100
    clean = 0.25  # of any model: it cancels
    errors = metrics.errors_from_relative(terms, clean, base.of(corruptions), base.clean_error)
    again = metrics.relative_mce(errors, clean, base.of(corruptions), base.clean_error)
    names = next(iter(read.columns))
    for name, mean, printed in zip(read.text(names), 100 * again, read.numbers("relative_mCE"), strict=True):
        assert mean == pytest.approx(odd_rows.get(name, printed), abs=0.05 if name in odd_rows else 0.75), name
        assert (abs(mean - printed) > 0.75) == (name in odd_rows)


@pytest.mark.parametrize(("table", "spread", "std"), [("imagenet-c", 40, 12.1), ("imagenet-noc", 11, 3.7)])
def test_balance_of_noc(table: str, spread: float, std: float) -> None:
    balance = metrics.balance(metrics.published_table(f"noc-table2-{table}").numbers("relative_mCE"))
    assert (balance.range, round(balance.std, 1)) == (spread, std)


def test_relative_error_of_resnet50_on_quantization() -> None:
    row, base = metrics.published_table("noc-table6").row("ResNet-50"), metrics.baseline("alexnet-imagenet-noc")
    error = metrics.errors_from_relative([float(row["quantization"]) / 100], 0.239, base.of(["quantization"]), 0.435)
    assert error == pytest.approx(0.443, abs=5e-4)
    measured = metrics.published_table("noc-candidates-june-2020").row("quantization")["resnet50_error"]
    assert error == pytest.approx(measured, abs=0.005)


def test_mce_of_resnet50_on_imagenet_c() -> None:
    """NOC's relative terms and AlexNet's constants give the plain mCE of the leaderboard, 76.7 %."""
    base, row = metrics.baseline(), metrics.published_table("noc-table5").row("ResNet-50")
    terms = [float(row[name]) / 100 for name in IMAGENET_C]
    errors = metrics.errors_from_relative(terms, 0.239, base.of(IMAGENET_C), base.clean_error)
    printed = metrics.published_table("imagenet-c-leaderboard").row("ResNet-50")["mCE"]
    assert 100 * metrics.mce(errors, base.of(IMAGENET_C)) == pytest.approx(printed, abs=0.1)


@pytest.mark.parametrize("table", C_BAR_PRINTED)
def test_unnormalised_error_of_c_bar(table: str) -> None:
    read, name = metrics.published_table(table), C_BAR_PRINTED[table]
    columns = list(read.columns)[6:]
    assert len(columns) == 10
    bar = read.numbers(f"{name}_bar_error")
    assert 100 * metrics.unnormalised_error(read.numbers(*columns) / 100) == pytest.approx(bar, abs=0.1)
    gap = bar - read.numbers(f"{name}_error")
    odd = [m for m, g, d in zip(read.text("method"), gap, read.numbers("difference"), strict=True) if abs(g - d) > 0.05]
    assert odd == ([] if name == "imagenet_c" else ["AugMix"])  # printed +5.9, but 16.0 − 11.1 = 4.9


def test_mean_correlations_of_syn2nat() -> None:
    for table in ("syn2nat-table2", "syn2nat-table3"):
        read = metrics.published_table(table)
        values = read.numbers(*list(read.columns)[1:])
        odd = np.abs(values[:-1].mean(axis=0) - values[-1]) > 0.0011
        assert [name for name, is_odd in zip(list(read.columns)[1:], odd, strict=True) if is_odd] == (
            ["n4_k3"] if table == "syn2nat-table2" else []
        )


def test_standard_deviations_of_syn2nat() -> None:
    """Twelve corruptions in six categories, none empty, can be unbalanced to exactly eight degrees."""

    def splits(total: int, parts: int, most: int) -> list[list[int]]:
        if parts == 0:
            return [[]] if total == 0 else []
        return [[k, *rest] for k in range(1, min(total, most) + 1) for rest in splits(total - k, parts - 1, k)]

    deviations = sorted({round(metrics.balance(split).std, 1) for split in splits(12, 6, 12)})
    printed = [float(name.removeprefix("std_")) for name in list(metrics.published_table("syn2nat-table3").columns)[1:]]
    assert deviations == printed == [0.0, 0.6, 0.8, 1.0, 1.2, 1.4, 1.5, 1.8, 2.2]


def test_every_table_reads_and_names_its_source() -> None:
    assert len(metrics.list_published_tables()) == 30
    for name in metrics.list_published_tables():
        table = metrics.published_table(name)
        assert len(table) > 1
        assert table.what
        assert table.source
        first = table.text(next(iter(table.columns)))[0]
        assert table.row(first)
    listed = set(tomllib.loads((FOLDER / "index.toml").read_text()))
    assert listed == set(metrics.list_published_tables())


def test_no_table_prints_a_bare_ce() -> None:
    for name in metrics.list_published_tables():
        assert not {"CE", "ce"} & set(metrics.published_table(name).columns)


def test_wrong_names_are_told_the_right_ones() -> None:
    with pytest.raises(BrittleError, match=naming("noc-table5")):
        metrics.published_table("noc-tabel5")
    with pytest.raises(
        BrittleError, match=naming("'resnet'", "alexnet-imagenet-c", "alexnet-imagenet-noc", "reference-cifar10-c")
    ):
        metrics.baseline("resnet")
    table = metrics.published_table("noc-table5")
    with pytest.raises(KeyError, match=naming("noc-table5", "'mCE'", "gaussian_noise")):
        table["mCE"]
    with pytest.raises(KeyError, match=naming("noc-table5", "'ResNet-51'", "ResNet")):
        table.row("ResNet-51")
    with pytest.raises(BrittleError, match=naming("'model'", "noc-table5", "text")):
        table.numbers("model")
    with pytest.raises(BrittleError, match=naming("'alexnet-imagenet-c'", "haze", "fog")):
        metrics.baseline().of(["imagenet-c/fog", "haze"])


def test_alexnet_is_its_own_measure() -> None:
    for name in ("alexnet-imagenet-c", "alexnet-imagenet-noc", "reference-cifar10-c"):
        base = metrics.baseline(name)
        errors = base.of(list(base.errors))
        assert metrics.mce(errors, errors) == pytest.approx(1)
        assert metrics.relative_mce(errors, base.clean_error, errors, base.clean_error) == pytest.approx(1)


def test_published_scores_have_full_names_a_source_and_a_year() -> None:
    for benchmark, columns in COLUMNS.items():
        published = metrics.published_scores(benchmark)
        assert {score.year for score in published} <= {2020, 2021}
        assert {score.source for score in published} == {PRINTED[table][0] for table, _, _ in columns}
        names = [(score.who, score.metric) for score in published]
        assert len(names) == len(set(names))
        for score in published:
            assert not {"AA", "PG", "DA", "AM", "ANT", "SIN", "WSL", "Baseline", "Standard"} & set(
                re.split(r"[ ,+]+", score.who)
            )
    values = {score.who: score.value for score in metrics.published_scores("imagenet-c-bar")}
    assert values["DeepAugment + AugMix, ResNet-50"] == pytest.approx(0.483)
    assert metrics.published_scores("mine") == []
