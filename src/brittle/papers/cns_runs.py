"""Models on the slides of CNS-Bench and on real images, at both scales; experiments share the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from brittle._errors import BrittleError
from brittle._io import make_folder
from brittle.datasets import Dataset
from brittle.evaluation import CnsScores, Results, clean_accuracies, cns_scores, evaluate, evaluate_stored
from brittle.metrics import published_table
from brittle.models import load_model
from brittle.papers import cns_slides as drawn
from brittle.papers.experiments import Setting
from brittle.papers.models import load_paper_models, paper_models
from brittle.papers.syn2nat_runs import clothes
from brittle.sliders import load_demo_pipeline, trajectory_dataset
from brittle.training import train_network, training_config

if TYPE_CHECKING:
    from brittle.models import Model

TEST_IMAGES = 2000
"""Clothes on which the ID accuracy is measured, at small scale."""

MODELS, SMALL_NEEDS = ("imagenet", "checkpoints"), ("fashion-mnist",)
"""What the runs of models need beside the slides, at the scale of the paper and at small scale."""


@dataclass(frozen=True)
class Recipe:
    """How a classifier of clothes is trained: its network, its augmentation, and the number of images."""

    network: str = "small:8"
    augmentation: str = "none"
    images: int = 2000


NOISE = "corruptions:cifar10-noc-candidates:gaussian+salt_pepper"
CLASSIFIERS = {
    "width-4": Recipe("small:4"),
    "width-6": Recipe("small:6"),
    "width-8": Recipe(),
    "width-10": Recipe("small:10"),
    "width-12": Recipe("small:12"),
    "wide-resnet": Recipe("wide-resnet-10-1"),
    "images-250": Recipe(images=250),
    "images-500": Recipe(images=500),
    "images-1000": Recipe(images=1000),
    "images-6000": Recipe(images=6000),
    "augmix": Recipe(augmentation="augmix"),
    "autoaugment": Recipe(augmentation="autoaugment-cifar10"),
    "patch-gaussian": Recipe(augmentation="patch-gaussian"),
    "noise": Recipe(augmentation=NOISE),
}
"""The classifiers that are trained at small scale; with three bundled ones but without the baseline they are sixteen,
as those of Fig. 7."""

BUNDLED = ("standard", "augmix")
SEEN = 24_000
"""Images that a classifier sees in its training, whether they are many or a few that come again."""

BASELINE = {"small": "wide-resnet", "paper": "AlexNet"}
"""The model whose errors divide those of others in rCE: an older or weaker network than all others."""

PAIR = {"small": ("world-standard", "world-augmix"), "paper": ("ResNet-50", "DINOv2-B-reg")}
"""The two models of figures that show two, in the roles of ResNet-50 and DINOv2."""

SMALL_AXES: dict[str, tuple[str, ...]] = {
    "architecture": ("width-8", "world-small", "augmix", "autoaugment", "patch-gaussian", "noise"),
    "size": ("width-4", "width-6", "width-8", "width-10", "width-12"),
    "pretraining": ("images-250", "images-500", "images-1000", "width-8", "images-6000", "world-standard"),
}
"""The classifiers along the model axes: architecture and recipe, width, and number of training images."""

SAME = {"ViT-B/16": "ViT-B-16", "SUP-IN1k": "ViT-B-16"}
"""Models by their labels in Table 1, where that is not their name."""


def model_axes(setting: Setting) -> dict[str, dict[str, str]]:
    """By axis, the label in Table 1 of each of its models that was run; at small scale its name."""
    axes: dict[str, dict[str, str]] = {}
    if setting.small:
        axes = {axis: {name: name for name in names} for axis, names in SMALL_AXES.items()}
    else:
        table = published_table("cns-table1")
        for axis, label in zip(table.text("axis"), table.text("model_label"), strict=True):
            axes.setdefault(axis, {})[SAME.get(label, label)] = label
    names = set(model_names(setting))
    known = {axis: {name: label for name, label in labels.items() if name in names} for axis, labels in axes.items()}
    if not all(known.values()):
        lacking = ", ".join(label for axis, labels in axes.items() if not known[axis] for label in labels.values())
        raise BrittleError(f"an axis of Table 1 needs at least one of the models {lacking}; the list has none of them")
    return known


def model_families(setting: Setting) -> dict[str, str]:
    """How each model was trained: with or without augmentation, or by which paradigm of the paper."""
    if setting.small:
        augmented = {name for name, recipe in CLASSIFIERS.items() if recipe.augmentation != "none"} | {"world-augmix"}
        return {name: "augmented" if name in augmented else "plain" for name in model_names(setting)}
    return {one.name: one.method or "supervised" for one in paper_models("cns", setting.path("checkpoints"))}


def slope_models(setting: Setting) -> list[str]:
    """The sixteen models of Fig. 7: trained with labels, on the data set alone."""
    if setting.small:
        return [name for name in model_names(setting) if name != BASELINE["small"]]
    return [one.name for one in paper_models("cns", setting.path("checkpoints")) if one.role == "plain"]


def model_names(setting: Setting) -> list[str]:
    """All models that are run, the baseline among them."""
    return [model.name for model in tested_models(setting)]


@lru_cache(maxsize=2)
def tested_models(setting: Setting) -> tuple[Model, ...]:
    """The models: classifiers of clothes, which are trained if they are missing, or those of the paper."""
    if not setting.small:
        return tuple(load_paper_models("cns", setting.path("checkpoints"), device=setting.device))
    demo = load_demo_pipeline()
    bundled = [demo.classifier(name, device=setting.device) for name in ("small", *BUNDLED)]
    return (*bundled, *(_classifier(setting, number, name) for number, name in enumerate(CLASSIFIERS)))


def _classifier(setting: Setting, number: int, name: str) -> Model:
    path, recipe = setting.work("models") / f"{name}.safetensors", CLASSIFIERS[name]
    if setting.progress is not None:
        setting.progress(f"training {name}", number, len(CLASSIFIERS))
    if not path.is_file():
        make_folder(path.parent)
        settings: dict[str, Any] = {"epochs": SEEN // recipe.images, "learning_rate": 0.05, "batch_size": 64}
        settings |= {"normalisation": "dataset", "seed": setting.seed * len(CLASSIFIERS) + number, **setting.training}
        training = clothes(setting, recipe.images, train=True)
        how: dict[str, Any] = {"network": recipe.network, "augmentation": recipe.augmentation}
        train_network(training, path, training_config(**settings), device=setting.device, **how)
    return load_model(path, device=setting.device)


def models_by_name(setting: Setting, names: Sequence[str]) -> list[Model]:
    """Some of the models; one that a list of one's own lacks raises."""
    known = {model.name: model for model in tested_models(setting)}
    lacking = [name for name in names if name not in known]
    if lacking:
        raise BrittleError(f"this needs the model {lacking[0]!r}; the list of models has {', '.join(known)}")
    return [known[name] for name in names]


