"""The set-up of NOC's experiments: data, networks, candidates, and the models that the experiments share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.datasets import Dataset
from brittle.design import (
    OverlapMatrix,
    Plan,
    Reference,
    VanishingGain,
    alexnet_reference,
    benchmark_of,
    compare_overlaps,
    correct_cube,
    measure_overlap,
    overlap_with_intervals,
    training_plan,
)
from brittle.evaluation import Cell, Results, by_corruption, evaluate
from brittle.metrics import Estimate, Table, published_table, relative_corruption_errors, spearman
from brittle.models import find_weights, load_model
from brittle.papers.experiments import Setting, plain_name
from brittle.training import train_network

NETWORKS = {
    "small": ("small:8", "wide-resnet-10-1"),
    "paper": ("timm:resnet18", "timm:densenet121", "timm:wide_resnet50_2"),
}
"""The architectures: first that of all trained models, then those with which overlaps are measured again."""

DEMO_NETWORKS = ("small", "small:20")
"""The network of the bundled model: at small scale that is its first model, which is not trained again."""

IMAGES = {"first": 20_000, "tuning": 5_000, "longer": 6_000, "test": 1_000}
"""The numbers of images at small scale: to train the first model, to fine-tune it, to do so longer, and to test."""

LONGER = 2
"""The number of passes of models that must learn several corruptions at once, at small scale."""

NEEDS, SMALL_NEEDS = ("imagenet-100",), ("cifar10",)
SHARED = "models of fig3"

SMALL_LEVELS = (2.0, 4.0)
"""The levels of ImageNet-C's corruptions at small scale, of which each training image draws one."""

SMALL: dict[str, Any] = {"epochs": 8, "schedule": "cosine"}
"""The training of the first model at small scale."""


def imagenet_c(setting: Setting) -> Benchmark:
    """The 15 corruptions of ImageNet-C; at small scale those of CIFAR-10-C at fewer levels."""
    recipe = load_benchmark("noc-joint" if not setting.small else "cifar10-noc-joint")
    levels = SMALL_LEVELS if setting.small else (1.0, 2.0, 3.0, 4.0, 5.0)
    chosen = tuple(replace(entry, levels=levels) for entry in recipe.entries if entry.id.startswith("imagenet-c/"))
    return replace(recipe, name="cifar10-c" if setting.small else "imagenet-c", entries=chosen)


def noc_candidates(setting: Setting) -> Benchmark:
    """NOC's 23 candidates; at small scale with ranges for 32 px."""
    return load_benchmark("cifar10-noc-candidates" if setting.small else "noc-candidates")


def imagenet_noc(setting: Setting) -> Benchmark:
    """The eight corruptions of ImageNet-NOC; at small scale the same ones with ranges for 32 px."""
    members = [entry.id for entry in load_benchmark("imagenet-noc").entries]
    return benchmark_of(members, noc_candidates(setting), name="noc-eight" if setting.small else "imagenet-noc")


def all_candidates(setting: Setting) -> Benchmark:
    """ImageNet-C's corruptions and NOC's candidates in one recipe, so that Fig. 3 and Fig. 4 share their models."""
    first, second = imagenet_c(setting), noc_candidates(setting)
    name = "cifar10-noc-all" if setting.small else "noc-all"
    return replace(second, name=name, entries=(*first.entries, *second.entries), title="", source="")


def names_of(recipe: Benchmark) -> tuple[str, ...]:
    """The ids of a recipe's corruptions."""
    return tuple(entry.id for entry in recipe.entries)


def noc_data(setting: Setting) -> tuple[Dataset, Dataset]:
    """Training and test images: ImageNet-100 resized to 224×224, or at small scale a part of CIFAR-10."""
    if setting.small:
        training = setting.data("cifar10", train=True, limit=IMAGES["first"])
        return training, setting.data("cifar10", limit=IMAGES["test"])
    options: dict[str, Any] = {"prepare": "224x224"}
    return setting.data("imagenet-100", train=True, **options), setting.data("imagenet-100", **options)


def noc_plan(setting: Setting, network: str) -> Plan:
    """NOC's training of each model from scratch; at small scale the fine-tuning of one standard model."""
    common: dict[str, Any] = {"network": network, "seed": setting.seed}
    if setting.small:
        settings = {**SMALL, **setting.training}
        return training_plan(mode="finetune", train_limit=IMAGES["tuning"], settings=settings, **common)
    settings = dict(setting.training)
    batch = settings.pop("batch_size", None)
    epochs = settings.pop("epochs", None)
    options: dict[str, Any] = {"batch_size": batch, "epochs": epochs, "settings": settings}
    return training_plan(mode="scratch", preset="noc", **options, **common)


