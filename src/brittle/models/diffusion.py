"""A diffusion pipeline, and a diffusion model as a classifier."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError, BrittleTypeError
from brittle._identity import canonical
from brittle._optional import quiet_libraries, require
from brittle._texts import read_json_file
from brittle._types import Image
from brittle.models.model import Scores, model_source
from brittle.models.preprocessing import resize
from brittle.models.prompts import read_prompts, split_prompts
from brittle.models.torch import find_device

PARTS = ("unet", "vae", "text_encoder", "tokenizer", "scheduler")
DIT_PARTS = ("transformer", "vae", "scheduler")
"""The parts of a class-conditional pipeline, such as diffusers' DiTPipeline."""


def load_pipeline(
    folder: str | Path, *, device: str = "auto", dtype: str = "auto", parts: Sequence[str] = PARTS
) -> Any:
    """A text-to-image pipeline from a folder that diffusers' `save_pretrained` wrote; nothing is downloaded.

    Only safetensors weights are read and no code beside them is run. A safety checker is disabled, because it would
    blank images. `dtype` is "float32", "bfloat16" or "auto", which is bfloat16 on GPUs that support it. `parts` are
    those that the pipeline must have.
    """
    torch, diffusers = require("torch", "sliders"), require("diffusers", "sliders")
    path = Path(folder).expanduser()
    index = _index(path, parts)
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


