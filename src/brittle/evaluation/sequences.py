"""How steady models are along sequences: ImageNet-P, drawn in memory or read from disk, and its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._identity import digest
from brittle._types import FloatArray, Image, Progress
from brittle.benchmarks import Cell, SequenceBenchmark
from brittle.corruptions.imagenet_p import Perturbation, find_perturbation, sequence
from brittle.datasets import CIFAR10, StoredSequences, UnreadableImage, imagenet_names
from brittle.datasets.dataset import Dataset
from brittle.evaluation.cell import Classes, best_classes, checked_scores, infer_with, least_batch_size
from brittle.evaluation.records import Call, CallbackList, started_run
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.row_files import SEQUENCES
from brittle.evaluation.store import Store, model_folder
from brittle.evaluation.tables.formats import Column, ScoreTable, Value
from brittle.metrics import Estimate, bootstrap, frame_pairs, mean_ratio, top5_by_pair, zipf_by_pair
from brittle.models import with_class_names
from brittle.models.model import Model, Scores

OVER_SEQUENCES = "95 % intervals over sequences"
MEASURES = {"flips": "flip probability", "top5_distance": "top-5 distance", "zipf_distance": "Zipf distance"}


class SequenceSource(Protocol):
    """The sequences of one perturbation."""

    @property
    def ids(self) -> Sequence[str | int]:
        """The sample of each sequence."""

    @property
    def labels(self) -> NDArray[Any]:
        """The class of each sequence; −1 where it is not known, which flips do not need."""

    def frames(self, index: int) -> Image:
        """All frames of one sequence, frames×H×W×3."""


@dataclass(frozen=True, eq=False)
class DrawnSequences:
    """Sequences of a dataset's images, drawn when they are asked for.

    Photographs are perturbed at their scaled size and cropped afterwards, as ImageNet-P does, so that small rotations
    and shifts show no black border.
    """

    dataset: Dataset
    perturbation: Perturbation
    benchmark: SequenceBenchmark

    @property
    def ids(self) -> Sequence[str | int]:
        """The samples of the dataset."""
        return self.dataset.ids

    @property
    def labels(self) -> NDArray[Any]:
        """The labels of the dataset."""
        assert self.dataset.labels is not None
        return self.dataset.labels

    def frames(self, index: int) -> Image:
        """All frames of the sequence of one image."""
        drawn = sequence(
            self.dataset.uncropped(index),
            self.perturbation,
            difficulty=self.benchmark.difficulty if self.perturbation.noise else 1,
            crop=self.dataset.crop,
            seed=self.benchmark.seed,
            sample=self.dataset.ids[index],
        )
        return np.asarray(drawn)


def evaluate_sequences(
    models: Sequence[Model],
    data: Dataset | StoredSequences,
    benchmark: SequenceBenchmark,
    folder: str | Path,
    *,
    batch_size: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
    callbacks: CallbackList | None = None,
) -> Results:
    """Show models the sequences of each perturbation and keep the prediction for every frame.

    A perturbation is the unit of work: what a folder holds already is not computed again. Beside the prediction each
    row keeps how far the top five classes, and all ranks, are from those of the frame it is compared with. Images that
    cannot be read are left out and counted.
    """
    callbacks = callbacks or CallbackList()
    store = Store(folder)
    if isinstance(data, StoredSequences):
        first = data.open(benchmark.perturbations[0], benchmark.difficulty)
        keys = {name: data.open(name, benchmark.difficulty).key for name in benchmark.perturbations}
        known = {"data": data.name, "stored": data.scheme, "images": len(first.ids), "classes": []}
        store.claim({**known, "data_key": digest(keys)}, overwrite=overwrite)
        classes = Classes()
        names = imagenet_names() if data.scheme == "imagenet-p" else CIFAR10
        models = [with_class_names(model, names, data.name) for model in models]
    else:
        store.claim_for(data, overwrite=overwrite)
        classes = Classes.of(data)
    for model in models:
        store.keep_model(model, batch_size)
    missing = {cell: _missing(store, models, cell) for cell in benchmark.cells()}
    tasks = [cell for cell, lacking in missing.items() if lacking]
    call = Call(engine="local", batch_size=batch_size, models={model.name: model.key for model in models})
    call.benchmark, call.seed = benchmark.name, benchmark.seed
    if isinstance(data, StoredSequences):
        call.stored, call.folder = data.name, str(data.folder)
    count = len(first.ids) if isinstance(data, StoredSequences) else len(data)
    callbacks.start(started_run(folder, data.name, count, call, tasks))
    with store.recorded(call):
        for done, cell in enumerate(tasks):
            perturbation = find_perturbation(cell.corruption)
            source: SequenceSource = (
                data.open(cell.corruption, benchmark.difficulty)
                if isinstance(data, StoredSequences)
                else DrawnSequences(data, perturbation, benchmark)
            )

            def on_sequence(sequences: int, cell: Cell = cell, done: int = done, total: int = len(source.ids)) -> None:
                if progress is not None:
                    progress(cell.corruption.rpartition("/")[2], done * total + sequences, len(tasks) * total)

            rows = _evaluate_cell(missing[cell], source, cell, classes, batch_size, threads, on_sequence, call.skipped)
            for model in missing[cell]:
                store.write_rows(store.path(model_folder(model), cell, SEQUENCES), rows[model.name])
                accuracy = float(rows[model.name]["correct"].mean() or 0.0)  # type: ignore[arg-type]
                callbacks.call("on_cell_end", model.name, cell, accuracy, len(rows[model.name]))
            call.cells += 1
    return load_results(folder)


def _missing(store: Store, models: Sequence[Model], cell: Cell) -> list[Model]:
    """The models without results on a perturbation; raises if a folder holds it drawn with another seed."""
    lacking = []
    for model in models:
        path = store.path(model_folder(model), cell, SEQUENCES)
        others = [other for other in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.parquet") if other != path]
        if others:
            raise BrittleError(
                f"{str(store.folder)!r} holds {cell.title} of {model.name!r} drawn with another seed; choose another "
                "folder, or remove that run with `overwrite=True`"
            )
        if not store.has(model_folder(model), cell, SEQUENCES):
            lacking.append(model)
    return lacking


class _Answers(NamedTuple):
    """What a model says about the sequences of a batch: [sequence, frame]."""

    predictions: NDArray[np.int32]
    confidences: NDArray[np.float32]
    top5: FloatArray
    zipf: FloatArray


def _evaluate_cell(
    models: Sequence[Model],
    source: SequenceSource,
    cell: Cell,
    classes: Classes,
    batch_size: int | None,
    threads: int | None,
    on_sequence: Any,
    skipped: dict[str, str],
) -> dict[str, pl.DataFrame]:
    perturbation, difficulty = find_perturbation(cell.corruption), int(cell.severity)
    readable: dict[int, list[int]] = {}
    shape = _first_frames(source).shape
    frames = shape[0]
    together = max(1, (batch_size or least_batch_size(shape[1:])) // frames)

    def draw(start: int) -> Image:
        kept, sequences = readable.setdefault(start, []), []
        for index in range(start, min(start + together, len(source.ids))):
            try:
                sequences.append(source.frames(index))
                kept.append(index)
            except UnreadableImage as error:
                skipped[f"{cell.title}: {source.ids[index]}"] = str(error)
        if any(drawn.shape != shape for drawn in sequences):
            sizes = sorted({drawn.shape for drawn in sequences} | {shape})
            raise BrittleError(
                f"{cell.title} has sequences of different shapes, {' and '.join(map(str, sizes[:2]))}; bring all "
                "images to one size with `prepare='imagenet'`"
            )
        return np.concatenate(sequences) if sequences else np.empty((0, *shape[1:]), np.uint8)

    def read(model: Model, images: Image, where: str) -> _Answers:
        scores = checked_scores(model, images, classes.outputs, where=where)
        predictions, confidences = best_classes(scores, classes)
        counted = scores if classes.subset is None else scores[:, classes.subset]
        ranked = counted.reshape(-1, frames, counted.shape[1])
        return _Answers(
            predictions.reshape(-1, frames),
            confidences.reshape(-1, frames),
            *_distances(ranked, perturbation.noise, difficulty),
        )

    starts = range(0, len(source.ids), together)
    answers: list[list[_Answers]] = []
    for batch in infer_with(models, draw, starts, read, threads=threads, where=cell.title):
        answers.append(batch)
        on_sequence(min(len(answers) * together, len(source.ids)))
    kept = [index for start in starts for index in readable[start]]
    return {
        model.name: _rows(model.name, cell, source, kept, [batch[place] for batch in answers])
        for place, model in enumerate(models)
    }


def _first_frames(source: SequenceSource) -> Image:
    for index in range(len(source.ids)):
        try:
            return source.frames(index)
        except UnreadableImage:
            continue
    raise BrittleError(f"none of the {len(source.ids)} sequences can be read")


def _distances(scores: Scores, noise: bool, difficulty: int) -> tuple[FloatArray, FloatArray]:
    """The top-5 and Zipf distance of each frame to the one it is compared with; NaN for frames that come first."""
    _, later = frame_pairs(scores.shape[1], noise=noise, difficulty=difficulty)
    found = []
    for by_pair, least in ((top5_by_pair, 5), (zipf_by_pair, 1)):
        out = np.full(scores.shape[:2], np.nan)
        if scores.shape[2] >= least:
            out[:, later] = by_pair(scores, noise=noise, difficulty=difficulty)
        found.append(out)
    return found[0], found[1]


def _rows(
    model: str, cell: Cell, source: SequenceSource, kept: Sequence[int], answers: Sequence[_Answers]
) -> pl.DataFrame:
    predictions, confidences, top5, zipf = (np.concatenate(part) for part in zip(*answers, strict=True))
    count, frames = predictions.shape
    labels = np.repeat(np.asarray(source.labels)[list(kept)].astype(np.int32), frames)
    return pl.DataFrame(
        {
            "sample": np.repeat([str(source.ids[index]) for index in kept], frames),
            "label": labels,
            "frame": np.tile(np.arange(frames, dtype=np.int32), count),
            "prediction": predictions.ravel(),
            "confidence": confidences.ravel(),
            "correct": predictions.ravel() == labels,
            "top5_distance": top5.ravel().astype(np.float32),
            "zipf_distance": zipf.ravel().astype(np.float32),
        }
    ).with_columns(
        pl.lit(model).alias("model"), pl.lit(cell.corruption).alias("corruption"), pl.lit(cell.severity).alias("level")
    )


@dataclass(frozen=True, eq=False)
class Steadiness:
    """Every sequence of one model: [sequence, perturbation] of flips, top-5 distances and Zipf distances."""

    model: str
    perturbations: tuple[str, ...]
    samples: tuple[str, ...]
    flips: FloatArray
    top5_distance: FloatArray
    zipf_distance: FloatArray


def steadiness(results: Results) -> list[Steadiness]:
    """The flips and distances of every sequence, for each model with sequences, on the perturbations that all have."""
    rows = results.sequences
    if rows is None:
        raise BrittleError("these results hold no sequences; `brittle run -b imagenet-p` or evaluate(…, 'imagenet-p')")
    table = rows.sort("model", "corruption", "sample", "frame").collect()
    difficulties = sorted(table["level"].unique())
    if len(difficulties) > 1:
        raise BrittleError(f"these results hold sequences of difficulties {difficulties}; load them apart")
    held = {
        model: set(part["corruption"].unique()) for (model,), part in table.partition_by("model", as_dict=True).items()
    }
    shared = set.intersection(*held.values())
    if not shared:
        raise BrittleError(f"no perturbation was run with all of the models {', '.join(held)}; run what is missing")
    order = [name for name in SequenceBenchmark().perturbations if name in shared]
    order += sorted(shared - set(order))
    found = []
    for model in sorted(held):
        columns = [_sequences_of(table, model, name, int(difficulties[0])) for name in order]
        samples = sorted(set.intersection(*(set(column) for column in columns)))
        if not samples:
            raise BrittleError(f"no sample of {model!r} has a sequence of all {len(order)} perturbations")
        values = np.array([[column[sample] for column in columns] for sample in samples])
        found.append(Steadiness(model, tuple(order), tuple(samples), *np.moveaxis(values, -1, 0)))
    return found


def _sequences_of(table: pl.DataFrame, model: str, perturbation: str, difficulty: int) -> dict[str, tuple[float, ...]]:
    """By sample: the share of flips, the mean top-5 distance and the mean Zipf distance of its sequence."""
    part = table.filter((pl.col("model") == model) & (pl.col("corruption") == perturbation))
    frames = int(part["frame"].max()) + 1  # type: ignore[arg-type]
    predictions = part["prediction"].to_numpy().reshape(-1, frames)
    earlier, later = frame_pairs(frames, noise=find_perturbation(perturbation).noise, difficulty=difficulty)
    flipped = (predictions[:, earlier] != predictions[:, later]).mean(axis=1)
    distances = [part[name].to_numpy().reshape(-1, frames)[:, later].mean(axis=1) for name in list(MEASURES)[1:]]
    samples = part["sample"].to_numpy().reshape(-1, frames)[:, 0]
    return dict(zip(map(str, samples), zip(flipped, *distances, strict=True), strict=True))


@dataclass(frozen=True)
class SequenceScores:
    """How steady one model is: the mean over perturbations of each measure, and the measure of each perturbation.

    `mfr` and `mt5d` divide by those of `reference`, a model of the same runs: AlexNet's were never published.
    """

    model: str
    flip_probability: Estimate
    top5_distance: Estimate
    zipf_distance: Estimate
    flip_probabilities: dict[str, Estimate]
    reference: str | None = None
    mfr: Estimate | None = None
    mt5d: Estimate | None = None


def sequence_scores(results: Results, *, reference: str | None = None) -> list[SequenceScores]:
    """Flip probability, top-5 and Zipf distance of every model, the steadiest first; with a reference mFR and mT5D.

    `reference` is a model of these results, such as AlexNet run on the same sequences. Intervals are over sequences,
    all perturbations of one image together.
    """
    measured = steadiness(results)
    by_name = {one.model: one for one in measured}
    if reference is not None and reference not in by_name:
        raise BrittleError(f"there are no sequences of the model {reference!r}; {did_you_mean(reference, by_name)}")
    base = None if reference is None else by_name[reference]
    scored = []
    for one in measured:
        by_perturbation = {
            name: bootstrap(one.flips[:, [place]], name="flip probability", bounded=True)
            for place, name in enumerate(one.perturbations)
        }
        means = {name: bootstrap(getattr(one, name), name=MEASURES[name], bounded=name == "flips",
                                 percent=name == "flips") for name in MEASURES}  # fmt: skip
        ratios = {} if base is None else {
            name: _ratio(one, base, field, name) for name, field in (("mFR", "flips"), ("mT5D", "top5_distance"))
        }  # fmt: skip
        scored.append(
            SequenceScores(
                one.model,
                means["flips"],
                means["top5_distance"],
                means["zipf_distance"],
                by_perturbation,
                reference,
                ratios.get("mFR"),
                ratios.get("mT5D"),
            )
        )
    return sorted(scored, key=lambda score: (score.flip_probability.value, score.model))


def _ratio(one: Steadiness, base: Steadiness, field: str, name: str) -> Estimate | None:
    """The mean over perturbations of a measure divided by that of the reference, over the samples that both have."""
    shared = [sample for sample in one.samples if sample in set(base.samples)]
    if not shared:
        raise BrittleError(f"{one.model!r} and {base.model!r} share no sequence, so {name} cannot be computed")
    theirs, ours = (getattr(who, field)[[who.samples.index(sample) for sample in shared]] for who in (base, one))
    if np.isnan(theirs).any() or np.isnan(ours).any() or (theirs.mean(axis=0) == 0).any():
        return None
    count = len(one.perturbations)

    def statistic(means: FloatArray) -> FloatArray:
        return mean_ratio(means[..., :count], means[..., count:], f"{name} of the reference")

    try:
        return bootstrap(np.hstack([ours, theirs]), statistic, name=name, bounded=False)
    except BrittleError:  # in some resample the reference never flips
        return Estimate(name, float(statistic(np.hstack([ours, theirs]).mean(axis=0))))


def sequence_tables(results: Results, *, reference: str | None = None) -> list[ScoreTable]:
    """What ImageNet-P reports, as tables: one row for each model, and the flip probability of each perturbation."""
    scores = sequence_scores(results, reference=reference)
    difficulty = f"difficulty {results.sequences.select(pl.col('level').first()).collect().item():g}"  # type: ignore[union-attr]
    columns = [Column("model"), Column("flip probability", "lower")]
    fields = ["flip_probability"]
    if reference is not None:
        columns += [Column("mFR", "lower"), Column("mT5D", "lower")]
        fields += ["mfr", "mt5d"]
    columns += [Column("top-5 distance", "lower", digits=2), Column("Zipf distance", "lower", digits=3)]
    fields += ["top5_distance", "zipf_distance"]
    notes = [f"mFR and mT5D are divided by those of {reference}."] if reference else []
    notes += [] if reference else ["Without a reference model there is no mFR: AlexNet's rates were never published."]
    rows: list[tuple[Value, ...]] = [(one.model, *(getattr(one, field) for field in fields)) for one in scores]
    title = f"Steadiness along sequences: mean over {len(scores[0].flip_probabilities)} perturbations, {difficulty}"
    overall = ScoreTable("sequences", title, tuple(columns), tuple(rows), OVER_SEQUENCES, tuple(notes))
    names = list(scores[0].flip_probabilities)
    lines: list[tuple[Value, ...]] = [
        (name.rpartition("/")[2], *(one.flip_probabilities[name] for one in scores)) for name in names
    ]
    heads = (Column("perturbation"), *(Column(one.model, "lower") for one in scores))
    title = f"Flip probability in percent under each perturbation, {difficulty}"
    return [overall, ScoreTable("sequences-by-perturbation", title, heads, tuple(lines), OVER_SEQUENCES, (), "row")]
