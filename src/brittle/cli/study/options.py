"""What the studies have in common: models that are trained with augmentations, and how."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.overlap_plan import plan_of, training_of, weights_of

if TYPE_CHECKING:
    from brittle.datasets.dataset import Dataset
    from brittle.design import Plan

TESTED = Annotated[str, typer.Option("--data", "-d", help="Test data, `cifar10:FOLDER` …; its training part trains.")]
TRAINING = Annotated[
    str | None, typer.Option("--training", help="Training data.", show_default="the training part of the data")
]
MODE = Annotated[
    str, typer.Option("--mode", help="`finetune` the standard model, train from `scratch`, or `batchnorm` alone.")
]
NETWORK = Annotated[str, typer.Option("--network", help="`small`, `small:WIDTH` or `timm:NAME`.")]
START = Annotated[str | None, typer.Option("--start", help="A standard model: weights, or `demo:standard`.")]
EPOCHS = Annotated[
    int | None, typer.Option("--epochs", help="Of each model.", show_default="1 of fine-tuning, 40 from scratch")
]
STANDARD_EPOCHS = Annotated[
    int | None, typer.Option("--standard-epochs", help="Of the standard model.", show_default="40")
]
TRAINING_IMAGES = Annotated[
    int | None,
    typer.Option("--training-images", help="Of each model.", show_default="all, 10,000 of fine-tuning"),
]
TEST_IMAGES = Annotated[int | None, typer.Option("--test-images", help="Test images.", show_default="all")]
SEED = Annotated[int, typer.Option("--seed", help="Of the images, the augmentations and the training.")]


def lesson(
    data: str,
    training: str | None,
    *,
    mode: str,
    network: str,
    start: str | None,
    epochs: int | None,
    standard_epochs: int | None,
    images: int | None,
    batch_size: int,
    seed: int,
) -> tuple[Plan, Dataset, Path | None]:
    """The plan, the training data and the weights to start from."""
    plan = plan_of(
        mode,
        network,
        epochs,
        standard_epochs,
        images,
        batch_size,
        seed,
        started=start is not None,
        option="--training-images",
    )
    taught = training_of(data, training, images if mode == "scratch" else None)
    return plan, taught, None if start is None else weights_of(start, network, taught)