@dataclass(frozen=True)
class Overlaps:
    """The models of an overlap matrix, the standard one first, with what they got right, and the matrix."""

    folder: Path
    candidates: Benchmark
    results: Results
    correct: NDArray[Any]
    matrix: OverlapMatrix

    @property
    def names(self) -> tuple[str, ...]:
        """The corruptions with which a model was trained."""
        return names_of(self.candidates)

    @property
    def errors(self) -> FloatArray:
        """The errors: a row for each model, the standard one first; a column for each test set, the clean one first."""
        return np.asarray(1 - self.correct.mean(axis=-1))

    def reference(self, setting: Setting, members: Sequence[str]) -> Reference:
        """What divides relative CE: AlexNet's published errors, or at small scale those of the standard model."""
        chosen = replace(self.candidates, entries=tuple(map(self.candidates.entry, members)))
        if not setting.small:
            return alexnet_reference(chosen)
        errors = dict(zip(self.names, self.errors[0, 1:].tolist(), strict=True))
        return Reference("the standard model", float(self.errors[0, 0]), errors)

    def relative(self, setting: Setting, members: Sequence[str]) -> FloatArray:
        """Relative CE in percent: a row for the standard model and for each member's, a column for each member."""
        places = np.array([1 + self.names.index(name) for name in members])
        errors, reference = self.errors[np.concatenate([[0], places])], self.reference(setting, members)
        return relative_ce(errors[:, places], errors[:, 0], reference, members)


def relative_ce(
    errors: FloatArray, clean: FloatArray, reference: Reference, members: Sequence[str], least: float = 0.02
) -> FloatArray:
    """Relative CE in percent; NaN under a corruption that adds less than two points to the reference's error."""
    below = reference.of(members)
    used = below - reference.clean_error > least
    scores = np.full(errors.shape, np.nan)
    scores[:, used] = 100 * relative_corruption_errors(errors[:, used], clean, below[used], reference.clean_error)
    return scores


@lru_cache(maxsize=3)
def overlaps(setting: Setting, network: str | None = None, recipe: Benchmark | None = None) -> Overlaps:
    """The overlaps of the candidates with one architecture; models that another experiment trained are used again.

    The experiments of one call share them in memory, later calls read them from the shared folder.
    """
    network, candidates = network or NETWORKS[setting.scale][0], recipe or all_candidates(setting)
    training, test = noc_data(setting)
    folder = setting.work("overlap") / network.replace(":", "-") / candidates.name
    results = measure_overlap(
        training,
        test,
        candidates,
        folder,
        noc_plan(setting, network),
        start=find_weights("demo:standard", network, 10) if setting.small and network in DEMO_NETWORKS else None,
        cache=setting.work("images"),
        engine=setting.engine,
        address=setting.address,
        device=setting.device,
        progress=setting.progress,
    )
    correct = correct_cube(results, candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VanishingGain)  # the matrix names them, and the experiments do
        matrix = overlap_with_intervals(correct, candidates)
    matrix.save(folder / "overlap.parquet")
    return Overlaps(folder, candidates, results, correct, matrix)


