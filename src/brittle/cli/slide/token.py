"""`brittle slide token`: class tokens by textual inversion, so that images look like those of a dataset."""

from __future__ import annotations

from typing import Annotated, Any

from brittle.cli.console import console, print_json, resumable_progress, say_next, split_commas
from brittle.cli.inputs import DATA, DEVICE, follow
from brittle.cli.options import option
from brittle.cli.slide import inputs as shared
from brittle.cli.styles import DIM, END

EXAMPLES = (
    ("brittle slide token sd2/ -d imagenet:val --class random:2 -o my-tokens", "as the tokens of IN* were trained"),
    (
        "brittle slide token sd2/ -d cns-bench:slides/ --class 22 --steps 300 --batch-size 4 -o eagle-token",
        "common features of a class's images, even those without a word",
    ),
)


def token_verb(
    pipeline: shared.PIPELINE,
    data: DATA,
    output: shared.OUTPUT,
    classes: Annotated[list[str], option("--class")],
    names: shared.CLASSES = None,
    limit: Annotated[int | None, option("--limit", show_default="all of a class")] = None,
    steps: Annotated[int, option("--steps")] = 3000,
    batch_size: Annotated[int, option("--batch-size")] = 1,
    lr: Annotated[float, option("--lr")] = 5e-4,
    image_size: Annotated[int | None, option("--image-size", show_default="768, or the checkpoint's if less")] = None,
    seed: Annotated[int, option("--seed")] = 0,
    partial: Annotated[bool, option("--partial")] = False,
    dtype: shared.DTYPE = "auto",
    device: DEVICE = "auto",
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Train a token for each class on its images: a word whose embedding draws similar images (IN* of CNS-Bench).

    The diffusion model's idea of a class name often differs from the images of the dataset. A token such as <bald
    eagle-22> starts at the mean embedding of its name, and only its embedding is trained, with the 27 captions and
    settings of dataset-interfaces. Give the folder to --tokens of the other verbs. The same command trains only missing
    tokens.
    """
    from brittle.datasets import load_dataset
    from brittle.sliders import choose_pipeline, train_tokens

    chosen = choose_pipeline(pipeline, classes=names, device=device, dtype=dtype)
    targets = chosen.find_classes(split_commas(classes), seed=seed)
    reading: dict[str, Any] = {"partial": True} if partial else {}
    dataset = load_dataset(data, prepare="none", **reading)
    with resumable_progress() as bar:
        trained = train_tokens(
            chosen.base,
            dataset,
            targets,
            output,
            names=chosen.names,
            limit=limit,
            progress=follow(bar),
            steps=steps,
            batch_size=batch_size,
            lr=lr,
            image_size=image_size,
            seed=seed,
            precision=dtype,
        )
    rows = [
        {"class": one.number, "name": one.name, "steps": len(losses), "first_loss": first, "last_loss": last}
        for one in trained.classes
        if (losses := trained.losses.get(one.number))
        for first, last in [_ends(losses)]
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows[:SHOWN]:
        note = (
            f"{row['steps']} steps, loss {row['first_loss']:.3g} in the first tenth, {row['last_loss']:.3g} in the last"
        )
        console().print(f"<{row['name']}-{row['class']}>  {DIM}{note}{END}")
    new = len(trained.classes) - trained.existing
    console().print(f"{new} token{'' if new == 1 else 's'} trained, {trained.existing} existed")
    numbers = ",".join(str(one.number) for one in trained.classes[:SHOWN])
    named = () if names is None else ("--classes", names)
    drawn = ("--class", numbers, "--scales", 0, "-o", "with-tokens")
    say_next("slide", "sample", pipeline, "--tokens", output, *named, *drawn, after=output)


SHOWN = 20
"""The number of tokens that are listed."""


def _ends(losses: list[float]) -> tuple[float, float]:
    tenth = max(1, len(losses) // 10)
    return sum(losses[:tenth]) / tenth, sum(losses[-tenth:]) / tenth
