"""The autoencoder: images of 32×32×3 to latents of 8×8×4 and back."""

from __future__ import annotations

from pathlib import Path

import diffusers
import numpy as np
import torch
from fit import fit, pixels
from make_data import Clothes
from torch import Tensor, nn

STEPS, BATCH, KL, COARSE = 4000, 32, 1e-4, 4.0


def train_vae(clothes: Clothes, work: Path) -> diffusers.AutoencoderKL:
    """To draw images again, and coarse images above all, since colours come last otherwise."""
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKL(
        block_out_channels=(16, 32, 64),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=8,
        sample_size=32,
    )
    count = len(clothes.plain)

    def loss(numbers: torch.Generator) -> Tensor:
        places = torch.randint(0, count, (BATCH,), generator=numbers)
        half = BATCH // 3
        shown = torch.cat([pixels(clothes.plain, places[:half]), pixels(clothes.shifted, places[half:])])
        seen = vae.encode(shown).latent_dist
        latents = seen.mean.float() + seen.std.float() * torch.randn(seen.mean.shape, generator=numbers)
        wrong = vae.decode(latents).sample.float() - shown
        coarse = nn.functional.avg_pool2d(wrong, 4)
        return (
            wrong.square().mean()
            + 0.2 * wrong.abs().mean()
            + COARSE * coarse.square().mean()
            + 5 * COARSE * (coarse - coarse.mean(1, keepdim=True)).square().mean()
            + KL * seen.kl().float().mean() / 64
        )

    fit(vae, loss, work / "vae.pt", steps=STEPS, rate=3e-3)
    even_out(vae, clothes)
    return vae


def even_out(vae: diffusers.AutoencoderKL, clothes: Clothes, count: int = 512) -> None:
    """Give every channel of the latents mean 0 and deviation 1, by its first and last 1×1 convolution.

    Images come back as before. Without it the colours, a channel of little deviation, drown in noise first.
    """
    with torch.no_grad():
        shown = torch.cat([pixels(x, torch.arange(count)) for x in (clothes.plain, clothes.shifted)])
        seen = torch.cat([vae.encode(part).latent_dist.mean for part in shown.split(128)])
        mean, deviation = seen.mean((0, 2, 3)), seen.std((0, 2, 3))
        there, back = vae.quant_conv, vae.post_quant_conv
        n = len(mean)
        there.weight[:n] /= deviation[:, None, None, None]
        there.bias[:n] = (there.bias[:n] - mean) / deviation
        there.bias[n:] -= 2 * deviation.log()
        back.bias += back.weight[:, :, 0, 0] @ mean
        back.weight *= deviation[None, :, None, None]
    vae.register_to_config(scaling_factor=1.0)


LATENTS = {"plain": 12_000, "shifted": 24_000}
"""How many images of each kind the denoising network is trained on."""


def latents(vae: diffusers.AutoencoderKL, clothes: Clothes, work: Path) -> tuple[Tensor, Tensor]:
    """The latents of plain and of shifted images, scaled, in half precision."""
    file = work / "latents.pt"
    if not file.is_file():
        found = []
        for kind, count in LATENTS.items():
            images, parts = getattr(clothes, kind)[:count], []
            for places in torch.from_numpy(np.arange(count)).split(256):
                with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                    parts.append((vae.encode(pixels(images, places)).latent_dist.mean.float()).half())
            found.append(torch.cat(parts))
            print(f"latents: {count} {kind}", flush=True)
        torch.save(tuple(found), file)
    plain, shifted = torch.load(file, weights_only=True)
    factor = vae.config.scaling_factor
    return plain * factor, shifted * factor
