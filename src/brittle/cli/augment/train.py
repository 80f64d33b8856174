"""`brittle augment train`: teach a network a benchmark's corruptions, or any augmentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from brittle._errors import BrittleError
from brittle._identity import as_data, digest
from brittle.cli.console import check_ending, compile_first, console, interrupted, progress_bar, say_next, tell_files
from brittle.cli.inputs import DEVICE, training_of, weights_of
from brittle.cli.options import Optimizer, Schedule, option

EXAMPLES = (
    ("brittle augment train -d cifar10:cifar10 -o net.safetensors", "a standard network, 24 epochs"),
    (
        "brittle augment train -d cifar10:cifar10 -a corruptions:cifar10-noc --start demo:standard --epochs 2 "
        "-o noc.safetensors",
        "one network learns all corruptions of a benchmark",
    ),
    (
        "brittle augment train -d cifar10:cifar10 -a augmix --jsd 12 -o augmix.safetensors",
        "AugMix with its consistency loss",
    ),
    ("brittle run -m noc.safetensors -d demo -b cifar10-c -o run", "and how it does on another benchmark"),
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
    training: Annotated[str | None, option("--train-data", show_default="the training part of the data")] = None,
    images: Annotated[int | None, option("--train-limit", show_default="all")] = None,
    epochs: Annotated[int | None, option("--epochs", show_default="24, or 1 with --start")] = None,
    batch_size: Annotated[int, option("--batch-size")] = 128,
    rate: Annotated[float | None, option("--lr", show_default="0.1, or 0.02 with --start")] = None,
    optimiser: Annotated[Optimizer, option("--optimizer")] = "sgd",
    schedule: Annotated[Schedule, option("--schedule")] = "cosine",
    jsd: Annotated[float, option("--jsd")] = 0.0,
    ema: Annotated[float, option("--ema")] = 0.0,
    seed: Annotated[int, option("--seed")] = 0,
    device: DEVICE = "auto",
) -> None:
    """Train a network, with corruptions or an augmentation or plainly, for `brittle run` to test.

    A checkpoint is kept beside the output after each epoch, so that the same command resumes after an interruption.
    """
    from brittle.models import build_network, save_trained
    from brittle.models.networks import load_into
    from brittle.models.torch import find_device
    from brittle.training import TrainingConfig, train
    from brittle.training.augmentation import scheme_by_name

    check_ending(output, "a network", ".safetensors")
    if output.exists():
        raise BrittleError(f"{str(output)!r} is there already; remove it or choose another name")
    usual = (24, 0.1) if start is None else (1, 0.02)
    recipe = TrainingConfig(
        epochs=usual[0] if epochs is None else epochs,
        learning_rate=usual[1] if rate is None else rate,
        batch_size=batch_size,
        optimiser=optimiser,
        schedule=schedule,
        ema=ema,
        jsd=jsd,
        seed=seed,
    )
    scheme = scheme_by_name(augmentation)
    if jsd and augmentation == "none":
        raise BrittleError(
            f"--jsd {jsd:g} compares augmented views of an image; name an --augmentation, such as augmix"
        )
    taught = training_of(data, training, images)
    pictures, labels = _arrays(taught)
    module = build_network(network, len(taught.classes), seed=seed).to(find_device(device))
    if start is not None:
        load_into(module, weights_of(start, network, taught))
    compile_first()
    about = as_data({"recipe": recipe, "augmentation": scheme, "data": taught.key, "start": str(start)})
    checkpoint = output.with_suffix(f".{digest(about, length=8)}.pt")  # of this training and no other
    with progress_bar() as bar:
        task = bar.add_task("training", total=None)

        def step(done: int, total: int, loss: float) -> None:
            bar.update(task, description=f"loss {loss:<8.3f}", completed=done, total=total)

        try:
            losses = train(module, pictures, labels, recipe, augment=scheme, checkpoint=checkpoint, progress=step)
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    save_trained(module, output, network, taught.classes, recipe.mean, recipe.std, about)
    checkpoint.unlink(missing_ok=True)
    console().print(f"{len(losses)} epochs over {len(pictures)} images, mean loss {losses[0]:.3f} → {losses[-1]:.3f}")
    recipe_name = "cifar10-c" if min(pictures.shape[1:3]) <= 64 else "imagenet-c"
    tell_files(output)
    say_next("run", "-m", output, "-d", data, "-b", recipe_name, "-o", f"{output.stem}-run")


def _arrays(dataset: Any) -> tuple[Any, Any]:
    import numpy as np

    if dataset.labels is None:
        from brittle.datasets.dataset import no_labels

        raise no_labels(dataset, "and a network learns from labels")
    return np.stack(list(dataset.images())), dataset.labels
