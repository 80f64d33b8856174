"""`brittle slide sample`, as a user calls it."""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle._optional import how_to_install
from brittle.datasets import cns_bench
from brittle.sliders import load_slider, parse_seeds
from brittle.sliders.demo_pipeline import DEMO_CLASSES
from brittle.sliders.pipeline import _opened
from tests.cli.slide.slide_cases import SAMPLING, SLIDER, Run, good, publish, refusal, sample
from tests.errors import unnamed


def test_the_layout_is_that_of_cns_bench(slides: Path) -> None:
    data = cns_bench(slides)
    assert data.ids[1] == "heavy_snow/008_bag/seed_0001_scale_1000.png"
    assert data.labels.tolist() == [8] * 6
    assert list(data.classes) == list(DEMO_CLASSES)
    assert json.loads((slides / "annotations_cns.json").read_text())["shifts"] == ["heavy_snow"]


@pytest.mark.usefixtures("slides")
def test_a_second_call_draws_what_is_missing(run: Run, parts: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path("slides").rglob("*.*")}
    assert "0 images drawn, 6 existed" in good(sample(run, parts, "sliders"))
    same = {path for path, when in before.items() if path.stat().st_mtime_ns == when}
    assert before.keys() - same <= {Path("slides/annotations_cns.json"), Path("slides/command.toml")}
    lost = next(Path("slides").rglob("seed_0002_scale_1000.png"))
    content = lost.read_bytes()
    lost.unlink()
    assert "1 images drawn, 5 existed" in good(sample(run, parts, "sliders"))
    assert lost.read_bytes() == content


@pytest.mark.usefixtures("slides")
def test_a_folder_holds_images_of_one_kind(run: Run, parts: Path) -> None:
    assert unnamed(refusal(sample(run, parts, "sliders", "--active", 0.5)), "active", "0.5") == []
    assert unnamed(refusal(sample(run, parts, "sliders", "--guidance", 3)), "sampling", "'guidance': 3.0") == []
    assert unnamed(refusal(sample(run, parts, "sliders", "--dtype", "bfloat16")), "precision", "bfloat16") == []
    assert "classes" in refusal(sample(run, parts, "sliders", "--classes", other_names()))
    card = Path("slides/heavy_snow/008_bag/sampling.json")
    card.write_text(card.read_text()[:20])
    assert "sampling.json" in refusal(sample(run, parts, "sliders"))


@pytest.mark.usefixtures("slides")
def test_images_of_another_network_are_not_added(run: Run, parts: Path) -> None:
    from safetensors.torch import load_file, save_file

    world = shutil.copytree(parts, "other")
    weights = Path(world) / "pipeline" / "unet" / "diffusion_pytorch_model.safetensors"
    save_file({name: value * 1.01 for name, value in load_file(weights).items()}, weights, metadata={"format": "pt"})
    next(Path("slides").rglob("seed_0002_scale_1000.png")).unlink()
    assert unnamed(refusal(sample(run, Path(world), "sliders")), "slides/heavy_snow", "network") == []


@pytest.mark.usefixtures("slides")
def test_settings_that_cannot_be_drawn_with_do_not_bind_the_folder(run: Run, parts: Path) -> None:
    wrong = refusal(sample(run, parts, "sliders", "--active", 75, out="fresh"))
    assert unnamed(wrong, "active", 0, 1, "75.0") == []
    assert "6 images drawn" in good(sample(run, parts, "sliders", out="fresh"))


def test_two_prompts_need_no_slider(run: Run, parts: Path) -> None:
    words = good(sample(run, parts, "--two-prompts", "--class", "bag", "--shift", "heavy_fog", out="two"))
    assert "4 images drawn" in words
    assert cns_bench("two").columns["scale"].tolist() == [0, 1, 0, 1]
    assert unnamed(refusal(sample(run, parts, "--two-prompts", "--class", "bag")), "--class", "--shift") == []
    message = refusal(sample(run, parts, "--two-prompts", "--class", "bag", "--scales", "0,2"))
    assert unnamed(message, "--two-prompts", "--scales") == []


@pytest.mark.usefixtures("slides")
def test_published_adapters_are_drawn_too(run: Run, parts: Path, folder: Path) -> None:
    """The same weights under the published names of layers give the same images."""
    last = publish(load_slider(f"sliders/{SLIDER}"), folder / "adapters" / "a", 8)
    torch.save({}, last.with_name(last.name.replace("last", "100steps")))
    good(sample(run, parts, "adapters", out="published"))
    ours, theirs = (np.stack(list(cns_bench(place).images())) for place in ("slides", "published"))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("slides")
