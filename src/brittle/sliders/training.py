"""Train sliders: the objective, the training loop, checkpoints, and many sliders at once."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._io import atomic_write, missing_or_damaged
from brittle._optional import require
from brittle._parallel import check_engine
from brittle._ray import Done, map_on_ray, ray_cluster
from brittle._texts import read_json_file
from brittle._types import check_seed
from brittle.corruptions import Draws
from brittle.models.diffusion import as_pipeline
from brittle.sliders.pipeline import (
    Base,
    TargetClass,
    encode_prompt,
    find_precision,
    in_precision,
    pipeline_key,
    positive_prompt,
    shift_folder,
    shift_text,
    wants_gpu,
)
from brittle.sliders.slider import CARD, CHECKPOINT, NAME, WEIGHTS, Adapter, Slider, adapter_on


def step_generator(seed: int, stream: str, step: int) -> Any:
    """A torch generator on the CPU for one training step."""
    address = int(Draws(check_seed(seed), stream, step).key("torch")[0])
    return require("torch").Generator().manual_seed(address % 2**63)


def check_integers(**options: tuple[int, int]) -> None:
    """Raise unless each option, given as (value, minimum), is an int of at least the minimum."""
    for option, (value, minimum) in options.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise BrittleError(f"{option} is a whole number of at least {minimum}, got {value!r}")


def slider_target(neutral: Any, positive: Any, unconditional: Any, strength: float) -> Any:
    """neutral + η (positive − unconditional): the target of the prediction with the slider on.

    All three are predictions without the slider, of noise or velocity as the network was trained. In CNS-Bench neutral
    and unconditional are both the class prompt, and η is 4; the paper prints neither η nor the difference.
    """
    return neutral + strength * (positive - unconditional)


def slider_loss(prediction: Any, target: Any) -> Any:
    """The mean squared error, in float32."""
    return (prediction.float() - target.float()).square().mean()


def training_side(pipeline: Any, size: int | None, published: int) -> int:
    """The image side in pixels for training: by default the published one, or the checkpoint's if smaller."""
    factor = int(pipeline.vae_scale_factor)
    if size is None:
        return min(published, int(pipeline.unet.config.sample_size) * factor)
    step = factor * 2 ** (len(pipeline.unet.config.down_block_types) - 1)
    if not isinstance(size, int) or size < step or size % step:
        raise BrittleError(f"size is in pixels and a multiple of {step} for this checkpoint, got {size!r}")
    return size


def training_scheduler(pipeline: Any) -> Any:
    """DDIM without clipping, as published, with the betas and the prediction type of the checkpoint."""
    config = pipeline.scheduler.config
    kind = config.get("prediction_type")
    if kind not in ("epsilon", "v_prediction"):
        raise BrittleError(f"sliders are trained for epsilon or v_prediction; this checkpoint predicts {kind!r}")
    return require("diffusers", "sliders").DDIMScheduler(
        num_train_timesteps=config.num_train_timesteps,
        beta_start=config.beta_start,
        beta_end=config.beta_end,
        beta_schedule=config.beta_schedule,
        trained_betas=config.get("trained_betas"),
        prediction_type=kind,
        clip_sample=False,
    )


def half_denoised(
    adapter: Adapter,
    scheduler: Any,
    latents: Any,
    embedding: Any,
    *,
    done: int,
    steps: int,
    guidance: float = 1.0,
    unconditional: Any = None,
) -> tuple[Any, Any]:
    """Latents after `done` of `steps` DDIM steps with the slider on at scale 1, and their timestep.

    As published, that timestep is number done · T / steps of all T, counted from the noisiest. Without `unconditional`,
    guidance has no effect and is not computed.
    """
    torch = require("torch")
    scheduler.set_timesteps(steps, device=latents.device)
    adapter.on()
    with torch.no_grad():
        for t in scheduler.timesteps[:done]:
            prediction = predict(adapter.unet, latents, t, embedding)
            if unconditional is not None:
                unguided = predict(adapter.unet, latents, t, unconditional)
                prediction = unguided + guidance * (prediction - unguided)
            latents = scheduler.step(prediction, t, latents).prev_sample
    total = scheduler.config.num_train_timesteps
    return latents, total - 1 - int(done * total / steps)


def predict(unet: Any, latents: Any, timestep: Any, embedding: Any) -> Any:
    """The network's prediction, noise or velocity, with one prompt embedding for all images."""
    embedding = embedding.expand(len(latents), -1, -1)
    return unet(latents.to(unet.dtype), timestep, encoder_hidden_states=embedding).sample.float()


