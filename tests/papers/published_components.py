"""Folders of the published components with their own classes and configurations, narrow, shallow and of random weights.

Stable Diffusion 2.0, CLIP ViT-L/14 and DINOv2 ViT-L/14 with registers as their folders are on the hub, old spellings of
their files included. Numbers that are not the published ones are widths, depths, the vocabulary and the side of what is
drawn: `NARROWED` names them all.
"""

import json
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers

from tests.sliders.tiny_world import tokenizer, vocabulary

UNET: dict[str, Any] = {
    "sample_size": 96,
    "in_channels": 4,
    "out_channels": 4,
    "center_input_sample": False,
    "flip_sin_to_cos": True,
    "freq_shift": 0,
    "down_block_types": ("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",),
    "mid_block_type": "UNetMidBlock2DCrossAttn",
    "up_block_types": ("UpBlock2D",) + ("CrossAttnUpBlock2D",) * 3,
    "only_cross_attention": False,
    "block_out_channels": (320, 640, 1280, 1280),
    "layers_per_block": 2,
    "downsample_padding": 1,
    "mid_block_scale_factor": 1,
    "act_fn": "silu",
    "norm_num_groups": 32,
    "norm_eps": 1e-5,
    "cross_attention_dim": 1024,
    "attention_head_dim": (5, 10, 20, 20),
    "dual_cross_attention": False,
    "use_linear_projection": True,
}
VAE: dict[str, Any] = {
    "sample_size": 768,
    "block_out_channels": (128, 256, 512, 512),
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "layers_per_block": 2,
    "latent_channels": 4,
    "norm_num_groups": 32,
    "act_fn": "silu",
}
SCHEDULER: dict[str, Any] = {
    "num_train_timesteps": 1000,
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
    "clip_sample": False,
    "set_alpha_to_one": False,
    "steps_offset": 1,
    "prediction_type": "v_prediction",
}
TEXT: dict[str, Any] = {  # an end-of-text token of number 2 is wrong and published: the highest one is taken instead
    "max_position_embeddings": 77,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 1,
    "layer_norm_eps": 1e-5,
}
SD_TEXT = {**TEXT, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 23, "num_attention_heads": 16}
SD_TEXT |= {"hidden_act": "gelu", "projection_dim": 512}
CLIP_TEXT = {**TEXT, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
CLIP_TEXT |= {"hidden_act": "quick_gelu", "projection_dim": 768}
CLIP_VISION: dict[str, Any] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 14,
    "hidden_act": "quick_gelu",
    "projection_dim": 768,
}
CLIP_PIXELS: dict[str, Any] = {  # as published, before its sides became dictionaries and its class an image processor
    "crop_size": 224,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "size": 224,
}
DINO: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "mlp_ratio": 4,
    "image_size": 518,
    "patch_size": 14,
    "qkv_bias": True,
    "layerscale_value": 1.0,
    "use_swiglu_ffn": False,
}

NARROWED: dict[str, dict[str, Any]] = {
    "unet": {
        "sample_size": 8,
        "block_out_channels": (8, 16, 16, 16),
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "cross_attention_dim": 16,
        "attention_head_dim": (1, 2, 2, 2),
    },
    "vae": {"sample_size": 64, "block_out_channels": (4, 4, 8, 8), "layers_per_block": 1, "norm_num_groups": 4},
    "text": {
        "vocab_size": len(vocabulary()[0]),
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "projection_dim": 16,
    },
    "vision": {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "projection_dim": 16,
    },
    "dino": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2},
}
"""What differs from the published numbers."""


def stable_diffusion_2() -> diffusers.StableDiffusionPipeline:
    """Its parts by the class names of its model_index.json; it draws at 8 times the side of its latents."""
    torch.manual_seed(0)
    made = diffusers.StableDiffusionPipeline(
        vae=diffusers.AutoencoderKL(**VAE | NARROWED["vae"]),
        text_encoder=transformers.CLIPTextModel(transformers.CLIPTextConfig(**SD_TEXT | NARROWED["text"])).eval(),
        tokenizer=tokenizer(77),
        unet=diffusers.UNet2DConditionModel(**UNET | NARROWED["unet"]),
        scheduler=diffusers.DDIMScheduler(**SCHEDULER),
        safety_checker=None,
        feature_extractor=transformers.CLIPImageProcessorPil(),
        requires_safety_checker=False,
    )
    made.set_progress_bar_config(disable=True)
    return made


def save_clip_large(folder: Path) -> Path:
    """CLIP ViT-L/14, as openai/clip-vit-large-patch14."""
    torch.manual_seed(0)
    text, vision = CLIP_TEXT | NARROWED["text"], CLIP_VISION | NARROWED["vision"]
    width = vision["projection_dim"]
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=width)
    transformers.CLIPModel(config).save_pretrained(folder)
    tokenizer(77).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(CLIP_PIXELS))
    return folder


def save_dinov2(folder: Path, *, registers: int = 0) -> Path:
    """DINOv2 ViT-L/14, as facebook/dinov2-large, or with registers, as facebook/dinov2-with-registers-large."""
    torch.manual_seed(0)
    numbers = DINO | NARROWED["dino"]
    made = (
        transformers.Dinov2WithRegistersModel(
            transformers.Dinov2WithRegistersConfig(**numbers, num_register_tokens=registers)
        )
        if registers
        else transformers.Dinov2Model(transformers.Dinov2Config(**numbers))
    )
    made.save_pretrained(folder)
    return folder
