"""What the verbs that measure distances have in common: who looks, at which images, at what, and what is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle.cli.console import console, say_if_compiling
from brittle.cli.recipe import chosen_recipe
from brittle.cli.run import load_data, tell_models
from brittle.cli.several import several, several_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from brittle.benchmarks import Benchmark
    from brittle.distance import Extractor, FeatureImages
    from brittle.training.augmentation import Scheme


@dataclass(frozen=True)
class Scene:
    """Who looks, at which images, at what."""

    extractor: Extractor
    images: FeatureImages
    benchmark: Benchmark


def scene(
    model: str,
    data: str,
    benchmark: str,
    *,
    corruptions: Sequence[str] | None,
    severities: Sequence[str] | None,
    images: int,
    seed: int,
    device: str,
    prepare: str | None = None,
    threads: int | None = None,
) -> Scene:
    """Everything that a command line names, or one sentence that says what is wrong."""
    from brittle.distance import feature_images
    from brittle.models import load_model
    from brittle.threads import use_threads

    recipe = recipe_of(benchmark, corruptions, severities)
    use_threads(threads)
    shown = feature_images(training_part(data, prepare), images, seed=seed)
    looker = load_model(model, device=device)
    tell_models([looker])
    check_features(looker, shown)
    say_if_compiling()
    return Scene(looker, shown, recipe)  # type: ignore[arg-type]  # it shows features


def recipe_of(benchmark: str, corruptions: Sequence[str] | None, severities: Sequence[str] | None) -> Benchmark:
    """The benchmark that is measured to, perhaps cut down."""
    recipe = chosen_recipe(benchmark, several(corruptions), several_numbers(severities, "severities"), None)
    assert recipe is not None
    return recipe


def check_features(model: Any, images: FeatureImages) -> None:
    """Raise if a model shows no features, before anything is computed."""
    from brittle.distance.extractor import check_extractor

    check_extractor(model).features(images.pixels[:1])


def training_part(data: str, prepare: str | None = None) -> Any:
    """The training images of the data, or all of them if it does not know of any."""
    try:
        return load_data(data, None, prepare, {"train": True})
    except TypeError:
        return load_data(data, None, prepare, {})


def schemes_of(specs: Sequence[str]) -> dict[str, Scheme]:
    """The augmentation schemes of a command line by what they are called there."""
    from brittle.training.augmentation import scheme_by_name

    found = {spec: scheme_by_name(spec) for spec in several(specs)}
    if not found:
        raise ValueError(f"name at least one augmentation, such as augmix; got {', '.join(map(repr, specs))}")
    return found


def looking(bar: Any) -> Callable[[str, int, int, float], None]:
    """A callback that moves a bar and tells the speed."""
    task = bar.add_task("starting", total=None)

    def told(what: str, done: int, total: int, speed: float) -> None:
        words = f"{what} {speed:,.0f}/s"
        bar.update(task, description=f"{words:<34.34}", completed=done, total=total)

    return told


def tell_speed(speeds: Iterable[tuple[int, float]], images: int) -> None:
    """How many augmentations were looked at, and how fast, if any were: from (number, images per second) of each."""
    new = [(count, speed) for count, speed in speeds if count]
    words = "all features were there already"
    if new:
        computed, seconds = sum(count for count, _ in new), sum(count * images / speed for count, speed in new)
        words = f"{computed:,} augmentations of {images} images at {computed * images / seconds:,.0f} images/s"
    console().print(f"[dim]{words}[/]\n")


def save_table(table: Any, path: Path) -> Path:
    """A table as CSV, whole or not at all."""
    from brittle._io import replacing

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        table.write_csv(part)
    return path