def test_adapters_of_several_classes_in_one_folder_are_all_found(run: Run, parts: Path, folder: Path) -> None:
    slider = load_slider(f"sliders/{SLIDER}")
    for number in (7, 8):
        publish(slider, folder / "flat", number)
    publish(slider, folder / "flat", 8, "100steps")
    assert "12 images drawn" in good(sample(run, parts, "flat", out="both"))
    assert sorted({int(label) for label in cns_bench("both").labels}) == [7, 8]


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", [1, 2, 3]), ("3,7,10-12", [3, 7, 10, 11, 12]), ("7,", [7]), ("2,1-3", [2, 1, 3])]
)
def test_seeds_are_a_number_or_a_list(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


def other_names() -> Path:
    Path("other.txt").write_text("".join(f"thing {i}\n" for i in range(10)))
    return Path("other.txt")


def drawn(*options: object) -> Callable:
    return lambda r, p: sample(r, p, "sliders", *options, out="x")


BAD: dict[str, tuple[str, Callable]] = {
    "no pipeline": (
        ("nowhere", "save_pretrained"),
        lambda r, _: r(
            "slide", "sample", "nowhere", "--two-prompts", "--class", "22", "--shift", "heavy_snow", "-o", "x"
        ),
    ),
    "a folder that is no pipeline": (
        ("clip", "model_index.json", "save_pretrained"),
        lambda r, p: r(
            "slide", "sample", p / "clip", "--two-prompts", "--class", "22", "--shift", "heavy_snow", "-o", "x"
        ),
    ),
    "an unknown shift": (
        ("fogg", "cartoon_style", "graffiti_style", "heavy_dust"),
        lambda r, p: sample(r, p, "--two-prompts", "--class", "bag", "--shift", "fogg"),
    ),
    "no sliders": (("brittle slide sample PIPELINE SLIDERS", "--two-prompts"), lambda r, p: sample(r, p)),
    "a folder without sliders": (("clip", "slider.json", ".pt"), lambda r, p: sample(r, p, p / "clip")),
    "a slider that is not there": (
        ("heavy_fog", "sliders", "heavy_snow"),
        drawn("--shift", "heavy_fog"),
    ),
    "a class without a slider": ((3, "sliders", 8), drawn("--class", "3")),
    "scales without 0": (
        ("scales", 0, "[1.0, 2.0]"),
        lambda r, p: r("slide", "sample", p / "pipeline", "sliders", "--scales", "1,2", "-o", "x"),
    ),
    "scales that are none": (("scales", "1,2.5,5", "'much'"), drawn("--scales", "much")),
    "a scale below 0": ((0, "-1.0", "draw_trajectory"), drawn("--scales", "0,-1")),
    "seeds that are none": (("seeds", 50, "3,7,10-12", "'many'"), drawn("--seeds", "many")),
    "no seeds": (("seeds", 50, "3,7,10-12", "'0'"), drawn("--seeds", "0")),
    "seeds backwards": (("seeds", 50, "'1,9-3'"), drawn("--seeds", "1,9-3")),
    "an unknown scheduler": (("--scheduler", "dddim", "ddim", "unipc"), drawn("--scheduler", "dddim")),
    "an unknown format": (("--image-format", "gif", "jpeg", "png"), drawn("--image-format", "gif")),
    "no batch": (("batch_size", 1, 0), drawn("--batch-size", 0)),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.usefixtures("slides")
def test_bad_input_is_one_sentence(case: str, run: Run, parts: Path) -> None:
    values, call = BAD[case]
    assert unnamed(refusal(call(run, parts)), *values) == []


@pytest.mark.usefixtures("slides")
def test_a_missing_extra_names_the_command(run: Run, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _opened.cache_clear()
    monkeypatch.setitem(sys.modules, "diffusers", None)
    words = refusal(sample(run, parts, "sliders", out="y"))
    assert "diffusers" in words
    assert how_to_install("sliders") in words


def test_images_without_a_shift_of_random_classes(run: Run, parts: Path) -> None:
    call = ("slide", "sample", parts / "pipeline", "--classes", parts / "names.txt", *SAMPLING, "--scales", 0)
    words = good(run(*call, "--class", "random:2", "-o", "base"))
    assert "4 images drawn" in words
    assert "DATASHEET.md" in {path.name for path in Path("base").iterdir()}
    assert "without a shift in 2 folders" in Path("base/DATASHEET.md").read_text()
    names = {path.parent.name for path in Path("base/unshifted").rglob("*.png")}
    assert len(names) == 2
    again = good(run(*call, "--class", "random:2", "--seed", 0, "-o", "base"))
    assert "0 images drawn, 4 existed" in again
    model = str(parts / "classifiers" / "small.safetensors")
    assert "4 images without a shift" in good(run("run", "-m", model, "-d", "cns-bench:base", "-o", "run"))
    assert "--class" in refusal(run(*call, "-o", "none"))
    assert "--shift" in refusal(run(*call, "--class", "bag", "--shift", "heavy_snow", "-o", "none"))


def test_tokens_are_trained_and_drawn_with(run: Run, parts: Path) -> None:
    named = ("--classes", parts / "names.txt")
    call = ("slide", "sample", parts / "pipeline", *named, *SAMPLING, "--class", "bag", "--scales", 0)
    good(run(*call, "-o", "base"))
    training = ("--class", "bag", "--steps", 2, "--batch-size", 1)
    words = good(run("slide", "token", parts / "pipeline", "-d", "cns-bench:base", *named, *training, "-o", "tokens"))
    assert "<bag-8>" in words
    assert "1 token trained, 0 existed" in words
    (line,) = re.findall(r"next: brittle (.*)$", words, re.M)
    good(run(*shlex.split(line), *SAMPLING))
    good(run(*call, "--tokens", "tokens", "-o", "with"))
    pictures = [sorted(Path(place).rglob("*.png"))[0].read_bytes() for place in ("base", "with")]
    assert pictures[0] != pictures[1]
    assert "sneaker" in refusal(
        run("slide", "token", parts / "pipeline", "-d", "cns-bench:base", *named, "--class", "sneaker", "-o", "tokens")
    )
