"""`brittle slide train`: a LoRA slider for each class and shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console, resumable_progress, say_next
from brittle.cli.run import DEVICE, follow
from brittle.cli.slide import inputs as shared
from brittle.cli.slide.inputs import chosen_pipeline, training_settings

if TYPE_CHECKING:
    from brittle.sliders import TrainedSliders

EXAMPLES = (
    ("brittle slide train sd2/ --tokens tokens/ -c 22 -s heavy_snow -o sliders", "the bald eagle in heavy snow"),
    ("brittle slide train tiny -c bag,sneaker -s heavy_fog --steps 100 -o sliders", "two sliders on the bundled world"),
    ("brittle slide train sd2/ -c all -s all -o sliders --engine ray --address auto", "all of them, on a cluster"),
)
SHOWN = 20
"""More sliders than these are counted, not listed."""


def train_verb(
    pipeline: shared.PIPELINE,
    output: shared.OUTPUT,
    classes: Annotated[
        list[str], typer.Option("--class", "-c", help="Numbers or names, with commas or repeated; or `all`.")
    ],
    shifts: Annotated[
        list[str], typer.Option("--shift", "-s", help="Published shifts, with commas or repeated; or `all`.")
    ],
    tokens: shared.TOKENS = None,
    names: shared.NAMES = None,
    own_words: shared.OWN_WORDS = False,
    steps: Annotated[int | None, typer.Option("--steps", help="Number of training steps.", show_default="400")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Images in a step.", show_default="16")] = None,
    strength: Annotated[
        float | None,
        typer.Option("--strength", help="η: how many times the difference of prompts is learnt.", show_default="4"),
    ] = None,
    rank: Annotated[int, typer.Option("--rank", help="Rank of the LoRA adapter.")] = 4,
    alpha: Annotated[float, typer.Option("--alpha", help="Alpha/rank is multiplied to the adapter at scale 1.")] = 1.0,
    learning_rate: Annotated[float | None, typer.Option("--lr", help="The learning rate.", show_default="2e-4")] = None,
    denoising_steps: Annotated[
        int | None,
        typer.Option(
            "--denoising-steps",
            help="Number of denoising steps, of which each training step runs a random number.",
            show_default="50",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size", help="Side of training images in pixels.", show_default="512, or the checkpoint's if less"
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of weights and noise.")] = 0,
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
    how = [word for pair in (("--tokens", tokens), ("--names", names)) if pair[1] is not None for word in pair]
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
    new = len(done.folders) - done.there
    more = f", the first {SHOWN} shown" if len(done.folders) > SHOWN else ""
    console().print(f"{new} sliders trained, {done.there} were there{more}")
