"""`brittle slide demo`, as a user calls it."""

from pathlib import Path

import pytest

from tests.cli.slide.slide_cases import Run, good, refusal


def test_the_demo_goes_the_whole_way(run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brittle.sliders import Sampling
    from brittle.sliders import demo_pipeline as world

    monkeypatch.setattr(world, "DEMO_SAMPLING", Sampling(steps=2, side=32))
    monkeypatch.setattr(world, "DEMO_TRAINING", {"steps": 2, "batch_size": 1, "denoising_steps": 2})
    call = (
        "slide",
        "demo",
        "--demo-pipeline",
        parts,
        "--class",
        "bag",
        "--shift",
        "heavy_snow",
        "--seeds",
        3,
        "-o",
        "d",
    )
    words = good(run(*call))
    for number in range(1, 7):
        assert f"{number}/6" in words
    assert "Real labels are made by hand" in words
    assert "an oracle classifier labels the" in words
    assert "world-standard" in Path("d/report.html").read_text()
    assert "18 images drawn" in words
    assert "0 images drawn, 18 existed" in good(run(*call))


def test_a_folder_that_is_no_world_is_said(run: Run) -> None:
    assert "'pipeline'" in refusal(run("slide", "demo", "--demo-pipeline", ".", "-o", "x"))
