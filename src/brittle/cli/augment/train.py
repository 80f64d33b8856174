"""`brittle augment train`: train a network with the corruptions of a benchmark, or with any augmentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from brittle.cli.console import compile_first, console, hint, resumable_progress, say_next, tell_files
from brittle.cli.inputs import DEVICE, TrainingData, tell_deviations
from brittle.cli.options import Optimizer, Schedule, option, with_groups

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
    (
        "brittle augment train -d imagenet-100:imagenet --preset noc --network timm:resnet18 -o resnet18.safetensors",
        "photographs, as NOC trains: 224×224, flips only, 40 epochs",
    ),
    (
        "brittle augment train -d cns-bench:slides/ --keep filtered/kept.csv --start timm:resnet50 --mix "
        "imagenet:imagenet/ -o slides.safetensors",
        "fine-tune on generated images, mixed with as many photographs",
    ),
    ("brittle run -m noc.safetensors -d demo -b cifar10-c -o run", "then test it on another benchmark"),
)


@with_groups
def train_verb(
    *,
    data: Annotated[str, option("--data")],
    output: Annotated[Path, option("--output", help="The network, a .safetensors file.")],
    augmentation: Annotated[str | None, option("--augmentation", show_default="none")] = None,
    network: Annotated[str | None, option("--network", show_default="that of --start, else small")] = None,
    start: Annotated[str | None, option("--start")] = None,
    keep: Annotated[Path | None, option("--keep")] = None,
    mix: Annotated[str | None, option("--mix")] = None,
    mix_share: Annotated[float, option("--mix-share")] = 0.5,
    train_limit: Annotated[int | None, option("--train-limit", show_default="all")] = None,
    epochs: Annotated[int | None, option("--epochs", show_default="24, or 1 with --start")] = None,
    batch_size: Annotated[int | None, option("--batch-size", show_default="128, or the preset's")] = None,
    lr: Annotated[float | None, option("--lr", show_default="0.1, or 0.02 with --start")] = None,
    optimizer: Annotated[Optimizer | None, option("--optimizer", show_default="sgd")] = None,
    schedule: Annotated[Schedule | None, option("--schedule", show_default="cosine")] = None,
    jsd: Annotated[float | None, option("--jsd", show_default="0")] = None,
    ema: Annotated[float | None, option("--ema", show_default="0")] = None,
    images: TrainingData,
    seed: Annotated[int, option("--seed")] = 0,
    device: DEVICE = "auto",
) -> None:
    """Train a network with corruptions, with an augmentation or without either, for a test with `brittle run`.

    Photographs of any size are resized to one size; a folder may contain train and val. All images of cns-bench are
    training images, alone or mixed with real ones. With --start, images are normalised and resized as the network needs
    it. A checkpoint is saved beside the output after each epoch, so the same command resumes after an interruption.
    """
    from brittle.datasets import is_split
    from brittle.training import DEFAULT_PRESET, find_preset, train_network, training_config

    settings = {
        "epochs": epochs,
        "lr": lr,
        "batch_size": batch_size,
        "optimizer": optimizer,
        "schedule": schedule,
        "ema": ema,
        "jsd": jsd,
        "seed": seed,
        **images.named_settings(),
    }
    config = training_config(images.preset, start=start, **settings)
    preset = images.preset or DEFAULT_PRESET
    training = images.training_part(data, config, train_limit=train_limit, held_out=False, keep=keep)
    others = None if mix is None else images.mixed_part(mix, training)
    tell_deviations(config, preset)
    compile_first()
    with resumable_progress() as bar:
        task = bar.add_task("training", total=None)
        trained = train_network(
            training,
            output,
            config,
            network=network,
            augmentation=augmentation or find_preset(preset).augmentation,
            start=start,
            mix=others,
            mix_share=mix_share,
            cache=images.cache,
            device=device,
            progress=lambda done, total, loss: bar.update(
                task, description=f"loss {loss:<8.3f}", completed=done, total=total
            ),
            decoding=lambda title, done, total: bar.update(task, description=title, completed=done, total=total),
        )
    first, last = trained.losses[0], trained.losses[-1]
    shown = f"{trained.images} images{'' if mix is None else f', {100 * mix_share:g} % of them of {mix}'}"
    epochs_done = f"{len(trained.losses)} epoch{'s' if len(trained.losses) > 1 else ''}"
    console().print(f"{epochs_done} over {shown}, mean loss {first:.3f} → {last:.3f}", soft_wrap=True)
    if trained.cache is not None and images.cache is None:
        hint(f"decoded images are kept in {trained.cache} for the next training on them (--cache)")
    tell_files(trained.path)
    if not is_split(data, images.train_data) and not data.startswith("cns-bench:"):
        benchmark = "cifar10-c" if trained.side <= 64 else "imagenet-c"
        model = f"{output},network={network}" if ".py:" in (network or "") else output  # its code is run by name only
        prepared = ["--prepare", training.preparation] if training.preparation not in ("none", "imagenet") else []
        prepared += ["--partial"] if images.partial else []
        say_next("run", "-m", model, "-d", data, *prepared, "-b", benchmark, "-o", f"{output.stem}-run")
