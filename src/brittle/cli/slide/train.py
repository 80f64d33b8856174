"""`brittle slide train`: a LoRA slider for each class and shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from brittle.cli.console import console, print_json, resumable_progress, say_next, split_commas
from brittle.cli.inputs import DEVICE, follow
from brittle.cli.options import option
from brittle.cli.slide import inputs as shared

if TYPE_CHECKING:
    from brittle.sliders import TrainedSliders

EXAMPLES = (
    (
        "brittle slide train sd2/ --tokens tokens/ --class 22 --shift heavy_snow -o sliders",
        "the bald eagle in heavy snow",
    ),
    (
        "brittle slide train tiny --class bag,sneaker --shift heavy_fog --steps 100 -o sliders",
        "two sliders on the bundled demo pipeline",
    ),
    (
        "brittle slide train sd2/ --class all --shift all -o sliders --engine ray --address auto",
        "all of them, on a cluster",
    ),
)
SHOWN = 20
"""The number of sliders that are listed."""


def train_verb(
    pipeline: shared.PIPELINE,
    output: shared.OUTPUT,
    classes: Annotated[list[str], option("--class")],
    shifts: Annotated[list[str], option("--shift")],
    tokens: shared.TOKENS = None,
    names: shared.CLASSES = None,
    any_shift: shared.ANY_SHIFT = False,
    steps: Annotated[int | None, option("--steps", show_default="400")] = None,
    batch_size: Annotated[int | None, option("--batch-size", show_default="16")] = None,
    strength: Annotated[
        float | None,
        option("--strength", show_default="4"),
    ] = None,
    lora_rank: Annotated[int, option("--lora-rank")] = 4,
    lora_alpha: Annotated[float, option("--lora-alpha")] = 1.0,
    lr: Annotated[float | None, option("--lr", show_default="2e-4")] = None,
    denoising_steps: Annotated[
        int | None,
        option("--denoising-steps", show_default="50"),
    ] = None,
    image_size: Annotated[
        int | None,
        option("--image-size", show_default="512, or the checkpoint's if less"),
    ] = None,
    seed: Annotated[int, option("--seed")] = 0,
    dtype: shared.DTYPE = "auto",
    device: DEVICE = "auto",
    engine: shared.ENGINE = "local",
    address: shared.ADDRESS = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Train a slider for each class and shift: a small LoRA that moves images of the class towards the shift.

    The defaults are the published ones; the demo pipeline has others. Each slider is a folder SHIFT_class_NUMBER that
    diffusers can also read. The same command trains only missing sliders, and resumes an interrupted training.
    """
    from brittle._parallel import check_engine
    from brittle.sliders import choose_pipeline, find_shifts, train_sliders, training_settings

    check_engine(engine, address)
    targets = find_shifts(split_commas(shifts), pipeline, any_shift=any_shift)
    chosen = choose_pipeline(pipeline, tokens=tokens, classes=names, device=device, dtype=dtype)
    trained_classes = chosen.find_classes(split_commas(classes), seed=seed)
    with resumable_progress() as bar:
        trained = train_sliders(
            chosen.base,
            trained_classes,
            targets,
            output,
            engine=engine,
            address=address,
            progress=follow(bar),
            **training_settings(
                pipeline,
                steps=steps,
                batch_size=batch_size,
                strength=strength,
                lora_rank=lora_rank,
                lora_alpha=lora_alpha,
                lr=lr,
                denoising_steps=denoising_steps,
                image_size=image_size,
            ),
            seed=seed,
            precision=dtype,
        )
    if as_json:
        print_json(_losses(trained))
        return
    print_sliders(trained)
    options = [part for pair in (("--tokens", tokens), ("--classes", names)) if pair[1] is not None for part in pair]
    console().print()
    say_next("slide", "sample", pipeline, output, *options, "-o", "slides", after=output)


def _losses(trained: TrainedSliders) -> list[dict[str, Any]]:
    """The number of steps of each slider, and its mean loss in their first and last tenth."""
    import numpy as np

    from brittle.sliders import load_slider

    rows = []
    for folder in trained.folders:
        losses = np.array(load_slider(folder).losses)
        tenth = max(1, len(losses) // 10)
        first, last = float(losses[:tenth].mean()), float(losses[-tenth:].mean())
        rows.append({"slider": folder.name, "steps": len(losses), "first_loss": first, "last_loss": last})
    return rows


def print_sliders(trained: TrainedSliders) -> None:
    """Print how the loss of each slider fell."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("slider", overflow="fold")
    for title in ("steps", "loss, first tenth", "last tenth"):
        table.add_column(title, justify="right")
    for row in _losses(trained)[:SHOWN]:
        table.add_row(row["slider"], str(row["steps"]), f"{row['first_loss']:.3g}", f"{row['last_loss']:.3g}")
    console().print(table)
    new = len(trained.folders) - trained.existing
    more = f", the first {SHOWN} shown" if len(trained.folders) > SHOWN else ""
    console().print(f"{new} sliders trained, {trained.existing} existed{more}")