Progress = Callable[[int, int, float], None]
"""Called with (steps done, steps in all, loss) after each step."""


def run_steps(
    optimizer: Any,
    loss_of: Callable[[int], Any],
    losses: list[float],
    steps: int,
    *,
    save: Callable[[], None] | None,
    save_every: int,
    after: Callable[[], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Run the training steps from number `len(losses)` on, and append their losses; raise if a loss is not finite.

    Args:
        loss_of: the loss of a step by its number.
        save: called every `save_every` steps and at the end, to write a checkpoint.
        after: called after each step, to project the parameters onto their constraint.
    """
    for step in range(len(losses), steps):
        loss = loss_of(step)
        value = float(loss.item())
        if not math.isfinite(value):
            raise BrittleError(
                f"the loss of step {step + 1} is {value}; train with a smaller learning rate, or in float32"
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if after is not None:
            after()
        losses.append(value)
        if save is not None and (len(losses) % save_every == 0 or len(losses) == steps):
            save()
        if progress is not None:
            progress(len(losses), steps, value)


def save_checkpoint(path: str | Path, state: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Write tensors, numbers and strings, and the training settings `config`, to one file atomically."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part:
        require("torch").save({**state, "recipe": json.dumps(config, sort_keys=True)}, part)


def load_checkpoint(path: str | Path | None, config: Mapping[str, Any], steps: int) -> dict[str, Any] | None:
    """The state of a checkpoint with the same settings, or None if there is no file; only tensors and plain data.

    A training may resume with more `steps` than before, not with fewer than are done.
    """
    if path is None or missing_or_damaged(Path(path), "the training starts from scratch"):
        return None
    try:
        state: dict[str, Any] = require("torch").load(path, map_location="cpu", weights_only=True)
        saved, done = json.loads(state["recipe"]), len(state["losses"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise BrittleError(
            f"{str(path)!r} is no checkpoint of brittle, remove it to start from scratch: {reason}"
        ) from error
    requested = json.loads(json.dumps(config))
    different = sorted(key for key in saved.keys() | requested.keys() if saved.get(key) != requested.get(key))
    if different:
        change = ", ".join(f"{key} = {saved.get(key)!r} and not {requested.get(key)!r}" for key in different)
        raise BrittleError(f"{str(path)!r} holds a training with {change}; remove it to start from scratch")
    if done > steps:
        raise BrittleError(
            f"{str(path)!r} holds a training of {done} steps and not {steps}; remove it to start from scratch"
        )
    return state


PUBLISHED_SIDE = 512


def train_slider(
    pipeline: Any,
    prompt: str,
    shift: str,
    *,
    steps: int = 400,
    batch_size: int = 16,
    strength: float = 4.0,
    rank: int = 4,
    alpha: float = 1.0,
    learning_rate: float = 2e-4,
    denoising_steps: int = 50,
    unconditional: str | None = None,
    guidance: float = 7.5,
    size: int | None = None,
    seed: int = 0,
    precision: str = "auto",
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    progress: Progress | None = None,
) -> Slider:
    """A LoRA that moves images of `prompt` towards "`prompt`, in `shift`", by the published objective and settings.

    The pipeline is unchanged afterwards. On a CPU the same call gives the same weights, also after an interruption.

    Args:
        pipeline: a Stable Diffusion pipeline of diffusers, or its folder.
        prompt: the class name, or a token that the pipeline has.
        shift: a text such as "heavy snow"; underscores count as spaces.
        strength: η, the factor of the difference between the two prompts at scale 1.
        denoising_steps: of DDIM; each training step runs a random number of them with the slider on.
        unconditional: the prompt that is subtracted; by default, as published, `prompt`, which makes `guidance`
            ineffective.
        size: of the images in pixels; by default 512 or, if that is less, the checkpoint's.
        precision: "float32", "bfloat16" or "auto", which is bfloat16 on GPUs that support it. The adapter itself is
            always float32, unlike the published ones.
        checkpoint: a file that holds the state, written every `checkpoint_every` steps; training resumes from it.
    """
    torch = require("torch")
    check_integers(
        steps=(steps, 1),
        batch_size=(batch_size, 1),
        rank=(rank, 1),
        denoising_steps=(denoising_steps, 2),
        checkpoint_every=(checkpoint_every, 1),
    )
    pipeline = as_pipeline(pipeline, dtype="float32" if precision == "float32" else "auto")
    device, scheduler = pipeline.device, training_scheduler(pipeline)
    side = training_side(pipeline, size, PUBLISHED_SIDE)
    negative = None if unconditional in (None, prompt) else unconditional
    of_class = encode_prompt(pipeline, prompt)
    of_positive = encode_prompt(pipeline, positive_prompt(prompt, shift))
    of_negative = None if negative is None else encode_prompt(pipeline, negative)
    config: dict[str, Any] = {
        "prompt": prompt,
        "shift": shift_text(shift),
        "batch_size": batch_size,
        "strength": strength,
        "rank": rank,
        "alpha": alpha,
        "learning_rate": learning_rate,
        "denoising_steps": denoising_steps,
        "unconditional": negative,
        "guidance": guidance if negative is not None else None,
        "size": side,
        "seed": seed,
        "prediction": scheduler.config.prediction_type,
        "precision": find_precision(precision, pipeline),
        "network": pipeline_key(pipeline, prompt),
    }
    autocast = in_precision(config["precision"], device)
    shape = (batch_size, pipeline.unet.config.in_channels, *[side // pipeline.vae_scale_factor] * 2)
    state = load_checkpoint(checkpoint, config, steps)
    losses: list[float] = [] if state is None else state["losses"]
    with adapter_on(pipeline, rank=rank, alpha=alpha) as adapter:
        optimizer = torch.optim.AdamW(adapter.parameters(), lr=learning_rate)
        if state is None:
            initialise(adapter, seed)
        else:
            adapter.load(state["weights"])
            optimizer.load_state_dict(state["optimiser"])

        def loss_of(step: int) -> Any:
            generator = step_generator(seed, "slider", step)
            done = int(torch.randint(1, denoising_steps, (1,), generator=generator))
            noise = torch.randn(shape, generator=generator).to(device)
            with autocast():
                latents, t = half_denoised(
                    adapter,
                    scheduler,
                    noise,
                    of_class,
                    done=done,
                    steps=denoising_steps,
                    guidance=guidance,
                    unconditional=of_negative,
                )
                adapter.off()
                with torch.no_grad():
                    neutral, positive = (
                        predict(adapter.unet, latents, t, embedding) for embedding in (of_class, of_positive)
                    )
                    subtracted = neutral if of_negative is None else predict(adapter.unet, latents, t, of_negative)
                adapter.on()
                target = slider_target(neutral, positive, subtracted, strength)
                return slider_loss(predict(adapter.unet, latents, t, of_class), target)

        def save(file: str | Path) -> None:
            state = {"weights": adapter.weights(), "optimiser": optimizer.state_dict(), "losses": losses}
            save_checkpoint(file, state, config)

        save_state = None if checkpoint is None else partial(save, checkpoint)
        run_steps(optimizer, loss_of, losses, steps, save=save_state, save_every=checkpoint_every, progress=progress)
        weights = adapter.weights()
    training = {key: value for key, value in config.items() if key not in ("prompt", "shift", "rank", "alpha")}
    versions = {package: version(package) for package in ("torch", "diffusers", "peft", "transformers")}
    training |= {"steps": steps, "base": Path(str(pipeline.config.get("_name_or_path", ""))).name, "versions": versions}
    return Slider(prompt, shift_text(shift), weights, rank, float(alpha), training, tuple(losses))


def initialise(adapter: Adapter, seed: int) -> None:
    """As published: lora_A (down) Kaiming-uniform with a = 1, lora_B (up) zero, so at first nothing changes."""
    init = require("torch").nn.init
    for number, layer in enumerate(adapter.layers):
        down = layer.lora_A[NAME].weight
        drawn = require("torch").empty(down.shape)
        init.kaiming_uniform_(drawn, a=1, generator=step_generator(seed, "slider-weights", number))
        down.data.copy_(drawn)
        init.zeros_(layer.lora_B[NAME].weight)


TrainSlidersProgress = Callable[[str, int, int], None]
"""Called with (slider name, steps done, steps in all)."""

Pair = tuple[TargetClass, str]
DEFAULTS = {name: option.default for name, option in inspect.signature(train_slider).parameters.items()}
CARD_SETTINGS = ("steps", "batch_size", "strength", "rank", "alpha", "learning_rate", "denoising_steps", "seed")
"""Settings that must equal those in the card of an existing slider."""


@dataclass(frozen=True)
class TrainedSliders:
    """The result of `train_sliders`: the folders of all sliders, and how many existed before (`existing`)."""

    folders: list[Path]
    existing: int


def slider_name(shift: str, number: int) -> str:
    """The published form of a slider's name, "heavy_snow_class_022"."""
    return f"{shift_folder(shift)}_class_{number:03}"


def train_sliders(
    base: Base,
    classes: Sequence[TargetClass],
    shifts: Sequence[str],
    folder: str | Path,
    *,
    engine: str = "local",
    address: str | None = None,
    progress: TrainSlidersProgress | None = None,
    **settings: Any,
) -> TrainedSliders:
    """Train one slider for each class and shift in `folder/<shift>_class_<number>/`; existing sliders are skipped.

    `settings` are those of `train_slider`; an existing slider with other settings, or of a pipeline with another name,
    raises. The local engine resumes an interrupted training from its checkpoint; on a Ray cluster each worker trains
    one slider at a time, which this process writes. The weights are the same.
    """
    check_engine(engine, address)
    if not classes or not shifts:
        raise BrittleError("name at least one class and one shift to train")
    steps = int(settings.get("steps", DEFAULTS["steps"]))
    folders = {(c, shift_text(s)): Path(folder) / slider_name(s, c.number) for s in shifts for c in classes}
    todo = [pair for pair, path in folders.items() if not _is_trained(path, base, pair, settings)]
    for pair in folders.keys() - todo:
        (folders[pair] / CHECKPOINT).unlink(missing_ok=True)  # one that a power cut left
    total = len(todo) * steps
    if todo and engine == "ray":
        done = 0
        for trained in _on_ray(base, todo, settings, address):
            trained.result.save(folders[trained.item])
            done += steps
            if progress is not None:
                progress(f"{folders[trained.item].name}{trained.where}", done, total)
    elif todo:
        pipeline = base.pipeline()
        for index, (target_class, shift) in enumerate(todo):
            target = folders[target_class, shift]

            def tick(step: int, _: int, __: float, before: int = index * steps, name: str = target.name) -> None:
                if progress is not None:
                    progress(name, before + step, total)

            checkpoint = target / CHECKPOINT
            slider = train_slider(
                pipeline, target_class.prompt, shift, checkpoint=checkpoint, progress=tick, **settings
            )
            slider.save(target)
            checkpoint.unlink(missing_ok=True)
    return TrainedSliders(list(folders.values()), len(folders) - len(todo))


def _on_ray(base: Base, todo: list[Pair], settings: dict[str, Any], address: str | None) -> Iterator[Done[Pair]]:
    with ray_cluster(address) as ray:
        tasks = [((cls, shift), (base, cls.prompt, shift, settings)) for cls, shift in todo]
        gpu = wants_gpu(ray, base.device)
        yield from map_on_ray(ray, _train, tasks, gpu=gpu, title=lambda pair: slider_name(pair[1], pair[0].number))


def _train(base: Base, prompt: str, shift: str, settings: dict[str, Any]) -> Slider:
    return train_slider(base.pipeline(), prompt, shift, **settings)


def _is_trained(folder: Path, base: Base, pair: Pair, settings: Mapping[str, Any]) -> bool:
    """Whether a slider exists; raise if it was trained with different settings."""
    if any(missing_or_damaged(folder / name, "the slider is trained again") for name in (CARD, WEIGHTS)):
        return False
    try:
        card = read_json_file(folder / CARD)
        trained = {**card["training"], **{key: card[key] for key in ("prompt", "shift", "rank", "alpha")}}
    except (ValueError, KeyError, TypeError) as error:
        raise BrittleError(
            f"the card {str(folder / CARD)!r} is damaged; remove the folder to train it again"
        ) from error
    requested: dict[str, Any] = {"prompt": pair[0].prompt, "shift": pair[1], "base": Path(base.folder).name}
    requested |= {key: settings.get(key, DEFAULTS[key]) for key in CARD_SETTINGS}
    requested |= {key: settings[key] for key in ("size", "precision") if settings.get(key) not in (None, "auto")}
    if settings.get("unconditional") not in (None, pair[0].prompt):
        requested |= {key: settings.get(key, DEFAULTS[key]) for key in ("unconditional", "guidance")}
    else:
        requested["unconditional"] = None
    different = [key for key, value in requested.items() if trained.get(key) != value]
    if different:
        change = ", ".join(f"{key} = {trained.get(key)!r} and not {requested[key]!r}" for key in different)
        raise BrittleError(f"{str(folder)!r} holds a slider trained with {change}; use another folder or remove it")
    return True
