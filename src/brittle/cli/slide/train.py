"""`brittle slide train`: a LoRA slider for each class and shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from brittle.cli.console import console, resumable_progress, say_next
from brittle.cli.inputs import DEVICE, follow
from brittle.cli.options import option
from brittle.cli.slide import inputs as shared
from brittle.cli.slide.inputs import chosen_pipeline, training_settings

if TYPE_CHECKING:
    from brittle.sliders import TrainedSliders

EXAMPLES = (
    (
        "brittle slide train sd2/ --tokens tokens/ --class 22 --shift heavy_snow -o sliders",
        "the bald eagle in heavy snow",
    ),
    (
        "brittle slide train tiny --class bag,sneaker --shift heavy_fog --steps 100 -o sliders",
        "two sliders on the bundled world",
    ),
    (
        "brittle slide train sd2/ --class all --shift all -o sliders --engine ray --address auto",
        "all of them, on a cluster",
    ),
)
SHOWN = 20
"""More sliders than these are counted, not listed."""


def train_verb(
    pipeline: shared.PIPELINE,
    output: shared.OUTPUT,
    classes: Annotated[list[str], option("--class")],
    shifts: Annotated[list[str], option("--shift")],
    tokens: shared.TOKENS = None,
    names: shared.NAMES = None,
    own_words: shared.OWN_WORDS = False,
    steps: Annotated[int | None, option("--steps", show_default="400")] = None,
    batch_size: Annotated[int | None, option("--batch-size", show_default="16")] = None,
    strength: Annotated[
        float | None,
        option("--strength", show_default="4"),
    ] = None,
    rank: Annotated[int, option("--lora-rank")] = 4,
    alpha: Annotated[float, option("--lora-alpha")] = 1.0,
    learning_rate: Annotated[float | None, option("--lr", show_default="2e-4")] = None,
    denoising_steps: Annotated[
        int | None,
        option("--denoising-steps", show_default="50"),
    ] = None,
    size: Annotated[
        int | None,
        option("--image-size", show_default="512, or the checkpoint's if less"),
    ] = None,
    seed: Annotated[int, option("--seed")] = 0,
    precision: shared.PRECISION = "auto",
    device: DEVICE = "auto",
    engine: shared.ENGINE = "local",
    address: shared.ADDRESS = None,
) -> None:
    """Train a slider for each class and shift: a small LoRA that moves images of the class towards the shift.

    The defaults are the published ones; the tiny world has its own. Each slider is a folder SHIFT_class_NUMBER that
    diffusers reads too. The same command again trains only what is missing, and resumes inside a training that was
    interrupted.
    """
    from brittle._parallel import check_engine
    from brittle.sliders import train_sliders

    check_engine(engine, address)
    wanted = shared.shifts_of(shifts, pipeline, own_words)
    chosen = chosen_pipeline(pipeline, tokens, names, device, precision)
    settings = training_settings(
        pipeline,
        steps=steps,
        batch_size=batch_size,
        strength=strength,
        learning_rate=learning_rate,
        denoising_steps=denoising_steps,
        size=size,
    )
    taught = chosen.classes(classes)
    with resumable_progress() as bar:
        done = train_sliders(
            chosen.base,
            taught,
            wanted,
            output,
            engine=engine,
            address=address,
            progress=follow(bar),
            **settings,
            rank=rank,
            alpha=alpha,
            seed=seed,
            precision=precision,
        )
    print_sliders(done)
    how = [word for pair in (("--tokens", tokens), ("--classes", names)) if pair[1] is not None for word in pair]
    console().print()
    say_next("slide", "sample", pipeline, output, *how, "-o", "slides", after=output)


def print_sliders(done: TrainedSliders) -> None:
    """How the loss of each slider fell."""
    import numpy as np
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.sliders import load_slider

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("slider", overflow="fold")
    for title in ("steps", "loss, first tenth", "last tenth"):
        table.add_column(title, justify="right")
    for folder in done.folders[:SHOWN]:
        losses = np.array(load_slider(folder).losses)
        tenth = max(1, len(losses) // 10)
        first, last = losses[:tenth].mean(), losses[-tenth:].mean()
        table.add_row(folder.name, str(len(losses)), f"{first:.3g}", f"{last:.3g}")
    console().print(table)
    new = len(done.folders) - done.existing
    more = f", the first {SHOWN} shown" if len(done.folders) > SHOWN else ""
    console().print(f"{new} sliders trained, {done.existing} were there{more}")
