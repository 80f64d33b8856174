"""How the tests of `brittle slide` call it: quick trainings and drawings on a world of untrained networks."""

from collections.abc import Callable
from pathlib import Path

import torch
from typer.testing import Result

from brittle.sliders import Slider

Run = Callable[..., Result]
SLIDER = "heavy_snow_class_008"
TRAINING = ("--steps", 2, "--batch-size", 1, "--denoising-steps", 2)
SAMPLING = ("--seeds", 2, "--denoising-steps", 2, "--image-format", "png")


def good(result: Result) -> str:
    """What was printed by a verb that ended well, as one line."""
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def refusal(result: Result) -> str:
    """The one sentence about a mistake."""
    assert result.exit_code == 2, result.exception or result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") <= 2, result.stderr  # a hint may follow
    return result.stderr.strip()


def train(run: Run, parts: Path, *more: object, out: str = "sliders") -> Result:
    names = ("--classes", parts / "names.txt")
    return run(
        "slide",
        "train",
        parts / "pipeline",
        "--class",
        "8",
        "--shift",
        "heavy_snow",
        *names,
        *TRAINING,
        "-o",
        out,
        *more,
    )


def sample(run: Run, parts: Path, *more: object, out: str = "slides") -> Result:
    names = ("--classes", parts / "names.txt")
    scales = () if "--two-prompts" in more else ("--scales", "0,1,2.5")
    return run("slide", "sample", parts / "pipeline", *names, *scales, *SAMPLING, "-o", out, *more)


def publish(slider: Slider, folder: Path, number: int, end: str = "last") -> Path:
    """The weights of a slider in a file such as the published ones."""
    state = {}
    for key, value in slider.weights.items():
        layer, _, which = key.removesuffix(".weight").rpartition(".")
        bare = "lora_unet_" + layer.replace(".", "_")
        state[f"{bare}.{'lora_down' if which == 'lora_A' else 'lora_up'}.weight"] = value
        state[f"{bare}.alpha"] = torch.tensor(1.0)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"heavy_snow_class_{number:03}_alpha1.0_rank4_noxattn_{end}.pt"
    torch.save(state, path)
    return path
