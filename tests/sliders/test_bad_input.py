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
        ("'heavy snow'", "' _ '"),
        lambda w: sliders.train_slider(w.pipeline, "bag", " _ "),
    ),
    "no steps": (
        ValueError,
        ("steps", 1, 0),
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", steps=0),
    ),
    "one denoising step": (
        ValueError,
        ("denoising_steps", 2, 1),
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", denoising_steps=1),
    ),
    "an odd size": (
        ValueError,
        ("size", 4, 15),
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", size=15),
    ),
    "an unknown precision": (
        ValueError,
        ("precision", "auto", "float32", "bfloat16", "'half'"),
        lambda w: sliders.train_slider(w.pipeline, "bag", "fog", precision="half"),
    ),
    "an unknown class token": (
        ValueError,
        ("'<bald eagle-22>'", "load_tokens", "train_token"),
        lambda w: sliders.train_slider(w.pipeline, "<bald eagle-22>", "fog"),
    ),
    "a prompt that is cut off": (
        ValueError,
        ("62 tokens", 48),
        lambda w: sliders.train_slider(w.pipeline, "bag " * 60, "fog"),
    ),
    "no pipeline": (
        TypeError,
        ("int", "unet, vae, text_encoder, tokenizer, scheduler"),
        lambda _: sliders.train_slider(7, "bag", "fog"),
    ),
    "no folder": (FileNotFoundError, ("'nowhere'", "save_pretrained"), lambda _: load_pipeline("nowhere")),
    "a folder that is no pipeline": (
        FileNotFoundError,
        ("model_index.json", "save_pretrained"),
        lambda w: sliders.train_slider(w.tmp, "bag", "fog"),
    ),
    "another kind of pipeline": (
        ValueError,
        ("'DDPMPipeline'", "vae, text_encoder, tokenizer"),
        lambda w: load_pipeline(
            w.file("model_index.json", '{"_class_name": "DDPMPipeline", "unet": 1, "scheduler": 1}')
        ),
    ),
    "a damaged index": (ValueError, ("model_index.json",), lambda w: load_pipeline(w.file("model_index.json", "{"))),
    "a pipeline with a part missing": (
        ValueError,
        ("cut",),
        lambda w: load_pipeline(w.without("unet")),
    ),
    "an unknown dtype": (
        ValueError,
        ("dtype", "auto", "float32", "bfloat16", "'float8'"),
        lambda w: load_pipeline(w.folder, dtype="float8"),
    ),
    "a published shift that is none": (
        ValueError,
        ("'heavy snwo'", "'heavy_snow'"),
        lambda _: sliders.published_shift("heavy snwo"),
    ),
    "no scales": (
        ValueError,
        ("scales", "0, 0.5, 1", "[]"),
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [], [1]),
    ),
    "a scale that is no number": (
        ValueError,
        ("scales", "0, 0.5, 1", "[nan]"),
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [float("nan")], [1]),
    ),
    "the same seed twice": (
        ValueError,
        ("seeds", 0, "[1, 1]"),
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [0], [1, 1]),
    ),
    "active in percent": (
        ValueError,
        ("active", 0, 1, 75),
        lambda w: sliders.draw_trajectory(w.pipeline, w.slider, [0], [1], active=75),
    ),
    "an unknown scheduler": (
        ValueError,
        ("'dddim'", "'ddim'"),
        lambda _: Sampling(scheduler="dddim"),
    ),
    "a prompt without a place": (
        ValueError,
        ("prompt", "{}", "'a bag'"),
        lambda _: Sampling(prompt="a bag"),
    ),
    "a slider of another network": (
        ValueError,
        ("'nowhere'",),
        lambda w: sliders.draw_trajectory(
            w.pipeline, Slider("bag", "fog", {"nowhere.lora_A.weight": torch.ones(4, 3)}), [0], [1]
        ),
    ),
    "weights of another size": (
        ValueError,
        ("attn1.to_k", "94 layers"),
        lambda w: sliders.draw_trajectory(
            w.pipeline, Slider("bag", "fog", {k: v[:, :1] for k, v in w.slider.weights.items()}), [0], [1]
        ),
    ),
    "scales without 0": (
        ValueError,
        ("scales", 0, "[1, 2]"),
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, [1, 2], [1], number=0, name="bag"),
    ),
    "a scale that cannot be a file's name": (
        ValueError,
        ("-1.0", "draw_trajectory()"),
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, [0, -1], [1], number=0, name="bag"),
    ),
    "a class out of range": (
        ValueError,
        ("number", 0, 999, 1000),
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, number=1000, name="bag"),
    ),
    "a class with a slash": (
        ValueError,
        ("name", "'bald eagle'", "'a/b'"),
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, number=0, name="a/b"),
    ),
    "an unknown file format": (
        ValueError,
        ("file_format", "jpg", "png", "gif"),
        lambda w: sliders.write_trajectories(w.pipeline, w.slider, w.tmp, number=0, name="a", file_format="gif"),
    ),
    "a folder that is no slider": (
        FileNotFoundError,
        ("pytorch_lora_weights.safetensors", "load_published_slider"),
        lambda w: sliders.load_slider(w.tmp),
    ),
    "a damaged card": (
        ValueError,
        ("slider.json",),
        lambda w: sliders.load_slider(w.file("slider.json", "[]", also=w.slider)),
    ),
    "an adapter without a name": (
        ValueError,
        ("'x.pt'", "heavy_snow_class_002", "shift="),
        lambda w: sliders.load_published_slider("x.pt", w.pipeline, prompt="bag"),
    ),
    "no pictures": (ValueError, ("token", "none"), lambda w: sliders.train_token(w.pipeline, [], "bag", 0)),
    "grey pictures": (
        ValueError,
        ("H×W×3", "uint8", "(4, 4)"),
        lambda w: sliders.train_token(w.pipeline, [np.zeros((4, 4), np.uint8)], "bag", 0),
    ),
    "a template without a place": (
        ValueError,
        ("templates", "{}", "['a photo']"),
        lambda w: sliders.train_token(w.pipeline, tiny_world.photos(), "bag", 0, templates=["a photo"]),
    ),
    "no folder of tokens": (
        FileNotFoundError,
        ("tokenizer, text_encoder, tokens.pt",),
        lambda w: sliders.load_tokens(w.pipeline, w.tmp),
    ),
    "a token of another width": (
        ValueError,
        ("'<a-1>'", "(3,)", 32),
        lambda w: sliders.add_token(w.pipeline, sliders.ClassToken("<a-1>", torch.ones(3), "a")),
    ),
    "a CLIP that is none": (ValueError, ("dino", "Dinov2Model", "CLIP"), lambda w: sliders.Clip(w.dino())),
    "no CLIP": (FileNotFoundError, ("'nowhere'", "save_pretrained"), lambda _: sliders.Clip("nowhere")),
    "an empty CLIP": (ValueError, ("AutoModel", "model_type"), lambda w: sliders.Clip(w.tmp)),
    "a file without labels": (
        ValueError,
        ("l.csv", "['a', 'b']", "sample", "label"),
        lambda w: sliders.read_labels(w.file("l.csv", "a,b\n1,2\n") / "l.csv"),
    ),
    "an unknown label": (
        ValueError,
        ("line 2", "l.csv", "'maybe'", "class, partial, not class"),
        lambda w: sliders.read_labels(w.file("l.csv", "sample,label\na,maybe\n") / "l.csv"),
    ),
    "two labels": (
        ValueError,
        ("line 3", "l.csv", "'a'"),
        lambda w: sliders.read_labels(w.file("l.csv", "sample,label\na,class\na,partial\n") / "l.csv"),
    ),
    "one class": (ValueError, ("class_prompts", "two", "['bag']"), lambda w: from_diffusion(w.folder, ["bag"])),
    "an unknown loss": (
        ValueError,
        ("loss", "l1", "l2", "'l3'"),
        lambda w: from_diffusion(w.folder, ["a", "b"], loss="l3"),
    ),
    "a timestep too far": (
        ValueError,
        ("timesteps", 0, 999, "[1000]"),
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
    kind, values, call = CASES[case]
    with pytest.raises(kind, match=naming(*values)):
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
    with pytest.raises(ModuleNotFoundError, match=naming(package, "'.[sliders]'")):
        call()


def test_importing_sliders_loads_nothing_heavy() -> None:
    import subprocess

    heavy = ["torch", "diffusers", "transformers", "peft", "accelerate"]
    code = f"import brittle.sliders, brittle.models.diffusion, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