def trained_with(setting: Setting, name: str, augmentation: Benchmark | str) -> Path:
    """A network trained with all corruptions of a recipe, one random one a corrupted image, or with a scheme by name.

    At small scale it is the first model of the overlaps, fine-tuned longer than the others.
    """
    folder = setting.work("trained")
    path = folder / f"{name}.safetensors"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(augmentation, Benchmark):
        augmentation.save(folder / f"{name}.toml")
        augmentation = f"corruptions:{folder / name}.toml"
    network = NETWORKS[setting.scale][0]
    plan, training = noc_plan(setting, network), noc_data(setting)[0]
    config, start = plan.standard, None
    if setting.small:
        config = replace(plan.tuning, epochs=LONGER * plan.tuning.epochs)
        count = min(IMAGES["longer"], len(training))
        training = training.subset([number * len(training) // count for number in range(count)])
        start = overlaps(setting).folder / "models" / "start.safetensors"
    train_network(
        training,
        path,
        config,
        network=network,
        augmentation=augmentation,
        start=start,
        cache=setting.work("images"),
        device=setting.device,
        progress=_training_progress(setting, name),
        decoding=setting.progress,
    )
    return path


def _training_progress(setting: Setting, name: str) -> Any:
    told = setting.progress
    return None if told is None else lambda done, total, _loss: told(f"training {name}", done, total)


def run_models(setting: Setting, models: Mapping[str, str | Path], recipe: Benchmark, data: Dataset) -> Results:
    """Models by name on a recipe; what other experiments evaluated is not evaluated again."""
    loaded = {name: load_model(str(spec), device=setting.device) for name, spec in models.items()}
    return evaluate(
        loaded,
        data,
        recipe,
        setting.work("runs") / recipe.name,
        engine=setting.engine,
        address=setting.address,
        progress=setting.progress,
    )


def run_errors(results: Results, models: Iterable[str], recipe: Benchmark) -> tuple[FloatArray, FloatArray]:
    """The errors under each corruption of a recipe, mean over levels, a row for each model; and on clean images."""
    mean, cells = by_corruption(recipe), [Cell(), *recipe.cells()]
    right = np.stack([results.matrix(model, cells).values.mean(axis=0) for model in models])
    return np.asarray(1 - mean(right[:, 1:])), np.asarray(1 - right[:, 0])


def printed(table: Table, row: str, members: Sequence[str]) -> list[float]:
    """The numbers of one row of a published table under these corruptions."""
    names = table.text(next(iter(table.columns)))
    return [float(table.numbers(plain_name(member))[names.index(row)]) for member in members]


def to_standard(table: Table, members: Sequence[str]) -> FloatArray:
    """A published table of relative CE as percent of its standard model's, by which AlexNet's errors cancel."""
    values = table.numbers(*map(plain_name, members))
    return np.asarray(100 * values / values[0])


def agreement_of(ours: Any, published: Any, what: str) -> list[Estimate]:
    """Spearman's correlation and the mean absolute difference of two lists of numbers, where both are known."""
    a, b = np.ravel(np.asarray(ours, dtype=np.float64)), np.ravel(np.asarray(published, dtype=np.float64))
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if len(a) < 4 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return []
    rank = spearman(a, b)
    gap = Estimate(f"mean absolute difference, {what}", float(np.abs(a - b).mean()), n=len(a), percent=False)
    return [Estimate(f"Spearman, {what}", rank.value, rank.low, rank.high, n=len(a), percent=False), gap]


def differences(setting: Setting, *more: str, trained: bool = True) -> list[str]:
    """What was done otherwise than in the paper, in sentences."""
    if not setting.small:
        return list(more)
    general = [
        f"CIFAR-10 at 32 px in place of ImageNet-100 at 224 px, {IMAGES['test']} test images",
        f"the network {NETWORKS['small'][0]}, first trained for {SMALL['epochs']} epochs of {IMAGES['first']:,} images",
        f"fine-tuned for one pass over {IMAGES['tuning']:,} images in place of 40 epochs from scratch",
        f"corruptions of CIFAR-10-C at {', '.join(f'{level:g}' for level in SMALL_LEVELS)} of the five levels",
        "NOC's ranges calibrated again for 32 px (cifar10-noc-candidates)",
    ]
    return [*(general if trained else general[:1]), *more]


def published_number(quantity: str) -> float:
    """A number of the running text, by its name in the table noc-in-text."""
    table = published_table("noc-in-text")
    return float(table.numbers("value")[table.text("quantity").index(quantity)])


def measured_sets(setting: Setting) -> tuple[Overlaps, tuple[str, ...], tuple[str, ...]]:
    """The overlaps with the first architecture, and the corruptions of ImageNet-C and of ImageNet-NOC."""
    return overlaps(setting), names_of(imagenet_c(setting)), names_of(imagenet_noc(setting))


def known_mean(matrix: OverlapMatrix) -> float:
    """The mean overlap of the pairs that are not masked."""
    scores = matrix.scores[np.triu_indices(len(matrix), 1)]
    return float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")


def pair_rows(matrix: OverlapMatrix, others: Mapping[str, OverlapMatrix]) -> list[dict[str, Any]]:
    """A row for each pair: the overlap with its interval, and that of other matrices of the same corruptions."""
    rows = []
    for i, first in enumerate(matrix.names):
        for j in range(i + 1, len(matrix)):
            row: dict[str, Any] = {
                "corruption": first,
                "and": matrix.names[j],
                "overlap": known_number(matrix.scores[i, j]),
            }
            if matrix.low is not None and matrix.high is not None:
                row |= {"low": known_number(matrix.low[i, j]), "high": known_number(matrix.high[i, j])}
            rows.append(row | {title: known_number(other[first, matrix.names[j]]) for title, other in others.items()})
    return rows


def known_number(value: float) -> float | None:
    """The number, or None for what is masked or infinite."""
    return float(value) if np.isfinite(value) else None


def matrix_agreement(ours: OverlapMatrix, other: OverlapMatrix, what: str) -> list[Estimate]:
    """Spearman's correlation and the mean absolute difference of two matrices, with intervals over corruptions.

    There is none if too few pairs are known in both.
    """
    try:
        found = compare_overlaps(ours, other.subset(ours.names))
    except BrittleError:
        return []
    return [replace(one, name=f"{one.name}, {what}") for one in (found.spearman, found.mean_absolute)]


def agreed(found: Sequence[Estimate]) -> str:
    """An agreement of matrices as part of a sentence."""
    if not found:
        return "have too few known pairs in common to be compared"
    rank, gap = found[:2]
    ends = "" if rank.low is None or rank.high is None else f" [{rank.low:.2f}, {rank.high:.2f}]"
    return f"agree with a Spearman correlation of {rank.value:.2f}{ends} and differ by {gap.value:.2f} on average"


def masked_note(matrix: OverlapMatrix) -> str:
    """Which corruptions are masked, as a sentence for `differs`; "" if none is."""
    names = [plain_name(name) for name in matrix.unlearned or ()]
    return f"masked, since their own models hardly gain on them: {', '.join(names)}" if names else ""


def listed(names: Iterable[str]) -> str:
    """Names without their sets, with commas; "none" if there are none."""
    return ", ".join(map(plain_name, names)) or "none"


def number(value: float) -> str:
    """An overlap with two digits, or "a masked one"."""
    return f"{value:.2f}" if np.isfinite(value) else "an unknown amount"
