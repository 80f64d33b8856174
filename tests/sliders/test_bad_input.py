"""Whatever is wrong is said in one sentence."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import brittle.sliders as sliders
from brittle import BrittleError
from brittle.models.diffusion import from_diffusion, load_pipeline
from brittle.sliders import Sampling, Slider
from tests.errors import naming
from tests.sliders import tiny_world

CASES: dict[str, tuple[type[Exception], str, Callable]] = {
    "a shift without words": (
        ValueError,
        "a shift is a text",
        lambda w: sliders.train_slider(w.pipeline, "bag", " _ "),
    ),
    "no steps": (
        ValueError,
        "steps is a whole number of at least 1, got 0",
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", steps=0),
    ),
    "one denoising step": (
        ValueError,
        "denoising_steps is a whole number of at least 2",
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", denoising_steps=1),
    ),
    "an odd size": (
        ValueError,
        "size is in pixels and a multiple of 4 for this checkpoint, got 15",
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", size=15),
    ),
    "an unknown precision": (
        ValueError,
        "precision must be auto, float32 or bfloat16, got 'half'",
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", precision="half"),
    ),
    "an unknown class token": (
        ValueError,
        "has no class token '<bald eagle-22>'; load it with load_tokens",
        lambda w: sliders.train_slider(w.pipeline, "<bald eagle-22>", "fog"),
    ),
    "a prompt that is cut off": (
        ValueError,
        "tokens and at most 48 are read; shorten it",
        lambda w: sliders.train_slider(w.pipeline, "bag " * 60, "fog"),
    ),
    "no pipeline": (TypeError, "this int has no unet", lambda _: sliders.train_slider(7, "bag", "fog")),
    "no folder": (FileNotFoundError, "there is no folder 'nowhere'", lambda _: load_pipeline("nowhere")),
    "a folder that is no pipeline": (
        FileNotFoundError,
        "is not a diffusers pipeline: it has no model_index.json",
        lambda w: sliders.train_slider(w.tmp, "bag", "fog"),
    ),
    "another kind of pipeline": (
        ValueError,
        "holds a 'DDPMPipeline' without vae, text_encoder, tokenizer",
        lambda w: load_pipeline(
            w.file("model_index.json", '{"_class_name": "DDPMPipeline", "unet": 1, "scheduler": 1}')
        ),
    ),
    "a damaged index": (ValueError, "is damaged", lambda w: load_pipeline(w.file("model_index.json", "{"))),
    "a pipeline with a part missing": (
        ValueError,
        "cannot be read as a pipeline",
        lambda w: load_pipeline(w.without("unet")),
    ),
    "an unknown dtype": (ValueError, "dtype must be auto", lambda w: load_pipeline(w.folder, dtype="float8")),
    "a published shift that is none": (
        ValueError,
        "no published shift 'heavy snwo'; did you mean 'heavy_snow'",
        lambda _: sliders.published_shift("heavy snwo"),
    ),
    "no scales": (
        ValueError,
        "scales are distinct numbers",
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [], [1]),
    ),
    "a scale that is no number": (
        ValueError,
        "scales are distinct numbers",
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [float("nan")], [1]),
    ),
    "the same seed twice": (
        ValueError,
        r"seeds are distinct whole numbers .* got \[1, 1\]",
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [0], [1, 1]),
    ),
    "active in percent": (
        ValueError,
        "active is a share of the timesteps between 0 and 1, got 75",
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [0], [1], active=75),
    ),
    "an unknown scheduler": (
        ValueError,
        "no scheduler 'dddim'; did you mean 'ddim'",
        lambda _: Sampling(scheduler="dddim"),
    ),
    "a prompt without a place": (
        ValueError,
        "prompt has one {} where the class goes",
        lambda _: Sampling(prompt="a bag"),
    ),
    "a slider of another network": (
        ValueError,
        "is for another network: it adapts 'nowhere'",
        lambda w: sliders.draw_trajectory(
            w.pipeline, Slider("bag", "fog", {"nowhere.lora_A.weight": torch.ones(4, 3)}), [0], [1]
        ),
    ),
    "weights of another size": (
        ValueError,
        "the slider is for another network",
        lambda w: sliders.draw_trajectory(
            w.pipeline, Slider("bag", "fog", {k: v[:, :1] for k, v in w.slider.weights.items()}), [0], [1]
        ),
    ),
    "scales without 0": (
        ValueError,
        r"scales must have 0, the image that all others are compared with; got \[1, 2\]",
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, [1, 2], [1], number=0, name="bag"),
    ),
    "a scale that cannot be a file's name": (
        ValueError,
        "files are named by thousandths of a scale of at least 0; -1.0 cannot be, use draw_trajectory",
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, [0, -1], [1], number=0, name="bag"),
    ),
    "a class out of range": (
        ValueError,
        "number is the class index between 0 and 999, got 1000",
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, number=1000, name="bag"),
    ),
    "a class with a slash": (
        ValueError,
        "name is the class name, without slashes",
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, number=0, name="a/b"),
    ),
    "an unknown file format": (
        ValueError,
        "file_format must be one of jpg, png, got 'gif'",
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, number=0, name="a", file_format="gif"),
    ),
    "a folder that is no slider": (FileNotFoundError, "is no slider", lambda w: sliders.load_slider(w.tmp)),
    "a damaged card": (
        ValueError,
        "the card .* is damaged",
        lambda w: sliders.load_slider(w.file("slider.json", "[]", also=w.slider)),
    ),
    "an adapter without a name": (
        ValueError,
        "does not say which shift it is",
        lambda w: sliders.load_published_slider("x.pt", w.pipeline, prompt="bag"),
    ),
    "no pictures": (ValueError, "at least one image", lambda w: sliders.train_token(w.pipeline, [], "bag", 0)),
    "grey pictures": (
        ValueError,
        r"images are H×W×3 of uint8, got shape \(4, 4\)",
        lambda w: sliders.train_token(w.pipeline, [np.zeros((4, 4), np.uint8)], "bag", 0),
    ),
    "a template without a place": (
        ValueError,
        "templates are captions with one {} each",
        lambda w: sliders.train_token(w.pipeline, tiny_world.photos(), "bag", 0, templates=["a photo"]),
    ),
    "no folder of tokens": (
        FileNotFoundError,
        "it has no tokenizer, text_encoder, tokens.pt",
        lambda w: sliders.load_tokens(w.pipeline, w.tmp),
    ),
    "a token of another width": (
        ValueError,
        r"has \(3,\) numbers and this text encoder 32",
        lambda w: sliders.add_token(w.pipeline, sliders.ClassToken("<a-1>", torch.ones(3), "a")),
    ),
    "a CLIP that is none": (ValueError, "Dinov2Model, which is no CLIP", lambda w: sliders.Clip(w.dino())),
    "no CLIP": (FileNotFoundError, "there is no folder 'nowhere'", lambda _: sliders.Clip("nowhere")),
    "an empty CLIP": (ValueError, "cannot be read by AutoModel", lambda w: sliders.Clip(w.tmp)),
    "a file without labels": (
        ValueError,
        "a file of labels has sample and label",
        lambda w: sliders.read_labels(w.file("l.csv", "a,b\n1,2\n") / "l.csv"),
    ),
    "an unknown label": (
        ValueError,
        "line 2 of .* has the label 'maybe'; labels are class, partial, not class",
        lambda w: sliders.read_labels(w.file("l.csv", "sample,label\na,maybe\n") / "l.csv"),
    ),
    "two labels": (
        ValueError,
        "labels 'a' a second time",
        lambda w: sliders.read_labels(w.file("l.csv", "sample,label\na,class\na,partial\n") / "l.csv"),
    ),
    "one class": (ValueError, "class_prompts are two or more prompts", lambda w: from_diffusion(w.folder, ["bag"])),
    "an unknown loss": (
        ValueError,
        "loss must be one of l1, l2",
        lambda w: from_diffusion(w.folder, ["a", "b"], loss="l3"),
    ),
    "a timestep too far": (
        ValueError,
        "timesteps lie between 0 and 999",
        lambda w: from_diffusion(w.folder, ["a", "b"], timesteps=[1000]),
    ),
}


class World:
    """What a case needs."""

    def __init__(self, pipeline, slider, folder: Path, tmp: Path) -> None:
        self.pipeline, self.slider, self.folder, self.tmp = pipeline, slider, folder, tmp

    def file(self, name: str, text: str, also: Slider | None = None) -> Path:
        if also is not None:
            also.save(self.tmp)
        (self.tmp / name).write_text(text, encoding="utf-8")
        return self.tmp

    def without(self, part: str) -> Path:
        import shutil

        shutil.copytree(self.folder, self.tmp / "cut", ignore=lambda *_: [part])
        return self.tmp / "cut"

    def dino(self) -> Path:
        return tiny_world.save_dino(self.tmp / "dino")


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_named(case: str, pipeline, slider, pipeline_folder, tmp_path: Path) -> None:
    kind, message, call = CASES[case]
    with pytest.raises(kind, match=message):
        call(World(pipeline, slider, pipeline_folder, tmp_path))
    assert not getattr(pipeline.unet, "peft_config", None)  # nothing is left on the pipeline


def test_adapters_of_somebody_else_are_not_touched(slider) -> None:
    from peft import LoraConfig

    pipeline = tiny_world.pipeline()
    pipeline.unet.add_adapter(LoraConfig(r=2, target_modules=["to_q"]), adapter_name="mine")
    with pytest.raises(BrittleError, match=naming("unload_lora_weights")):
        sliders.draw_trajectory(pipeline, slider, [0], [1])
    assert list(pipeline.unet.peft_config) == ["mine"]


@pytest.mark.parametrize("package", ["diffusers", "peft"])
def test_a_missing_extra_names_the_command(package: str, pipeline, slider, pipeline_folder, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    call = {
        "diffusers": lambda: load_pipeline(pipeline_folder),
        "peft": lambda: sliders.draw_trajectory(pipeline, slider, [0], [1]),
    }[package]
    with pytest.raises(ModuleNotFoundError, match=rf"{package}, which is not installed.*'\.\[sliders\]'"):
        call()


def test_importing_sliders_loads_nothing_heavy() -> None:
    import subprocess

    heavy = ["torch", "diffusers", "transformers", "peft", "accelerate"]
    code = f"import brittle.sliders, brittle.models.diffusion, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
