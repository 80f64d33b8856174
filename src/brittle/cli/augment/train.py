"""`brittle augment train`: teach a network a benchmark's corruptions, or any augmentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from brittle._errors import BrittleError
from brittle._identity import as_data, digest
from brittle.cli.console import check_ending, compile_first, console, interrupted, progress_bar, say_next, tell_files
from brittle.cli.inputs import (
    ALL_CLASSES,
    CACHE,
    DEVICE,
    PARTIAL,
    PREPARE,
    PRESET,
    SETTINGS,
    THREADS,
    TrainingData,
    settings_of,
    tell_deviations,
    weights_of,
)
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
    (
        "brittle augment train -d imagenet-100:imagenet --preset noc --network timm:resnet18 -o resnet18.safetensors",
        "photographs, as NOC trains: 224×224, flips only, 40 epochs",
    ),
    ("brittle run -m noc.safetensors -d demo -b cifar10-c -o run", "and how it does on another benchmark"),
)


def train_verb(
    data: Annotated[str, option("--data")],
    output: Annotated[Path, option("--output", help="The network, a .safetensors file.")],
    augmentation: Annotated[str | None, option("--augmentation", show_default="none")] = None,
    network: Annotated[str, option("--network")] = "small",
    start: Annotated[str | None, option("--start")] = None,
    training: Annotated[str | None, option("--train-data", show_default="the training part of the data")] = None,
    images: Annotated[int | None, option("--train-limit", show_default="all")] = None,
    epochs: Annotated[int | None, option("--epochs", show_default="24, or 1 with --start")] = None,
    batch_size: Annotated[int | None, option("--batch-size", show_default="128")] = None,
    rate: Annotated[float | None, option("--lr", show_default="0.1, or 0.02 with --start")] = None,
    optimizer: Annotated[Optimizer | None, option("--optimizer", show_default="sgd")] = None,
    schedule: Annotated[Schedule | None, option("--schedule", show_default="cosine")] = None,
    jsd: Annotated[float | None, option("--jsd", show_default="0")] = None,
    ema: Annotated[float | None, option("--ema", show_default="0")] = None,
    preset: PRESET = None,
    more: SETTINGS = None,
    prepare: PREPARE = None,
    partial: PARTIAL = False,
    all_classes: ALL_CLASSES = False,
    cache: CACHE = None,
    workers: THREADS = None,
    seed: Annotated[int, option("--seed")] = 0,
    device: DEVICE = "auto",
) -> None:
    """Train a network, with corruptions or an augmentation or plainly, for `brittle run` to test.

    Photographs of any size are brought to one; a folder may hold train and val. A checkpoint is kept beside the output
    after each epoch, so that the same command resumes after an interruption.
    """
    from brittle.models import build_network, network_key, save_trained
    from brittle.models.networks import load_into
    from brittle.models.torch import find_device
    from brittle.training import PRESETS, input_sizes, normalised, train, training_config, training_images
    from brittle.training.augmentation import scheme_by_name

    check_ending(output, "a network", ".safetensors")
    if output.exists():
        raise BrittleError(f"{str(output)!r} is there already; remove it or choose another name")
    short = {"epochs": 1, "learning_rate": 0.02} if start is not None and preset is None else {}
    options: dict[str, Any] = {
        "epochs": epochs,
        "learning_rate": rate,
        "batch_size": batch_size,
        "optimizer": optimizer,
    }
    options |= {"schedule": schedule, "ema": ema, "jsd": jsd}
    changed = {**short, **{name: value for name, value in options.items() if value is not None}}
    published = preset or "cifar-small"
    config = training_config(published, **{**changed, **settings_of(more), "seed": seed})
    augmentation = augmentation or PRESETS[published].augmentation
    scheme = scheme_by_name(augmentation)
    if config.jsd and augmentation == "none":
        raise BrittleError(
            f"--jsd {config.jsd:g} compares augmented views of an image; name an --augmentation, such as augmix"
        )
    given = TrainingData(data, training, prepare, partial, all_classes, preset)
    trained = given.trained(images, config, whole=True)
    if trained.labels is None:
        from brittle.datasets import no_labels

        raise no_labels(trained, "and a network learns from labels")
    tell_deviations(config, published)
    module = build_network(network, len(trained.classes), seed=seed).to(find_device(device))
    if start is not None:
        load_into(module, weights_of(start, network, trained))
    compile_first()
    about = as_data({"recipe": config, "augmentation": scheme, "data": trained.key, "start": str(start)})
    about |= {} if network_key(network) is None else {"network_file": network_key(network)}
    checkpoint = output.with_suffix(f".{digest(about, length=8)}.pt")  # of this training and no other
    folder = None if cache == "none" else Path(cache) if cache is not None else output.with_suffix(".images")
    with progress_bar() as bar:
        task = bar.add_task("training", total=None)

        def step(done: int, total: int, loss: float) -> None:
            bar.update(task, description=f"loss {loss:<8.3f}", completed=done, total=total)

        def decoded(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=what, completed=done, total=total)

        try:
            pictures = training_images(trained, config, folder, workers=workers, progress=decoded)
            config = normalised(config, pictures, network)
            how: dict[str, Any] = {"augment": scheme, "checkpoint": checkpoint, "workers": workers, "progress": step}
            losses = train(module, pictures, trained.labels, config, **how)
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    sizes = input_sizes(trained, config)
    save_trained(module, output, network, trained.classes, config.mean, config.std, {**about, **sizes})
    checkpoint.unlink(missing_ok=True)
    console().print(f"{len(losses)} epochs over {len(trained)} images, mean loss {losses[0]:.3f} → {losses[-1]:.3f}")
    if folder is not None and folder.is_dir() and cache is None:
        console().print(f"[dim]decoded images are kept in {folder} for the next training on them (--cache)[/]")
    tell_files(output)
    if not given.is_split:
        small = trained.in_memory and min(trained.image(0).shape[:2]) <= 64
        benchmark = "cifar10-c" if small else "imagenet-c"
        say_next("run", "-m", output, "-d", data, "-b", benchmark, "-o", f"{output.stem}-run")
