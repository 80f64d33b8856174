"""What the distance verbs have in common: the extractor, the images it looks at, the schemes, the benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle.cli.console import console, say_if_compiling
from brittle.cli.recipe import chosen_recipe
from brittle.cli.run import load_data
from brittle.cli.several import several, several_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from brittle.benchmarks import Benchmark
    from brittle.distance import Extractor, FeatureImages
    from brittle.training.augmentation import Scheme

MODEL = Annotated[
    str, typer.Option("--model", "-m", help="Whose features are compared, as in `brittle run`; a plain one is best.")
]
DATA = Annotated[
    str, typer.Option("--data", "-d", help="`cifar10:FOLDER` …; its training part is taken if it has one.")
]
BENCHMARK = Annotated[str, typer.Option("--benchmark", "-b", help="A recipe: its name or .toml file.")]
FOLDER = Annotated[Path, typer.Option("--output", "-o", help="The folder; one that is there goes on.")]
AUGMENTATIONS = Annotated[
    list[str],
    typer.Option(
        "--augmentation",
        "-a",
        help="`augmix`, `autoaugment-cifar10`, `patch-gaussian`, `FILE.py:FUNCTION` …; may be repeated.",
    ),
]
CORRUPTIONS = Annotated[
    list[str] | None, typer.Option("--corruption", "-c", metavar="NAME", help="Only these, with commas.")
]
SEVERITIES = Annotated[
    list[str] | None, typer.Option("--severity", "-s", metavar="S", help="At these severities instead.")
]
IMAGES = Annotated[int, typer.Option("--images", help="That every transform is looked at through.")]
SAMPLES = Annotated[int, typer.Option("--samples", help="Sampled augmentations of each scheme; the paper: 100,000.")]
DRAWS = Annotated[int, typer.Option("--corruption-samples", help="Sampled corruptions of each level; the paper: 100.")]
SEED = Annotated[int, typer.Option("--seed", help="Of the images and of the augmentations.")]
BATCH = Annotated[int, typer.Option("--batch-size", help="Images shown to the model at once.")]


@dataclass(frozen=True)
class Scene:
    """Who looks, at which images, at what."""

    extractor: Extractor
    images: FeatureImages
    benchmark: Benchmark
    data: str

    @property
    def words(self) -> str:
        """What a figure says about it."""
        return f"{self.benchmark.name}, seen by {self.extractor.name} through {len(self.images)} images of {self.data}"


def scene(
    model: str,
    data: str,
    benchmark: str,
    corruptions: Sequence[str] | None,
    severities: Sequence[str] | None,
    images: int,
    seed: int,
    device: str,
) -> Scene:
    """Everything that a command line names, or one sentence that says what is wrong."""
    from brittle.distance import feature_images
    from brittle.distance.extractor import check_extractor
    from brittle.models import load_model

    recipe = chosen_recipe(benchmark, several(corruptions), several_numbers(severities, "severities"), None)
    assert recipe is not None
    extractor = check_extractor(load_model(model, device=device))
    dataset = training_part(data)
    shown = feature_images(dataset, images, seed=seed)
    extractor.features(shown.pixels[:1])  # a model that shows no features is told before anything is computed
    say_if_compiling()
    return Scene(extractor, shown, recipe, dataset.name)


def training_part(data: str) -> Any:
    """The training images of the data, or all of them if it does not know of any."""
    try:
        return load_data(data, None, None, {"train": True})
    except TypeError:
        return load_data(data, None, None, {})


def schemes_of(specs: Sequence[str]) -> dict[str, Scheme]:
    """The augmentation schemes of a command line by what they are called there."""
    from brittle.training.augmentation import scheme_by_name

    return {spec: scheme_by_name(spec) for spec in several(specs)}


def looking(bar: Any, task: Any, what: str) -> Callable[[int, int, float], None]:
    """A callback that moves a bar and tells the speed."""

    def told(done: int, total: int, speed: float) -> None:
        words = f"{what} {speed:,.0f}/s"
        bar.update(task, description=f"{words:<34.34}", completed=done, total=total)

    return told


def tell_speed(speeds: Sequence[tuple[int, float]], images: int) -> None:
    """How many augmentations were looked at, and how fast, if any were."""
    computed = sum(count for count, _ in speeds)
    if computed:
        seconds = sum(count * images / speed for count, speed in speeds if count)
        words = f"{computed:,} augmentations of {images} images at {computed * images / seconds:,.0f} images/s"
    else:
        words = "all features were there already"
    console().print(f"[dim]{words}[/]\n")


def save_table(table: Any, path: Path) -> Path:
    """A table as CSV, whole or not at all."""
    from brittle.datasets.atomic import replacing

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        table.write_csv(part)
    return path
