"""Train the slider of one class and one shift."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from brittle.models.load_pipeline import as_pipeline
from brittle.models.needs import needs
from brittle.sliders.adapter import NAME, Adapter, adapter_on
from brittle.sliders.check_whole import check_whole
from brittle.sliders.checkpoint import load_checkpoint, save_checkpoint
from brittle.sliders.learn_steps import Progress, learn_steps
from brittle.sliders.numbers import step_numbers
from brittle.sliders.objective import slider_loss, slider_target
from brittle.sliders.partial_denoising import half_denoised, predict, training_scheduler
from brittle.sliders.pipeline_key import pipeline_key
from brittle.sliders.precision import find_precision, in_precision
from brittle.sliders.prompt_words import encode_prompt
from brittle.sliders.shifts import positive_prompt, shift_words
from brittle.sliders.slider import Slider
from brittle.sliders.training_side import training_side

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
    torch = needs("torch")
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
    init = needs("torch").nn.init
    for number, layer in enumerate(adapter.layers):
        down = layer.lora_A[NAME].weight
        drawn = needs("torch").empty(down.shape)
        init.kaiming_uniform_(drawn, a=1, generator=step_numbers(seed, "slider-weights", number))
        down.data.copy_(drawn)
        init.zeros_(layer.lora_B[NAME].weight)
