"""The same picture at every scale, and at scale 0 the pipeline's own."""

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.sliders import (
    NEGATIVE_PROMPT,
    SCHEDULERS,
    Sampling,
    draw_trajectory,
    load_published_slider,
    load_slider,
    two_prompts,
)
from tests.errors import naming

FEW = Sampling(steps=4)


def plain(pipeline, prompt: str, seed: int) -> np.ndarray:
    """What somebody without us would write."""
    picture = pipeline(
        prompt,
        negative_prompt=NEGATIVE_PROMPT,
        guidance_scale=7.5,
        num_inference_steps=4,
        generator=torch.Generator().manual_seed(seed),
    ).images[0]
    return np.asarray(picture)


@pytest.fixture(scope="module")
def drawn(pipeline, slider) -> np.ndarray:
    return draw_trajectory(pipeline, slider, (0, 1, 2.5), (1, 7), sampling=FEW)


class Watch:
    """Notes the timesteps and images that the UNet is given, and whether the slider is on."""

    def __init__(self, pipeline, slider) -> None:
        self.times, self.given, self.on, self.layer = [], [], [], slider.layers[0]
        self.hook = pipeline.unet.register_forward_hook(self.note)

    def note(self, unet, args, _) -> None:
        self.times.append(int(args[1]))
        self.given.append(args[0][:1].clone())
        self.on.append(not unet.get_submodule(self.layer).disable_adapters)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_) -> None:
        self.hook.remove()


def test_scale_0_is_the_plain_pipeline_bit_for_bit(pipeline, drawn) -> None:
    assert drawn.shape == (2, 3, 16, 16, 3)
    for row, seed in zip(drawn, (1, 7), strict=True):
        np.testing.assert_array_equal(row[0], plain(pipeline, "a picture of a bag", seed))
        assert np.abs(row[1].astype(int) - row[0]).mean() > 1
        assert np.abs(row[2].astype(int) - row[1]).mean() > 1


def test_batches_of_scales_and_seeds_are_the_same_pictures(pipeline, slider, drawn) -> None:
    steps = []
    batched = draw_trajectory(
        pipeline, slider, (0, 1, 2.5), (1, 7), sampling=FEW, batch_size=4, progress=lambda *at: steps.append(at)
    )
    assert np.abs(batched.astype(int) - drawn).max() <= 1
    assert steps == [(4, 6), (6, 6)]


def test_the_slider_is_off_in_the_noisy_steps_and_noise_is_the_seeds(pipeline, slider) -> None:
    ways = {}
    for scale in (0.0, 2.5):
        with Watch(pipeline, slider) as ways[scale]:
            draw_trajectory(pipeline, slider, [scale], [3], sampling=Sampling(steps=50))
    still, moved = ways[0.0], ways[2.5]
    assert moved.times == list(range(981, 0, -20))
    assert moved.on == [t <= 750 for t in moved.times]
    assert sum(moved.on) == 38
    assert not any(still.on)
    noise = torch.randn((1, 4, 8, 8), generator=torch.Generator().manual_seed(3))
    assert torch.equal(still.given[0], noise)
    same = [torch.equal(a, b) for a, b in zip(still.given, moved.given, strict=True)]
    assert same == [True] * 13 + [False] * 37  # what the first step with the slider did is seen by the next


@pytest.mark.parametrize(("active", "steps"), [(0.0, 0), (0.25, 1), (0.5, 2), (0.75, 3), (1.0, 4)])
def test_active_is_a_share_of_the_timesteps(pipeline, slider, drawn, active: float, steps: int) -> None:
    with Watch(pipeline, slider) as watch:
        [[image]] = draw_trajectory(pipeline, slider, [1.0], [1], active=active, sampling=FEW)
    assert watch.times == [751, 501, 251, 1]
    assert watch.on == [i >= 4 - steps for i in range(4)]
    assert np.array_equal(image, drawn[0, 0]) == (steps == 0)
    assert np.array_equal(image, drawn[0, 1]) == (steps == 3)


def test_it_is_a_lora_that_diffusers_reads(pipeline, slider, tmp_path) -> None:
    slider.save(tmp_path)
    [[ours]] = draw_trajectory(pipeline, slider, [1.5], [1], active=1.0, sampling=FEW)
    try:
        pipeline.load_lora_weights(tmp_path, adapter_name="theirs")
        pipeline.set_adapters("theirs", adapter_weights=1.5)
        theirs = plain(pipeline, "a picture of a bag", 1)
    finally:
        pipeline.unload_lora_weights()
    np.testing.assert_array_equal(ours, theirs)


def test_a_saved_slider_gives_the_same_images(pipeline, slider, drawn, tmp_path) -> None:
    again = load_slider(slider.save(tmp_path / "snow"))
    assert (again.prompt, again.shift, again.rank, again.alpha) == ("bag", "heavy snow", 4, 1.0)
    np.testing.assert_array_equal(draw_trajectory(pipeline, again, (0, 1, 2.5), (1, 7), sampling=FEW), drawn)


def test_a_published_adapter_gives_the_same_images(pipeline, slider, drawn, tmp_path) -> None:
    state = {}
    for path in slider.layers:
        bare = "lora_unet_" + path.replace(".", "_")
        state[f"{bare}.lora_down.weight"] = slider.weights[f"{path}.lora_A.weight"]
        state[f"{bare}.lora_up.weight"] = slider.weights[f"{path}.lora_B.weight"]
        state[f"{bare}.alpha"] = torch.tensor(1.0)
    file = tmp_path / "heavy_snow_class_002_alpha1.0_rank4_noxattn_last.pt"
    torch.save(state, file)
    theirs = load_published_slider(file, pipeline, prompt="bag")
    assert (theirs.shift, theirs.rank, theirs.alpha) == ("heavy snow", 4, 1.0)
    np.testing.assert_array_equal(draw_trajectory(pipeline, theirs, (0, 1, 2.5), [1], sampling=FEW), drawn[:1])
    torch.save({**state, "lora_unet_conv_in.alpha": torch.tensor(1.0)}, file)
    with pytest.raises(BrittleError, match=naming("lora_unet_conv_in")):
        load_published_slider(file, pipeline, prompt="bag")
    torch.save(pipeline.unet.conv_in, file)
    with pytest.raises(BrittleError, match=naming(file.name, "torch.save(model.state_dict(), path)")):
        load_published_slider(file, pipeline, prompt="bag")


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning")
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_schedulers_can_be_chosen(pipeline, slider, scheduler: str) -> None:
    before = pipeline.scheduler
    images = draw_trajectory(pipeline, slider, [0.0, -1.25], [1], sampling=Sampling(steps=3, scheduler=scheduler))
    assert pipeline.scheduler is before
    assert images.std() > 1
    assert not np.array_equal(images[0, 0], images[0, 1])


def test_two_prompts_are_the_plain_pipeline_with_and_without_the_shift(pipeline) -> None:
    [[without, with_shift]] = two_prompts(pipeline, "bag", "heavy_snow", [7], sampling=FEW)
    np.testing.assert_array_equal(without, plain(pipeline, "a picture of a bag", 7))
    np.testing.assert_array_equal(with_shift, plain(pipeline, "a picture of a bag in heavy snow", 7))
    small = two_prompts(pipeline, "bag", "heavy_snow", [7], sampling=Sampling(steps=2, side=8, guidance=1.0))
    assert small.shape == (1, 2, 8, 8, 3)
