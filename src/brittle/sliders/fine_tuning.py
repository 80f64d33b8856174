"""Does training on generated images help on real ones? Networks fine-tuned with and without them, compared in pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._identity import as_data, digest
from brittle._io import make_folder
from brittle._types import Progress
from brittle.benchmarks import Cell
from brittle.datasets import Dataset, numbered_as
from brittle.evaluation import evaluate, shared_rows
from brittle.metrics import difference, wilson
from brittle.models import Model, load_model

if TYPE_CHECKING:
    from brittle.training import TrainingConfig

CLEAN = "clean"
"""The name of test images without a shift, which do not count in the row of all shifts."""

ALL = "all shifts"


def fine_tuning_gain(
    start: str | Path,
    slides: Dataset,
    real: Dataset,
    tests: Mapping[str, Dataset],
    folder: str | Path,
    config: TrainingConfig | None = None,
    *,
    mix_share: float = 0.5,
    network: str | None = None,
    device: str = "auto",
    level: float = 0.95,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """How much a classifier gains on real images by fine-tuning on generated ones, and how much by fine-tuning at all.

    Two networks begin with the weights `start` and are trained equally long: one on `slides` mixed with `real` images,
    and a control in which other real images stand in place of the slides. They are kept in `folder`, so that the same
    call trains nothing twice. The table has a row for each test set, and for all but "clean" together, against
    `start` and against the control: the accuracy after training on slides, the accuracy of the `other` network, and the
    gain, their difference on the same images, each with its interval. Intervals are over test images; another seed of
    the config gives other weights.

    Args:
        start: weights to start from, as for `train_network`, which `load_model` reads too.
        slides: generated images, such as `cns_bench(folder, keep="kept.csv")`; their classes are those of the network.
        real: photographs of the same classes to train with.
        tests: real images to test with by their names, such as those of each shift, and "clean" without any.
        config: the settings of both trainings; by default a fine-tuning, see `training_config`.
        mix_share: the share of real images beside the slides.
        progress: called with (what is trained, steps done, steps in total).
    """
    from brittle.training import train_network, training_config

    if not tests:
        raise BrittleError("a gain is measured on test images; give at least one set of them by its name in `tests`")
    config = training_config(start=start) if config is None else config
    real = numbered_as(real, slides.classes)
    models: list[Model] = [load_model(start, device=device)]
    make_folder(Path(folder))
    for name, images in (("control", _as_many(real, len(slides))), ("slides", slides)):
        settings = {"config": config, "images": images.key, "real": real.key, "share": mix_share, "start": str(start)}
        path = Path(folder) / f"{name}-{digest(as_data(settings), length=8)}.safetensors"
        if not path.is_file():
            train_network(
                images,
                path,
                config,
                network=network,
                start=start,
                mix=real,
                mix_share=mix_share,
                device=device,
                progress=_steps(f"training the {name} network", progress),
            )
        models.append(load_model(path, device=device))
    right = {name: _right(models, numbered_as(test, slides.classes)) for name, test in tests.items()}
    shifted = [rows for name, rows in right.items() if name != CLEAN]
    if len(shifted) > 1:
        right[ALL] = [np.concatenate(parts) for parts in zip(*shifted, strict=True)]
    return pl.DataFrame(
        [
            _row(name, against, other, after, level)
            for name, (before, control, after) in right.items()
            for against, other in (("start", before), ("control", control))
        ]
    )


def _as_many(real: Dataset, count: int) -> Dataset:
    """So many images of a dataset, evenly over it; again from the first if it has fewer."""
    return real.limited(count) if count <= len(real) else real.subset(np.arange(count) % len(real))


def _steps(title: str, progress: Progress | None) -> Callable[[int, int, float], None] | None:
    return None if progress is None else lambda done, total, _: progress(title, done, total)


def _right(models: list[Model], test: Dataset) -> list[NDArray[np.bool_]]:
    """Right or wrong of each model on each image."""
    results = evaluate(models, test)
    return [rows[:, 0] for rows in shared_rows(results, [model.name for model in models], [Cell()])]


def _row(
    test: str, against: str, other: NDArray[np.bool_], slides: NDArray[np.bool_], level: float
) -> dict[str, object]:
    gain = difference(slides[:, None], other[:, None], name="gain", level=level)
    row: dict[str, object] = {"test": test, "against": against, "images": len(slides)}
    for name, right in (("accuracy", slides), ("other", other)):
        low, high = wilson(int(right.sum()), len(right), level=level)
        row |= {name: float(right.mean()), f"{name}_low": float(low), f"{name}_high": float(high)}
    return {**row, "gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}
