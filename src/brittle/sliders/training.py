"""Train sliders."""

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
from brittle._ray import map_on_ray, ray_cluster
from brittle._types import check_seed
from brittle.corruptions.draws import Draws
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
    shift_words,
    wants_gpu,
)
from brittle.sliders.slider import CARD, CHECKPOINT, NAME, WEIGHTS, Adapter, Slider, adapter_on


def step_numbers(seed: int, what: str, step: int) -> Any:
    """A generator on the CPU for one step of a training."""
    address = int(Draws(check_seed(seed), what, step).key("torch")[0])
    return require("torch").Generator().manual_seed(address % 2**63)


def check_whole(**options: tuple[int, int]) -> None:
    """Raise unless each option, given as (value, least), is a whole number of at least that."""
    for option, (value, least) in options.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BrittleError(f"{option} is a whole number of at least {least}, got {value!r}")


def slider_target(neutral: Any, positive: Any, unconditional: Any, strength: float) -> Any:
    """neutral + η (positive − unconditional): where the prediction with the slider on should be.

    All are predictions of the network without the slider, noise or velocity, whichever it was trained for. In CNS-Bench
    neutral and unconditional are both the class prompt, and η is 4; the paper prints neither η nor the difference.
    """
    return neutral + strength * (positive - unconditional)


def slider_loss(prediction: Any, target: Any) -> Any:
    """The mean squared error, in float32."""
    return (prediction.float() - target.float()).square().mean()


def training_side(pipeline: Any, size: int | None, published: int) -> int:
    """The side of images in pixels that a UNet takes: by default the published one, or the checkpoint's if smaller."""
    factor = int(pipeline.vae_scale_factor)
    if size is None:
        return min(published, int(pipeline.unet.config.sample_size) * factor)
    step = factor * 2 ** (len(pipeline.unet.config.down_block_types) - 1)
    if not isinstance(size, int) or size < step or size % step:
        raise BrittleError(f"size is in pixels and a multiple of {step} for this checkpoint, got {size!r}")
    return size


def training_scheduler(pipeline: Any) -> Any:
    """DDIM without clipping, as published, with the noise levels and the kind of prediction of the checkpoint."""
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
    words: Any,
    *,
    done: int,
    steps: int,
    guidance: float = 1.0,
    unconditional: Any = None,
) -> tuple[Any, Any]:
    """Noise after `done` of `steps` DDIM steps with the slider on at scale 1, and the timestep where it then is.

    As published, that timestep is the one numbered done · T / steps of all T, counted from the noisiest. Without
    `unconditional`, or where it is the prompt itself, guidance has no effect and is not computed.
    """
    torch = require("torch")
    scheduler.set_timesteps(steps, device=latents.device)
    adapter.on()
    with torch.no_grad():
        for t in scheduler.timesteps[:done]:
            guess = predict(adapter.unet, latents, t, words)
            if unconditional is not None:
                plain = predict(adapter.unet, latents, t, unconditional)
                guess = plain + guidance * (guess - plain)
            latents = scheduler.step(guess, t, latents).prev_sample
    total = scheduler.config.num_train_timesteps
    return latents, total - 1 - int(done * total / steps)


def predict(unet: Any, latents: Any, timestep: Any, words: Any) -> Any:
    """The network's prediction, noise or velocity; the words are the same for every image."""
    words = words.expand(len(latents), -1, -1)
    return unet(latents.to(unet.dtype), timestep, encoder_hidden_states=words).sample.float()


Progress = Callable[[int, int, float], None]
"""Called with (steps done, steps in all, the loss) after each step."""


