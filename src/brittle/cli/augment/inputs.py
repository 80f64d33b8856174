"""What `brittle augment distance` and `leak` share: options of distances, and what they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle.cli.console import choose_benchmark, compile_first, console, split_commas
from brittle.cli.inputs import check_features, load_training, tell_models
from brittle.cli.options import option
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from brittle.benchmarks import Benchmark
    from brittle.distance import Extractor, FeatureImages
    from brittle.training.augmentation import Scheme

FOLDER = Annotated[Path, option("--output", help="The folder; an existing one is resumed.")]
JSON = Annotated[bool, option("--json")]
FEATURE_IMAGES = Annotated[int, option("--feature-images")]
SAMPLES = Annotated[int, option("--samples")]
CORRUPTION_SAMPLES = Annotated[int, option("--corruption-samples")]
CORRUPTIONS = Annotated[list[str] | None, option("--corruption")]
SEVERITIES = Annotated[list[str] | None, option("--severity")]


@dataclass(frozen=True)
class DistanceInputs:
    """The model that gives features, the images whose features it gives, and the benchmark."""

    extractor: Extractor
    images: FeatureImages
    benchmark: Benchmark


@dataclass(frozen=True)
class DistanceOptions:
    """The options of verbs that measure distances: to what, through which model, on which images."""

    benchmark: Annotated[str, option("--benchmark")]
    model: Annotated[str, option("--model")]
    data: Annotated[str, option("--data")]
    corruptions: CORRUPTIONS = None
    severities: SEVERITIES = None
    feature_images: FEATURE_IMAGES = 100
    samples: SAMPLES = 1000
    corruption_samples: CORRUPTION_SAMPLES = 25
    seed: Annotated[int, option("--seed")] = 0
    batch_size: Annotated[int, option("--batch-size")] = 200
    prepare: Annotated[
        str | None, option("--prepare", show_default="what ImageNet and photographs of different sizes need")
    ] = None
    device: Annotated[str, option("--device")] = "auto"

    def load(self) -> DistanceInputs:
        """Everything that the options name."""
        from brittle.distance import feature_images
        from brittle.models import load_model

        benchmark = cut_benchmark(self.benchmark, self.corruptions, self.severities)
        training = load_training(self.data, prepare=self.prepare, labelled=False)
        images = feature_images(training, self.feature_images, seed=self.seed)
        model = load_model(self.model, device=self.device)
        tell_models([model])
        extractor = check_features(model, images)
        compile_first(entry.corruption for entry in benchmark.entries)
        return DistanceInputs(extractor, images, benchmark)

    def sampling(self) -> dict[str, Any]:
        """The options of `measure_distances` and `measure_leak`."""
        return {
            "samples": self.samples,
            "corruption_samples": self.corruption_samples,
            "seed": self.seed,
            "batch_size": self.batch_size,
        }


def cut_benchmark(benchmark: str, corruptions: Sequence[str] | None, severities: Sequence[str] | None) -> Benchmark:
    """The benchmark to which distances are measured, perhaps cut down."""
    recipe = choose_benchmark(benchmark, corruptions, severities)
    assert recipe is not None
    return recipe


def load_schemes(specs: Sequence[str]) -> dict[str, Scheme]:
    """The augmentation schemes of a command line, which are repeated or have commas."""
    from brittle.training.augmentation import schemes_by_name

    return schemes_by_name(split_commas(specs))


def follow_features(bar: Any) -> Callable[[str, int, int, float], None]:
    """A callback that moves a progress bar and shows the speed."""
    task = bar.add_task("starting", total=None)

    def progress(step: str, done: int, total: int, speed: float) -> None:
        description = f"{step} {speed:,.0f}/s"
        bar.update(task, description=f"{description:<34.34}", completed=done, total=total)

    return progress


def print_speed(speeds: Iterable[tuple[int, float]], images: int) -> None:
    """Print how many augmentations were computed, and how fast, from (number, images per second) of each scheme."""
    computed = [(count, speed) for count, speed in speeds if count]
    line = "all features existed already"
    if computed:
        count = sum(count for count, _ in computed)
        seconds = sum(count * images / speed for count, speed in computed)
        line = f"{count:,} augmentations of {images} images at {count * images / seconds:,.0f} images/s"
    console().print(f"{DIM}{line}{END}\n")
