"""A text-to-image diffusion model as a classifier: the class whose prompt denoises an image best."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.models.device import find_device
from brittle.models.load_pipeline import as_pipeline
from brittle.models.model import Scores
from brittle.models.needs import needs
from brittle.models.resize import resize

LOSSES = ("l1", "l2")


def from_diffusion(
    pipeline_folder: str | Path,
    class_prompts: Sequence[str],
    *,
    name: str | None = None,
    timesteps: int | Sequence[int] = 10,
    samples: int = 1,
    loss: str = "l1",
    seed: int = 0,
    batch_size: int = 16,
    device: str = "auto",
    bf16: bool = False,
) -> DiffusionModel:
    """A classifier from a Stable Diffusion checkpoint; its score for a class is minus the error of the predicted noise.

    Each image is noised `samples` times at each timestep, with the same noise for every class and every image, and
    the network predicts that noise given the class's prompt. Scores rank classes; they are no probabilities.

    Args:
        pipeline_folder: what diffusers' `save_pretrained` wrote, or a loaded pipeline.
        class_prompts: one prompt for each class, in the order of the labels.
        timesteps: the noise levels themselves, or how many of them, evenly spaced.
        loss: "l1", as in CNS-Bench, or "l2", as the noise was trained.
        batch_size: how many pairs of image and prompt are denoised at once.
    """
    pipeline = as_pipeline(pipeline_folder, device=device, dtype="float32")
    title = name or (Path(pipeline_folder).name if isinstance(pipeline_folder, str | Path) else "diffusion")
    total = int(pipeline.scheduler.config.num_train_timesteps)
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    for option, value in (("samples", samples), ("batch_size", batch_size)):
        if value < 1:
            raise ValueError(f"{option} must be at least 1, got {value!r}")
    prompts = [str(prompt) for prompt in class_prompts]
    if isinstance(class_prompts, str) or len(prompts) < 2:
        raise ValueError(f"class_prompts are two or more prompts, one for each class, got {class_prompts!r}")
    levels = _levels(timesteps, total)
    return DiffusionModel(pipeline, prompts, title, levels, samples, loss, seed, batch_size, device, bf16)


class DiffusionModel:
    """Made by `from_diffusion`. A pickle of it holds the weights on the CPU."""

    def __init__(
        self,
        pipeline: Any,
        prompts: list[str],
        name: str,
        timesteps: list[int],
        samples: int,
        loss: str,
        seed: int,
        batch_size: int,
        device: str,
        bf16: bool,
    ) -> None:
        torch = needs("torch")
        self.name, self.loss, self.bf16, self.batch_size, self._asked = name, loss, bf16, batch_size, device
        self.device = find_device(device)
        self.unet, self.vae = pipeline.unet.eval().to(self.device), pipeline.vae.eval().to(self.device)
        self.prediction = str(pipeline.scheduler.config.prediction_type)
        if self.prediction not in ("epsilon", "v_prediction"):
            raise ValueError(f"a diffusion classifier predicts epsilon or v_prediction, not {self.prediction!r}")
        self.side = int(self.unet.config.sample_size) * int(pipeline.vae_scale_factor)
        with torch.inference_mode():
            encoder = pipeline.text_encoder.to(self.device)
            self.words = pipeline.encode_prompt(prompts, self.device, 1, False)[0].clone()
        kept = [float(pipeline.scheduler.alphas_cumprod[t]) for t in timesteps]
        generator = torch.Generator().manual_seed(seed)
        shape = (self.unet.config.in_channels, self.unet.config.sample_size, self.unet.config.sample_size)
        self.levels = [
            (t, share, torch.randn(shape, generator=generator))
            for t, share in zip(timesteps, kept, strict=True)
            for _ in range(samples)
        ]
        seen = sha256(repr((prompts, timesteps, samples, loss, seed, bf16, kept, self.prediction)).encode())
        for module in (self.unet, self.vae, encoder):
            for key, value in sorted(module.state_dict().items()):
                numbers = value.detach().cpu().contiguous()
                seen.update(f"{key} {numbers.dtype} {tuple(numbers.shape)}".encode())
                seen.update(numbers.reshape(-1).view(torch.uint8).numpy().tobytes())
        self.key = seen.hexdigest()[:16]

    def scores(self, images: Image) -> Scores:
        """Minus the mean error of the predicted noise, N×classes."""
        torch = needs("torch")
        kind = self.device.partition(":")[0]
        classes = len(self.words)
        with torch.inference_mode(), torch.autocast(kind, dtype=torch.bfloat16, enabled=self.bf16):
            latents = torch.cat([self._encode(images[i : i + 1]) for i in range(len(images))])
            total = torch.zeros(len(images) * classes)
            for t, share, noise in self.levels:
                noise = noise.to(latents)
                noised = share**0.5 * latents + (1 - share) ** 0.5 * noise
                for start in range(0, len(total), self.batch_size):
                    pairs = torch.arange(start, min(start + self.batch_size, len(total)), device=self.device)
                    x, words = noised[pairs // classes], self.words[pairs % classes]
                    given = self.unet(x.to(self.unet.dtype), t, encoder_hidden_states=words).sample.float()
                    if self.prediction == "v_prediction":
                        given = share**0.5 * given + (1 - share) ** 0.5 * x
                    miss = given - noise
                    error = miss.abs() if self.loss == "l1" else miss.square()
                    total[start : start + len(pairs)] += error.flatten(1).mean(1).cpu()
        return np.asarray(-(total / len(self.levels)).reshape(-1, classes).numpy(), np.float32)

    def _encode(self, images: Image) -> Any:
        torch = needs("torch")
        shown = torch.from_numpy(np.ascontiguousarray(resize(images, (self.side, self.side), "bicubic")))
        pixels = shown.permute(0, 3, 1, 2).to(self.device, self.vae.dtype) / 127.5 - 1
        return self.vae.encode(pixels).latent_dist.mode().float() * self.vae.config.scaling_factor

    def __getstate__(self) -> dict[str, Any]:
        moved = {} if self.device == "cpu" else {k: copy.deepcopy(getattr(self, k)).cpu() for k in ("unet", "vae")}
        return {**self.__dict__, **moved, "words": self.words.cpu()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.device = find_device(self._asked)
        self.unet, self.vae, self.words = (part.to(self.device) for part in (self.unet, self.vae, self.words))


def _levels(timesteps: int | Sequence[int], total: int) -> list[int]:
    if isinstance(timesteps, int):
        if not 1 <= timesteps <= total:
            raise ValueError(f"timesteps as a number lies between 1 and {total}, got {timesteps}")
        return [int((i + 0.5) * total / timesteps) for i in range(timesteps)]
    levels = [int(t) for t in timesteps]
    if not levels or min(levels) < 0 or max(levels) >= total:
        raise ValueError(f"timesteps lie between 0 and {total - 1}, got {timesteps!r}")
    return levels
