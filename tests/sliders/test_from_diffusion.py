"""A diffusion model as a classifier."""

import pickle

import numpy as np
import pytest
import torch

from brittle.models import Model
from brittle.models.diffusion import from_diffusion, load_pipeline
from tests.sliders import tiny_world

PROMPTS = ["a photo of a bag", "a photo of a sneaker", "fog"]
IMAGES = tiny_world.photos(3, 16)[:, :, :16]


@pytest.fixture(scope="module")
def model(pipeline_folder):
    return from_diffusion(pipeline_folder, PROMPTS, timesteps=[100, 700], samples=2)


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction"])
def test_the_score_is_minus_the_error_of_the_noise(prediction: str) -> None:
    pipeline = tiny_world.pipeline(prediction)
    model = from_diffusion(pipeline, PROMPTS, timesteps=[300], seed=5)
    noise = torch.randn((4, 8, 8), generator=torch.Generator().manual_seed(5))
    share = float(pipeline.scheduler.alphas_cumprod[300])
    scheduler = pipeline.scheduler
    expected = np.empty((3, 3))
    with torch.no_grad():
        words = pipeline.encode_prompt(PROMPTS, "cpu", 1, False)[0]
        for i, image in enumerate(IMAGES):
            pixels = torch.from_numpy(image).permute(2, 0, 1)[None].float() / 127.5 - 1
            latent = pipeline.vae.encode(pixels).latent_dist.mean * pipeline.vae.config.scaling_factor
            noised = scheduler.add_noise(latent, noise[None], torch.tensor([300]))
            for j in range(3):
                guess = pipeline.unet(noised, 300, encoder_hidden_states=words[j : j + 1]).sample
                if prediction == "v_prediction":  # the error of the velocity, in units of the noise
                    velocity = scheduler.get_velocity(latent, noise[None], torch.tensor([300]))
                    expected[i, j] = share**0.5 * (guess - velocity).abs().mean()
                else:
                    expected[i, j] = (guess - noise).abs().mean()
    np.testing.assert_allclose(model.scores(IMAGES), -expected, rtol=1e-4)


def test_it_is_a_model_like_any_other(model) -> None:
    assert isinstance(model, Model)
    assert model.name == "tiny"
    scores = model.scores(IMAGES)
    assert scores.shape == (3, 3)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(np.concatenate([model.scores(IMAGES[i : i + 1]) for i in range(3)]), scores, rtol=1e-5)
    again = pickle.loads(pickle.dumps(model))
    assert again.key == model.key
    np.testing.assert_array_equal(again.scores(IMAGES), scores)
    large = np.repeat(np.repeat(IMAGES, 3, axis=1), 3, axis=2)
    np.testing.assert_allclose(model.scores(large), scores, atol=0.05)  # shown at the checkpoint's size


def test_the_key_says_what_scores_depend_on(model, pipeline_folder) -> None:
    same = from_diffusion(load_pipeline(pipeline_folder), PROMPTS, timesteps=[100, 700], samples=2, batch_size=2)
    assert same.key == model.key
    np.testing.assert_allclose(same.scores(IMAGES), model.scores(IMAGES), rtol=1e-5)
    options = ({"seed": 1}, {"loss": "l2"}, {"samples": 1}, {"timesteps": 2}, {"bf16": True})
    base = {"timesteps": [100, 700], "samples": 2}
    keys = {from_diffusion(pipeline_folder, PROMPTS, **{**base, **option}).key for option in options}
    assert len(keys | {model.key}) == 6
