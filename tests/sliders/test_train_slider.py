"""A slider is trained as published, is the same every time, and leaves the pipeline as it was."""

import math

import pytest
import torch

from brittle import BrittleError
from brittle._io import DamagedFile
from brittle.sliders import Sampling, draw_trajectory, slider_layers, slider_loss, slider_target, train_slider
from brittle.sliders.pipeline import encode_prompt, pipeline_key
from brittle.sliders.slider import adapter_on, slider_on
from brittle.sliders.training import half_denoised, initialise, training_scheduler
from tests.errors import naming
from tests.sliders import tiny_world

QUICK = {"steps": 6, "batch_size": 2, "denoising_steps": 4}
RESIDUAL = [
    *(f"down_blocks.{i}.resnets.0" for i in (0, 1)),
    *(f"mid_block.resnets.{i}" for i in (0, 1)),
    *(f"up_blocks.{i}.resnets.{j}" for i in (0, 1) for j in (0, 1)),
]
WIDENING = ["down_blocks.1.resnets.0", *(f"up_blocks.{i}.resnets.{j}" for i in (0, 1) for j in (0, 1))]
ATTENTION = ["down_blocks.0.attentions.0", "mid_block.attentions.0", *(f"up_blocks.1.attentions.{i}" for i in (0, 1))]


def same(first: dict, second: dict) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_adapters_are_where_the_paper_has_them(pipeline) -> None:
    expected = {
        *(f"{block}.{layer}" for block in RESIDUAL for layer in ("conv1", "conv2", "time_emb_proj")),
        *(f"{block}.conv_shortcut" for block in WIDENING),
        "down_blocks.0.downsamplers.0.conv",
        "up_blocks.0.upsamplers.0.conv",
        *(
            f"{block}.transformer_blocks.0.attn1.{layer}"
            for block in ATTENTION
            for layer in ("to_q", "to_k", "to_v", "to_out.0")
        ),
    }
    assert set(slider_layers(pipeline.unet)) == expected
    with adapter_on(pipeline, rank=4, alpha=1.0):
        wrapped = {name for name, module in pipeline.unet.named_modules() if hasattr(module, "lora_A")}
        scaling = {module.scaling["slider"] for _, module in pipeline.unet.named_modules() if hasattr(module, "lora_A")}
    assert wrapped == expected
    assert scaling == {0.25}


def test_stable_diffusion_2_has_150_adapters() -> None:
    """Its UNet without weights; the published files hold one adapter for each, known by names without dots."""
    with torch.device("meta"):
        unet = tiny_world.unet(
            sample_size=96,
            block_out_channels=(320, 640, 1280, 1280),
            layers_per_block=2,
            down_block_types=("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",),
            up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * 3,
            cross_attention_dim=1024,
            attention_head_dim=(5, 10, 20, 20),
            norm_num_groups=32,
        )
    layers = slider_layers(unet)
    resnets, shortcuts, samplers, transformers = 8 + 2 + 12, 2 + 12, 3 + 3, 6 + 1 + 9
    assert len(layers) == 3 * resnets + shortcuts + samplers + 4 * transformers == 150
    assert len({layer.replace(".", "_") for layer in layers}) == 150


def test_bfloat16_trains_a_float32_adapter() -> None:
    pipeline = tiny_world.pipeline().to(dtype=torch.bfloat16)
    slider = train_slider(pipeline, "bag", "fog", precision="bfloat16", **QUICK)
    assert slider.training["precision"] == "bfloat16"
    assert {value.dtype for value in slider.weights.values()} == {torch.float32}
    assert any(value.any() for name, value in slider.weights.items() if "lora_B" in name)
    images = draw_trajectory(pipeline, slider, [0, 1], [1], sampling=Sampling(steps=2))
    assert images.std() > 1


def test_a_pipeline_of_few_bits_is_not_said_to_train_in_float32() -> None:
    pipeline = tiny_world.pipeline().to(dtype=torch.bfloat16)
    with pytest.raises(BrittleError, match=naming("precision", "float32", "bfloat16", "dtype='float32'")):
        train_slider(pipeline, "bag", "fog", precision="float32", **QUICK)
    assert train_slider(pipeline, "bag", "fog", **{**QUICK, "steps": 1}).training["precision"] == "bfloat16"


def test_a_pipeline_is_known_by_its_weights_and_words_in_every_precision(pipeline) -> None:
    key = pipeline_key(pipeline, "bag")
    other = tiny_world.pipeline()
    assert pipeline_key(other, "bag") == key
    assert pipeline_key(other.to(dtype=torch.bfloat16), "bag") == key
    assert pipeline_key(pipeline, "sneaker") != key
    for part in ("unet", "vae", "text_encoder"):
        changed = tiny_world.pipeline()
        next(p for p in getattr(changed, part).parameters() if p.ndim == 1).data += 0.1
        assert pipeline_key(changed, "bag") != key


def test_the_first_weights_are_kaimings_and_zeros(pipeline) -> None:
    with adapter_on(pipeline, rank=4, alpha=1.0) as adapter:
        initialise(adapter, 0)
        weights = adapter.weights()
    conv = weights["up_blocks.0.resnets.0.conv1.lora_A.weight"]
    assert conv.shape[2:] == (3, 3)  # the way down has the layer's kernel, the way up 1×1
    assert weights["up_blocks.0.resnets.0.conv1.lora_B.weight"].shape[2:] == (1, 1)
    for name, value in weights.items():
        if "lora_B" in name:
            assert not value.any()
        else:
            bound = math.sqrt(3 / value[0].numel())
            assert 0.8 * bound < value.abs().max() <= bound


