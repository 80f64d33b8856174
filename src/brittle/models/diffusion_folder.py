"""A diffusion classifier by a text, as on the command line: its folder, and the prompts of the classes in a file."""

from __future__ import annotations

from pathlib import Path

from brittle.models.from_diffusion import DiffusionModel, from_diffusion

PROMPTS = "class_prompts.txt"


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

    The file has one prompt a line, such as "a photo of a tench", in the order of the labels.
    """
    folder, file = _split(place)
    if not Path(folder).expanduser().is_dir():
        raise FileNotFoundError(f"there is no folder {folder!r}; give one that diffusers' save_pretrained wrote")
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no file {str(file)!r} with a prompt for each class; write diffusion:FOLDER:PROMPTS.txt, one "
            "prompt a line in the order of the labels"
        )
    prompts = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    if len(prompts) < 2 or not all(prompts):
        raise ValueError(f"{str(file)!r} has one prompt a line, at least two and none of them empty; it has {prompts}")
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
