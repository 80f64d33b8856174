"""What Syn2Nat measures, at both scales: overlaps of the candidates, and drops of models on synthetic and natural sets.

At small scale nobody has published the data before: classifiers of clothes (Fashion-MNIST), trained with different
augmentations, and natural shifts drawn by the bundled demo pipeline.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from brittle._io import make_folder
from brittle.benchmarks import Benchmark, load_benchmark, load_sequence_benchmark
from brittle.datasets import Dataset, arrays, cns_bench, load_dataset
from brittle.design import (
    Drops,
    OverlapMatrix,
    VanishingGain,
    drops_of,
    flip_rates,
    overlap_with_intervals,
    shift_drops,
    without_masked,
)
from brittle.evaluation import evaluate, load_results
from brittle.papers.experiments import Setting
from brittle.papers.models import load_paper_models

if TYPE_CHECKING:
    from brittle.design import Plan
    from brittle.evaluation import Results
    from brittle.models import Model

CANDIDATES = "syn2nat-candidates"
SIDE = 32
"""Clothes of 28 px get a black edge, as those that the demo pipeline draws."""

TRAINING_IMAGES, TUNING_IMAGES, TEST_IMAGES = 4000, 1500, 400
OVERLAP_IMAGES, C_IMAGES, SEQUENCES, SEEDS = 300, 150, 25, 8
"""At small scale: test images of the overlap and under ImageNet-C, sequences of each perturbation, and pictures of each
class and shift."""

NOC = "corruptions:cifar10-noc-candidates"
CLASSIFIERS = {
    "plain": ("small:8", "none"),
    "plain-narrow": ("small:6", "none"),
    "augmix": ("small:8", "augmix"),
    "augmix-geometric": ("small:8", "augmix-geometric"),
    "augmix-colour": ("small:8", "augmix-colour"),
    "autoaugment": ("small:8", "autoaugment-cifar10"),
    "patch-gaussian": ("small:8", "patch-gaussian"),
    "affine": ("small:8", "affine"),
    "noise": ("small:8", f"{NOC}:gaussian+salt_pepper"),
    "blur": ("small:8", f"{NOC}:blur+thumbnail_resize"),
    "occlusion": ("small:8", f"{NOC}:obstruction+rhombus+circle+border"),
    "geometry": ("small:8", f"{NOC}:translation+shear+elastic+rotation"),
    "light": ("small:8", f"{NOC}:backlight+brightness+contrast"),
    "colour": ("small:8", f"{NOC}:color_disortion+hue+quantization"),
    "c-bar": ("small:8", "corruptions:cifar10-c-bar"),
    "all-of-noc": ("small:8", NOC),
}
"""The classifiers at small scale: network and augmentation. The first two are the plain ones."""

NATURAL = {
    "ImageNet-A": "imagenet-a",
    "ImageNet-R": "imagenet-r",
    "ImageNet-V2": "imagenet-v2",
    "ObjectNet": "objectnet",
    "ImageNet-Sketch": "imagenet-sketch",
}
"""The natural benchmarks by their names in the tables, with the data to give a path for."""

GENERATED = "generated"
"""The natural set that is drawn without any shift: what changes is only who made the pictures."""

OVERLAP_NEEDS = ("imagenet-100",)
MODEL_NEEDS = ("imagenet", "checkpoints")
NATURAL_NEEDS = (*MODEL_NEEDS, *NATURAL.values())
NETWORK = "timm:resnet18"
"""The network of all overlaps in the paper."""


Given = ParamSpec("Given")
Value = TypeVar("Value")
Measurement = Callable[Concatenate[Setting, Given], Value]


def _once(measure: Measurement[Given, Value]) -> Measurement[Given, Value]:
    """Keep what was measured for as long as the process lives: the experiments of a paper share nearly all of it."""
    kept: dict[tuple[Any, ...], Value] = {}

    @wraps(measure)
    def call(setting: Setting, /, *arguments: Given.args, **options: Given.kwargs) -> Value:
        where = (setting.folder.absolute(), setting.scale, setting.seed, setting.device, *setting.paths.items())
        key = (*where, arguments, *options.items())
        if key not in kept:
            kept[key] = measure(setting, *arguments, **options)
        return kept[key]

    return call


@_once
def clothes(setting: Setting, count: int, *, train: bool = False) -> Dataset:
    """Images of Fashion-MNIST, evenly over the set, with black edges to 32×32."""
    data = setting.data("fashion-mnist", train=train, limit=count)
    edge = (SIDE - data.image(0).shape[0]) // 2
    images = np.pad(np.stack(list(data.images())), ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    assert data.labels is not None
    return arrays(images, data.labels, data.classes, name=f"{data.name}-{SIDE}")


def candidates(setting: Setting) -> Benchmark:
    """The forty candidates, drawn with the seed of the setting."""
    return load_benchmark(CANDIDATES).cut(seed=setting.seed)


def overlap_plan(setting: Setting) -> Plan:
    """How the networks of the overlaps are trained: fine-tuned at small scale, by NOC's settings at the paper's.

    The paper's code crops and normalises images, other than NOC's.
    """
    from brittle.design import training_plan
    from brittle.models import IMAGENET_MEAN, IMAGENET_STD

    if setting.small:
        return training_plan(
            network="small:4",
            standard_epochs=4,
            train_limit=TUNING_IMAGES,
            batch_size=64,
            seed=setting.seed,
            settings={"normalisation": "dataset"},
        )
    seen = {"crop_kind": "resized", "mean": IMAGENET_MEAN, "std": IMAGENET_STD}
    return training_plan(mode="scratch", network=NETWORK, preset="noc", seed=setting.seed, settings=seen)


@_once
def measured_overlap(setting: Setting) -> OverlapMatrix:
    """The overlaps of the forty candidates, without those that hardly changed the network trained with them."""
    from brittle.design import correct_cube, measure_overlap

    recipe, folder = candidates(setting), setting.work("overlap")
    if setting.small:
        training, test = clothes(setting, TRAINING_IMAGES, train=True), clothes(setting, OVERLAP_IMAGES)
    else:
        training, test = setting.data("imagenet-100", train=True), setting.data("imagenet-100")
    make_folder(folder)
    results = measure_overlap(
        training,
        test,
        recipe,
        folder,
        overlap_plan(setting),
        engine=setting.engine,
        address=setting.address,
        device=setting.device,
        progress=setting.progress,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VanishingGain)  # the matrix lists them
        overlap = overlap_with_intervals(correct_cube(results, recipe), recipe, resamples=200)
    overlap.save(folder / "overlap.parquet")
    return without_masked(overlap)


def trained_classifiers(setting: Setting) -> list[Model]:
    """The classifiers of clothes; those that are missing are trained."""
    from brittle import load_model
    from brittle.training import train_network, training_config

    folder = setting.work("models")
    make_folder(folder)
    models: list[Model] = []
    for number, (name, (network, augmentation)) in enumerate(CLASSIFIERS.items()):
        path = folder / f"{name}.safetensors"
        if setting.progress is not None:
            setting.progress(f"training {name}", number, len(CLASSIFIERS))
        if not path.is_file():
            seed = setting.seed * len(CLASSIFIERS) + number
            config = training_config(epochs=4, lr=0.05, batch_size=64, normalisation="dataset", seed=seed)
            training = clothes(setting, TRAINING_IMAGES, train=True)
            train_network(training, path, config, network=network, augmentation=augmentation, device=setting.device)
        models.append(load_model(path, device=setting.device))
    return models


@_once
def tested_models(setting: Setting) -> list[Model]:
    """The models whose drops are correlated: our classifiers, or the 21 of Table 1."""
    if setting.small:
        return trained_classifiers(setting)
    return load_paper_models("syn2nat", setting.path("checkpoints"), device=setting.device)


def plain_models(setting: Setting) -> tuple[str, ...]:
    """The names of those trained without a robustness intervention."""
    from brittle.papers.models import paper_models

    if setting.small:
        return tuple(name for name, (_, augmentation) in CLASSIFIERS.items() if augmentation == "none")
    given = paper_models("syn2nat", setting.path("checkpoints"))
    return tuple(one.name for one in given if one.role == "plain")


def _run(setting: Setting, data: Dataset, benchmark: Any, folder: Path) -> Results:
    sequences = isinstance(benchmark, str) or not (benchmark is None or isinstance(benchmark, Benchmark))
    engine = "local" if sequences else setting.engine
    make_folder(folder)
    return evaluate(
        tested_models(setting),
        data,
        benchmark,
        folder,
        engine=engine,
        address=None if sequences else setting.address,
        progress=setting.progress,
    )


@_once
def candidate_results(setting: Setting) -> Results:
    """Every model on the clean test images and under each of the forty candidates."""
    data = clothes(setting, TEST_IMAGES) if setting.small else setting.data("imagenet")
    return _run(setting, data, candidates(setting), setting.work("candidates"))


@_once
def candidate_drops(setting: Setting) -> Drops:
    """The drop of every model under each of the forty candidates: the residual robustness of the paper."""
    return drops_of(candidate_results(setting), corruptions=[entry.id for entry in candidates(setting).entries])


@_once
def imagenet_c_drops(setting: Setting) -> Drops:
    """The drop of every model under each corruption of ImageNet-C, the mean of five severities."""
    recipe = load_benchmark("cifar10-c" if setting.small else "imagenet-c").cut(seed=setting.seed)
    data = clothes(setting, C_IMAGES) if setting.small else setting.data("imagenet")
    _run(setting, data, recipe, setting.work("imagenet-c"))
    return drops_of(load_results(setting.work("imagenet-c")), corruptions=[entry.id for entry in recipe.entries])


@_once
def imagenet_p_flips(setting: Setting) -> Drops:
    """The flip probability of every model under each perturbation of ImageNet-P, drawn in memory."""
    recipe = load_sequence_benchmark("cifar10-p" if setting.small else "imagenet-p").cut(seed=setting.seed)
    data = clothes(setting, SEQUENCES) if setting.small else setting.data("imagenet")
    return flip_rates(_run(setting, data, recipe, setting.work("imagenet-p")))


@_once
def natural_drops(setting: Setting) -> Drops:
    """The drop of every model on each natural set, from clean images of the same classes."""
    clean = candidate_results(setting)
    sets = _generated_sets(setting) if setting.small else _natural_sets(setting)
    shifts = {
        name: _run(setting, data, None, setting.work("natural") / name.replace(" ", "-")) for name, data in sets.items()
    }
    sides: dict[str, Results] = {}
    for name in shifts:
        side = {"ImageNet-A": "imagenet-a-clean", "ImageNet-R": "imagenet-r-clean"}.get(name)
        if side is None:
            sides[name] = clean
        else:
            data = load_dataset(f"{side}:{setting.path('imagenet')}")
            sides[name] = _run(setting, data, None, setting.work("natural") / side)
    return shift_drops(sides, shifts)


def _natural_sets(setting: Setting) -> dict[str, Dataset]:
    return {title: load_dataset(f"{name}:{setting.path(name)}") for title, name in NATURAL.items()}


def _generated_sets(setting: Setting) -> dict[str, Dataset]:
    """Pictures of clothes by the demo pipeline: in each of its shifts, and in none."""
    from brittle.sliders import DEMO_SAMPLING, Base, Pick, find_classes, load_demo_pipeline, sample_sliders

    demo, folder = load_demo_pipeline(), setting.work("generated")
    make_folder(folder)
    targets = find_classes(["all"], demo.classes)
    sample_sliders(
        Base(str(demo.folder / "pipeline"), device="cpu"),
        [Pick(target, shift) for shift in demo.shifts for target in targets],
        folder,
        seeds=range(setting.seed * SEEDS + 1, (setting.seed + 1) * SEEDS + 1),
        names=demo.classes,
        progress=setting.progress,
        sampling=DEMO_SAMPLING,
        batch_size=4 * SEEDS,
        file_format="png",
    )
    sets = {shift.replace("_", " "): cns_bench(folder, shift=shift, scale=1) for shift in demo.shifts}
    return {GENERATED: cns_bench(folder, shift=demo.shifts[0], scale=0), **sets}
