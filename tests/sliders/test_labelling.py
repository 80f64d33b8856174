"""Labelling by hand: which images, on what page, and what the labels change."""

import json
import re
import time
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from brittle import BrittleError
from brittle.datasets import cns_bench, read_kept_samples
from brittle.sliders import (
    choose_samples,
    hard_samples,
    labelled_accuracy,
    read_annotations,
    write_labelling_page,
)
from tests.browser import Browser
from tests.errors import naming
from tests.sliders.test_cns_scores import CORRECT, SCALES, results

FOG = [f"fog/001_goldfish/seed_{seed:04}_scale_{int(1000 * scale):04}.jpg" for seed in range(4) for scale in SCALES]


def scores() -> pl.DataFrame:
    return pl.DataFrame({"sample": FOG, "CLIP_class": [float(i) for i in range(12)]})


def test_easy_images_need_no_label() -> None:
    right = [sum(CORRECT[model, "fog"][i // 3][i % 3] for model in ("alexnet", "deit", "vit")) for i in range(12)]
    found = hard_samples(scores(), results())
    expected = [i for i in range(12) if not (i > 5.5 and right[i] >= 2)]
    assert sorted(found["sample"]) == sorted(FOG[i] for i in expected)
    order = sorted(expected, key=lambda i: (right[i], i))
    assert found["sample"].to_list() == [FOG[i] for i in order]
    assert found["right"].to_list() == [right[i] for i in order]
    everyone = hard_samples(scores(), results(), alignment=0, right=3)
    assert len(everyone) == sum(count < 3 for count in right) + (right[0] == 3)  # the least aligned is not above itself
    with pytest.raises(BrittleError, match=naming(4, 3, "--right")):
        hard_samples(scores(), results(), right=4)
    with pytest.raises(BrittleError, match=naming(1, 18)):
        hard_samples(pl.DataFrame({"sample": ["x"], "CLIP_class": [1.0]}), results())


def test_images_that_no_model_was_shown_are_hard() -> None:
    found = hard_samples(scores(), results(leave_out=(FOG[11],)))
    assert FOG[11] in found["sample"][:3].to_list()


def test_accuracy_on_what_people_and_the_filter_kept() -> None:
    labels = dict.fromkeys(FOG, "class") | {FOG[2]: "not class", FOG[5]: "partial"}  # both at scale 1
    table = labelled_accuracy(results(), labels, FOG[:3], partial="class")
    assert table["selection"].unique(maintain_order=True).to_list() == ["all labelled", "by hand", "by the filter"]

    def found(model: str, selection: str, partial: str = "class") -> tuple[float, int]:
        there = labelled_accuracy(results(), labels, FOG[:3], partial=partial)
        row = there.filter(model=model, scale=1.0, selection=selection).row(0, named=True)
        assert row["low"] <= row["accuracy"] <= row["high"]
        return row["accuracy"], row["images"]

    # at scale 1 in fog: alexnet 0, 0, 0, 1 and deit 1, 0, 1, 1
    assert found("alexnet", "all labelled") == (0.25, 4)
    assert found("alexnet", "by hand") == (pytest.approx(1 / 3), 3)
    assert found("alexnet", "by hand", "not class") == (0.5, 2)
    assert found("alexnet", "all labelled", "skip") == (pytest.approx(1 / 3), 3)
    assert found("deit", "by the filter") == (1.0, 1)
    with pytest.raises(BrittleError, match=naming(1)):
        labelled_accuracy(results(), {"x": "class"})


def folder_of(root: Path, seeds: int, *, side: int = 64) -> Path:
    place = root / "slides" / "fog" / "022_bald <eagle>"
    place.mkdir(parents=True)
    for seed in range(seeds):
        for scale in (0, 500, 1000):
            colour = (scale // 5, seed % 256, seed // 256)
            Image.new("RGB", (side, side), colour).save(place / f"seed_{seed:04}_scale_{scale:04}.jpg")
    return root / "slides"


def test_the_page_has_its_pictures_beside_it(tmp_path: Path) -> None:
    slides = folder_of(tmp_path, 1)
    (slides / "fog" / "022_bald <eagle>" / "seed_0000_scale_1000.jpg").write_bytes(b"")
    data = cns_bench(slides)
    assert write_labelling_page(data, tmp_path / "label.html", side=32) == [data.ids[2]]
    page = (tmp_path / "label.html").read_text(encoding="utf-8")
    assert "://" not in page  # asks nobody for anything
    found = re.search(r'id="data">(.*?)</script>', page)
    assert found is not None
    inside = json.loads(found[1])
    assert [(sample, inside["names"][name]) for sample, name, _ in inside["items"]] == [
        (sample, "bald <eagle>") for sample in data.ids[:2]
    ]
    for _, _, file in inside["items"]:
        with Image.open(tmp_path / inside["folder"] / file) as picture:
            assert picture.size == (32, 32)
    with pytest.raises(BrittleError, match=naming("elsewhere")):
        write_labelling_page(data, tmp_path / "no.html", samples=["elsewhere"])


def test_samples_are_chosen(tmp_path: Path) -> None:
    data = cns_bench(folder_of(tmp_path, 4))
    ids = list(map(str, data.ids))
    assert choose_samples(data) == ids
    assert choose_samples(data, keep=ids[3:5]) == ids[3:5]
    assert choose_samples(data, limit=4) == ids[::3]
    with pytest.raises(BrittleError, match=naming("elsewhere", 2)):
        choose_samples(data, keep=[ids[0], "elsewhere"])
    with pytest.raises(BrittleError, match=naming("--scores FILE", "--results RUN")):
        choose_samples(data, results=results())
    with pytest.raises(BrittleError, match="no image"):
        choose_samples(data, keep=[])


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))", key)


def test_labels_are_made_in_a_browser(tmp_path: Path, browser: Browser) -> None:
    data = cns_bench(folder_of(tmp_path, 40))
    write_labelling_page(data, tmp_path / "label.html")
    browser.open(tmp_path / "label.html")
    browser.wait("return document.getElementById('image').naturalWidth === 64")
    assert browser.run("return document.getElementById('question').textContent") == "Is this a bald <eagle>?"
    loaded = "return performance.getEntriesByType('resource').length"
    assert int(str(browser.run(loaded))) <= 10  # not all 120
    browser.run("const a = document.getElementById('annotator'); a.value = 'anna b'; a.onchange()")
    press(browser, "1", "2", "x", "ArrowLeft", "3", "ArrowRight", "1")
    assert browser.run("return document.getElementById('count').textContent") == "3 of 120 labelled"
    for _ in range(50):  # again: labels and name are remembered, the first without a label is shown
        browser.open(tmp_path / "label.html")
        if browser.run("return document.getElementById('number').value") == "3":
            break
        time.sleep(0.1)  # a new page may be made before the browser has stored what the old one kept
    assert browser.run("return document.getElementById('number').value") == "3"
    assert browser.too_wide <= 0
    browser.run("document.getElementById('save').click()")
    file = browser.downloads / "labels-anna_b.csv"
    for _ in range(100):
        if file.is_file():
            break
        time.sleep(0.05)
    found = read_annotations(file, samples=data.ids)
    assert found.rows() == [
        (data.ids[0], "anna b", "class"),
        (data.ids[1], "anna b", "not class"),
        (data.ids[3], "anna b", "class"),
    ]


def test_a_keep_list_is_understood_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "kept.csv"
    file.write_text("sample,shift,label,name,seed,scale\na,fog,22,bald eagle,1,0.0\nb,fog,22,bald eagle,1,0.5\n")
    assert read_kept_samples(file) == ["a", "b"]
    file.write_text("sample,label,CLIP_class,kept\na,22,1.5,true\nb,22,1.5,false\n")  # filtered.csv
    assert read_kept_samples(file) == ["a"]
    file.write_text("sample,label\na,class\nb,not class\n")
    with pytest.raises(BrittleError, match=naming("kept.csv", "`brittle slide label SLIDES --labels", "-o labelled`")):
        read_kept_samples(file)
    file.write_text("sample,label,CLIP_class\na,22,1.5\n")
    with pytest.raises(BrittleError, match=naming("kept.csv", "`brittle slide filter SLIDES --scores")):
        read_kept_samples(file)
