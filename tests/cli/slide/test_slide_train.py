"""`brittle slide train`, as a user calls it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from brittle._optional import how_to_install
from brittle.sliders import load_slider
from brittle.sliders.pipeline import _opened
from tests.cli.slide.slide_cases import SLIDER, Run, good, refusal, train
from tests.errors import unnamed


@pytest.mark.usefixtures("slides")
def test_a_slider_is_a_folder_with_a_card() -> None:
    slider = load_slider(f"sliders/{SLIDER}")
    assert (slider.prompt, slider.shift, len(slider.losses), slider.rank) == ("bag", "heavy snow", 2, 4)
    assert (slider.training["base"], slider.training["precision"]) == ("pipeline", "float32")
    assert not list(Path("sliders").rglob("training.pt"))


@pytest.mark.usefixtures("slides")
def test_a_second_call_trains_nothing_again(run: Run, parts: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path("sliders").glob("*/*.*")}
    assert before
    assert "0 sliders trained, 1 existed" in good(train(run, parts))
    assert {path: path.stat().st_mtime_ns for path in Path("sliders").glob("*/*.*")} == before


OTHER: dict[str, tuple[tuple[object, ...], str]] = {
    "rank": (("--lora-rank", 8), "rank = 4 and not 8"),
    "size": (("--image-size", 8), "size = 16 and not 8"),
    "precision": (("--dtype", "bfloat16"), "precision = 'float32' and not 'bfloat16'"),
}


@pytest.mark.parametrize("setting", OTHER)
@pytest.mark.usefixtures("slides")
def test_a_folder_holds_sliders_of_one_kind(setting: str, run: Run, parts: Path) -> None:
    more, words = OTHER[setting]
    assert unnamed(refusal(train(run, parts, *more)), "sliders/heavy_snow_class_008", words) == []


@pytest.mark.usefixtures("slides")
def test_a_slider_of_another_pipeline_is_not_taken_for_this_ones(run: Run, parts: Path) -> None:
    card = Path("sliders") / SLIDER / "slider.json"
    about = json.loads(card.read_text())
    about["training"]["base"] = "sd2"
    card.write_text(json.dumps(about))
    assert unnamed(refusal(train(run, parts)), "base", "'sd2'", "'pipeline'") == []
    card.write_text("[]")
    assert "slider.json" in refusal(train(run, parts))


def test_an_interrupted_training_goes_on_and_gives_the_same(
    run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["brittle.sliders.training"]
    whole = module.train_slider

    def stopping(*given, progress, **how):
        def tick(now, *rest):
            progress(now, *rest)
            if now == 1:
                raise KeyboardInterrupt

        return whole(*given, progress=tick, checkpoint_every=1, **how)

    good(train(run, parts, out="straight"))
    monkeypatch.setattr(module, "train_slider", stopping)
    result = train(run, parts, out="cut")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    left = {path.relative_to("cut").as_posix() for path in Path("cut").rglob("*")}
    assert left == {"command.toml", SLIDER, f"{SLIDER}/training.pt"}
    monkeypatch.setattr(module, "train_slider", whole)
    assert unnamed(refusal(train(run, parts, "--strength", 2, out="cut")), "strength", "4.0", "2.0") == []
    good(train(run, parts, out="cut"))
    one, other = (load_slider(f"{name}/{SLIDER}").weights for name in ("straight", "cut"))
    assert all(torch.equal(one[key], other[key]) for key in one)


BAD: dict[str, tuple[str, Callable]] = {
    "no pipeline": (
        ("nowhere", "save_pretrained"),
        lambda r, _: r("slide", "train", "nowhere", "--class", "22", "--shift", "heavy_snow", "-o", "x"),
    ),
    "a folder that is no pipeline": (
        ("clip", "model_index.json", "save_pretrained"),
        lambda r, p: r("slide", "train", p / "clip", "--class", "22", "--shift", "heavy_snow", "-o", "x"),
    ),
    "an unknown shift": (
        ("heavy_snwo", "heavy_snow", "--any-shift"),
        lambda r, p: train(r, p, "--shift", "heavy snwo"),
    ),
    "a shift that cannot be a folder": (
        ("../fog", 100),
        lambda r, p: train(r, p, "--shift", "../fog", "--any-shift"),
    ),
    "an unknown class": (("bagg", "bag"), lambda r, p: train(r, p, "--class", "bagg")),
    "a class out of range": (
        (10, 0, 9),
        lambda r, p: train(r, p, "--class", "10"),
    ),
    "no tokens": (
        ("clip", "text_encoder", "tokens.pt"),
        lambda r, p: train(r, p, "--tokens", p / "clip"),
    ),
    "no steps": (("steps", 1, 0), lambda r, p: train(r, p, "--steps", 0)),
    "an unknown precision": (
        ("--dtype", "half", "auto", "float32", "bfloat16"),
        lambda r, p: train(r, p, "--dtype", "half"),
    ),
    "a learning rate far too large": (
        ("step 2", "nan", "float32"),
        lambda r, p: train(r, p, "--lr", 1e30, "--steps", 4),
    ),
    "an unknown engine": (("--engine", "slurm", "local", "ray"), lambda r, p: train(r, p, "--engine", "slurm")),
    "an address without ray": (("auto", "engine='ray'", "ray"), lambda r, p: train(r, p, "--address", "auto")),
    "no cluster": (
        ("ray://127.0.0.1:9", "ray start"),
        lambda r, p: train(r, p, "--engine", "ray", "--address", "ray://127.0.0.1:9"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, run: Run, parts: Path) -> None:
    values, call = BAD[case]
    assert unnamed(refusal(call(run, parts)), *values) == []


@pytest.mark.parametrize("package", ["diffusers", "peft"])
def test_a_missing_extra_names_the_command(
    package: str, run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good(train(run, parts))  # diffusers asks once, when a pipeline is opened, whether peft is there
    monkeypatch.setitem(sys.modules, package, None)
    if package == "diffusers":
        _opened.cache_clear()
    words = refusal(train(run, parts, out="y"))
    assert package in words
    assert how_to_install("sliders") in words
