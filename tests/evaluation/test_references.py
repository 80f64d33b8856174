"""Published numbers stand beside a run only if it is the same test on the same images."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark
from brittle.datasets import load_dataset
from brittle.datasets.cifar import CIFAR10
from brittle.datasets.classes import imagenet_names
from brittle.evaluation import (
    Call,
    Results,
    Run,
    as_baseline,
    comparable,
    evaluate,
    find_reference,
    load_results,
    scores,
)
from brittle.evaluation.records import read_record
from brittle.evaluation.references import MOVED, REFERENCES
from brittle.models import from_callable
from tests.errors import naming

FROST = "imagenet-c/frost"
MEASURED = Path(__file__).parents[2] / "perf" / "released_set.json"


def seen(labels: Any, classes: tuple[str, ...], recipe: Benchmark, **run: Any) -> Results:
    """Results whose first cell has these labels, of a run that says so."""
    cell = recipe.cells()[0]
    rows = pl.DataFrame({"label": np.asarray(labels, np.int32)}).with_columns(
        model=pl.lit("m"), corruption=pl.lit(cell.corruption), level=pl.lit(cell.severity)
    )
    calls = tuple(read_record(Call, call) for call in run.pop("calls", ()))
    about = Run(Path("run"), "data", len(labels), classes, calls=calls, **run)
    return Results(rows.lazy(), (about,))


ALL = {"imagenet": (np.arange(50_000) % 1000, imagenet_names()), "cifar10": (np.arange(10_000) % 10, CIFAR10)}


@pytest.mark.parametrize("name", REFERENCES)
def test_all_of_the_images_through_a_bundled_recipe_get_published_numbers(name: str) -> None:
    recipe = brittle.load_benchmark(name)
    comparison = comparable(seen(*ALL[name.partition("-")[0].replace("noc", "imagenet")], recipe), recipe)
    assert comparison.recipe == name
    assert comparison.refusal() == ""
    assert bool(comparison.published) == (name != "noc-candidates")
    assert (comparison.baseline is None) == name.endswith("c-bar")
    assert comparison.notes


CIFAR10_C, IMAGENET_C = brittle.load_benchmark("cifar10-c"), brittle.load_benchmark("imagenet-c")
WHAT_IS_NOT_COMPARABLE = {
    "a recipe that is merely called so": (
        *ALL["cifar10"],
        replace(CIFAR10_C, entries=CIFAR10_C.entries[:3]),
        "'cifar10-c' is not the bundled cifar10-c",
    ),
    "other levels": (
        *ALL["cifar10"],
        replace(CIFAR10_C, entries=tuple(replace(e, levels=(1, 2)) for e in CIFAR10_C.entries)),
        "'cifar10-c' is not the bundled cifar10-c",
    ),
    "parameters of another size": (*ALL["cifar10"], replace(CIFAR10_C, table=224), "is not the bundled"),
    "part of it": (
        *ALL["cifar10"],
        replace(CIFAR10_C, name="cifar10-c-custom", entries=CIFAR10_C.entries[:1]),
        "'cifar10-c-custom' is not the bundled cifar10-c",
    ),
    "six classes of photographs": (np.arange(60) % 6, tuple("abcdef"), IMAGENET_C, "60 images of 6 other classes"),
    "twenty images of ImageNet": (np.arange(20) % 19 * 50, imagenet_names(), IMAGENET_C, "20 images of 19 classes"),
    "a tenth of CIFAR-10": (np.arange(1000) % 10, CIFAR10, CIFAR10_C, "1,000 images"),
    "the training images": (np.arange(50_000) % 10, CIFAR10, CIFAR10_C, "50,000 images"),
    "ten thousand others": (np.r_[np.zeros(600), np.arange(9400) % 10], CIFAR10, CIFAR10_C, "1,540 images of a class"),
    "classes in another order": (np.arange(10_000) % 10, CIFAR10[::-1], CIFAR10_C, "10,000 images of 10 other classes"),
}


@pytest.mark.parametrize("case", WHAT_IS_NOT_COMPARABLE)
def test_other_tests_and_other_images_get_none_and_are_told_why(case: str) -> None:
    labels, classes, recipe, reason = WHAT_IS_NOT_COMPARABLE[case]
    comparison = comparable(seen(labels, classes, recipe), recipe)
    assert (comparison.recipe, comparison.baseline, comparison.published) == (None, None, [])
    assert reason in comparison.refusal()
    assert "mCE" in comparison.refusal()
    assert "--reference" in comparison.refusal()
    assert "mCE" not in comparison.refusal(has_reference=True)


def test_images_of_another_size_and_rows_without_a_run_are_not_comparable() -> None:
    labels, classes = ALL["imagenet"]
    comparison = comparable(seen(labels, classes, IMAGENET_C, calls=[{"size": [299, 299]}]), IMAGENET_C)
    assert "299×299" in comparison.refusal()
    assert comparable(seen(labels, classes, IMAGENET_C, calls=[{"size": [224, 224]}]), IMAGENET_C).recipe
    assert not comparable(Results(seen(labels, classes, IMAGENET_C).rows), IMAGENET_C).recipe


def test_what_is_drawn_counts_and_not_the_name(tmp_path: Path) -> None:
    labels, classes = ALL["cifar10"]
    turned = replace(CIFAR10_C, name="mine", seed=7, version=3, entries=CIFAR10_C.entries[::-1])
    assert comparable(seen(labels, classes, turned), turned).recipe == "cifar10-c"
    assert comparable(seen(labels, classes, brittle.load_benchmark("tiny-imagenet-c")), turned).refusal() != ""
    renamed = replace(CIFAR10_C, name="own", entries=CIFAR10_C.entries[:2])
    assert comparable(seen(labels, classes, renamed), renamed).refusal() == ""  # nobody published anything on it
    (tmp_path / "a.png").write_bytes(b"")
    assert turned.with_textures(tmp_path).draws_like(CIFAR10_C)
    assert not replace(IMAGENET_C, storage="jpeg85").draws_like(IMAGENET_C)
    assert replace(IMAGENET_C, storage="jpeg85").draws_like(brittle.load_benchmark("imagenet-c-released"))


def test_footnotes_say_what_differs_from_the_released_files(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    released = brittle.load_benchmark("imagenet-c-released")

    def note(recipe: Benchmark, **run: Any) -> str:
        return " ".join(comparable(seen(*ALL["imagenet"], recipe, **run), recipe).notes)

    assert "JPEG" in note(IMAGENET_C)
    assert "textures" in note(IMAGENET_C)
    assert MOVED["imagenet-c"] in note(IMAGENET_C)
    assert "JPEG" not in note(released)
    assert "bundled frost textures" in note(released)
    assert "bundled" not in note(released.with_textures(tmp_path))
    assert note(IMAGENET_C, stored="imagenet-c", calls=[{"written_by_brittle": False}]) == ""
    written = note(IMAGENET_C, stored="imagenet-c", calls=[{"written_by_brittle": True}])
    assert "bundled frost textures" in written
    assert "JPEG" not in written


def test_footnotes_cite_what_was_measured() -> None:
    rows = {row["model"]: row for row in json.loads(MEASURED.read_text(encoding="utf-8"))}
    for key, models in {"imagenet-c": ["EfficientNet-Lite0"], "cifar-c": ["demo-standard", "demo-augmix"]}.items():
        numbers = set(re.findall(r"[+−]?\d[\d,.]*\d|\d", MOVED[key].replace("Lite0", "")))
        for model in models:
            row = rows[model]
            way = "both" if key == "imagenet-c" else "textures"
            for value in (row["moved"][way][0], row["corruptions"]["frost"][way][0]):
                assert f"{value:+.1f}".replace("-", "−") in numbers
            assert f"{row['images']:,}" in numbers


def test_textures_are_set_on_what_has_some(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    recipe = brittle.load_benchmark("imagenet-c-released").with_textures(tmp_path)
    assert [e.id for e in recipe.entries if e.options] == [FROST]
    assert recipe.entry(FROST).options["textures"] == str(tmp_path)
    with pytest.raises(BrittleError, match=naming("'imagenet-noc'", "imagenet-c/frost")):
        brittle.load_benchmark("imagenet-noc").with_textures(tmp_path)
    with pytest.raises(BrittleError, match=naming("textures", "none")):
        recipe.with_textures(tmp_path / "none")


def tones(images: np.ndarray) -> np.ndarray:
    return -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10))


def reds(images: np.ndarray) -> np.ndarray:
    return -np.abs(images[..., 0].mean((1, 2))[:, None] - np.linspace(60, 190, 10))


def test_a_reference_is_a_model_a_run_or_a_published_baseline_of_this_test(tmp_path: Path) -> None:
    data = load_dataset("demo").subset(range(0, 1000, 25))
    recipe = replace(CIFAR10_C, name="two", entries=tuple(CIFAR10_C.entry(x) for x in ("fog", "contrast")))
    both = [from_callable(tones, name="tones"), from_callable(reds, name="reds")]
    results = evaluate(both, data, recipe, tmp_path / "a")
    evaluate(both[0], data, recipe, tmp_path / "b")
    named = {text: find_reference(results, recipe, text) for text in ("tones", tmp_path / "b", f"{tmp_path}/a:tones")}
    for reference in named.values():
        assert (reference.name, reference.errors) == ("tones", as_baseline(results, recipe, "tones").errors)
    assert str(tmp_path / "b") in named[tmp_path / "b"].title
    by_model = {row.model: row for row in scores(results, recipe, reference=str(tmp_path / "b"), resamples=20)}
    assert by_model["tones"].mce.value == pytest.approx(1)
    assert by_model["reds"].reference == named[tmp_path / "b"].title
    assert all(row.mce is None and row.reference is None for row in scores(results, recipe, resamples=20))
    for wrong, named_value in {
        "nobody": "'nobody'",
        str(tmp_path / "a"): "2 models",
        f"{tmp_path}/a:blues": "'blues'",
        "reference-cifar10-c": "cifar10-c",
    }.items():
        with pytest.raises(BrittleError, match=naming(named_value)):
            find_reference(results, recipe, wrong)
    evaluate(both[0], data.subset(range(10)), recipe, tmp_path / "other")
    with pytest.raises(BrittleError, match=naming("other", "demo")):
        find_reference(results, recipe, tmp_path / "other")


def test_a_published_baseline_may_be_asked_for_on_a_part_of_its_images_only() -> None:
    some = seen(np.arange(1000) % 10, CIFAR10, CIFAR10_C)
    assert "all of the CIFAR-10 test set" in find_reference(some, CIFAR10_C, "reference-cifar10-c").title
    with pytest.raises(BrittleError, match=naming("'reference-cifar10-c'", "CIFAR-10", "10 classes")):
        find_reference(seen(np.arange(60) % 6, tuple("abcdef"), CIFAR10_C), CIFAR10_C, "reference-cifar10-c")


def test_a_reference_without_errors_divides_nothing(tmp_path: Path) -> None:
    data = load_dataset("demo").subset([0, 1])
    right = from_callable(lambda x: np.eye(10)[data.labels[: len(x)]], name="right")
    recipe = replace(CIFAR10_C, name="one", entries=(CIFAR10_C.entry("fog"),))
    results = evaluate(right, data, recipe, tmp_path)
    with pytest.raises(BrittleError, match=naming("'right'", "imagenet-c/fog")):
        find_reference(results, recipe, "right")
    assert load_results(tmp_path).runs[0].calls[0].size == (32, 32)
