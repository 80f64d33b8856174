"""`brittle slide measure`, as a user calls it."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle._optional import how_to_install
from tests.cli.slide.slide_cases import Run, good, refusal, sample
from tests.errors import unnamed
from tests.sliders.cns_folder import cns_folder


@pytest.mark.usefixtures("slides")
def test_curves_are_means_over_trajectories(run: Run, parts: Path) -> None:
    words = good(run("slide", "measure", "slides", "--clip", parts / "clip", "-o", "measured"))
    assert "ΔCLIP shift" in words
    curves = pl.read_csv("measured/curves.csv")
    assert curves.filter(pl.col("scale") == 0)["value"].to_list() == [0, 0]
    scores = pl.read_csv("measured/scores.csv")
    rise = scores.sort("seed", "scale")["CLIP_shift"].to_numpy().reshape(2, 3)
    shown = curves.filter(pl.col("measure") == "ΔCLIP shift").sort("scale")["value"].to_numpy()
    np.testing.assert_allclose(shown, (rise - rise[:, :1]).mean(0), atol=1e-9)
    assert "<svg" in Path("measured/curves.svg").read_text()


def test_one_trajectory_has_no_interval(run: Run, parts: Path) -> None:
    good(sample(run, parts, "--two-prompts", "--class", "bag", "--shift", "heavy_snow", "--seeds", 1, out="one"))
    assert "no interval" in good(run("slide", "measure", "one", "--clip", parts / "clip", "-o", "measured"))
    curves = pl.read_csv("measured/curves.csv")
    assert set(curves["trajectories"]) == {1}
    assert curves["low"].null_count() == curves["high"].null_count() == len(curves)
    assert curves["value"].null_count() == 0
    assert "<svg" in Path("measured/curves.svg").read_text()


@pytest.mark.usefixtures("slides")
def test_two_prompts_stand_beside_sliders(run: Run, parts: Path) -> None:
    shift = ("--two-prompts", "--class", "bag", "--shift", "heavy_snow,heavy_rain")
    good(sample(run, parts, *shift, out="two"))
    eyes = ("--clip", parts / "clip")
    words = good(run("slide", "measure", "slides", *eyes, "--baseline", "two", "-o", "both"))
    assert "ΔCLIP shift, two prompts" in words
    both, alone = pl.read_csv("both/curves.csv"), pl.read_csv("both/curves.csv").filter(pl.col("scale") == 2.5)
    assert set(both["shift"]) == {"heavy_snow"}  # what only the baseline has is left out
    assert set(alone["measure"]) == {"ΔCLIP shift", "ΔCLIP class"}
    good(run("slide", "measure", "two", *eyes, "-o", "two-alone"))
    value = pl.read_csv("two-alone/curves.csv").filter(shift="heavy_snow", scale=1.0, measure="ΔCLIP shift")["value"]
    assert both.filter(scale=1.0, measure="ΔCLIP shift, two prompts")["value"].equals(value)
    assert "two prompts" in Path("both/curves.svg").read_text()
    good(sample(run, parts, "--two-prompts", "--class", "bag", "--shift", "heavy_rain", out="rain"))
    words = refusal(run("slide", "measure", "slides", *eyes, "--baseline", "rain", "-o", "none"))
    assert unnamed(words, "heavy_rain", "heavy_snow") == []


@pytest.mark.parametrize("scale", ["0000", "1000"])
def test_a_corrupt_image_leaves_its_trajectory_out_and_is_told(scale: str, run: Run, parts: Path, cns: Path) -> None:
    broken = cns / "heavy_snow" / "022_bald eagle" / f"seed_0034_scale_{scale}.jpg"
    broken.write_bytes(broken.read_bytes()[:40])
    words = good(run("slide", "measure", cns, "--clip", parts / "clip", "-o", "m"))
    assert f"unreadable images, left out: 1, such as heavy_snow/022_bald eagle/{broken.name}" in words
    counts = pl.read_csv("m/curves.csv").group_by("shift").agg(pl.col("trajectories").unique()).sort("shift")
    assert counts.rows() == [("heavy_snow", [8]), ("painting_style", [9])]


def test_only_corrupt_images_are_said(run: Run, parts: Path, cns: Path) -> None:
    for path in cns.rglob("*.jpg"):
        path.write_text("nothing")
    assert "72 images" in refusal(run("slide", "measure", cns, "--clip", parts / "clip", "-o", "m"))


def open_clip() -> Path:
    Path("oc").mkdir()
    Path("oc/open_clip_config.json").write_text("{}")
    return Path("oc")


def other_images() -> Path:
    folder = cns_folder(Path("c"))
    for path in list(folder.rglob("*.jpg")):
        path.rename(path.with_name(path.name.replace("seed", "image")))
    return folder


def without_zero() -> Path:
    folder = cns_folder(Path("c"))
    for path in folder.rglob("*_scale_0000.jpg"):
        path.unlink()
    return folder


BAD: dict[str, tuple[str, Callable]] = {
    "no slides": (
        ("nowhere", "brittle slide sample"),
        lambda r, p: r("slide", "measure", "nowhere", "--clip", p / "clip", "-o", "x"),
    ),
    "a folder without slides": (
        ("'c'", "CNS-Bench", "seed_0034_scale_1000.jpg"),
        lambda r, p: r("slide", "measure", other_images(), "--clip", p / "clip", "-o", "x"),
    ),
    "slides without scale 0": (
        ("cns-bench", 0),
        lambda r, p: r("slide", "measure", without_zero(), "--clip", p / "clip", "-o", "x"),
    ),
    "no CLIP": (("--clip", "open_clip"), lambda r, _: r("slide", "measure", "nowhere", "-o", "x")),
    "a CLIP that is none": (
        ("encoder", "Dinov2Model", "CLIP"),
        lambda r, p: r("slide", "measure", cns_folder(Path("c")), "--clip", p / "encoder", "-o", "x"),
    ),
    "an open_clip folder without open_clip": (
        ("open_clip", "open_clip_torch"),
        lambda r, _: r("slide", "measure", cns_folder(Path("c")), "--clip", open_clip(), "-o", "x"),
    ),
    "curves of nothing": (
        ("--by", "'seed'", "'shift'", "'name'", "'all'"),
        lambda r, p: r("slide", "measure", "x", "--clip", p / "clip", "--by", "seed", "-o", "x"),
    ),
    "unknown prompts": (
        ("--prompts", "mine", "words", "paper", "code"),
        lambda r, p: r("slide", "measure", cns_folder(Path("c")), "--clip", p / "clip", "--prompts", "mine", "-o", "x"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, run: Run, parts: Path) -> None:
    values, call = BAD[case]
    assert unnamed(refusal(call(run, parts)), *values) == []


def test_a_missing_extra_names_the_command(run: Run, parts: Path, cns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    words = refusal(run("slide", "measure", cns, "--clip", parts / "clip", "-o", "m"))
    assert "transformers" in words
    assert how_to_install("transformers") in words
