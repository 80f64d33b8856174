"""Real classes of diffusers and transformers, so small that a test can afford them; nothing is trained."""

from pathlib import Path

import diffusers
import numpy as np
import torch
import transformers
from tokenizers.pre_tokenizers import ByteLevel

WORDS = [
    *("a", "picture", "photo", "of", "in", "heavy", "snow", "fog", "cartoon", "style", "sneaker", "bag"),
    *("blurry", "text", "caption", "low", "res", "grainy", "ugly"),
]

diffusers.utils.logging.disable_progress_bar()
transformers.utils.logging.disable_progress_bar()


def vocabulary() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Every byte, and whole words by merging their letters from the left."""
    letters = sorted(ByteLevel.alphabet())
    pieces, merges = [*letters, *(letter + "</w>" for letter in letters)], []
    for word in WORDS:
        parts = [*word[:-1], word[-1] + "</w>"]
        while len(parts) > 1:
            merges.append((parts[0], parts[1]))
            parts = [parts[0] + parts[1], *parts[2:]]
            pieces.append(parts[0])
    pieces += ["<|startoftext|>", "<|endoftext|>"]
    return {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, list(dict.fromkeys(merges))


def tokenizer(length: int = 48) -> transformers.CLIPTokenizer:
    vocab, merges = vocabulary()
    return transformers.CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=length)


def text_config(length: int = 48) -> dict:
    vocab, _ = vocabulary()
    start, end = vocab["<|startoftext|>"], vocab["<|endoftext|>"]
    return {
        "vocab_size": len(vocab),
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": length,
        "bos_token_id": start,
        "eos_token_id": end,
        "pad_token_id": end,
    }


def unet(**options) -> diffusers.UNet2DConditionModel:
    """With the kinds of blocks of Stable Diffusion 2, one layer each."""
    torch.manual_seed(0)
    return diffusers.UNet2DConditionModel(
        **{
            "sample_size": 8,
            "block_out_channels": (16, 32),
            "layers_per_block": 1,
            "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
            "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
            "cross_attention_dim": 32,
            "attention_head_dim": 8,
            "norm_num_groups": 8,
            "use_linear_projection": True,
            **options,
        }
    )


def pipeline(prediction: str = "v_prediction") -> diffusers.StableDiffusionPipeline:
    """The scheduler's settings are those of Stable Diffusion 2."""
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=16,
    )
    scheduler = diffusers.DDIMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        clip_sample=False,
        set_alpha_to_one=False,
        steps_offset=1,
        prediction_type=prediction,
    )
    made = diffusers.StableDiffusionPipeline(
        vae=vae,
        text_encoder=transformers.CLIPTextModel(transformers.CLIPTextConfig(**text_config())).eval(),
        tokenizer=tokenizer(),
        unet=unet(),
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    made.set_progress_bar_config(disable=True)
    return made


def save_clip(folder: Path) -> Path:
    torch.manual_seed(0)
    vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.CLIPConfig(
        text_config=text_config(), vision_config={**vision, "image_size": 16, "patch_size": 8}, projection_dim=16
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    sides = {"size": {"shortest_edge": 16}, "crop_size": {"height": 16, "width": 16}}
    transformers.CLIPImageProcessorPil(**sides).save_pretrained(folder)
    return folder


def save_dino(folder: Path) -> Path:
    torch.manual_seed(0)
    config = transformers.Dinov2Config(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14
    )
    transformers.Dinov2Model(config).save_pretrained(folder)
    return folder


def photos(count: int = 3, side: int = 20) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, side, side + 4, 3), dtype=np.uint8)
