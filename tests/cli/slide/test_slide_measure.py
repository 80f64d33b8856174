"""`brittle slide measure`, as a user calls it."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle._optional import how_to_install
from tests.cli.slide.slide_cases import Run, good, told
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


@pytest.mark.parametrize("scale", ["0000", "1000"])
def test_a_corrupt_image_leaves_its_trajectory_out_and_is_told(scale: str, run: Run, parts: Path, cns: Path) -> None:
    broken = cns / "heavy_snow" / "022_bald eagle" / f"seed_0034_scale_{scale}.jpg"
    broken.write_bytes(broken.read_bytes()[:40])
    words = good(run("slide", "measure", cns, "--clip", parts / "clip", "-o", "m"))
    assert f"1 images could not be read and were left out, such as heavy_snow/022_bald eagle/{broken.name}" in words
    counts = pl.read_csv("m/curves.csv").group_by("shift").agg(pl.col("trajectories").unique()).sort("shift")
    assert counts.rows() == [("heavy_snow", [8]), ("painting_style", [9])]


def test_only_corrupt_images_are_said(run: Run, parts: Path, cns: Path) -> None:
    for path in cns.rglob("*.jpg"):
        path.write_text("nothing")
    assert "none of the 72 images" in told(run("slide", "measure", cns, "--clip", parts / "clip", "-o", "m"))


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
        "there is no folder of slides 'nowhere'",
        lambda r, p: r("slide", "measure", "nowhere", "--clip", p / "clip", "-o", "x"),
    ),
    "a folder without slides": (
        "has no images of CNS-Bench, such as painting_style/022_bald eagle/seed_0034_scale_1000.jpg",
        lambda r, p: r("slide", "measure", other_images(), "--clip", p / "clip", "-o", "x"),
    ),
    "slides without scale 0": (
        "has no images at scale 0, which all others are compared with",
        lambda r, p: r("slide", "measure", without_zero(), "--clip", p / "clip", "-o", "x"),
    ),
    "no CLIP": ("name the --clip that scores the images", lambda r, _: r("slide", "measure", "nowhere", "-o", "x")),
    "a CLIP that is none": (
        "which is no CLIP",
        lambda r, p: r("slide", "measure", cns_folder(Path("c")), "--clip", p / "encoder", "-o", "x"),
    ),
    "an open_clip folder without open_clip": (
        "written by open_clip, which is not installed: pip install open_clip_torch",
        lambda r, _: r("slide", "measure", cns_folder(Path("c")), "--clip", open_clip(), "-o", "x"),
    ),
    "curves of nothing": (
        "'seed' is not one of 'shift', 'name', 'all'",
        lambda r, p: r("slide", "measure", "x", "--clip", p / "clip", "--by", "seed", "-o", "x"),
    ),
    "unknown prompts": (
        "'mine' is not one of 'words', 'paper', 'code'",
        lambda r, p: r("slide", "measure", cns_folder(Path("c")), "--clip", p / "clip", "--prompts", "mine", "-o", "x"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, run: Run, parts: Path) -> None:
    sentence, call = BAD[case]
    assert sentence in told(call(run, parts))


def test_a_missing_extra_names_the_command(run: Run, parts: Path, cns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    words = told(run("slide", "measure", cns, "--clip", parts / "clip", "-o", "m"))
    assert "transformers, which is not installed" in words
    assert how_to_install("sliders") in words
