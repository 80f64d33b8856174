"""The options of the verbs that measure distances: distance, leak, study and build dissimilar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AUGMENTATIONS = Annotated[
    list[str],
    typer.Option(
        "--augmentation",
        "-a",
        help="`augmix`, `autoaugment-cifar10`, `patch-gaussian`, `FILE.py:FUNCTION` …; may be repeated.",
    ),
]
AUGMENTATION = Annotated[
    str,
    typer.Option(
        "--augmentation", "-a", help="`augmix`, `autoaugment-cifar10`, `patch-gaussian`, `FILE.py:FUNCTION` …"
    ),
]
MODEL = Annotated[
    str, typer.Option("--model", "-m", help="Whose features are compared, as in `brittle run`; a plain one is best.")
]
DATA = Annotated[
    str, typer.Option("--data", "-d", help="`cifar10:FOLDER` …; its training part is taken if it has one.")
]
BENCHMARK = Annotated[str, typer.Option("--benchmark", "-b", help="A recipe: its name or .toml file.")]
FOLDER = Annotated[Path, typer.Option("--output", "-o", help="The folder; one that is there goes on.")]
CORRUPTIONS = Annotated[
    list[str] | None, typer.Option("--corruption", "-c", metavar="NAME", help="Only these, with commas.")
]
SEVERITIES = Annotated[
    list[str] | None, typer.Option("--severity", "-s", metavar="S", help="At these severities instead.")
]
IMAGES = Annotated[int, typer.Option("--images", help="That every transform is looked at through.")]
SAMPLES = Annotated[int, typer.Option("--samples", help="Sampled augmentations of each scheme; the paper: 100,000.")]
CORRUPTION_SAMPLES = Annotated[
    int, typer.Option("--corruption-samples", help="Sampled corruptions of each level; the paper: 100.")
]
TOLERANCE = Annotated[
    float | None,
    typer.Option("--tolerance", help="Fewer samples, if they tell each mean MSD to ± this share, such as 0.05."),
]
SEED = Annotated[int, typer.Option("--seed", help="Of the images and of the augmentations.")]
BATCH = Annotated[int, typer.Option("--batch-size", help="Images shown to the model at once.")]


def check_counts(**counts: int | None) -> None:
    """Raise if a number of things that were asked for is below 1, before anything is computed."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1, got {count}")
