"""A class-conditional diffusion transformer as a classifier, and classes that are given up early."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.models import Model, load_model
from brittle.models.diffusion import from_diffusion, from_dit
from tests.errors import naming
from tests.sliders import tiny_world

IMAGES = tiny_world.photos(3, 16)[:, :, :16]
CLASSES = 6


def tiny_dit() -> Any:
    """A DiTPipeline of a few thousand random weights, whose classes are numbers."""
    from diffusers import AutoencoderKL, DDIMScheduler, DiTPipeline, DiTTransformer2DModel

    torch.manual_seed(0)
    transformer = DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=8, num_layers=1, sample_size=8,
        patch_size=2, num_embeds_ada_norm=CLASSES, norm_type="ada_norm_zero",
    )  # fmt: skip
    with torch.no_grad():  # ada-norm-zero starts as nothing: give classes something to say
        for parameter in transformer.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape))
    vae = AutoencoderKL(
        block_out_channels=(8, 8), latent_channels=4, norm_num_groups=4, layers_per_block=1,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    return DiTPipeline(transformer, vae, DDIMScheduler(), id2label={i: f"class {i}" for i in range(CLASSES)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dit") / "tiny"
    tiny_dit().save_pretrained(place)
    return place


def test_the_score_is_minus_the_error_of_the_noise() -> None:
    pipeline = tiny_dit()
    model = from_dit(pipeline, classes=[4, 0, 1], timesteps=[300], seed=5, device="cpu")
    noise = torch.randn((4, 8, 8), generator=torch.Generator().manual_seed(5))
    expected = np.empty((3, 3))
    with torch.no_grad():
        for i, image in enumerate(IMAGES):
            pixels = torch.from_numpy(image).permute(2, 0, 1)[None].float() / 127.5 - 1
            latent = pipeline.vae.encode(pixels).latent_dist.mean * pipeline.vae.config.scaling_factor
            noised = pipeline.scheduler.add_noise(latent, noise[None], torch.tensor([300]))
            for j, number in enumerate((4, 0, 1)):
                labels = torch.tensor([number])
                output = pipeline.transformer(noised, timestep=torch.tensor([300]), class_labels=labels).sample
                assert output.shape[1] == 8  # noise and variance
                expected[i, j] = (output[:, :4] - noise).abs().mean()
    np.testing.assert_allclose(model.scores(IMAGES), -expected, rtol=1e-4)


def test_it_is_a_model_like_any_other(folder: Path) -> None:
    model = load_model(f"dit:{folder},timesteps=3", device="cpu")
    assert isinstance(model, Model)
    assert model.name == "dit-tiny"
    scores = model.scores(IMAGES)
    assert scores.shape == (3, CLASSES)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.scores(IMAGES), scores)
    assert from_dit(folder, timesteps=3, device="cpu").key == model.key
    other = from_dit(folder, timesteps=3, keep=2, keep_after=1, device="cpu")
    assert other.key != model.key


@pytest.mark.parametrize(("keep", "after"), [(1, 1), (2, 3), (5, 7)])
def test_hopeless_classes_are_given_up(folder: Path, keep: int, after: int) -> None:
    options = {"timesteps": 4, "samples": 2, "device": "cpu"}
    model, complete = from_dit(folder, **options, keep=keep, keep_after=after), from_dit(folder, **options)
    calls: list[int] = []
    counted = model.network.forward

    def count(x: Any, *args: Any, **more: Any) -> Any:
        calls.append(len(x))
        return counted(x, *args, **more)

    model.network.forward = count
    scores = model.scores(IMAGES)
    assert sum(calls) == 3 * (after * CLASSES + (8 - after) * keep)
    full = complete.scores(IMAGES)
    first = [complete.levels[i * 8 // after] for i in range(after)]
    complete.levels = first
    early = complete.scores(IMAGES)  # what is known when classes are given up
    for row, early_row, full_row in zip(scores, early, full, strict=True):
        kept = np.argsort(-early_row)[:keep]
        np.testing.assert_allclose(row[kept], full_row[kept], rtol=1e-5)
        others = [i for i in range(CLASSES) if i not in kept]
        assert row[others].max() < row[kept].min()
        assert list(np.argsort(-row[others])) == list(np.argsort(-early_row[others]))


def test_a_text_says_how_many_classes_go_on(folder: Path) -> None:
    model = load_model(f"dit:{folder},timesteps=4,keep=2,keep_after=1", device="cpu")
    assert model.key == from_dit(folder, timesteps=4, keep=2, keep_after=1, device="cpu").key
    with pytest.raises(BrittleError, match=naming("keep", "two")):
        load_model(f"dit:{folder},keep=two", device="cpu")
    with pytest.raises(BrittleError, match=naming("classes", 3)):
        load_model(f"dit:{folder},classes=3", device="cpu")


def test_prompts_are_given_up_too() -> None:
    pipeline = tiny_world.pipeline()
    prompts = ["a bag", "a sneaker", "fog", "snow"]
    model = from_diffusion(pipeline, prompts, timesteps=4, keep=2, keep_after=1, device="cpu")
    full = from_diffusion(pipeline, prompts, timesteps=4, device="cpu").scores(IMAGES)
    scores = model.scores(IMAGES)
    for row, full_row in zip(scores, full, strict=True):
        kept = np.argsort(-row)[:2]
        np.testing.assert_allclose(row[kept], full_row[kept], rtol=1e-5)


def test_bad_input_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    for option, values in (
        ({"classes": [0, 6]}, (5, "[0, 6]")),
        ({"classes": [1]}, (5, "[1]")),
        ({"keep": 6, "keep_after": 1}, (6, 5, 9)),
        ({"keep": 2}, (0, 9)),
        ({"loss": "l3"}, ("l3",)),
    ):
        with pytest.raises(BrittleError, match=naming(*values)):
            from_dit(folder, **option, device="cpu")
    tiny_world.pipeline().save_pretrained(tmp_path / "sd")
    with pytest.raises(BrittleError, match=naming("transformer", "DiT")):
        from_dit(tmp_path / "sd", device="cpu")
    with pytest.raises(BrittleError, match=naming("unet", "Stable Diffusion")):
        from_diffusion(folder, ["a", "b"], device="cpu")
    with pytest.raises(BrittleError, match=naming("StableDiffusionPipeline")):
        from_dit(tiny_world.pipeline(), device="cpu")
