"""`brittle slide filter`, as a user calls it."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from brittle.datasets import cns_bench
from tests.cli.slide.slide_cases import Run, good, refusal
from tests.errors import unnamed
from tests.sliders.cns_folder import cns_folder

LABELLED = Path(__file__).parents[2] / "sliders" / "tiny_world_filter.csv.gz"
"""Scores and labels of images of the tiny world, kept by scripts/measure_tiny_world.py."""


def test_what_is_kept_is_run(run: Run, parts: Path, slides: Path) -> None:
    good(run("slide", "measure", "slides", "--clip", parts / "clip", "-o", "measured"))
    scores = pl.read_csv("measured/scores.csv")
    eyes = ("--clip", parts / "clip", "--dino", parts / "encoder")
    gentle = ("--tpr", 0.5, "--least", 1)
    liked = scores.group_by("seed").agg(pl.col("CLIP_class").min()).sort("CLIP_class")["seed"][-1]
    ids = list(map(str, cns_bench(slides).ids))
    labels = ["class" if f"seed_{liked:04}" in sample or "_0000." in sample else "not class" for sample in ids]
    pl.DataFrame({"sample": ids, "label": labels}).write_csv("labels.csv")
    words = good(run("slide", "filter", "slides", *eyes, "--labels", "labels.csv", *gentle, "-o", "out"))
    filtered = pl.read_csv("out/filtered.csv")
    kept = pl.read_csv("out/kept.csv")
    assert kept["sample"].to_list() == filtered.filter(pl.col("kept"))["sample"].to_list()
    assert f"{kept['seed'].n_unique()} of 2 trajectories kept, {len(kept)} of 6 images" in words
    quality = pl.read_csv("out/quality.csv")
    assert quality["filter"].to_list() == ["1 of 4", "CLIP_class", "CLIP_class_shift", "CLIP_ref", "DINO_ref_no_head"]
    assert (quality["tpr"][1:] >= 0.5).all()
    quick = ("--scores", "out/scores.csv", "--labels", "labels.csv", *gentle)
    assert "trajectories kept" in good(run("slide", "filter", "slides", *quick, "-o", "b"))
    assert pl.read_csv("b/kept.csv").equals(kept)
    again = ("--scores", "out/scores.csv", "--thresholds", "out/thresholds.json")
    assert "at least 1 of CLIP_class" in good(run("slide", "filter", "slides", *again, "-o", "c"))
    assert pl.read_csv("c/kept.csv").equals(kept)
    assert "published" in refusal(run("slide", "filter", "slides", *again, "--published-thresholds", "-o", "c"))

    model = str(parts / "classifiers" / "small.safetensors")
    good(run("run", "-m", model, "-d", "cns-bench:slides", "--keep", "out/kept.csv", "-o", "run", "--batch-size", 8))
    rows = pl.scan_parquet("run/**/*.parquet").collect()
    assert sorted(rows["sample"]) == sorted(kept["sample"])
    assert "accuracy drop" in Path(good(run("report", "run")).split()[0]).read_text()
    assert "percent right at each scale" in good(run("compare", "run", "--figure", "drop.svg"))
    assert "accuracy drop (points)" in Path("drop.svg").read_text()
    told_as_json = json.loads(run("compare", "run", "--json").stdout)
    assert {row["scale"] for row in told_as_json["accuracy"]} == set(rows["level"])
    assert "imagenet-c" in refusal(run("compare", "run", "-b", "imagenet-c"))


@pytest.mark.usefixtures("slides")
def test_published_thresholds_need_all_four_scores(run: Run, parts: Path) -> None:
    eyes = ("--clip", parts / "clip")
    assert "--dino" in refusal(run("slide", "filter", "slides", *eyes, "--published-thresholds", "-o", "out"))
    result = run("slide", "filter", "slides", *eyes, "--dino", parts / "encoder", "--published-thresholds", "-o", "out")
    words = refusal(result) if result.exit_code else good(result)  # untrained networks may keep nothing
    assert "no trajectory is left" in words or "CLIP_class > 28.74" in words


def test_thresholds_come_from_somewhere(run: Run) -> None:
    words = refusal(run("slide", "filter", "slides", "-o", "out"))
    assert unnamed(words, "--labels FILE", "--thresholds FILE", "`brittle slide label slides --page label.html`") == []


def few_labels() -> Path:
    place = cns_folder(Path("c"))
    ids = [str(sample) for sample in cns_bench(place).ids if "_scale_0000" not in str(sample)][:2]
    pl.DataFrame({"sample": ids, "label": ["not class"] * 2}).write_csv("few.csv")
    return place


BAD: dict[str, tuple[str, Callable]] = {
    "too few labels": (
        (2, "CLIP_class", "0.9", 10),
        lambda r, p: r("slide", "filter", few_labels(), "--clip", p / "clip", "--labels", "few.csv", "-o", "x"),
    ),
    "no labels": (
        ("nowhere.csv",),
        lambda r, _: r("slide", "filter", "x", "--labels", "nowhere.csv", "-o", "x"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, run: Run, parts: Path) -> None:
    values, call = BAD[case]
    assert unnamed(refusal(call(run, parts)), *values) == []


def test_thresholds_are_judged_on_other_labels(run: Run) -> None:
    table = pl.read_csv(LABELLED)
    table.select("sample", pl.col("said").alias("label")).write_csv("labels.csv")
    call = ("slide", "filter", "slides", "--scores", LABELLED, "--labels", "labels.csv")
    words = good(run(*call, "-o", "out"))
    assert "each image by thresholds for a TPR of 0.9 chosen on other trajectories, in 5 folds" in words
    assert pl.read_csv("out/quality.csv")["tpr"][0] > 0.8
    assert Path("out/scores.svg").is_file()
    assert "AUC" in Path("out/roc.svg").read_text()
    roc = pl.read_csv("out/roc.csv")
    assert roc["filter"].n_unique() == 5
    assert 0.85 < roc.filter(pl.col("filter") == "2 of 4")["auc"][0] < 0.95
    words = good(run(*call, "--thresholds", "tiny", "-o", "same"))
    assert "folds" not in words
    assert pl.read_csv("same/kept.csv").equals(pl.read_csv("out/kept.csv"))
