"""Real images by weather beside slides of the same classes: OOD-CV, and at small scale clothes in drawn weather."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle._io import atomic_write, make_folder
from brittle.datasets import Dataset, arrays, cns_bench, ood_cv
from brittle.evaluation import CnsScores, cns_scores, evaluate_stored
from brittle.metrics import accuracy_estimate
from brittle.models import load_model
from brittle.papers import cns_slides as drawn
from brittle.papers.cns_runs import real_images, run
from brittle.papers.experiments import Setting
from brittle.sliders import choose_pipeline, draw_demo_shift, load_demo_pipeline, pick_sliders, trajectory_dataset
from brittle.training import train_network, training_config

if TYPE_CHECKING:
    from brittle.models import Model

NEEDS = ("stable-diffusion-2", "ood-cv")
START = "resnet50"
"""Weights that the classifier may start from at the scale of the paper, as a file."""

WEATHER = ("heavy_snow", "heavy_rain", "heavy_fog")
"""The shifts of the comparison. In the world of the demo pipeline, clothes that were brought into them as its training
images were are the real ones."""

AMOUNTS = {"a little": 0.0, "full": 1.0}
"""How much of the weather real clothes are shown in: the lower severities, or the upper ones."""

REAL_IMAGES = 400
NO_SHIFT = "no shift"
TEST_SETS = {NO_SHIFT: None, "weather": "weather"}
"""The test sets of OOD-CV that are compared; in its published layout all kinds of weather are one."""

NETWORK = "timm:resnet50"
TRAINING: dict[str, Any] = {"preset": "augmix-imagenet", "jsd": 0.0}
"""How that ResNet-50 is trained: as ImageNet's are, without AugMix. The paper does not say how its own was."""


def weathered(data: Dataset, shift: str, amount: float) -> Dataset:
    """Images in a weather; amount 0 is the least of it that the demo pipeline was shown, 1 the most."""
    pairs = zip(data.images(), data.ids, strict=True)
    images = [draw_demo_shift(image, shift, amount, str(sample)) for image, sample in pairs]
    assert data.labels is not None
    return arrays(np.stack(images), data.labels, data.classes, name=f"{shift}-{amount:g}")


def real_sets(setting: Setting) -> dict[str, Dataset]:
    """Real images by weather, those without any first."""
    if setting.small:
        data = real_images(setting, cns_bench(weather_slides(setting))).limited(REAL_IMAGES)
        shown = {f"{shift}, {word}": (shift, amount) for shift in WEATHER for word, amount in AMOUNTS.items()}
        return {NO_SHIFT: data, **{name: weathered(data, *how) for name, how in shown.items()}}
    path = setting.path("ood-cv")
    return {name: ood_cv(path, nuisance=part).prepared("imagenet") for name, part in TEST_SETS.items()}


def classifier(setting: Setting) -> Model:
    """A classifier that was trained on real images: a bundled one, or a ResNet-50 on the training set of OOD-CV."""
    if setting.small:
        return load_demo_pipeline().classifier("standard", device=setting.device)
    path = setting.work("models") / "ood-cv.safetensors"
    if not path.is_file():
        make_folder(path.parent)
        config = training_config(**{**TRAINING, "seed": setting.seed, **setting.training})
        training, start = ood_cv(setting.path("ood-cv"), train=True), setting.paths.get(START)
        train_network(training, path, config, network=NETWORK, start=start, device=setting.device)
    return load_model(path, device=setting.device)


def weather_slides(setting: Setting) -> Path:
    """Slides of the classes of the real images in three kinds of weather, up to scale 3."""
    scales = (*drawn.SLIDE_SCALES, 3.0)
    if setting.small:
        picks = [pick for pick in drawn.slider_picks(setting) if pick.shift in WEATHER]
        return drawn.draw(setting, drawn.named_pipeline(setting), picks, "weather", scales=scales)
    names = setting.work("ood-cv") / "classes.txt"
    make_folder(names.parent)
    with atomic_write(names) as part:
        part.write_text("".join(f"{name}\n" for name in ood_cv(setting.path("ood-cv")).classes), encoding="utf-8")
    chosen = choose_pipeline(drawn.pipeline_of(setting), classes=names, device=setting.device)
    folder = drawn.trained_sliders(setting, chosen, ["all"], list(WEATHER), "sliders-ood-cv")
    return drawn.draw(setting, chosen, pick_sliders(chosen, folder), "weather", scales=scales)


def weather_scores(setting: Setting) -> CnsScores:
    """The scores of the classifier on the slides; they are not filtered, since no scores of theirs were labelled."""
    folder = setting.work("run-weather")
    make_folder(folder)
    stored = trajectory_dataset(weather_slides(setting))
    return cns_scores(evaluate_stored(classifier(setting), stored, folder, progress=setting.progress))


def real_accuracies(setting: Setting) -> list[dict[str, Any]]:
    """The accuracy of the classifier on the real images in each weather in percent, with its interval."""
    model, rows = classifier(setting), []
    for name, data in real_sets(setting).items():
        results = run(setting, [model], data, f"run-real-{name.replace(', ', '-').replace(' ', '-')}")
        right = results.rows.select(pl.col("correct")).collect()["correct"].to_numpy()
        found = accuracy_estimate(right)
        row: dict[str, Any] = {"real images": name.replace("_", " "), "accuracy": 100 * found.value}
        row |= {"images": len(right)}
        rows.append(row | {"low": 100 * (found.low or 0.0), "high": 100 * (found.high or 0.0)})
    return rows
