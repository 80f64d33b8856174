"""The image encoder in DINOv2's role: two views of one piece of clothing, together; labels are not used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers
from fit import fit, pixels
from make_data import Clothes
from torch import Tensor, nn

STEPS, BATCH, TEMPERATURE = 5000, 128, 0.05


class Viewer(nn.Module):
    """The encoder, ending in what `brittle.sliders.ImageEncoder` compares: the softmax of the class token."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.Dinov2Config(
            image_size=32,
            patch_size=8,
            hidden_size=128,
            num_hidden_layers=4,
            num_attention_heads=4,
            mlp_ratio=3,
            attn_implementation="eager",
        )
        self.encoder = transformers.Dinov2Model(config)

    def forward(self, shown: Tensor) -> Tensor:
        """Vectors of length 1."""
        seen: Tensor = self.encoder(pixel_values=shown).pooler_output.float().softmax(1)
        return nn.functional.normalize(seen, dim=1)


def train_encoder(clothes: Clothes, work: Path) -> transformers.Dinov2Model:
    """SimCLR without a head, where views are small movements, flips, brightness and the shifts themselves.

    Larger movements make an encoder that takes one piece of clothing for another of its kind.
    """
    torch.manual_seed(0)
    viewer = Viewer()

    def loss(numbers: torch.Generator) -> Tensor:
        chance = np.random.default_rng(numbers.initial_seed())
        places = torch.from_numpy(chance.integers(0, len(clothes.plain), BATCH))
        seen = viewer(torch.cat([_view(clothes, places, chance) for _ in range(2)]))
        alike = seen @ seen.T / TEMPERATURE - 1e9 * torch.eye(2 * BATCH)
        return nn.functional.cross_entropy(alike, torch.arange(2 * BATCH).roll(BATCH))

    fit(viewer, loss, work / "encoder.pt", steps=STEPS, rate=1.5e-3, decay=0.05)
    viewer.encoder.set_attn_implementation("sdpa")
    return viewer.encoder


def _view(clothes: Clothes, places: Tensor, chance: np.random.Generator) -> Tensor:
    """Each image as it is or in its shift, moved, zoomed, flipped and lightened, as the encoder takes it."""
    in_shift = torch.from_numpy(chance.random(len(places)) < 0.5)[:, None, None, None]
    shown = torch.where(in_shift, pixels(clothes.shifted, places), pixels(clothes.plain, places))
    n = len(places)
    turn = np.zeros((n, 2, 3), np.float32)
    turn[:, 0, 0] = chance.uniform(0.925, 1.03, n) * chance.choice([-1, 1], n)
    turn[:, 1, 1] = chance.uniform(0.925, 1.03, n)
    turn[:, :, 2] = chance.uniform(-0.045, 0.045, (n, 2))
    grid = nn.functional.affine_grid(torch.from_numpy(turn), list(shown.shape), align_corners=False)
    shown = nn.functional.grid_sample(shown, grid, padding_mode="border", align_corners=False)
    light = torch.from_numpy(chance.uniform(0.6, 1.2, (n, 1, 1, 1)).astype(np.float32))
    return (((shown + 1) / 2 * light).clamp(0, 1) - 0.5) / 0.2
