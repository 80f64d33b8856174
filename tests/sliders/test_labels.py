"""Labels of several annotators: how they are read, merged and compared."""

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.sliders import (
    annotator_agreement,
    cohen_kappa,
    keep_labelled,
    label_counts,
    merged_labels,
    read_annotations,
    read_labels,
    read_words,
    write_labels,
)
from tests.errors import naming

EAGLE = "fog/022_bald eagle/seed_0001_scale_{:04}.jpg"
SHARK = "fog/002_great white shark/seed_0001_scale_{:04}.jpg"
IMAGES = [name.format(scale) for name in (EAGLE, SHARK) for scale in (0, 500, 1000)]


def rows(path: Path, *lines: tuple[str, ...]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    return path


def votes(**by_annotator: str) -> pl.DataFrame:
    """A letter for each image and annotator: c(lass), p(artial), n(ot class), or nothing."""
    names = {"c": "class", "p": "partial", "n": "not class"}
    table = [
        (str(i), annotator, names[letter])
        for annotator, letters in by_annotator.items()
        for i, letter in enumerate(letters)
        if letter != " "
    ]
    return pl.DataFrame(table, schema=["sample", "annotator", "label"], orient="row")


def test_labels_are_a_csv_file(tmp_path: Path) -> None:
    labels = {'fog/003_a, "b"/seed_0001_scale_0500.jpg': "partial", "x": "not class"}
    write_labels(labels, tmp_path / "labels.csv")
    assert read_labels(tmp_path / "labels.csv") == labels
    (tmp_path / "own.csv").write_text("\ufeffsample,label,who\na,class,me\nb,,me\n", encoding="utf-8")
    assert read_labels(tmp_path / "own.csv") == {"a": "class"}


def test_a_file_without_annotators_is_one_annotator(tmp_path: Path) -> None:
    anna = rows(tmp_path / "anna.csv", ("sample", "label"), (IMAGES[0], "class"), (IMAGES[1], "not class"))
    both = rows(
        tmp_path / "both.csv",
        ("sample", "label", "annotator"),
        (IMAGES[0], "Not_Class", "bo"),
        (IMAGES[1], "partial class properties", "cy"),
    )
    table = read_annotations(anna, both, samples=IMAGES)
    assert table.rows() == [
        (IMAGES[0], "anna", "class"),
        (IMAGES[1], "anna", "not class"),
        (IMAGES[0], "bo", "not class"),
        (IMAGES[1], "cy", "partial"),
    ]
    assert label_counts(table).rows() == [("anna", 2, 1, 0, 1), ("bo", 1, 0, 0, 1), ("cy", 1, 0, 1, 0)]


VIA_ATTRIBUTES = {
    "region": {},
    "file": {"label": {"type": "radio", "options": {"0": "class", "1": "partial", "2": "not class"}}},
}


def via(images: dict[str, object]) -> dict[str, object]:
    return {
        f"{name}1234": {"filename": name, "size": 1234, "regions": [], "file_attributes": attributes}
        for name, attributes in images.items()
    }


def test_a_via_project_reads_right(tmp_path: Path) -> None:
    images = via(
        {
            "/home/anna/slides/" + IMAGES[0]: {"label": "0"},  # options by number, as VIA 2 keeps radio buttons
            "022_bald eagle\\seed_0001_scale_0500.jpg": {"label": "2"},
            IMAGES[3]: {"label": {"partial": True}},  # a checkbox
            IMAGES[4]: {"label": ""},  # not labelled yet
            IMAGES[5]: {"label": "not class", "remark": "funny"},
        }
    )
    expected = [
        (IMAGES[0], "class"),
        (IMAGES[1], "not class"),
        (IMAGES[3], "partial"),
        (IMAGES[5], "not class"),
    ]
    project = tmp_path / "bo.json"
    project.write_text(
        json.dumps({"_via_settings": {}, "_via_img_metadata": images, "_via_attributes": VIA_ATTRIBUTES})
    )
    table = read_annotations(project, samples=IMAGES)
    assert table.select("sample", "label").rows() == expected
    assert set(table["annotator"]) == {"bo"}


def test_options_of_via_without_a_description_are_labels_themselves(tmp_path: Path) -> None:
    file = tmp_path / "via.json"
    options = {"file": {"label": {"type": "radio", "options": {"class": "", "ooc": ""}}}}
    images = via({IMAGES[0]: {"label": "class"}, IMAGES[1]: {"label": "ooc"}})
    file.write_text(json.dumps({"_via_img_metadata": images, "_via_attributes": options}))
    table = read_annotations(file, samples=IMAGES, words={"ooc": "not class"})
    assert table.rows() == [(IMAGES[0], "via", "class"), (IMAGES[1], "via", "not class")]


def test_via_annotations_as_csv_and_json(tmp_path: Path) -> None:
    columns = ("filename", "file_size", "file_attributes", "region_count", "region_id", "region_shape_attributes",
               "region_attributes")  # fmt: skip
    lines = [(IMAGES[1], "9", '{"label":"ooc"}', "0", "0", "{}", "{}"), (IMAGES[2], "9", "{}", "0", "0", "{}", "{}")]
    for header in (columns, ("#filename", *columns[1:])):  # VIA 2, VIA 1
        file = rows(tmp_path / "cy.csv", header, *lines)
        assert read_annotations(file, samples=IMAGES, words={"OOC": "not class"}).rows() == [
            (IMAGES[1], "cy", "not class")
        ]
    annotations = tmp_path / "di.json"
    annotations.write_text(json.dumps(via({IMAGES[1]: {"seen": "class"}})))
    assert read_annotations(annotations, samples=IMAGES).rows() == [(IMAGES[1], "di", "class")]


def test_labels_are_merged_by_a_rule() -> None:
    #        0: all agree, 1: two of three, 2: all differ, 3: two annotators differ, 4: one annotator
    table = votes(anna="ccccn", bo="ccpp ", cy="cpn  ")
    assert merged_labels(table, "agree") == {"0": "class", "4": "not class"}
    assert merged_labels(table, "majority") == {"0": "class", "1": "class", "4": "not class"}
    assert merged_labels(table, "any-ooc") == {
        "0": "class", "1": "partial", "2": "not class", "3": "partial", "4": "not class"
    }  # fmt: skip
    with pytest.raises(BrittleError, match=naming("majorty", "majority")):
        merged_labels(table, "majorty")
    with pytest.raises(BrittleError, match=naming("agree", 1, "any-ooc")):
        merged_labels(votes(anna="c", bo="n"))


def test_kappa_by_hand() -> None:
    # The 2 × 2 table of 50 images: both class 20, both not 15, only the first class 5, only the second 10.
    first = ["class"] * 25 + ["not class"] * 25
    second = ["class"] * 20 + ["not class"] * 5 + ["class"] * 10 + ["not class"] * 15
    kappa = cohen_kappa(first, second)
    assert kappa.value == pytest.approx((0.7 - 0.5) / (1 - 0.5))  # agreement 35 / 50; chance 0.5 · 0.6 + 0.5 · 0.4
    assert 0.12 < kappa.low < 0.4 < kappa.high < 0.65  # Cohen's normal interval: 0.4 ± 1.96 · 0.1296
    grouped = cohen_kappa(first, second, groups=[i // 5 for i in range(50)])
    assert (grouped.value, grouped.n) == (kappa.value, 10)
    assert grouped.low < kappa.low
    perfect = cohen_kappa(["class", "not class"], ["class", "not class"])
    assert perfect.value == perfect.high == 1
    assert perfect.low < 0.5  # two images prove little
    with pytest.raises(BrittleError, match=naming(3, "class")):
        cohen_kappa(["class"] * 3, ["class"] * 3)


def simulated(error: tuple[float, float], *, out: float = 0.3, count: int = 20000, seed: int = 0) -> pl.DataFrame:
    """Two annotators who err independently, each at a known rate, on images of which a known share is out of class."""
    numbers = np.random.default_rng(seed)
    truth = numbers.random(count) < out
    said = {name: truth ^ (numbers.random(count) < rate) for name, rate in zip(("anna", "bo"), error, strict=True)}
    return votes(**{name: "".join(np.where(wrong, "n", "c")) for name, wrong in said.items()})


def test_two_annotators_with_known_errors() -> None:
    a, b, out = 0.1, 0.2, 0.3
    agree = (1 - a) * (1 - b) + a * b
    share = [out * (1 - rate) + (1 - out) * rate for rate in (a, b)]
    chance = share[0] * share[1] + (1 - share[0]) * (1 - share[1])
    table = simulated((a, b), out=out)
    row = annotator_agreement(table).row(0, named=True)
    assert row["agreement"] == pytest.approx(agree, abs=0.01)
    assert row["kappa"] == pytest.approx((agree - chance) / (1 - chance), abs=0.02)
    assert row["low"] < (agree - chance) / (1 - chance) < row["high"]
    merged = {rule: merged_labels(table, rule) for rule in ("agree", "any-ooc")}
    outside = {rule: np.mean([label == "not class" for label in labels.values()]) for rule, labels in merged.items()}
    both = out * (1 - a) * (1 - b) + (1 - out) * a * b
    assert len(merged["agree"]) == pytest.approx(20000 * agree, rel=0.01)
    assert outside["agree"] == pytest.approx(both / agree, abs=0.01)
    assert outside["any-ooc"] == pytest.approx(1 - (out * a * b + (1 - out) * (1 - a) * (1 - b)), abs=0.01)


def test_the_interval_of_kappa_covers() -> None:
    expected = annotator_agreement(simulated((0.1, 0.2), count=400000, seed=99))["kappa"][0]
    hits = 0
    for seed in range(200):
        row = annotator_agreement(simulated((0.1, 0.2), count=120, seed=seed)).row(0, named=True)
        hits += row["low"] <= expected <= row["high"]
    assert hits >= 180


def test_partial_counts_either_way_in_the_agreement() -> None:
    table = votes(anna="ccppnn", bo="cpppnp")
    found = {how: annotator_agreement(table, partial=how) for how in ("class", "not class", "skip")}
    assert found["class"]["labels"].to_list() == ["three labels", "partial as class"]
    assert found["class"]["agreement"].to_list() == pytest.approx([4 / 6, 5 / 6])
    assert found["not class"]["agreement"][1] == pytest.approx(5 / 6)
    assert found["skip"].row(1, named=True) | {"low": 0, "high": 0} == {
        "first": "anna", "second": "bo", "labels": "partial as skip", "images": 2, "agreement": 1.0, "kappa": 1.0,
        "low": 0, "high": 0,
    }  # fmt: skip


def test_a_trajectory_is_kept_if_all_its_images_show_the_class() -> None:
    labels = dict.fromkeys(IMAGES, "class") | {IMAGES[1]: "partial"}
    assert keep_labelled(labels, IMAGES) == IMAGES
    assert keep_labelled(labels, IMAGES, partial="not class") == IMAGES[3:]
    some = {IMAGES[1]: "not class", IMAGES[4]: "class"}
    assert keep_labelled(some, IMAGES, unlabelled="class") == IMAGES[3:]
    with pytest.raises(BrittleError, match=naming(6, 2)):
        keep_labelled(some, IMAGES)
    with pytest.raises(BrittleError, match=naming(1, 6)):
        keep_labelled({"elsewhere": "class"}, IMAGES)


BAD = {
    "mixed annotators": (
        (("sample", "label", "annotator"), (IMAGES[0], "class", "anna"), (IMAGES[1], "class", "")),
        ("bad.csv", 1, "annotator"),
    ),
    "unknown label": ((("sample", "label"), (IMAGES[0], "ok")), (2, "ok", "partial", "--word ok=class")),
    "other images": ((("sample", "label"), ("a.jpg", "class"), (IMAGES[0], "class")), (1, 2, "a.jpg", 6)),
    "no columns": ((("image", "label"), (IMAGES[0], "class")), ("bad.csv", "image", "sample")),
    "nothing yet": ((("sample", "label"), (IMAGES[0], "")), ("bad.csv",)),
    "twice": ((("sample", "label"), (IMAGES[0], "class"), (IMAGES[0], "partial")), ("bad", "class", "partial")),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_one_sentence(case: str, tmp_path: Path) -> None:
    lines, values = BAD[case]
    with pytest.raises(BrittleError, match=naming(*values)):
        read_annotations(rows(tmp_path / "bad.csv", *lines), samples=IMAGES)


BAD_VIA = {
    "other images": (via({"rain/x.jpg": {"label": "class"}}), (1, "rain/x.jpg", 6)),
    "no folders": (via({"seed_0001_scale_0500.jpg": {"label": "class"}}), (2, IMAGES[1], IMAGES[4])),
    "two attributes": (via({IMAGES[0]: {"a": "class", "b": "class"}}), ("a, b",)),
    "two labels": (via({IMAGES[0]: {"label": {"class": True, "partial": True}}}), (2, IMAGES[0])),
    "unknown label": (via({IMAGES[0]: {"label": "fine"}}), ("fine", "not class", IMAGES[0])),
    "no project": ({"a": 1}, ("via.json",)),
    "VIA 3": ({"project": {}, "file": {}, "metadata": {}}, ("VIA 3", "VIA 2")),
}


@pytest.mark.parametrize("case", BAD_VIA)
def test_bad_projects_are_one_sentence(case: str, tmp_path: Path) -> None:
    project, values = BAD_VIA[case]
    file = tmp_path / "via.json"
    file.write_text(json.dumps(project))
    with pytest.raises(BrittleError, match=naming(*values)):
        read_annotations(file, samples=IMAGES)


def test_annotators_of_one_file_must_agree_to_be_one(tmp_path: Path) -> None:
    file = rows(tmp_path / "two.csv", ("sample", "label", "annotator"), ("x", "class", "a"), ("x", "partial", "b"))
    with pytest.raises(BrittleError, match=naming("two.csv", "x", "--rule")):
        read_labels(file)
    assert read_words(["ooc = not class"]) == {"ooc": "not class"}
    with pytest.raises(BrittleError, match=naming("ooc", "partial")):
        read_words(["ooc"])
