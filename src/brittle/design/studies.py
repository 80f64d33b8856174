"""Studies of feature distance against error over many augmentation schemes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as once
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._identity import as_data, digest
from brittle._io import claim, file_name, missing_or_damaged, weights_key
from brittle._parallel import check_engine
from brittle._ray import map_on_ray, ray_cluster
from brittle._types import FloatArray, Image, Progress, check_counts
from brittle.benchmarks import Benchmark, load_benchmark
from brittle.corruptions import Draws
from brittle.datasets.dataset import Dataset, no_labels
from brittle.design.overlap_training import MODELS_AT_ONCE
from brittle.design.plans import STANDARD, Plan, normalised_plan, train_or_adapt
from brittle.distance import (
    CorruptionFeatures,
    Extractor,
    FeatureImages,
    TransformFeatures,
    corruption_features,
    mmd_to,
    msd_to,
    transform_features,
)
from brittle.evaluation import Results, evaluate
from brittle.evaluation.results import by_corruption
from brittle.metrics.correlation import Correlation, spearman
from brittle.models import (
    Model,
    TorchModel,
    find_device,
    from_weights,
    load_weights,
    network_key,
    save_trained,
)
from brittle.training import Corrupted, Images, build_network, cache_folder, input_sizes, training_images
from brittle.training.augmentation import Mixture, Scheme, scheme_by_name
from brittle.training.augmentation.schemes import ADDRESS


@dataclass(frozen=True)
class SchemeTrainer:
    """Everything a worker needs to train a network with one scheme; None is the standard network."""

    plan: Plan
    images: Images
    labels: Any
    classes: int
    device: str = "auto"

    def train(
        self,
        scheme: Scheme | None,
        first: Mapping[str, Any] | None,
        checkpoint: Path | None = None,
        progress: Any = None,
    ) -> dict[str, Any]:
        """The trained weights; `first` are those to fine-tune or adapt, and None for new ones."""
        network = build_network(self.plan.network, self.classes, seed=self.plan.standard.seed)
        network.to(find_device(self.device))
        if first is not None:
            network.load_state_dict(first)
        options: dict[str, Any] = {"checkpoint": checkpoint, "progress": progress}
        train_or_adapt(network, self.images, self.labels, self.plan, scheme, full=first is None, **options)
        state: dict[str, Any] = network.cpu().state_dict()
        return state


def _train_scheme(trainer: SchemeTrainer, scheme: Scheme, first: Mapping[str, Any] | None) -> dict[str, Any]:
    return trainer.train(scheme, first)


def scheme_models(
    schemes: Mapping[str, Scheme],
    training: Dataset,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    start: str | Path | None = None,
    standard: bool = True,
    cache: str | Path | None = None,
    device: str = "auto",
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
) -> dict[str, TorchModel]:
    """A standard model, and one trained with each scheme; existing weights in the folder are reused.

    By the plan's mode they are fine-tuned from the standard model, trained from scratch, or adapted in their batch
    normalisation alone. `start` is a file of weights of the standard model, which is trained by default; from scratch
    no other model needs it, and standard=False leaves it out. Photographs are decoded once into the folder `cache`, by
    default `folder`/images, or in every epoch if that is "none". With the engine "ray" the workers of a cluster train
    whole models.
    """
    plan, folder = plan or Plan(), Path(folder)
    check_engine(engine, address)
    if not standard and plan.mode != "scratch":
        raise BrittleError(f"the mode {plan.mode!r} begins with the standard model, so it cannot be left out")
    if training.labels is None:
        raise no_labels(training, "and training needs labels")
    if STANDARD in schemes:
        raise BrittleError(f"{STANDARD!r} is the name of the standard model; give the scheme another name")
    about = {
        "plan": as_data(plan),
        "training": training.key,
        "start": weights_key(start),
        "network": network_key(plan.network),
    }
    claim(folder / "models.json", about, "models")
    decoded = cache_folder(cache, folder / "images")
    images = once(partial(training_images, training, plan.standard, decoded, progress=progress))
    given_plan, plan = plan, normalised_plan(plan, images)
    wanted: dict[str, Scheme | None] = {**({STANDARD: None} if standard else {}), **schemes}
    paths = {name: folder / f"{_file_name(name, scheme)}.safetensors" for name, scheme in wanted.items()}
    missing = [name for name, path in paths.items() if missing_or_damaged(path, "the model is trained again")]
    for name in paths.keys() - missing:
        paths[name].with_suffix(".pt").unlink(missing_ok=True)  # a checkpoint that a power cut left

    @once
    def trainer() -> SchemeTrainer:
        return SchemeTrainer(plan, images(), np.asarray(training.labels), len(training.classes), device)

    def save(name: str, state: Mapping[str, Any]) -> None:
        network = build_network(plan.network, len(training.classes))
        network.load_state_dict(state)
        provenance = as_data({"plan": given_plan, "scheme": wanted[name], **input_sizes(training, plan.standard)})
        mean, std = plan.standard.mean, plan.standard.std
        save_trained(network, paths[name], plan.network, training.classes, mean, std, provenance)
        paths[name].with_suffix(".pt").unlink(missing_ok=True)

    def local(name: str) -> None:
        on_step = _on_step(progress, name, list(wanted).index(name), len(wanted))
        first = None if name == STANDARD or plan.mode == "scratch" else load_weights(paths[STANDARD])
        save(name, trainer().train(wanted[name], first, paths[name].with_suffix(".pt"), on_step))

    if STANDARD in missing:
        missing.remove(STANDARD)
        local(STANDARD) if start is None else save(STANDARD, load_weights(start))
    if engine == "ray" and missing:
        with ray_cluster(address) as ray:
            first = None if plan.mode == "scratch" else ray.put(load_weights(paths[STANDARD]))
            shared = ray.put(trainer())
            gpu = device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0
            tasks = [(name, (shared, wanted[name], first)) for name in missing]
            done = map_on_ray(ray, _train_scheme, tasks, gpu=gpu, title=lambda name: name)
            for number, trained in enumerate(done):
                save(trained.item, trained.result)
                if progress is not None:
                    progress(f"trained {trained.item}{trained.where}", number + 1, len(missing))
    else:
        for name in missing:
            local(name)
    return {name: from_weights(path, name=name, network=plan.network, device=device) for name, path in paths.items()}


def _on_step(progress: Progress | None, name: str, number: int, count: int) -> Callable[[int, int, float], None] | None:
    if progress is None:
        return None
    return lambda done, total, _loss: progress(f"training {name}", number * total + done, count * total)


def _file_name(name: str, scheme: Scheme | None) -> str:
    """The name, and a digest of the scheme's settings."""
    plain = file_name(name)
    return plain if scheme is None else f"{plain}-{digest(scheme, length=8)}"


