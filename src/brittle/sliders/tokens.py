"""A word of its own for a class: textual inversion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._optional import require
from brittle._types import Image
from brittle.models.diffusion import as_pipeline
from brittle.models.preprocessing import central_crop, resize
from brittle.sliders.pipeline import (
    ClassToken,
    add_token,
    check_prompt,
    find_precision,
    in_precision,
    pipeline_key,
    token_text,
)
from brittle.sliders.training import (
    Progress,
    check_whole,
    learn_steps,
    load_checkpoint,
    save_checkpoint,
    step_numbers,
    training_side,
)

PUBLISHED_SIDE = 768
TEMPLATES = (
    "a photo of a {}",
    "a photo of the {}",
    "a photo of one {}",
    "a good photo of a {}",
    "a cropped photo of a {}",
    "a close-up photo of a {}",
    "a bright photo of the {}",
    "a dark photo of the {}",
    "a photo of a nice {}",
)
"""Captions of ours; the authors' 27 are of this kind."""


def train_token(
    pipeline: Any,
    images: Sequence[Image],
    name: str,
    number: int,
    *,
    steps: int = 3000,
    batch_size: int = 1,
    learning_rate: float = 5e-4,
    weight_decay: float = 1e-2,
    templates: Sequence[str] = TEMPLATES,
    size: int | None = None,
    seed: int = 0,
    precision: str = "auto",
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    progress: Progress | None = None,
) -> ClassToken:
    """The token "<name-number>" by textual inversion, with the settings of dataset-interfaces; the pipeline learns it.

    Only the token's embedding is trained, from the mean of the embeddings of the class's name, and its length is kept.
    On a CPU the same call gives the same token, also after an interruption.

    Args:
        images: pictures of the class, H×W×3 uint8 of any size; they are cropped to a square, resized and flipped.
        name: the class in words; `number` its index.
        templates: captions, each with one {}.
        size: in pixels; by default 768 or, if that is less, the checkpoint's own.
        precision: of the network, see `train_slider`; the embedding is always float32.
        checkpoint: a file that holds the state, written every `checkpoint_every` steps.
    """
    torch = require("torch")
    check_whole(steps=(steps, 1), batch_size=(batch_size, 1), checkpoint_every=(checkpoint_every, 1))
    if not templates or any(template.count("{}") != 1 for template in templates):
        raise BrittleError(f"templates are captions with one {{}} each, as 'a photo of a {{}}'; got {templates!r}")
    pipeline = as_pipeline(pipeline, dtype="float32" if precision == "float32" else "auto")
    device, side = pipeline.device, training_side(pipeline, size, PUBLISHED_SIDE)
    squares = _squares(images, side)
    text = token_text(name, number)
    recipe: dict[str, Any] = {
        "token": text,
        "images": len(squares),
        "pixels": sha256(squares.tobytes()).hexdigest()[:16],
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "templates": list(templates),
        "size": side,
        "seed": seed,
        "precision": find_precision(precision, pipeline),
        "network": pipeline_key(pipeline, name),
    }
    autocast = in_precision(recipe["precision"], device)
    scheduler = require("diffusers", "sliders").DDPMScheduler.from_config(pipeline.scheduler.config)
    start = _first_embedding(pipeline, name)
    state = load_checkpoint(checkpoint, recipe, steps)
    losses: list[float] = [] if state is None else state["losses"]
    place = add_token(pipeline, ClassToken(text, start, name))
    for template in templates:
        check_prompt(pipeline, template.replace("{}", text))
    length = start.norm().to(device)
    value = (start if state is None else state["embedding"]).clone().to(device).requires_grad_()
    optimiser = torch.optim.AdamW([value], lr=learning_rate, weight_decay=weight_decay)
    if state is not None:
        optimiser.load_state_dict(state["optimiser"])

    def loss_of(step: int) -> Any:
        with autocast():
            return _loss(pipeline, scheduler, squares, text, templates, batch_size, step_numbers(seed, "token", step))

    def as_long_as_before() -> None:
        with torch.no_grad():
            value.mul_(length / value.norm())

    def keep(file: str | Path) -> None:
        kept = {"embedding": value.detach().cpu(), "optimiser": optimiser.state_dict(), "losses": losses}
        save_checkpoint(file, kept, recipe)

    parts = (pipeline.unet, pipeline.vae, pipeline.text_encoder)
    trainable = [(p, p.requires_grad) for part in parts for p in part.parameters()]
    table = pipeline.text_encoder.get_input_embeddings()
    hook = table.register_forward_hook(lambda _, given, out: _put(out, given[0], place, value))
    try:
        for parameter, _ in trainable:
            parameter.requires_grad_(False)
        learn_steps(
            optimiser,
            loss_of,
            losses,
            steps,
            keep=None if checkpoint is None else partial(keep, checkpoint),
            keep_every=checkpoint_every,
            after=as_long_as_before,
            progress=progress,
        )
    finally:
        hook.remove()
        for parameter, wanted in trainable:
            parameter.requires_grad_(wanted)
    learnt = ClassToken(text, value.detach().cpu().clone(), name)
    add_token(pipeline, learnt)
    return learnt


