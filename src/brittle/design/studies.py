"""Distance against error over many augmentations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._identity import as_data, digest
from brittle._io import claim, file_name, missing_or_damaged, weights_key
from brittle._types import FloatArray, Image, Progress
from brittle.benchmarks import Benchmark
from brittle.corruptions.draws import Draws
from brittle.datasets.dataset import Dataset, no_labels
from brittle.design.overlap_training import STANDARD, Plan, train_or_adapt
from brittle.distance import (
    CorruptionFeatures,
    Extractor,
    FeatureImages,
    TransformFeatures,
    mmd_to,
    msd_to,
    transform_features,
)
from brittle.evaluation import Results, evaluate
from brittle.evaluation.score import by_corruption
from brittle.metrics.correlation import Correlation, spearman
from brittle.models import Model, TorchModel, load_weights, save_trained
from brittle.models.networks import from_weights
from brittle.training import build_network
from brittle.training.augmentation import Mixture, Scheme
from brittle.training.augmentation.schemes import ADDRESS


def scheme_models(
    schemes: Mapping[str, Scheme],
    training: Dataset,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    start: str | Path | None = None,
    progress: Progress | None = None,
) -> dict[str, TorchModel]:
    """A standard model, and one that was trained with each scheme; weights that are in the folder stay.

    The plan says how: fine-tuned from the standard model for a while, from scratch, or by batch normalisation alone.
    `start` is a file of weights for the standard model, which is trained otherwise.
    """
    plan, folder = plan or Plan(), Path(folder)
    if training.labels is None:
        raise no_labels(training, "and a network learns from labels")
    if STANDARD in schemes:
        raise BrittleError(f"{STANDARD!r} is the name of the model that all start from; name the scheme otherwise")
    about = {"plan": as_data(plan), "training": training.key, "start": weights_key(start)}
    claim(folder / "models.json", about, "models")
    pictures: list[Image] = []
    made: dict[str, TorchModel] = {}
    for place, (name, scheme) in enumerate([(STANDARD, None), *schemes.items()]):
        path = folder / f"{_file_name(name, scheme)}.safetensors"
        if missing_or_damaged(path, "the model is trained again"):
            network = build_network(plan.network, len(training.classes), seed=plan.standard.seed)
            if scheme is None and start is not None:
                network.load_state_dict(load_weights(start))
            else:
                if not pictures:
                    pictures.append(np.stack(list(training.images())))
                if scheme is not None and plan.mode != "scratch":
                    network.load_state_dict(made[STANDARD].module.state_dict())
                said = _said(progress, name, place, len(schemes) + 1)
                full = scheme is None or plan.mode == "scratch"
                kept: dict[str, Any] = {"checkpoint": path.with_suffix(".pt"), "progress": said}
                train_or_adapt(network, pictures[0], training.labels, plan, scheme, full=full, **kept)
            how = as_data({"plan": plan, "scheme": scheme})
            mean, std = plan.standard.mean, plan.standard.std
            save_trained(network, path, plan.network, training.classes, mean, std, how)
            path.with_suffix(".pt").unlink(missing_ok=True)
        made[name] = from_weights(path, name=name)
    return made


def _said(progress: Progress | None, name: str, place: int, count: int) -> Callable[[int, int, float], None] | None:
    if progress is None:
        return None
    return lambda done, total, _loss: progress(f"training {name}", place * total + done, count * total)


def _file_name(name: str, scheme: Scheme | None) -> str:
    """The name, and a digest of what the scheme does."""
    plain = file_name(name)
    return plain if scheme is None else f"{plain}-{digest(scheme, length=8)}"


SchemeStudyProgress = Callable[[str, int, int], None]
"""Called with (what is done, steps done, steps in all)."""


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
    """The features of each scheme, as many samples of all, kept in the folder."""
    found = {}
    for place, (name, scheme) in enumerate(schemes.items()):

        def told(done: int, total: int, _speed: float, name: str = name, before: int = place * samples) -> None:
            if progress is not None:
                progress(f"looking at {name}", before + done, len(schemes) * total)

        found[name] = transform_features(
            model, images, scheme, samples=samples, seed=seed, folder=folder, batch_size=batch_size, progress=told
        )
    return found


def run_together(
    models: Mapping[str, Model],
    test: Dataset,
    benchmark: Benchmark,
    folder: str | Path,
    *,
    batch_size: int = 128,
    progress: SchemeStudyProgress | None = None,
) -> Results:
    """All models through a benchmark at once, so that every corrupted image is drawn only once."""
    said = None if progress is None else lambda what, done, total: progress(f"testing {what}", done, total)
    return evaluate(list(models.values()), test, benchmark, folder, batch_size=batch_size, progress=said)


def scheme_points(
    features: Mapping[str, TransformFeatures],
    corruptions: CorruptionFeatures,
    results: Results,
    benchmark: Benchmark,
) -> pl.DataFrame:
    """A row for each scheme and corruption: MSD, MMD and error, each a mean over the levels as in the paper."""
    rows = []
    for name, mine in features.items():
        msd = corruptions.over_levels(msd_to(mine, corruptions.means))
        mmd = corruptions.over_levels(mmd_to(mine, corruptions.means))
        right = results.matrix(name, benchmark.cells()).values.mean(0)
        errors = 1 - by_corruption(benchmark)(right)
        rows += [(name, *row) for row in zip(corruptions.corruptions, msd, mmd, errors, strict=True)]
    return pl.DataFrame(rows, schema=["scheme", "corruption", "msd", "mmd", "error"], orient="row")


def scheme_correlations(points: pl.DataFrame) -> pl.DataFrame:
    """Spearman's rank correlation of distance and error over schemes, for each corruption, by MSD and by MMD.

    Columns: corruption, schemes, msd, msd_low, msd_high, msd_p, and the same for mmd. They are empty where all schemes
    err alike, or are equally far.
    """
    rows = []
    for (corruption,), mine in points.group_by("corruption", maintain_order=True):
        row: dict[str, Any] = {"corruption": corruption, "schemes": len(mine)}
        for name in ("msd", "mmd"):
            found = _spearman(mine[name].to_numpy(), mine["error"].to_numpy())
            row |= dict.fromkeys((name, f"{name}_low", f"{name}_high", f"{name}_p"))
            if found is not None:
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high, f"{name}_p": found.p}
        rows.append(row)
    numbers = [f"{name}{part}" for name in ("msd", "mmd") for part in ("", "_low", "_high", "_p")]
    return pl.DataFrame(
        rows, schema={"corruption": pl.String, "schemes": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    )


def _spearman(distance: FloatArray, error: FloatArray) -> Correlation | None:
    """None where one side does not vary, and so ranks nothing."""
    flat = len(distance) >= 3 and (np.ptp(distance) == 0 or np.ptp(error) == 0)
    return None if flat else spearman(distance, error)


def mixture_of(near: Scheme, far: Scheme, share: float) -> Mixture:
    """A mixture with a share of `near`, the rest `far`."""
    if not 0 <= share <= 1:
        raise BrittleError(f"a share lies between 0 and 1, got {share}")
    return Mixture((near, far), (share, 1 - share))


def mixing_points(
    near: ArrayLike, far: ArrayLike, corruptions: CorruptionFeatures, shares: Sequence[float], *, seed: int = 0
) -> pl.DataFrame:
    """MSD and MMD of mixtures, means over corruptions and levels, one row a share: share, msd, mmd, picked.

    `near` and `far` are features of the first samples of two schemes, drawn with this seed; `picked` of a mixture's
    samples are of the near one. Its i-th sample is the i-th of the scheme that it picks, so nothing has to be looked at
    again.
    """
    mine, other = np.asarray(near), np.asarray(far)
    if mine.shape != other.shape:
        raise BrittleError(f"both schemes need features of one shape, got {mine.shape} and {other.shape}")
    rows = []
    for share in shares:
        picked = _picked(share, len(mine), seed)
        mixed = np.where(picked[:, None], mine, other)
        msd, mmd = (corruptions.over_levels(each(mixed, corruptions.means)).mean() for each in (msd_to, mmd_to))
        rows.append((float(share), float(msd), float(mmd), int(picked.sum())))
    return pl.DataFrame(rows, schema=["share", "msd", "mmd", "picked"], orient="row")


def _picked(share: float, count: int, seed: int) -> NDArray[np.bool_]:
    """Which of a mixture's first samples are of the near scheme."""
    near, far = _Stand(), _Stand()
    mixture = mixture_of(near, far, share)
    return np.array([mixture.picked(Draws(seed, ADDRESS, i)) is near for i in range(count)])


class _Stand:
    """Stands for a scheme where only the pick matters."""

    def __call__(self, image: Image, _draws: Draws, /) -> Image:
        """Never asked for."""
        return image
