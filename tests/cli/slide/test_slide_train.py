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
from tests.cli.slide.slide_cases import SLIDER, Run, good, told, train


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
    assert f"holds a slider trained with {words}" in told(train(run, parts, *more))


@pytest.mark.usefixtures("slides")
def test_a_slider_of_another_pipeline_is_not_taken_for_this_ones(run: Run, parts: Path) -> None:
    card = Path("sliders") / SLIDER / "slider.json"
    about = json.loads(card.read_text())
    about["training"]["base"] = "sd2"
    card.write_text(json.dumps(about))
    assert "trained with base = 'sd2' and not 'pipeline'" in told(train(run, parts))
    card.write_text("[]")
    assert "is damaged; remove the folder to train it again" in told(train(run, parts))


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
    assert "holds a training with strength = 4.0 and not 2.0" in told(train(run, parts, "--strength", 2, out="cut"))
    good(train(run, parts, out="cut"))
    one, other = (load_slider(f"{name}/{SLIDER}").weights for name in ("straight", "cut"))
    assert all(torch.equal(one[key], other[key]) for key in one)


BAD: dict[str, tuple[str, Callable]] = {
    "no pipeline": (
        "there is no folder 'nowhere'",
        lambda r, _: r("slide", "train", "nowhere", "--class", "22", "--shift", "heavy_snow", "-o", "x"),
    ),
    "a folder that is no pipeline": (
        "is not a diffusers pipeline: it has no model_index.json",
        lambda r, p: r("slide", "train", p / "clip", "--class", "22", "--shift", "heavy_snow", "-o", "x"),
    ),
    "an unknown shift": (
        "there is no published shift 'heavy_snwo'; did you mean 'heavy_snow'?",
        lambda r, p: train(r, p, "--shift", "heavy snwo"),
    ),
    "a shift that cannot be a folder": (
        "the shift '../fog' cannot be a folder name",
        lambda r, p: train(r, p, "--shift", "../fog", "--any-shift"),
    ),
    "an unknown class": ("there is no class 'bagg'; did you mean 'bag'?", lambda r, p: train(r, p, "--class", "bagg")),
    "a class out of range": (
        "there is no class 10; classes are numbered 0 to 9",
        lambda r, p: train(r, p, "--class", "10"),
    ),
    "no tokens": (
        "is not a folder of class tokens: it has no tokenizer, text_encoder, tokens.pt",
        lambda r, p: train(r, p, "--tokens", p / "clip"),
    ),
    "no steps": ("steps is a whole number of at least 1, got 0", lambda r, p: train(r, p, "--steps", 0)),
    "an unknown precision": (
        "'half' is not one of 'auto', 'float32', 'bfloat16'",
        lambda r, p: train(r, p, "--dtype", "half"),
    ),
    "a learning rate far too large": (
        "the loss of step",
        lambda r, p: train(r, p, "--lr", 1e30, "--steps", 4),
    ),
    "an unknown engine": ("'slurm' is not one of 'local', 'ray'", lambda r, p: train(r, p, "--engine", "slurm")),
    "an address without ray": ("the local engine has no address", lambda r, p: train(r, p, "--address", "auto")),
    "no cluster": (
        "there is no Ray cluster at 'ray://127.0.0.1:9'",
        lambda r, p: train(r, p, "--engine", "ray", "--address", "ray://127.0.0.1:9"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str, run: Run, parts: Path) -> None:
    sentence, call = BAD[case]
    assert sentence in told(call(run, parts))


@pytest.mark.parametrize("package", ["diffusers", "peft"])
def test_a_missing_extra_names_the_command(
    package: str, run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good(train(run, parts))  # diffusers asks once, when a pipeline is opened, whether peft is there
    monkeypatch.setitem(sys.modules, package, None)
    if package == "diffusers":
        _opened.cache_clear()
    words = told(train(run, parts, out="y"))
    assert f"{package}, which is not installed" in words
    assert how_to_install("sliders") in words
