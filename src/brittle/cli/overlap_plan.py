"""What `brittle overlap` was asked for: the plan, the candidates, the training data, the weights to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle.cli.run import load_data
from brittle.cli.several import several

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.datasets.dataset import Dataset
    from brittle.design import Plan

CANDIDATES = ("noc-candidates", "syn2nat-candidates")
"""The recipes that give a corruption of a published set of candidates its range or level."""


def plan_of(
    mode: str,
    network: str,
    epochs: int | None,
    standard_epochs: int | None,
    images: int | None,
    batch_size: int,
    seed: int,
    *,
    started: bool,
    rate: float | None = None,
    control: bool = True,
    option: str = "--images",
) -> Plan:
    """The plan of a command line; `epochs` are those of the models that learn, `option` is what says their `images`."""
    from dataclasses import replace

    from brittle.design import Plan

    usual = Plan(mode, network)
    if standard_epochs is not None and (mode == "scratch" or started):
        why = "is trained as all others, so use --epochs" if mode == "scratch" else "is there already by --start"
        raise ValueError(f"--standard-epochs {standard_epochs} does not apply: the standard model {why}")
    if epochs is not None and mode == "batchnorm":
        raise ValueError(f"batchnorm takes one pass over the images and no --epochs, got {epochs}; use {option}")
    if images is not None and images < batch_size:
        raise ValueError(f"{option} {images} do not fill a batch of {batch_size}; lower --batch-size or take more")
    if mode != "finetune" and rate is not None:
        raise ValueError(f"--rate {rate:g} is that of fine-tuning, and --mode is {mode}; leave it out")
    full = epochs if mode == "scratch" else standard_epochs
    short = epochs if mode == "finetune" else None
    shared: dict[str, Any] = {"batch_size": batch_size, "seed": seed}
    changed: dict[str, Any] = {} if rate is None else {"learning_rate": rate}
    return replace(
        usual,
        standard=replace(usual.standard, epochs=usual.standard.epochs if full is None else full, **shared),
        tuning=replace(usual.tuning, epochs=usual.tuning.epochs if short is None else short, **shared, **changed),
        tuning_images=images or usual.tuning_images,
        control=control,
    )


def candidates_of(given: str) -> Benchmark:
    """The candidates that a command line names: a recipe, or corruptions with commas.

    A corruption that is named alone has the range or level that it has among the candidates of NOC or Syn2Nat, and
    otherwise the levels 1 to 5, of which each image draws one.
    """
    import brittle
    from brittle.benchmarks import Benchmark, Entry
    from brittle.corruptions import find

    if given in brittle.benchmarks() or given.endswith(".toml"):
        return brittle.benchmark(given)
    usual = {entry.id: entry for name in CANDIDATES for entry in brittle.benchmark(name).entries}
    try:
        ids = [find(name).id for name in several([given])]
    except ValueError as error:
        recipes = ", ".join(brittle.benchmarks())
        raise ValueError(f"candidates are a recipe ({recipes}, or a .toml file) or corruptions: {error}") from None
    entries = tuple(usual.get(identity, Entry(identity, (1, 2, 3, 4, 5))) for identity in ids)
    return Benchmark("candidates", entries, title=f"{len(entries)} candidates")


def training_of(data: str, training: str | None, images: int | None) -> Dataset:
    """The training data: named, or the training part of the data."""
    try:
        options = {} if training is not None else {"train": True}
        found: Dataset = load_data(training or data, images, None, options)
    except TypeError as error:
        raise ValueError(f"{data!r} has no training part of its own ({error}); name one by --training") from None
    if not found.classes:
        raise ValueError(
            f"{found.name!r} does not name its classes, so a network cannot be made; give an .npz `classes`"
        )
    return found


def weights_of(start: str, network: str, training: Dataset) -> Path:
    """The file of weights, once it is sure that they fit the network."""
    from brittle.models import build_network
    from brittle.models.demo_models import DEMO_WEIGHTS
    from brittle.models.load_weights import load_into

    scheme, _, which = start.partition(":")
    path = DEMO_WEIGHTS / f"{which}.safetensors" if scheme == "demo" and which else Path(start)
    load_into(build_network(network, len(training.classes)), path)
    return path