def _index(folder: Path, parts: Sequence[str] = PARTS) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}; give one that diffusers' save_pretrained wrote")
    file = folder / "model_index.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"the folder {str(folder)!r} is not a diffusers pipeline: it has no model_index.json; "
            "give the folder that save_pretrained wrote, not one of its parts"
        )
    try:
        index: dict[str, Any] = read_json_file(file)
    except ValueError as error:
        raise BrittleError(f"{str(file)!r} is damaged: {error}") from error
    missing = [part for part in parts if part not in index]
    if missing or not isinstance(index.get("_class_name"), str):
        kind = "Stable Diffusion" if tuple(parts) == PARTS else "class-conditional DiT"
        raise BrittleError(
            f"the folder {str(folder)!r} holds a {index.get('_class_name')!r} without "
            f"{', '.join(missing) or 'a class'}; a {kind} pipeline is required"
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
    keep: int = 0,
    keep_after: int = 0,
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
        keep: how many classes go on after `keep_after` of all noises, spread evenly over the timesteps; the others are
            hopeless, and ranked below by their error so far. 0 keeps all.
        batch_size: number of (image, prompt) pairs that are denoised at once.
    """
    pipeline = as_pipeline(pipeline_folder, device=device, dtype="float32")
    model_name = name or (Path(pipeline_folder).name if isinstance(pipeline_folder, str | Path) else "diffusion")
    prompts = [str(prompt) for prompt in class_prompts]
    if isinstance(class_prompts, str) or len(prompts) < 2:
        raise BrittleError(f"class_prompts are two or more prompts, one for each class, got {class_prompts!r}")
    noise = _noise_sampling(pipeline, timesteps, samples, loss, seed, batch_size, (keep, keep_after), len(prompts))
    return DiffusionModel(pipeline, prompts, model_name, noise, device=device, bf16=bf16)


@model_source("dit")
def from_dit(
    pipeline_folder: str | Path,
    *,
    classes: Sequence[int] | None = None,
    name: str | None = None,
    timesteps: int = 10,
    samples: int = 1,
    loss: str = "l1",
    seed: int = 0,
    keep: int = 0,
    keep_after: int = 0,
    batch_size: int = 16,
    device: str = "auto",
    bf16: bool = False,
) -> DiffusionModel:
    """A classifier from a class-conditional DiT (Peebles and Xie 2023), as the diffusion classifier of CNS-Bench.

    `pipeline_folder` is what `save_pretrained` of diffusers' DiTPipeline wrote, or a loaded one; its classes are
    numbers, for facebook/DiT-XL-2-256 those of ImageNet. As for `from_diffusion` a score is minus the error
    of the noise that the network predicts for it. With 1000 classes nearly all of the work is on hopeless ones: to keep
    5 of them after 50 of 500 noises costs a tenth.

    Args:
        classes: the numbers of the classes in the order of the labels; all by default.
    """
    is_path = isinstance(pipeline_folder, str | Path)
    pipeline = (
        load_pipeline(pipeline_folder, device=device, dtype="float32", parts=DIT_PARTS) if is_path else pipeline_folder
    )
    count = getattr(getattr(getattr(pipeline, "transformer", None), "config", None), "num_embeds_ada_norm", None)
    if count is None:
        raise BrittleError(f"a DiT has a transformer of numbered classes; this {type(pipeline).__name__} has none")
    if isinstance(classes, int):
        raise BrittleError(f"classes of a DiT are their numbers, in Python as a list, not how many; got {classes!r}")
    numbers = list(range(count)) if classes is None else [int(number) for number in classes]
    if len(numbers) < 2 or not all(0 <= number < count for number in numbers):
        raise BrittleError(f"classes are two or more numbers between 0 and {count - 1}, got {classes!r}")
    noise = _noise_sampling(pipeline, timesteps, samples, loss, seed, batch_size, (keep, keep_after), len(numbers))
    model_name = name or (f"dit-{Path(pipeline_folder).resolve().name}" if is_path else "dit")
    return DiffusionModel(pipeline, numbers, model_name, noise, device=device, bf16=bf16)


def _noise_sampling(
    pipeline: Any,
    timesteps: int | Sequence[int],
    samples: int,
    loss: str,
    seed: int,
    batch_size: int,
    kept: tuple[int, int],
    classes: int,
) -> NoiseSampling:
    if loss not in LOSSES:
        raise BrittleError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    for option, value in (("samples", samples), ("batch_size", batch_size)):
        if value < 1:
            raise BrittleError(f"{option} must be at least 1, got {value!r}")
    levels = _levels(timesteps, int(pipeline.scheduler.config.num_train_timesteps))
    keep, after = kept
    noises = len(levels) * samples
    if (keep or after) and not (1 <= keep < classes and 1 <= after < noises):
        raise BrittleError(
            f"of {classes} classes keep from 1 to {classes - 1} after 1 to {noises - 1} of {noises} noises, "
            f"got keep={keep!r} and keep_after={after!r}"
        )
    return NoiseSampling(levels, samples, loss, seed, batch_size, keep, after)


@dataclass(frozen=True)
class NoiseSampling:
    """How the noise that a network must predict is drawn, and how its errors are measured; see `from_diffusion`."""

    timesteps: list[int]
    samples: int
    loss: str
    seed: int
    batch_size: int
    keep: int = 0
    keep_after: int = 0


class DiffusionModel:
    """A classifier built by `from_diffusion` or `from_dit`. A pickle of it holds the weights on the CPU."""

    def __init__(
        self, pipeline: Any, prompts: list[str] | list[int], name: str, noise: NoiseSampling, *, device: str, bf16: bool
    ) -> None:
        torch = require("torch")
        self.name, self.bf16, self._requested_device = name, bf16, device
        self.loss, self.batch_size = noise.loss, noise.batch_size
        self.keep, self.keep_after = noise.keep, noise.keep_after
        self.device = find_device(device)
        self.by_number = isinstance(prompts[0], int)
        network = pipeline.transformer if self.by_number else pipeline.unet
        self.network, self.vae = network.eval().to(self.device), pipeline.vae.eval().to(self.device)
        self.prediction = str(pipeline.scheduler.config.prediction_type)
        if self.prediction not in ("epsilon", "v_prediction"):
            raise BrittleError(f"a diffusion classifier predicts epsilon or v_prediction, not {self.prediction!r}")
        factor = 2 ** (len(self.vae.config.block_out_channels) - 1)
        self.side = int(self.network.config.sample_size) * factor
        modules = [self.network, self.vae]
        if self.by_number:
            self.conditions = torch.tensor(prompts, device=self.device)
        else:
            modules.append(pipeline.text_encoder.to(self.device))
            with torch.inference_mode():
                self.conditions = pipeline.encode_prompt(prompts, self.device, 1, False)[0].clone()
        alphas = [float(pipeline.scheduler.alphas_cumprod[t]) for t in noise.timesteps]
        generator = torch.Generator().manual_seed(noise.seed)
        shape = (self.network.config.in_channels, self.network.config.sample_size, self.network.config.sample_size)
        self.levels = [
            (t, alpha, torch.randn(shape, generator=generator))
            for t, alpha in zip(noise.timesteps, alphas, strict=True)
            for _ in range(noise.samples)
        ]
        description: dict[str, Any] = {
            "prompts": prompts,
            "timesteps": noise.timesteps,
            "samples": noise.samples,
            "loss": noise.loss,
        }
        description |= {"seed": noise.seed, "bf16": bf16, "kept": alphas, "prediction": self.prediction}
        description |= {"classes_kept": [self.keep, self.keep_after]} if self.keep else {}
        digest = sha256(canonical(description).encode())
        for module in modules:
            for key, value in sorted(module.state_dict().items()):
                numbers = value.detach().cpu().contiguous()
                digest.update(f"{key} {numbers.dtype} {tuple(numbers.shape)}".encode())
                digest.update(numbers.reshape(-1).view(torch.uint8).numpy().tobytes())
        self.key = digest.hexdigest()[:16]

    def scores(self, images: Image) -> Scores:
        """Minus the mean error of the predicted noise, N×classes; classes that were given up stand below all others."""
        torch = require("torch")
        device_type = self.device.partition(":")[0]
        count, classes = len(images), len(self.conditions)
        with torch.inference_mode(), torch.autocast(device_type, dtype=torch.bfloat16, enabled=self.bf16):
            latents = torch.cat([self._encode(images[i : i + 1]) for i in range(count)])
            total, active, given_up = torch.zeros(count * classes), torch.arange(count * classes), None
            for number, (t, alpha, noise) in enumerate(self._ordered_levels()):
                if self.keep and number == self.keep_after:
                    best = total.reshape(count, classes).topk(self.keep, largest=False).indices
                    given_up = total / number
                    active = (torch.arange(count)[:, None] * classes + best.sort().values).reshape(-1)
                noise = noise.to(latents)
                noised = alpha**0.5 * latents + (1 - alpha) ** 0.5 * noise
                for start in range(0, len(active), self.batch_size):
                    pairs = active[start : start + self.batch_size]
                    on_device = pairs.to(self.device)
                    x = noised[on_device // classes]
                    predicted = self._predict(x, t, self.conditions[on_device % classes])
                    if self.prediction == "v_prediction":
                        predicted = alpha**0.5 * predicted + (1 - alpha) ** 0.5 * x
                    residual = predicted - noise
                    error = residual.abs() if self.loss == "l1" else residual.square()
                    total[pairs] += error.flatten(1).mean(1).cpu()
        errors = (total / len(self.levels)).reshape(count, classes)
        if given_up is not None:
            errors = _with_given_up(errors, given_up.reshape(count, classes), active.reshape(count, -1) % classes)
        return np.asarray(-errors.numpy(), np.float32)

    def _ordered_levels(self) -> list[tuple[int, float, Any]]:
        """All noises; if classes are given up, first some that lie evenly over the timesteps."""
        if not self.keep:
            return self.levels
        first = [i * len(self.levels) // self.keep_after for i in range(self.keep_after)]
        rest = [i for i in range(len(self.levels)) if i not in set(first)]
        return [self.levels[i] for i in first + rest]

    def _predict(self, x: Any, t: int, conditions: Any) -> Any:
        """What the network predicts; a DiT also predicts a variance, in further channels that are not used."""
        torch = require("torch")
        if not self.by_number:
            return self.network(x.to(self.network.dtype), t, encoder_hidden_states=conditions).sample.float()
        steps = torch.full((len(x),), t, device=x.device)
        output = self.network(x.to(self.network.dtype), timestep=steps, class_labels=conditions).sample
        return output[:, : x.shape[1]].float()

    def _encode(self, images: Image) -> Any:
        torch = require("torch")
        resized = torch.from_numpy(np.ascontiguousarray(resize(images, (self.side, self.side), "bicubic")))
        pixels = resized.permute(0, 3, 1, 2).to(self.device, self.vae.dtype) / 127.5 - 1
        return self.vae.encode(pixels).latent_dist.mode().float() * self.vae.config.scaling_factor

    def __getstate__(self) -> dict[str, Any]:
        on_cpu = {} if self.device == "cpu" else {k: copy.deepcopy(getattr(self, k)).cpu() for k in ("network", "vae")}
        return {**self.__dict__, **on_cpu, "conditions": self.conditions.cpu()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.device = find_device(self._requested_device)
        self.network, self.vae, self.conditions = (
            part.to(self.device) for part in (self.network, self.vae, self.conditions)
        )


def _with_given_up(errors: Any, early: Any, kept: Any) -> Any:
    """Errors of all classes; those that were given up follow the kept ones in the order of their early errors."""
    torch = require("torch")
    given_up = torch.ones_like(errors, dtype=torch.bool).scatter(1, kept, False)
    worst = errors.masked_fill(given_up, -torch.inf).max(1, keepdim=True).values
    first = early.masked_fill(~given_up, torch.inf).min(1, keepdim=True).values
    return torch.where(given_up, worst + (early - first) + 1e-6 * (1 + worst), errors)


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
    keep: int = 0,
    keep_after: int = 0,
    batch_size: int = 16,
    device: str = "auto",
    bf16: bool = False,
) -> DiffusionModel:
    """`from_diffusion` of "FOLDER:PROMPTS.txt", or of a folder that holds a file class_prompts.txt.

    The file has one prompt per line, such as "a photo of a tench", in the order of the labels.
    """
    folder, prompt_file = split_prompts(place)
    file = prompt_file or Path(place).expanduser() / PROMPTS
    if not Path(folder).expanduser().is_dir():
        raise FileNotFoundError(f"there is no folder {folder!r}; give one that diffusers' save_pretrained wrote")
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no file {str(file)!r} with a prompt for each class; write diffusion:FOLDER:PROMPTS.txt, one "
            "prompt per line in the order of the labels"
        )
    return from_diffusion(
        folder,
        read_prompts(file),
        name=name or f"diffusion-{Path(folder).resolve().name}",
        timesteps=timesteps,
        samples=samples,
        loss=loss,
        seed=seed,
        keep=keep,
        keep_after=keep_after,
        batch_size=batch_size,
        device=device,
        bf16=bf16,
    )
