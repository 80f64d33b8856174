"""`brittle augment train`: train a network with the corruptions of a benchmark, or with any augmentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from brittle.cli.console import compile_first, console, resumable_progress, say_next, tell_files
from brittle.cli.inputs import DEVICE, load_training
from brittle.cli.options import Optimizer, Schedule, option

EXAMPLES = (
    ("brittle augment train -d cifar10:cifar10 -o net.safetensors", "a standard network, 24 epochs"),
    (
        "brittle augment train -d cifar10:cifar10 -a corruptions:cifar10-noc --start demo:standard --epochs 2 "
        "-o noc.safetensors",
        "one network trained with all corruptions of a benchmark",
    ),
    (
        "brittle augment train -d cifar10:cifar10 -a augmix --jsd 12 -o augmix.safetensors",
        "AugMix with its consistency loss",
    ),
    ("brittle run -m noc.safetensors -d demo -b cifar10-c -o run", "then test it on another benchmark"),
)


def train_verb(
    data: Annotated[str, option("--data")],
    output: Annotated[Path, option("--output", help="The network, a .safetensors file.")],
    augmentation: Annotated[
        str,
        option("--augmentation"),
    ] = "none",
    network: Annotated[str, option("--network")] = "small",
    start: Annotated[str | None, option("--start")] = None,
    train_data: Annotated[str | None, option("--train-data", show_default="the training part of the data")] = None,
    train_limit: Annotated[int | None, option("--train-limit", show_default="all")] = None,
    epochs: Annotated[int | None, option("--epochs", show_default="24, or 1 with --start")] = None,
    batch_size: Annotated[int, option("--batch-size")] = 128,
    lr: Annotated[float | None, option("--lr", show_default="0.1, or 0.02 with --start")] = None,
    optimizer: Annotated[Optimizer, option("--optimizer")] = "sgd",
    schedule: Annotated[Schedule, option("--schedule")] = "cosine",
    jsd: Annotated[float, option("--jsd")] = 0.0,
    ema: Annotated[float, option("--ema")] = 0.0,
    seed: Annotated[int, option("--seed")] = 0,
    device: DEVICE = "auto",
) -> None:
    """Train a network with corruptions, with an augmentation or without, for `brittle run` to test.

    A checkpoint is kept beside the output after each epoch, so that the same command resumes after an interruption.
    """
    from brittle.training import train_network, training_config

    config = training_config(
        start=start,
        epochs=epochs,
        lr=lr,
        batch_size=batch_size,
        optimizer=optimizer,
        schedule=schedule,
        ema=ema,
        jsd=jsd,
        seed=seed,
    )
    training = load_training(data, train_data, train_limit=train_limit)
    compile_first()
    with resumable_progress() as bar:
        task = bar.add_task("training", total=None)
        trained = train_network(
            training,
            output,
            config,
            network=network,
            augmentation=augmentation,
            start=start,
            device=device,
            progress=lambda done, total, loss: bar.update(
                task, description=f"loss {loss:<8.3f}", completed=done, total=total
            ),
        )
    first, last = trained.losses[0], trained.losses[-1]
    console().print(f"{len(trained.losses)} epochs over {trained.images} images, mean loss {first:.3f} → {last:.3f}")
    tell_files(trained.path)
    benchmark = "cifar10-c" if trained.side <= 64 else "imagenet-c"
    say_next("run", "-m", output, "-d", data, "-b", benchmark, "-o", f"{output.stem}-run")