@lru_cache(maxsize=2)
def slide_results(setting: Setting) -> Results:
    """All models on the slides that the filter kept."""
    stored = trajectory_dataset(drawn.slides(setting), keep=drawn.kept_slides(setting))
    folder = setting.work("run-slides")
    make_folder(folder)
    return evaluate_stored(list(tested_models(setting)), stored, folder, progress=setting.progress)


@lru_cache(maxsize=2)
def id_accuracy(setting: Setting) -> Mapping[str, float]:
    """The accuracy of each model on real images: clothes, or ImageNet's validation set."""
    data = clothes(setting, TEST_IMAGES) if setting.small else setting.data("imagenet")
    return clean_accuracies(run(setting, tested_models(setting), data, "run-clean", engine=setting.engine))


def run(setting: Setting, models: Sequence[Model], data: Dataset, name: str, *, engine: str = "local") -> Results:
    """Models on images without any benchmark, into a shared folder of this name."""
    folder = setting.work(name)
    make_folder(folder)
    address = setting.address if engine != "local" else None
    return evaluate(list(models), data, None, folder, engine=engine, address=address, progress=setting.progress)


@lru_cache(maxsize=2)
def slide_scores(setting: Setting) -> CnsScores:
    """All that the paper reports of models on its benchmark; ranks are by the accuracy drop, as there."""
    names = model_names(setting)
    baseline = BASELINE[setting.scale] if BASELINE[setting.scale] in names else None
    return cns_scores(
        slide_results(setting),
        baseline=baseline,
        id_accuracy=id_accuracy(setting),
        slope_models=slope_models(setting),
        rank_by="drop",
        seed=setting.seed,
    )


def real_images(setting: Setting, drawn_ones: Dataset) -> Dataset:
    """Real images of the classes that are drawn: clothes, or those of ImageNet's validation set."""
    data = clothes(setting, TEST_IMAGES) if setting.small else setting.data("imagenet")
    assert data.labels is not None
    assert drawn_ones.labels is not None
    return data.subset(np.flatnonzero(np.isin(data.labels, np.unique(drawn_ones.labels))))
