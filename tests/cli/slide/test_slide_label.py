"""`brittle slide label`, as a user calls it."""

import json
from pathlib import Path

import polars as pl
import pytest

from brittle.datasets import cns_bench
from tests.cli.slide.slide_cases import Run, good, refusal
from tests.errors import unnamed


@pytest.mark.usefixtures("slides")
def test_a_page_of_chosen_images(run: Run, parts: Path) -> None:
    words = good(run("slide", "label", "slides", "--page", "label.html"))
    assert "6 of 6 images" in words
    assert Path("label.html").read_text().count("seed_0001") == 3
    assert len(list(Path("label_files").iterdir())) == 6
    ids = list(map(str, cns_bench("slides").ids))
    pl.DataFrame({"sample": ids[:2]}).write_csv("some.csv")
    assert "2 of 6 images" in good(run("slide", "label", "slides", "--page", "some.html", "--keep", "some.csv"))
    good(run("slide", "measure", "slides", "--clip", parts / "clip", "-o", "measured"))
    models = [word for name in ("small", "wide") for word in ("-m", parts / "classifiers" / f"{name}.safetensors")
              if (parts / "classifiers" / f"{name}.safetensors").is_file()]  # fmt: skip
    good(run("run", *models, "-d", "cns-bench:slides", "-o", "run"))
    hard = ("--scores", "measured/scores.csv", "--results", "run", "--right", 1, "--limit", 3)
    assert "3 of 6 images" in good(run("slide", "label", "slides", "--page", "hard.html", *hard))


def test_two_annotators_and_the_filter(run: Run, cns: Path) -> None:
    good(run("run", "-m", "nets.py:weak", "-m", "nets.py:fair", "-d", "cns-bench:cns", "-o", "run"))
    ids = list(map(str, cns_bench(cns).ids))
    outside = {i for i, sample in enumerate(ids) if "seed_0034_scale_2500" in sample}
    doubtful = {i for i, sample in enumerate(ids) if "seed_0002_scale_2500" in sample}
    anna = ["not class" if i in outside else "class" for i in range(len(ids))]
    bo = ["not class" if i in outside else "partial" if i in doubtful else "class" for i in range(len(ids))]
    pl.DataFrame({"sample": ids, "label": anna}).write_csv("anna.csv")
    via = {
        f"{sample}-1": {"filename": f"cns/{sample}", "size": -1, "regions": [], "file_attributes": {"seen": label}}
        for sample, label in zip(ids, [label.replace("not class", "ooc") for label in bo], strict=True)
    }
    Path("bo.json").write_text(json.dumps({"_via_img_metadata": via}))
    call = ("slide", "label", "cns", "--labels", "anna.csv", "--labels", "bo.json", "--word", "ooc=not class")
    words = good(run(*call, "--rule", "any-ooc", "--partial-as", "not class", "-o", "strict"))
    assert "anna and bo, three labels: κ" in words
    assert f"{len(ids)} images labelled" in words
    kept = pl.read_csv("strict/kept.csv")["sample"].to_list()
    assert kept == [sample for sample in ids if "seed_0001" in sample]
    good(run(*call, "-o", "mild"))  # they agree on all but the doubtful ones
    assert len(pl.read_csv("mild/labels.csv")) == len(ids) - len(doubtful)
    agreement = pl.read_csv("mild/agreement.csv")
    assert agreement["agreement"].to_list() == pytest.approx([1 - len(doubtful) / len(ids), 1.0])

    # what is kept is run, and what people kept stands beside what a filter kept
    good(run("run", "-m", "nets.py:weak", "-d", "cns-bench:cns", "--keep", "strict/kept.csv", "-o", "kept-run"))
    assert set(pl.scan_parquet("kept-run/**/*.parquet").collect()["sample"]) == set(kept)
    fig5 = ("--labels", "strict/labels.csv", "--results", "run", "--filtered", "strict/kept.csv")
    words = good(run("slide", "label", "cns", *fig5, "-o", "five"))
    assert "by the filter" in words
    table = pl.read_csv("five/accuracy.csv").filter(model="weak", scale=2.5)
    by_selection = dict(table.select("selection", "accuracy").iter_rows())
    assert by_selection == {"all labelled": 0.0, "by hand": 0.0, "by the filter": 0.0}  # weak fails there
    start = pl.read_csv("five/accuracy.csv").filter(model="weak", scale=0.0)
    assert dict(start.select("selection", "images").iter_rows()) == {
        "all labelled": 18, "by hand": 18, "by the filter": 6
    }  # fmt: skip
    told = json.loads(run("slide", "label", "cns", *fig5, "-o", "five", "--json").stdout)
    assert set(told) == {"labels", "counts", "agreement", "kept", "accuracy"}
    assert unnamed(
        refusal(run("run", "-m", "nets.py:weak", "-d", "cns-bench:cns", "--keep", "strict/labels.csv", "-o", "no")),
        "strict/labels.csv",
        "brittle slide label SLIDES",
    ) == []  # fmt: skip


BAD = {
    "nothing to do": (("cns",), ("--page FILE.html", "--labels FILE")),
    "no slides": (("nowhere", "--page", "x.html"), ("nowhere",)),
    "no page": (("cns", "--page", "x.txt"), ("x.txt", ".html")),
    "no word": (("cns", "--labels", "a.csv", "--word", "x"), ("x", "partial")),
    "no file": (("cns", "--labels", "a.csv"), ("a.csv",)),
    "half a choice": (("cns", "--page", "x.html", "--results", "r"), ("--scores FILE",)),
}


@pytest.mark.usefixtures("cns")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, run: Run) -> None:
    arguments, values = BAD[case]
    if case == "half a choice":
        good(run("run", "-m", "nets.py:weak", "-d", "cns-bench:cns", "-o", "r"))
    assert unnamed(refusal(run("slide", "label", *arguments)), *values) == []
