"""A diffusion pipeline, and a diffusion model as a classifier."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, BrittleTypeError
from brittle._identity import canonical
from brittle._optional import quiet_libraries, require
from brittle._types import Image
from brittle.models.model import Scores, model_source
from brittle.models.preprocessing import resize
from brittle.models.torch import find_device

PARTS = ("unet", "vae", "text_encoder", "tokenizer", "scheduler")


def load_pipeline(folder: str | Path, *, device: str = "auto", dtype: str = "auto") -> Any:
    """A text-to-image pipeline from a folder that diffusers' `save_pretrained` wrote; nothing is downloaded.

    Only safetensors weights are read and no code beside them is run. A safety checker is disabled, because it would
    blank images. `dtype` is "float32", "bfloat16" or "auto", which is bfloat16 on GPUs that support it.
    """
    torch, diffusers = require("torch", "sliders"), require("diffusers", "sliders")
    path = Path(folder).expanduser()
    index = _index(path)
    device = find_device(device)
    if dtype not in ("auto", "float32", "bfloat16"):
        raise BrittleError(f"dtype must be auto, float32 or bfloat16, got {dtype!r}")
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "float32"
    disabled = {key: None for key in ("safety_checker",) if key in index}
    with quiet_libraries():
        try:
            pipeline = diffusers.DiffusionPipeline.from_pretrained(
                str(path),
                dtype=getattr(torch, dtype),
                use_safetensors=True,
                local_files_only=True,
                **disabled,
            )
        except (OSError, ValueError, KeyError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            raise BrittleError(f"the folder {str(folder)!r} cannot be read as a pipeline: {reason}") from error
    return pipeline.to(device)


def as_pipeline(given: Any, *, device: str = "auto", dtype: str = "auto") -> Any:
    """A loaded pipeline as it is, or one loaded from a folder; raises if a required part is missing."""
    if isinstance(given, str | Path):
        return load_pipeline(given, device=device, dtype=dtype)
    missing = [part for part in PARTS if getattr(given, part, None) is None]
    if missing:
        raise BrittleTypeError(
            f"a pipeline is a Stable Diffusion pipeline of diffusers or its folder; "
            f"this {type(given).__name__} has no {', '.join(missing)}"
        )
    return given


def _index(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}; give one that diffusers' save_pretrained wrote")
    file = folder / "model_index.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"the folder {str(folder)!r} is not a diffusers pipeline: it has no model_index.json; "
            "give the folder that save_pretrained wrote, not one of its parts"
        )
    try:
        index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BrittleError(f"{str(file)!r} is damaged: {error}") from error
    missing = [part for part in PARTS if part not in index]
    if missing or not isinstance(index.get("_class_name"), str):
        raise BrittleError(
            f"the folder {str(folder)!r} holds a {index.get('_class_name')!r} without "
            f"{', '.join(missing) or 'a class'}; a Stable Diffusion pipeline is required"
        )
    return index


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
    """A classifier from a Stable Diffusion checkpoint; the score of a class is minus the error of the predicted noise.

    Each image is noised `samples` times at each timestep, with the same noise for every class and every image, and
    the network predicts that noise given the class's prompt. Scores rank classes; they are not probabilities.

    Args:
        pipeline_folder: what diffusers' `save_pretrained` wrote, or a loaded pipeline.
        class_prompts: one prompt for each class, in the order of the labels.
        timesteps: the noise levels, or their number, evenly spaced.
        loss: "l1", as in CNS-Bench, or "l2", the training loss of the noise.
        batch_size: number of (image, prompt) pairs that are denoised at once.
    """
    pipeline = as_pipeline(pipeline_folder, device=device, dtype="float32")
    model_name = name or (Path(pipeline_folder).name if isinstance(pipeline_folder, str | Path) else "diffusion")
    num_timesteps = int(pipeline.scheduler.config.num_train_timesteps)
    if loss not in LOSSES:
        raise BrittleError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    for option, value in (("samples", samples), ("batch_size", batch_size)):
        if value < 1:
            raise BrittleError(f"{option} must be at least 1, got {value!r}")
    prompts = [str(prompt) for prompt in class_prompts]
    if isinstance(class_prompts, str) or len(prompts) < 2:
        raise BrittleError(f"class_prompts are two or more prompts, one for each class, got {class_prompts!r}")
    levels = _levels(timesteps, num_timesteps)
    noise = NoiseSampling(levels, samples, loss, seed, batch_size)
    return DiffusionModel(pipeline, prompts, model_name, noise, device=device, bf16=bf16)


@dataclass(frozen=True)
class NoiseSampling:
    """How the noise that a network must predict is drawn, and how its errors are measured; see `from_diffusion`."""

    timesteps: list[int]
    samples: int
    loss: str
    seed: int
    batch_size: int


class DiffusionModel:
    """A classifier built by `from_diffusion`. A pickle of it holds the weights on the CPU."""

    def __init__(
        self, pipeline: Any, prompts: list[str], name: str, noise: NoiseSampling, *, device: str, bf16: bool
    ) -> None:
        torch = require("torch")
        self.name, self.bf16, self._requested_device = name, bf16, device
        self.loss, self.batch_size = noise.loss, noise.batch_size
        self.device = find_device(device)
        self.unet, self.vae = pipeline.unet.eval().to(self.device), pipeline.vae.eval().to(self.device)
        self.prediction = str(pipeline.scheduler.config.prediction_type)
        if self.prediction not in ("epsilon", "v_prediction"):
            raise BrittleError(f"a diffusion classifier predicts epsilon or v_prediction, not {self.prediction!r}")
        self.side = int(self.unet.config.sample_size) * int(pipeline.vae_scale_factor)
        with torch.inference_mode():
            encoder = pipeline.text_encoder.to(self.device)
            self.embeddings = pipeline.encode_prompt(prompts, self.device, 1, False)[0].clone()
        alphas = [float(pipeline.scheduler.alphas_cumprod[t]) for t in noise.timesteps]
        generator = torch.Generator().manual_seed(noise.seed)
        shape = (self.unet.config.in_channels, self.unet.config.sample_size, self.unet.config.sample_size)
        self.levels = [
            (t, alpha, torch.randn(shape, generator=generator))
            for t, alpha in zip(noise.timesteps, alphas, strict=True)
            for _ in range(noise.samples)
        ]
        description = {"prompts": prompts, "timesteps": noise.timesteps, "samples": noise.samples, "loss": noise.loss}
        description |= {"seed": noise.seed, "bf16": bf16, "kept": alphas, "prediction": self.prediction}
        digest = sha256(canonical(description).encode())
        for module in (self.unet, self.vae, encoder):
            for key, value in sorted(module.state_dict().items()):
                numbers = value.detach().cpu().contiguous()
                digest.update(f"{key} {numbers.dtype} {tuple(numbers.shape)}".encode())
                digest.update(numbers.reshape(-1).view(torch.uint8).numpy().tobytes())
        self.key = digest.hexdigest()[:16]

    def scores(self, images: Image) -> Scores:
        """Minus the mean error of the predicted noise, N×classes."""
        torch = require("torch")
        device_type = self.device.partition(":")[0]
        classes = len(self.embeddings)
        with torch.inference_mode(), torch.autocast(device_type, dtype=torch.bfloat16, enabled=self.bf16):
            latents = torch.cat([self._encode(images[i : i + 1]) for i in range(len(images))])
            total = torch.zeros(len(images) * classes)
            for t, alpha, noise in self.levels:
                noise = noise.to(latents)
                noised = alpha**0.5 * latents + (1 - alpha) ** 0.5 * noise
                for start in range(0, len(total), self.batch_size):
                    pairs = torch.arange(start, min(start + self.batch_size, len(total)), device=self.device)
                    x, embeddings = noised[pairs // classes], self.embeddings[pairs % classes]
                    predicted = self.unet(x.to(self.unet.dtype), t, encoder_hidden_states=embeddings).sample.float()
                    if self.prediction == "v_prediction":
                        predicted = alpha**0.5 * predicted + (1 - alpha) ** 0.5 * x
                    residual = predicted - noise
                    error = residual.abs() if self.loss == "l1" else residual.square()
                    total[start : start + len(pairs)] += error.flatten(1).mean(1).cpu()
        return np.asarray(-(total / len(self.levels)).reshape(-1, classes).numpy(), np.float32)

    def _encode(self, images: Image) -> Any:
        torch = require("torch")
        resized = torch.from_numpy(np.ascontiguousarray(resize(images, (self.side, self.side), "bicubic")))
        pixels = resized.permute(0, 3, 1, 2).to(self.device, self.vae.dtype) / 127.5 - 1
        return self.vae.encode(pixels).latent_dist.mode().float() * self.vae.config.scaling_factor

    def __getstate__(self) -> dict[str, Any]:
        on_cpu = {} if self.device == "cpu" else {k: copy.deepcopy(getattr(self, k)).cpu() for k in ("unet", "vae")}
        return {**self.__dict__, **on_cpu, "embeddings": self.embeddings.cpu()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.device = find_device(self._requested_device)
        self.unet, self.vae, self.embeddings = (part.to(self.device) for part in (self.unet, self.vae, self.embeddings))


def _levels(timesteps: int | Sequence[int], num_timesteps: int) -> list[int]:
    if isinstance(timesteps, int):
        if not 1 <= timesteps <= num_timesteps:
            raise BrittleError(f"a number of timesteps lies between 1 and {num_timesteps}, got {timesteps}")
        return [int((i + 0.5) * num_timesteps / timesteps) for i in range(timesteps)]
    steps = [int(t) for t in timesteps]
    if not steps or min(steps) < 0 or max(steps) >= num_timesteps:
        raise BrittleError(f"timesteps lie between 0 and {num_timesteps - 1}, got {timesteps!r}")
    return steps


PROMPTS = "class_prompts.txt"


@model_source("diffusion")
def diffusion_folder(
    place: str,
    *,
    name: str | None = None,
    timesteps: int = 10,
    samples: int = 1,
    loss: str = "l1",
    seed: int = 0,
    batch_size: int = 16,
    device: str = "auto",
    bf16: bool = False,
) -> DiffusionModel:
    """`from_diffusion` of "FOLDER:PROMPTS.txt", or of a folder that holds a file class_prompts.txt.

    The file has one prompt per line, such as "a photo of a tench", in the order of the labels.
    """
    folder, file = _split(place)
    if not Path(folder).expanduser().is_dir():
        raise FileNotFoundError(f"there is no folder {folder!r}; give one that diffusers' save_pretrained wrote")
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no file {str(file)!r} with a prompt for each class; write diffusion:FOLDER:PROMPTS.txt, one "
            "prompt per line in the order of the labels"
        )
    prompts = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    if len(prompts) < 2 or not all(prompts):
        raise BrittleError(
            f"{str(file)!r} must have one prompt per line, at least two and none of them empty; it has {prompts}"
        )
    return from_diffusion(
        folder,
        prompts,
        name=name or f"diffusion-{Path(folder).resolve().name}",
        timesteps=timesteps,
        samples=samples,
        loss=loss,
        seed=seed,
        batch_size=batch_size,
        device=device,
        bf16=bf16,
    )


def _split(place: str) -> tuple[str, Path]:
    folder, colon, file = place.rpartition(":")
    if colon and len(folder) > 1 and file.endswith(".txt"):
        return folder, Path(file).expanduser()
    return place, Path(place).expanduser() / PROMPTS