def test_the_objective_leads_from_the_class_to_the_shift() -> None:
    neutral, positive, other = torch.tensor([1.0, 0.0]), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0])
    assert slider_target(neutral, positive, other, 4.0).tolist() == [5.0, 4.0]
    with_slider = neutral.clone().requires_grad_()
    slider_loss(with_slider, slider_target(neutral, positive, neutral, 4.0)).backward()
    torch.testing.assert_close(-with_slider.grad, 4 * (positive - neutral))  # mean of two squares


@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction"])
def test_training_moves_predictions_towards_the_shift(prediction: str) -> None:
    pipeline = tiny_world.pipeline(prediction)
    slider = train_slider(pipeline, "bag", "heavy snow", steps=20, batch_size=2, denoising_steps=3, learning_rate=5e-3)
    assert slider.training["prediction"] == prediction
    noise = torch.randn((8, 4, 8, 8), generator=torch.Generator().manual_seed(1))
    plain, shifted = (encode_prompt(pipeline, p).expand(8, -1, -1) for p in ("bag", "bag, in heavy snow"))
    with slider_on(pipeline, slider) as adapter, torch.no_grad():
        adapter.off()
        before, wanted = (pipeline.unet(noise, 600, encoder_hidden_states=w).sample for w in (plain, shifted))
        adapter.on()
        after = pipeline.unet(noise, 600, encoder_hidden_states=plain).sample
    step, way = (after - before).flatten(1), (wanted - before).flatten(1)
    assert torch.cosine_similarity(step, way).mean() > 0.5
    assert 2 < step.norm() / way.norm() < 6  # η is 4


def test_the_training_latents_are_denoised_with_the_slider_on(pipeline) -> None:
    seen = []
    words = encode_prompt(pipeline, "bag")
    with adapter_on(pipeline, rank=4, alpha=1.0) as adapter:
        layer = adapter.layers[0]
        hook = pipeline.unet.register_forward_pre_hook(
            lambda _, args: seen.append((int(args[1]), layer.disable_adapters))
        )
        adapter.off()
        latents, t = half_denoised(
            adapter, training_scheduler(pipeline), torch.zeros(1, 4, 8, 8), words, done=3, steps=50
        )
        hook.remove()
    assert seen == [(980, False), (960, False), (940, False)]
    assert t == 939  # number 20·3 of 999, 998, …
    assert latents.shape == (1, 4, 8, 8)


def test_the_same_call_gives_the_same_weights_and_leaves_no_trace(pipeline) -> None:
    before = {name: value.clone() for name, value in pipeline.unet.state_dict().items()}
    trainable = [parameter.requires_grad for parameter in pipeline.unet.parameters()]
    state = torch.get_rng_state()
    first = train_slider(pipeline, "bag", "heavy_snow", **QUICK)
    assert torch.equal(state, torch.get_rng_state())
    assert same(before, pipeline.unet.state_dict())
    assert trainable == [parameter.requires_grad for parameter in pipeline.unet.parameters()]
    again = train_slider(pipeline, "bag", "heavy snow", unconditional="bag", guidance=3.0, **QUICK)  # cancels out
    assert same(first.weights, again.weights)
    assert (first.shift, first.prompt, first.rank, first.alpha, len(first.losses)) == ("heavy snow", "bag", 4, 1.0, 6)
    for other in ({"seed": 1}, {"unconditional": "picture"}, {"strength": 2.0}):
        assert not same(first.weights, train_slider(pipeline, "bag", "heavy snow", **{**QUICK, **other}).weights)


def test_an_interrupted_training_goes_on_to_the_same_weights(pipeline, tmp_path) -> None:
    whole = train_slider(pipeline, "bag", "fog", **QUICK)
    place, seen = tmp_path / "state.pt", []

    def interrupt(done: int, total: int, loss: float) -> None:
        seen.append((done, total, loss))
        if len(seen) == 5:
            raise KeyboardInterrupt

    options = {**QUICK, "checkpoint": place, "checkpoint_every": 2, "progress": interrupt}
    with pytest.raises(KeyboardInterrupt):
        train_slider(pipeline, "bag", "fog", **options)
    resumed = train_slider(pipeline, "bag", "fog", **options)
    assert [done for done, _, _ in seen] == [1, 2, 3, 4, 5, 5, 6]  # the fifth was not saved
    assert same(whole.weights, resumed.weights)
    assert whole.losses == resumed.losses
    with pytest.raises(BrittleError, match=naming("4.0", "1.0")):
        train_slider(pipeline, "bag", "fog", **options, strength=1.0)
    with pytest.raises(BrittleError, match=naming(6, 4)):
        train_slider(pipeline, "bag", "fog", **{**options, "steps": 4})
    other = tiny_world.pipeline()
    other.unet.conv_out.bias.data += 0.1
    with pytest.raises(BrittleError, match=naming("state.pt", "network")):
        train_slider(other, "bag", "fog", **options)
    place.write_bytes(place.read_bytes()[:200])
    with pytest.warns(DamagedFile, match=r"state\.pt"):
        anew = train_slider(pipeline, "bag", "fog", **options)
    assert same(whole.weights, anew.weights)
