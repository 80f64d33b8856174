"""The CLIP of the tiny world: images and captions that belong together, together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers
from captions import captions, shift_captions
from fit import fit, pixels
from make_data import Clothes
from make_tokenizer import make_tokenizer, text_settings
from save_parts import save_half
from torch import Tensor, nn

STEPS, BATCH = 6000, 96
MEAN = STD = (0.5, 0.5, 0.5)


def train_clip(clothes: Clothes, work: Path) -> transformers.CLIPModel:
    """The contrastive loss, where every caption that is true of an image is as good as its own."""
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    words = text_settings(tokenizer, hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4)
    seeing = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 3, "num_attention_heads": 4}
    config = transformers.CLIPConfig(
        text_config=words, vision_config={**seeing, "image_size": 32, "patch_size": 8}, projection_dim=64
    )
    clip = transformers.CLIPModel(config)
    clip.set_attn_implementation("eager")  # faster to train on a CPU

    def loss(numbers: torch.Generator) -> Tensor:
        chance = np.random.default_rng(numbers.initial_seed())
        places = torch.from_numpy(chance.integers(0, len(clothes.plain), BATCH))
        without = chance.random(BATCH) < 0.3
        shown = pixels(clothes.shifted, places)
        shown[without] = pixels(clothes.plain, places[without])
        label = clothes.labels[places.numpy()]
        shift = np.where(without, -1, clothes.shift[places.numpy()])
        said, about, within = [], [], []
        for name, where in zip(label, shift, strict=True):
            luck = chance.random()  # the class alone, the shift alone, or both
            about.append(name if where < 0 or luck < 0.7 else -1)
            within.append(where if where >= 0 and luck > 0.25 else -1)
            several = captions(about[-1], None if within[-1] < 0 else within[-1]) if about[-1] >= 0 else ()
            several = several or shift_captions(within[-1])
            said.append(several[chance.integers(len(several))])
        tokens = tokenizer(said, padding=True, return_tensors="pt").input_ids
        logits = clip(input_ids=tokens, pixel_values=_shaken(shown, chance)).logits_per_image.float()
        c, s = np.array(about)[None], np.array(within)[None]
        true = torch.from_numpy(((c < 0) | (c == label[:, None])) & ((s < 0) | (s == shift[:, None]))).float()
        return sum(
            nn.functional.cross_entropy(rows, fits / fits.sum(1, keepdim=True))
            for rows, fits in ((logits, true), (logits.T, true.T))
        )  # type: ignore[return-value]

    fit(clip, loss, work / "clip.pt", steps=STEPS, rate=1.5e-3, decay=0.05)
    clip.set_attn_implementation("sdpa")
    return clip


def _shaken(shown: Tensor, chance: np.random.Generator) -> Tensor:
    """Moved by up to two pixels, half of them flipped."""
    down, right = chance.integers(-2, 3, 2)
    shown = torch.roll(shown, (int(down), int(right)), (2, 3))
    flipped = torch.from_numpy(chance.random(len(shown)) < 0.5)
    return torch.where(flipped[:, None, None, None], shown.flip(3), shown)


def save_clip(clip: transformers.CLIPModel, folder: Path) -> None:
    """With the processor and the tokenizer that `brittle.sliders.Clip` loads."""
    save_half(clip, folder)
    make_tokenizer().save_pretrained(folder)
    sides = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    transformers.CLIPImageProcessorPil(**sides, image_mean=MEAN, image_std=STD).save_pretrained(folder)