SchemeStudyProgress = Callable[[str, int, int], None]
"""Called with (title of the step, steps done, steps in total)."""


def scheme_features(
    schemes: Mapping[str, Scheme],
    model: Extractor,
    images: FeatureImages,
    folder: str | Path,
    *,
    samples: int,
    seed: int = 0,
    batch_size: int = 200,
    progress: SchemeStudyProgress | None = None,
) -> dict[str, TransformFeatures]:
    """The features of each scheme, from the same number of samples, stored in the folder."""
    features = {}
    for number, (name, scheme) in enumerate(schemes.items()):

        def on_progress(done: int, total: int, _speed: float, name: str = name, before: int = number * samples) -> None:
            if progress is not None:
                progress(f"features of {name}", before + done, len(schemes) * total)

        options: dict[str, Any] = {"folder": folder, "batch_size": batch_size, "progress": on_progress}
        features[name] = transform_features(model, images, scheme, samples=samples, seed=seed, **options)
    return features


def evaluate_schemes(
    models: Mapping[str, Model],
    test: Dataset,
    benchmark: Benchmark,
    folder: str | Path,
    *,
    batch_size: int = 128,
    engine: str = "local",
    address: str | None = None,
    progress: SchemeStudyProgress | None = None,
) -> Results:
    """Evaluate all models on a benchmark, twelve at once, which share the corrupted images."""
    results: Results | None = None
    names = list(models)
    for start in range(0, len(names), MODELS_AT_ONCE):
        group = [models[name] for name in names[start : start + MODELS_AT_ONCE]]
        results = evaluate(
            group,
            test,
            benchmark,
            folder,
            batch_size=batch_size,
            engine=engine,
            address=address,
            progress=_on_cell(progress, start // MODELS_AT_ONCE, -(-len(names) // MODELS_AT_ONCE)),
        )
    if results is None:
        raise BrittleError("give at least one model to evaluate, got none")
    return results


def _on_cell(progress: SchemeStudyProgress | None, group: int, groups: int) -> SchemeStudyProgress | None:
    if progress is None:
        return None
    return lambda cell, done, total: progress(f"testing {cell}", group * total + done, groups * total)


def scheme_points(
    features: Mapping[str, TransformFeatures],
    corruptions: CorruptionFeatures,
    results: Results,
    benchmark: Benchmark,
) -> pl.DataFrame:
    """A row for each scheme and corruption: MSD, MMD and error, each a mean over the levels as in the paper."""
    rows = []
    for name, scheme_rows in features.items():
        msd = corruptions.over_levels(msd_to(scheme_rows, corruptions.means))
        mmd = corruptions.over_levels(mmd_to(scheme_rows, corruptions.means))
        accuracy = results.matrix(name, benchmark.cells()).values.mean(0)
        errors = 1 - by_corruption(benchmark)(accuracy)
        rows += [(name, *row) for row in zip(corruptions.corruptions, msd, mmd, errors, strict=True)]
    return pl.DataFrame(rows, schema=["scheme", "corruption", "msd", "mmd", "error"], orient="row")


def scheme_correlations(points: pl.DataFrame) -> pl.DataFrame:
    """Spearman's rank correlation of distance and error over schemes, for each corruption, by MSD and by MMD.

    Columns: corruption, schemes, msd, msd_low, msd_high, msd_p, and the same for mmd. They are null where all schemes
    have the same error or the same distance.
    """
    rows = []
    for (corruption,), group in points.group_by("corruption", maintain_order=True):
        row: dict[str, Any] = {"corruption": corruption, "schemes": len(group)}
        for name in ("msd", "mmd"):
            rho = _spearman(group[name].to_numpy(), group["error"].to_numpy())
            row |= dict.fromkeys((name, f"{name}_low", f"{name}_high", f"{name}_p"))
            if rho is not None:
                row |= {name: rho.value, f"{name}_low": rho.low, f"{name}_high": rho.high, f"{name}_p": rho.p}
        rows.append(row)
    numbers = [f"{name}{part}" for name in ("msd", "mmd") for part in ("", "_low", "_high", "_p")]
    return pl.DataFrame(
        rows, schema={"corruption": pl.String, "schemes": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    )


def _spearman(distance: FloatArray, error: FloatArray) -> Correlation | None:
    """Spearman's correlation; None where one side is constant."""
    flat = len(distance) >= 3 and (np.ptp(distance) == 0 or np.ptp(error) == 0)
    return None if flat else spearman(distance, error)


def mixture_of(near: Scheme, far: Scheme, share: float) -> Mixture:
    """A mixture with a share of `near` and 1 − share of `far`."""
    if not 0 <= share <= 1:
        raise BrittleError(f"a share lies between 0 and 1, got {share}")
    return Mixture((near, far), (share, 1 - share))


def mixing_points(
    near: ArrayLike, far: ArrayLike, corruptions: CorruptionFeatures, shares: Sequence[float], *, seed: int = 0
) -> pl.DataFrame:
    """MSD and MMD of mixtures, means over corruptions and levels, one row per share: share, msd, mmd, picked.

    `near` and `far` are features of the first samples of two schemes, drawn with this seed; `picked` is the number of
    samples from the near one. Sample i of a mixture is sample i of the scheme it picks, so no feature is computed
    again.
    """
    near_rows, far_rows = np.asarray(near), np.asarray(far)
    if near_rows.shape != far_rows.shape:
        raise BrittleError(f"both schemes need features of one shape, got {near_rows.shape} and {far_rows.shape}")
    rows = []
    for share in shares:
        is_near = _is_near(share, len(near_rows), seed)
        mixed = np.where(is_near[:, None], near_rows, far_rows)
        msd, mmd = (corruptions.over_levels(measure(mixed, corruptions.means)).mean() for measure in (msd_to, mmd_to))
        rows.append((float(share), float(msd), float(mmd), int(is_near.sum())))
    return pl.DataFrame(rows, schema=["share", "msd", "mmd", "picked"], orient="row")


def _is_near(share: float, count: int, seed: int) -> NDArray[np.bool_]:
    """Which of a mixture's first samples are from the near scheme."""
    near, far = _Placeholder(), _Placeholder()
    mixture = mixture_of(near, far, share)
    return np.array([mixture.picked(Draws(seed, ADDRESS, i)) is near for i in range(count)])


class _Placeholder:
    """A scheme of which only the identity matters."""

    def __call__(self, image: Image, _draws: Draws, /) -> Image:
        """Never called."""
        return image


@dataclass(frozen=True)
class DistanceStudy:
    """Distance and error of each scheme under each corruption, and the rank correlation of the two."""

    points: pl.DataFrame
    correlations: pl.DataFrame


def distance_study(
    schemes: Mapping[str, Scheme],
    training: Dataset,
    test: Dataset,
    benchmark: Benchmark,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    start: str | Path | None = None,
    cache: str | Path | None = None,
    images: FeatureImages,
    samples: int = 1000,
    corruption_samples: int = 25,
    features: str | Path | None = None,
    seed: int = 0,
    batch_size: int = 128,
    device: str = "auto",
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
) -> DistanceStudy:
    """The experiment of the MSD paper: is a scheme that comes nearer to a corruption better against it?

    Trains a model with each scheme, tests all of them on the benchmark, and measures the distance of each scheme to
    each corruption through the standard model. What exists in the folder is reused. `cache` and `engine` are those of
    `scheme_models`; `features` is a folder of features that several studies share, by default `folder`/features.
    """
    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    folder = Path(folder)
    where: dict[str, Any] = {"engine": engine, "address": address, "progress": progress}
    models = scheme_models(schemes, training, folder / "models", plan, start=start, cache=cache, device=device, **where)
    standard = models.pop(STANDARD)
    results = evaluate_schemes(models, test, benchmark, folder / "run", batch_size=batch_size, **where)
    options: dict[str, Any] = {"folder": folder / "features" if features is None else features}
    options["batch_size"] = batch_size
    corruptions = corruption_features(
        standard,
        images,
        benchmark,
        samples=corruption_samples,
        progress=_feature_progress(progress),
        **options,
    )
    nearness = scheme_features(schemes, standard, images, samples=samples, seed=seed, progress=progress, **options)
    points = scheme_points(nearness, corruptions, results, benchmark)
    return DistanceStudy(points, scheme_correlations(points))


def _feature_progress(progress: Progress | None) -> Callable[[int, int, float], None] | None:
    if progress is None:
        return None
    return lambda done, total, _speed: progress("features of corruptions", done, total)


def mixing_study(
    near: str,
    far: str,
    shares: Sequence[float],
    training: Dataset,
    test: Dataset,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    benchmark: str | Path = "cifar10-c",
    severity: float = 3.0,
    errors: bool = True,
    start: str | Path | None = None,
    cache: str | Path | None = None,
    images: FeatureImages,
    samples: int = 1000,
    corruption_samples: int = 100,
    seed: int = 0,
    batch_size: int = 128,
    device: str = "auto",
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Figure 2b of the MSD paper: distances, and errors of models, along mixtures of two augmentations.

    Args:
        near: the corruption of the benchmark that is tested, and mixed in.
        far: another corruption of the benchmark, or an augmentation by its name, which makes the rest of the mixture.
        shares: the weights of `near`, two or more.
        training: what models are trained on; `test` what they are tested on.
        folder: for models, features and results; what exists is reused.
        plan: how models are trained.
        errors: also train a model with each mixture and measure its error under `near`.
        images: see `feature_images`.

    The other arguments are those of `distance_study`.
    """
    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    folder = Path(folder)
    target = load_benchmark(benchmark).cut([near], severities=[severity])
    first, second = Corrupted(target, share=1.0), _other_scheme(benchmark, far, severity)
    mixtures = {f"share {share:g}": mixture_of(first, second, share) for share in shares}
    if len(mixtures) < 2:
        raise BrittleError(f"mixtures are compared, so give two `shares` or more; got {', '.join(map(str, shares))}")
    # models are named by their shares alone, so those of another mixture would be taken for these
    about = {"near": near, "far": far, "severity": severity, "recipe": target.hash}
    claim(folder / "mixing.json", about, "mixtures")
    trained = mixtures if errors else {}
    where: dict[str, Any] = {"engine": engine, "address": address, "progress": progress}
    models = scheme_models(trained, training, folder / "models", plan, start=start, cache=cache, device=device, **where)
    standard = models.pop(STANDARD)
    options: dict[str, Any] = {"folder": folder / "features", "batch_size": batch_size}
    corruptions = corruption_features(standard, images, target, samples=corruption_samples, **options)
    schemes = {near: first, far if far != near else f"{far} too": second}
    features = scheme_features(schemes, standard, images, samples=samples, seed=seed, progress=progress, **options)
    near_features, far_features = features.values()
    points = mixing_points(near_features, far_features, corruptions, shares, seed=seed)
    if not errors:
        return points
    results = evaluate_schemes(models, test, target, folder / "run", batch_size=batch_size, **where)
    accuracies = [float(results.matrix(name, target.cells()).values.mean()) for name in models]
    return points.with_columns(pl.Series("error", [1 - accuracy for accuracy in accuracies]))


def _other_scheme(benchmark: str | Path, spec: str, severity: float) -> Scheme:
    """A corruption of the benchmark, or else an augmentation by its name."""
    recipe = load_benchmark(benchmark)
    if spec.rpartition("/")[2] in {entry.corruption.name for entry in recipe.entries}:
        return Corrupted(recipe.cut([spec], severities=[severity]), share=1.0)
    return scheme_by_name(spec)
