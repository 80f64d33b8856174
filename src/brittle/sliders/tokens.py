"""Class tokens by textual inversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._optional import require
from brittle._types import Image
from brittle._types import Progress as NamedProgress
from brittle.datasets import Dataset
from brittle.models.diffusion import as_pipeline, load_pipeline
from brittle.models.preprocessing import central_crop, resize
from brittle.sliders.pipeline import (
    Base,
    ClassToken,
    TargetClass,
    add_token,
    check_prompt,
    find_precision,
    in_precision,
    load_token,
    pipeline_key,
    save_tokens,
    token_text,
)
from brittle.sliders.training import (
    Progress,
    check_integers,
    load_checkpoint,
    run_steps,
    save_checkpoint,
    step_generator,
    training_side,
)

PUBLISHED_SIDE = 768
TEMPLATES = (
    *("a photo of a {}", "a photo of the {}", "the photo of a {}", "a photo of one {}", "a photo of my {}"),
    *("a good photo of a {}", "a good photo of the {}", "a cropped photo of a {}", "a cropped photo of the {}"),
    *("a close-up photo of a {}", "a close-up photo of the {}", "a bright photo of the {}", "a dark photo of the {}"),
    *("a photo of a clean {}", "a photo of the clean {}", "a photo of a dirty {}", "a photo of the weird {}"),
    *("a photo of a nice {}", "a photo of the nice {}", "a photo of a cool {}", "a photo of the cool {}"),
    *("a photo of a small {}", "a photo of the small {}", "a photo of the large {}"),
    *("a rendering of a {}", "a rendition of a {}", "a rendition of the {}"),
)
"""The 27 captions of dataset-interfaces, with which the tokens of IN* were trained."""


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
    """Train the token "<name-number>" by textual inversion with the settings of dataset-interfaces, and add it.

    Only the token's embedding is trained, from the mean of the embeddings of the class name, and its norm is kept. On a
    CPU the same call gives the same token, also after an interruption.

    Args:
        images: images of the class, H×W×3 uint8 of any size; they are cropped to a square, resized and flipped.
        name: the class name; `number` is its index.
        templates: captions, each with one {}.
        size: in pixels; by default 768 or, if that is less, the checkpoint's.
        precision: of the network, see `train_slider`; the embedding is always float32.
        checkpoint: a file that holds the state, written every `checkpoint_every` steps; training resumes from it.
    """
    torch = require("torch")
    check_integers(steps=(steps, 1), batch_size=(batch_size, 1), checkpoint_every=(checkpoint_every, 1))
    if not templates or any(template.count("{}") != 1 for template in templates):
        raise BrittleError(f"templates are captions with one {{}} each, as 'a photo of a {{}}'; got {templates!r}")
    pipeline = as_pipeline(pipeline, dtype="float32" if precision == "float32" else "auto")
    device, side = pipeline.device, training_side(pipeline, size, PUBLISHED_SIDE)
    crops = _square_crops(images, side)
    text = token_text(name, number)
    config: dict[str, Any] = {
        "token": text,
        "images": len(crops),
        "pixels": sha256(crops.tobytes()).hexdigest()[:16],
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "templates": list(templates),
        "size": side,
        "seed": seed,
        "precision": find_precision(precision, pipeline),
        "network": pipeline_key(pipeline, name),
    }
    autocast = in_precision(config["precision"], device)
    scheduler = require("diffusers", "sliders").DDPMScheduler.from_config(pipeline.scheduler.config)
    start = _initial_embedding(pipeline, name)
    state = load_checkpoint(checkpoint, config, steps)
    losses: list[float] = [] if state is None else state["losses"]
    token_id = add_token(pipeline, ClassToken(text, start, name))
    for template in templates:
        check_prompt(pipeline, template.replace("{}", text))
    norm = start.norm().to(device)
    embedding = (start if state is None else state["embedding"]).clone().to(device).requires_grad_()
    optimizer = torch.optim.AdamW([embedding], lr=learning_rate, weight_decay=weight_decay)
    if state is not None:
        optimizer.load_state_dict(state["optimiser"])

    def loss_of(step: int) -> Any:
        with autocast():
            return _loss(pipeline, scheduler, crops, text, templates, batch_size, step_generator(seed, "token", step))

    def restore_norm() -> None:
        with torch.no_grad():
            embedding.mul_(norm / embedding.norm())

    def save(file: str | Path) -> None:
        state = {"embedding": embedding.detach().cpu(), "optimiser": optimizer.state_dict(), "losses": losses}
        save_checkpoint(file, state, config)

    networks = (pipeline.unet, pipeline.vae, pipeline.text_encoder)
    trainable = [(p, p.requires_grad) for network in networks for p in network.parameters()]
    input_embeddings = pipeline.text_encoder.get_input_embeddings()
    hook = input_embeddings.register_forward_hook(
        lambda _, inputs, output: _replace(output, inputs[0], token_id, embedding)
    )
    try:
        for parameter, _ in trainable:
            parameter.requires_grad_(False)
        run_steps(
            optimizer,
            loss_of,
            losses,
            steps,
            save=None if checkpoint is None else partial(save, checkpoint),
            save_every=checkpoint_every,
            after=restore_norm,
            progress=progress,
        )
    finally:
        hook.remove()
        for parameter, required in trainable:
            parameter.requires_grad_(required)
    token = ClassToken(text, embedding.detach().cpu().clone(), name)
    add_token(pipeline, token)
    return token


def _loss(
    pipeline: Any,
    scheduler: Any,
    crops: Image,
    text: str,
    templates: Sequence[str],
    batch_size: int,
    generator: Any,
) -> Any:
    """The mean squared error of the predicted noise, or velocity, for a random batch of crops."""
    torch = require("torch")
    indices = torch.randint(len(crops), (batch_size,), generator=generator)
    pixels = torch.from_numpy(crops[indices.numpy()]).permute(0, 3, 1, 2).to(pipeline.device) / 127.5 - 1
    flip = torch.rand(batch_size, generator=generator) < 0.5
    pixels[flip] = pixels[flip].flip(-1)
    captions = [
        templates[int(i)].replace("{}", text) for i in torch.randint(len(templates), (batch_size,), generator=generator)
    ]
    with torch.no_grad():
        posterior = pipeline.vae.encode(pixels.to(pipeline.vae.dtype)).latent_dist
        posterior_noise = torch.randn(posterior.mean.shape, generator=generator).to(posterior.mean)
        latents = ((posterior.mean + posterior.std * posterior_noise) * pipeline.vae.config.scaling_factor).float()
    noise = torch.randn(latents.shape, generator=generator).to(latents)  # in bfloat16 small noise would be rounded away
    total = scheduler.config.num_train_timesteps
    t = torch.randint(total, (batch_size,), generator=generator).to(pipeline.device)
    noised = scheduler.add_noise(latents, noise, t)
    prompt_embeddings = pipeline.encode_prompt(captions, pipeline.device, 1, False)[0]
    prediction = pipeline.unet(noised.to(pipeline.unet.dtype), t, encoder_hidden_states=prompt_embeddings).sample
    prediction_type = scheduler.config.prediction_type
    target = scheduler.get_velocity(latents, noise, t) if prediction_type == "v_prediction" else noise
    return (prediction.float() - target.float()).square().mean()


def _replace(embeddings: Any, token_ids: Any, token_id: int, trained: Any) -> Any:
    """Token embeddings with the trained one at the positions of its token."""
    return require("torch").where((token_ids == token_id)[..., None], trained.to(embeddings), embeddings)


def _initial_embedding(pipeline: Any, name: str) -> Any:
    token_ids = pipeline.tokenizer(name, add_special_tokens=False).input_ids
    if not token_ids:
        raise BrittleError(f"the class name {name!r} has no tokens to start from")
    table = pipeline.text_encoder.get_input_embeddings().weight
    return table[token_ids].detach().float().cpu().mean(0)


def _square_crops(images: Sequence[Image], side: int) -> Image:
    crops = []
    for image in images:
        array = np.asarray(image)
        if array.ndim != 3 or array.shape[-1] != 3 or array.dtype != np.uint8:
            raise BrittleError(f"images are H×W×3 of uint8, got shape {array.shape} of {array.dtype}")
        short_side = min(array.shape[:2])
        crops.append(resize(central_crop(array[None], (short_side, short_side)), (side, side), "bicubic")[0])
    if not crops:
        raise BrittleError("a token is trained on at least one image, got none")
    return np.stack(crops)


@dataclass(frozen=True)
class TrainedTokens:
    """The folder of tokens, their classes, how many existed before, and the loss of each step by class number."""

    folder: Path
    classes: tuple[TargetClass, ...]
    existing: int
    losses: dict[int, list[float]]


def train_tokens(
    base: Base,
    dataset: Dataset,
    classes: Sequence[TargetClass],
    folder: str | Path,
    *,
    names: Sequence[str],
    limit: int | None = None,
    steps: int = 3000,
    batch_size: int = 1,
    lr: float = 5e-4,
    image_size: int | None = None,
    progress: NamedProgress | None = None,
    **settings: Any,
) -> TrainedTokens:
    """Train a token for each class with the images of a dataset, and write them as the published tokens of IN*.

    The folder gets `tokenizer/`, `text_encoder/` and `tokens.pt`, which `load_tokens` and dataset-interfaces read, and
    trained/<number>.safetensors with each token, which diffusers reads too. Existing ones are not trained again, an
    interrupted training resumes, and classes may be added later.

    Args:
        dataset: images whose labels are the numbers of the classes, of any sizes.
        names: the names of all classes.
        limit: the number of images of each class, evenly over them; all by default.
        lr: the learning rate.
        image_size: the side of the crops in pixels; by default 768 or, if that is less, the checkpoint's.
        settings: further ones of `train_token`.
    """
    root = Path(folder)
    (root / TRAINED).mkdir(parents=True, exist_ok=True)
    labels = dataset.labels
    if labels is None:
        raise BrittleError(f"{dataset.name!r} has no labels, so the images of a class cannot be found")
    if base.tokens is not None:
        raise BrittleError("tokens are trained on a pipeline without any; leave --tokens out")
    indices = {one.number: np.flatnonzero(labels == one.number) for one in classes}
    lacking = [one.name for one in classes if not len(indices[one.number])]
    if lacking or not classes:
        what = f"no images of {lacking[0]!r}" if lacking else "to be told a class"
        raise BrittleError(f"{dataset.name!r} has {what}; give images whose labels are the numbers of the classes")
    existing = 0
    losses: dict[int, list[float]] = {}
    for done, one in enumerate(classes):
        file, state = root / TRAINED / f"{one.number:03}.safetensors", root / TRAINED / f"{one.number:03}.state"
        if file.is_file():
            existing += 1
            state.unlink(missing_ok=True)  # one that a power cut left
            continue
        chosen = indices[one.number]
        if limit is not None and limit < len(chosen):
            chosen = chosen[np.arange(limit) * len(chosen) // limit]
        losses[one.number] = []

        def tick(step: int, steps: int, loss: float, one: TargetClass = one, done: int = done) -> None:
            losses[one.number].append(loss)
            if progress is not None:
                progress(one.name, done * steps + step, len(classes) * steps)

        images = [dataset.image(int(index)) for index in chosen]
        pipeline = load_pipeline(base.folder, device=base.device, dtype=base.dtype)
        token = train_token(
            pipeline,
            images,
            one.name,
            one.number,
            steps=steps,
            batch_size=batch_size,
            learning_rate=lr,
            size=image_size,
            checkpoint=state,
            progress=tick,
            **settings,
        )
        token.save(file)
        state.unlink(missing_ok=True)
    _write_folder(base, root, names)
    return TrainedTokens(root, tuple(classes), existing, losses)


TRAINED = "trained"


def _write_folder(base: Base, root: Path, names: Sequence[str]) -> None:
    """All trained tokens in the published format, at the places of their classes."""
    trained = {int(path.stem): load_token(path) for path in sorted((root / TRAINED).glob("*.safetensors"))}
    pipeline = load_pipeline(base.folder, device="cpu", dtype="float32")
    beyond = [number for number in trained if number >= len(names)]
    if beyond:
        raise BrittleError(f"{str(root)!r} has a token of class {beyond[0]}, and there are {len(names)} classes")
    save_tokens(pipeline, root, [trained.get(i) or ClassToken("", None, name) for i, name in enumerate(names)])