def _loss(
    pipeline: Any,
    scheduler: Any,
    squares: Image,
    text: str,
    templates: Sequence[str],
    batch_size: int,
    numbers: Any,
) -> Any:
    """How far the network is from the noise, or the velocity, that was added to some pictures."""
    torch = require("torch")
    chosen = torch.randint(len(squares), (batch_size,), generator=numbers)
    pixels = torch.from_numpy(squares[chosen.numpy()]).permute(0, 3, 1, 2).to(pipeline.device) / 127.5 - 1
    flip = torch.rand(batch_size, generator=numbers) < 0.5
    pixels[flip] = pixels[flip].flip(-1)
    captions = [
        templates[int(i)].replace("{}", text) for i in torch.randint(len(templates), (batch_size,), generator=numbers)
    ]
    with torch.no_grad():
        spread = pipeline.vae.encode(pixels.to(pipeline.vae.dtype)).latent_dist
        bent = torch.randn(spread.mean.shape, generator=numbers).to(spread.mean)
        latents = ((spread.mean + spread.std * bent) * pipeline.vae.config.scaling_factor).float()
    noise = torch.randn(latents.shape, generator=numbers).to(latents)  # in bfloat16 little noise would be none
    total = scheduler.config.num_train_timesteps
    t = torch.randint(total, (batch_size,), generator=numbers).to(pipeline.device)
    noised = scheduler.add_noise(latents, noise, t)
    words = pipeline.encode_prompt(captions, pipeline.device, 1, False)[0]
    given = pipeline.unet(noised.to(pipeline.unet.dtype), t, encoder_hidden_states=words).sample
    kind = scheduler.config.prediction_type
    target = scheduler.get_velocity(latents, noise, t) if kind == "v_prediction" else noise
    return (given.float() - target.float()).square().mean()


def _put(embedded: Any, numbers: Any, place: int, value: Any) -> Any:
    """Token embeddings with the learnt one where the token stands."""
    return require("torch").where((numbers == place)[..., None], value.to(embedded), embedded)


def _first_embedding(pipeline: Any, name: str) -> Any:
    numbers = pipeline.tokenizer(name, add_special_tokens=False).input_ids
    if not numbers:
        raise BrittleError(f"the class's name {name!r} has no words to start from")
    table = pipeline.text_encoder.get_input_embeddings().weight
    return table[numbers].detach().float().cpu().mean(0)


def _squares(images: Sequence[Image], side: int) -> Image:
    found = []
    for image in images:
        array = np.asarray(image)
        if array.ndim != 3 or array.shape[-1] != 3 or array.dtype != np.uint8:
            raise BrittleError(f"pictures are H×W×3 of uint8, got shape {array.shape} of {array.dtype}")
        short = min(array.shape[:2])
        found.append(resize(central_crop(array[None], (short, short)), (side, side), "bicubic")[0])
    if not found:
        raise BrittleError("a token is learnt from at least one picture, got none")
    return np.stack(found)