def learn_steps(
    optimiser: Any,
    loss_of: Callable[[int], Any],
    losses: list[float],
    steps: int,
    *,
    keep: Callable[[], None] | None,
    keep_every: int,
    after: Callable[[], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Take the steps that `losses` lacks, and add theirs to it; a loss that is no number raises.

    Args:
        loss_of: the loss of a step by its number, to go down from.
        keep: called every `keep_every` steps and at the end, to save what was learnt.
        after: called after each step, to bring what is learnt back to where it may be.
    """
    for step in range(len(losses), steps):
        loss = loss_of(step)
        value = float(loss.item())
        if not math.isfinite(value):
            raise BrittleError(
                f"the loss of step {step + 1} is {value}; train with a smaller learning rate, or in float32"
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if after is not None:
            after()
        losses.append(value)
        if keep is not None and (len(losses) % keep_every == 0 or len(losses) == steps):
            keep()
        if progress is not None:
            progress(len(losses), steps, value)


def save_checkpoint(path: str | Path, state: Mapping[str, Any], recipe: Mapping[str, Any]) -> None:
    """Write tensors, numbers and texts to one file, completely or not at all."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part:
        require("torch").save({**state, "recipe": json.dumps(recipe, sort_keys=True)}, part)


def load_checkpoint(path: str | Path | None, recipe: Mapping[str, Any], steps: int) -> dict[str, Any] | None:
    """The state that was saved with the same recipe, or None if there is none yet; nothing but numbers is read.

    It may go on to more steps than it was begun for. One that has gone further than `steps` already raises.
    """
    if path is None or missing_or_damaged(Path(path), "the training starts anew"):
        return None
    try:
        state: dict[str, Any] = require("torch").load(path, map_location="cpu", weights_only=True)
        theirs, done = json.loads(state["recipe"]), len(state["losses"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise BrittleError(f"{str(path)!r} is no checkpoint of ours, remove it to start anew: {reason}") from error
    ours = json.loads(json.dumps(recipe))
    other = sorted(key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key))
    if other:
        change = ", ".join(f"{key} = {theirs.get(key)!r} and not {ours.get(key)!r}" for key in other)
        raise BrittleError(f"{str(path)!r} holds a training with {change}; remove it to start anew")
    if done > steps:
        raise BrittleError(f"{str(path)!r} holds a training of {done} steps and not {steps}; remove it to start anew")
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

    The pipeline comes out as it went in. On a CPU the same call gives the same weights, also after an interruption.

    Args:
        pipeline: a Stable Diffusion pipeline of diffusers, or its folder.
        prompt: the class, in words or as a token the pipeline knows.
        shift: words such as "heavy snow"; underscores count as spaces.
        strength: η, how many times the difference between the two prompts is learnt at scale 1.
        denoising_steps: of DDIM, of which each training step runs a random number, the slider on.
        unconditional: the prompt that is subtracted; by default, as published, `prompt`, which makes `guidance`
            ineffective.
        size: of the images in pixels; by default 512 or, if that is less, the checkpoint's own.
        precision: "float32", "bfloat16" or "auto", which is bfloat16 on GPUs that compute in it. The adapter itself is
            always float32, unlike the published ones.
        checkpoint: a file that holds the state, written every `checkpoint_every` steps; training goes on from it.
    """
    torch = require("torch")
    check_whole(
        steps=(steps, 1),
        batch_size=(batch_size, 1),
        rank=(rank, 1),
        denoising_steps=(denoising_steps, 2),
        checkpoint_every=(checkpoint_every, 1),
    )
    pipeline = as_pipeline(pipeline, dtype="float32" if precision == "float32" else "auto")
    device, scheduler = pipeline.device, training_scheduler(pipeline)
    side = training_side(pipeline, size, PUBLISHED_SIDE)
    other = None if unconditional in (None, prompt) else unconditional
    words = encode_prompt(pipeline, prompt)
    towards = encode_prompt(pipeline, positive_prompt(prompt, shift))
    away = None if other is None else encode_prompt(pipeline, other)
    recipe: dict[str, Any] = {
        "prompt": prompt,
        "shift": shift_words(shift),
        "batch_size": batch_size,
        "strength": strength,
        "rank": rank,
        "alpha": alpha,
        "learning_rate": learning_rate,
        "denoising_steps": denoising_steps,
        "unconditional": other,
        "guidance": guidance if other is not None else None,
        "size": side,
        "seed": seed,
        "prediction": scheduler.config.prediction_type,
        "precision": find_precision(precision, pipeline),
        "network": pipeline_key(pipeline, prompt),
    }
    autocast = in_precision(recipe["precision"], device)
    shape = (batch_size, pipeline.unet.config.in_channels, *[side // pipeline.vae_scale_factor] * 2)
    state = load_checkpoint(checkpoint, recipe, steps)
    losses: list[float] = [] if state is None else state["losses"]
    with adapter_on(pipeline, rank=rank, alpha=alpha) as adapter:
        optimiser = torch.optim.AdamW(adapter.parameters(), lr=learning_rate)
        if state is None:
            initialise(adapter, seed)
        else:
            adapter.load(state["weights"])
            optimiser.load_state_dict(state["optimiser"])

        def loss_of(step: int) -> Any:
            numbers = step_numbers(seed, "slider", step)
            done = int(torch.randint(1, denoising_steps, (1,), generator=numbers))
            noise = torch.randn(shape, generator=numbers).to(device)
            with autocast():
                latents, t = half_denoised(
                    adapter,
                    scheduler,
                    noise,
                    words,
                    done=done,
                    steps=denoising_steps,
                    guidance=guidance,
                    unconditional=away,
                )
                adapter.off()
                with torch.no_grad():
                    neutral, positive = (predict(adapter.unet, latents, t, said) for said in (words, towards))
                    subtracted = neutral if away is None else predict(adapter.unet, latents, t, away)
                adapter.on()
                target = slider_target(neutral, positive, subtracted, strength)
                return slider_loss(predict(adapter.unet, latents, t, words), target)

        def keep(file: str | Path) -> None:
            kept = {"weights": adapter.weights(), "optimiser": optimiser.state_dict(), "losses": losses}
            save_checkpoint(file, kept, recipe)

        kept = None if checkpoint is None else partial(keep, checkpoint)
        learn_steps(optimiser, loss_of, losses, steps, keep=kept, keep_every=checkpoint_every, progress=progress)
        weights = adapter.weights()
    about = {key: value for key, value in recipe.items() if key not in ("prompt", "shift", "rank", "alpha")}
    versions = {package: version(package) for package in ("torch", "diffusers", "peft", "transformers")}
    about |= {"steps": steps, "base": Path(str(pipeline.config.get("_name_or_path", ""))).name, "versions": versions}
    return Slider(prompt, shift_words(shift), weights, rank, float(alpha), about, tuple(losses))


def initialise(adapter: Adapter, seed: int) -> None:
    """As published: the way down uniform after Kaiming with a = 1, the way up zero, so at first nothing changes."""
    init = require("torch").nn.init
    for number, layer in enumerate(adapter.layers):
        down = layer.lora_A[NAME].weight
        drawn = require("torch").empty(down.shape)
        init.kaiming_uniform_(drawn, a=1, generator=step_numbers(seed, "slider-weights", number))
        down.data.copy_(drawn)
        init.zeros_(layer.lora_B[NAME].weight)


TrainSlidersProgress = Callable[[str, int, int], None]
"""Called with (the slider, steps done, steps in all)."""

Pair = tuple[TargetClass, str]
DEFAULTS = {name: option.default for name, option in inspect.signature(train_slider).parameters.items()}
FIXED = ("steps", "batch_size", "strength", "rank", "alpha", "learning_rate", "denoising_steps", "seed")
"""Settings that a slider's card must agree with."""


@dataclass(frozen=True)
class TrainedSliders:
    """What a call did: the folders of all sliders, and how many were there before."""

    folders: list[Path]
    there: int


def slider_name(shift: str, number: int) -> str:
    """The published form, "heavy_snow_class_022"."""
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
    """One slider for each class and shift, in `folder/<shift>_class_<number>/`; those that are there are kept.

    `settings` are those of `train_slider`; a slider that was trained with others, or on a pipeline of another name,
    raises. The local engine resumes inside a training that was interrupted; on a Ray
    cluster each worker trains whole sliders, which this process writes. The weights are the same.
    """
    check_engine(engine, address)
    if not classes or not shifts:
        raise BrittleError("name at least one class and one shift to train")
    steps = int(settings.get("steps", DEFAULTS["steps"]))
    places = {(c, shift_words(s)): Path(folder) / slider_name(s, c.number) for s in shifts for c in classes}
    todo = [pair for pair, place in places.items() if not _there(place, base, pair, settings)]
    total = len(todo) * steps
    if todo and engine == "ray":
        done = 0
        for pair, slider in _on_ray(base, todo, settings, address):
            slider.save(places[pair])
            done += steps
            if progress is not None:
                progress(places[pair].name, done, total)
    elif todo:
        pipeline = base.pipeline()
        for place, (one, shift) in enumerate(todo):
            target = places[one, shift]

            def tick(now: int, _: int, __: float, before: int = place * steps, name: str = target.name) -> None:
                if progress is not None:
                    progress(name, before + now, total)

            kept = target / CHECKPOINT
            slider = train_slider(pipeline, one.prompt, shift, checkpoint=kept, progress=tick, **settings)
            slider.save(target)
            kept.unlink(missing_ok=True)
    return TrainedSliders(list(places.values()), len(places) - len(todo))


def _on_ray(
    base: Base, todo: list[Pair], settings: dict[str, Any], address: str | None
) -> Iterator[tuple[Pair, Slider]]:
    with ray_cluster(address) as ray:
        work = [((one, shift), (base, one.prompt, shift, settings)) for one, shift in todo]
        gpu = wants_gpu(ray, base.device)
        yield from map_on_ray(ray, _train, work, gpu=gpu, title=lambda pair: slider_name(pair[1], pair[0].number))


def _train(base: Base, prompt: str, shift: str, settings: dict[str, Any]) -> Slider:
    return train_slider(base.pipeline(), prompt, shift, **settings)


def _there(place: Path, base: Base, pair: Pair, settings: Mapping[str, Any]) -> bool:
    """Whether a slider is trained already; one that was trained otherwise raises."""
    if any(missing_or_damaged(place / name, "the slider is trained again") for name in (CARD, WEIGHTS)):
        return False
    try:
        card = json.loads((place / CARD).read_text(encoding="utf-8"))
        known = {**card["training"], **{key: card[key] for key in ("prompt", "shift", "rank", "alpha")}}
    except (ValueError, KeyError, TypeError) as error:
        raise BrittleError(f"the card {str(place / CARD)!r} is damaged; remove the folder to train it again") from error
    wanted: dict[str, Any] = {"prompt": pair[0].prompt, "shift": pair[1], "base": Path(base.folder).name}
    wanted |= {key: settings.get(key, DEFAULTS[key]) for key in FIXED}
    wanted |= {key: settings[key] for key in ("size", "precision") if settings.get(key) not in (None, "auto")}
    if settings.get("unconditional") not in (None, pair[0].prompt):
        wanted |= {key: settings.get(key, DEFAULTS[key]) for key in ("unconditional", "guidance")}
    else:
        wanted["unconditional"] = None
    other = [key for key, value in wanted.items() if known.get(key) != value]
    if other:
        change = ", ".join(f"{key} = {known.get(key)!r} and not {wanted[key]!r}" for key in other)
        raise BrittleError(f"{str(place)!r} holds a slider trained with {change}; use another folder or remove it")
    return True
