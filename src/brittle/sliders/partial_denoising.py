"""Half-finished images: what a slider is trained on."""

from __future__ import annotations

from typing import Any

from brittle.models.load_pipeline import EXTRA
from brittle.models.needs import needs
from brittle.sliders.adapter import Adapter


def training_scheduler(pipeline: Any) -> Any:
    """DDIM without clipping, as published, with the noise levels and the kind of prediction of the checkpoint."""
    config = pipeline.scheduler.config
    kind = config.get("prediction_type")
    if kind not in ("epsilon", "v_prediction"):
        raise ValueError(f"sliders are trained for epsilon or v_prediction; this checkpoint predicts {kind!r}")
    return needs("diffusers", EXTRA).DDIMScheduler(
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
    torch = needs("torch")
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
