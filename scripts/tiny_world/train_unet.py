"""The denoising network and its text encoder, trained together on latents and captions."""

from __future__ import annotations

from pathlib import Path

import diffusers
import numpy as np
import torch
import transformers
from captions import NOTHING, captions, shift_captions
from fit import fit
from make_data import Clothes
from make_tokenizer import make_tokenizer, text_settings
from torch import Tensor, nn

STEPS, BATCH = 5000, 64
PLAIN, SILENT, CLASSLESS = 0.4, 0.12, 0.08
"""The shares of images without a shift, of images without a caption, and of shifted ones whose class is not named."""


def scheduler() -> diffusers.DDIMScheduler:
    """The settings of Stable Diffusion 2."""
    return diffusers.DDIMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        clip_sample=False,
        set_alpha_to_one=False,
        steps_offset=1,
        prediction_type="v_prediction",
    )


class Painter(nn.Module):
    """Both networks, so that they are trained and kept as one."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenizer = make_tokenizer()
        words = text_settings(
            self.tokenizer, hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4
        )
        self.text = transformers.CLIPTextModel(transformers.CLIPTextConfig(**words))
        self.unet = diffusers.UNet2DConditionModel(
            sample_size=8,
            block_out_channels=(64, 112),
            layers_per_block=1,
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
            cross_attention_dim=64,
            attention_head_dim=4,
            norm_num_groups=16,
            use_linear_projection=True,
        )
        self.fast(True)

    def fast(self, training: bool) -> None:
        """Plain attention is faster to train on a CPU; what is saved has the usual one."""
        self.text.set_attn_implementation("eager" if training else "sdpa")
        kinds = diffusers.models.attention_processor
        self.unet.set_attn_processor(kinds.AttnProcessor() if training else kinds.AttnProcessor2_0())

    def forward(self, latents: Tensor, timesteps: Tensor, tokens: Tensor) -> Tensor:
        """The prediction for latents with the captions of these tokens."""
        different, which = tokens.unique(dim=0, return_inverse=True)
        read = self.text(different).last_hidden_state
        seen: Tensor = self.unet(latents, timesteps, encoder_hidden_states=read[which]).sample
        return seen


def train_unet(clothes: Clothes, latents: tuple[Tensor, Tensor], work: Path, steps: int = STEPS) -> Painter:
    """To predict the velocity at a random timestep."""
    torch.manual_seed(0)
    painter, noise = Painter(), scheduler()
    plain, shifted = latents

    def loss(numbers: torch.Generator) -> Tensor:
        chance = np.random.default_rng(numbers.initial_seed())
        without = torch.from_numpy(chance.random(BATCH) < PLAIN)
        places = torch.from_numpy(chance.integers(0, np.where(without, len(plain), len(shifted))))
        clean = torch.where(without[:, None, None, None], plain[places % len(plain)], shifted[places]).float()
        said = [caption(clothes, int(place), bool(bare), chance) for place, bare in zip(places, without, strict=True)]
        tokens = painter.tokenizer(said, padding="max_length", return_tensors="pt").input_ids
        drawn = torch.randn(clean.shape, generator=numbers)
        timesteps = torch.randint(0, noise.config.num_train_timesteps, (BATCH,), generator=numbers)
        seen = painter(noise.add_noise(clean, drawn, timesteps), timesteps, tokens)
        return (seen.float() - noise.get_velocity(clean, drawn, timesteps)).square().mean()

    fit(painter, loss, work / "unet.pt", steps=steps, rate=1e-3, ema=0.998)
    painter.fast(False)
    return painter


def caption(clothes: Clothes, place: int, bare: bool, chance: np.random.Generator) -> str:
    """Something that can be said about an image, or nothing."""
    label, shift, luck = int(clothes.labels[place]), int(clothes.shift[place]), chance.random()
    if luck < SILENT:
        several = NOTHING
    elif not bare and luck < SILENT + CLASSLESS:
        several = shift_captions(shift)
    else:
        several = captions(label, None if bare else shift)
    return several[chance.integers(len(several))]


def pipeline(painter: Painter, vae: diffusers.AutoencoderKL) -> diffusers.StableDiffusionPipeline:
    """All of it as diffusers knows it."""
    return diffusers.StableDiffusionPipeline(
        vae=vae,
        text_encoder=painter.text,
        tokenizer=painter.tokenizer,
        unet=painter.unet,
        scheduler=scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
