"""Streams: cells shown batch after batch to models that may adapt, and the error over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._io import is_complete, make_folder, make_way
from brittle._parallel import cores, prefetch, torch_threads
from brittle._types import FloatArray, Image, Progress
from brittle.benchmarks import Batch, Cell, StreamBenchmark
from brittle.datasets.dataset import Dataset
from brittle.evaluation.cell import Classes, Drawn, predict
from brittle.evaluation.inputs import decode
from brittle.evaluation.records import Call, CallbackList, started_run
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.row_files import STREAMS
from brittle.evaluation.store import Store, model_folder
from brittle.evaluation.tables.formats import Column, ScoreTable, Value
from brittle.metrics import Estimate, bootstrap
from brittle.models import reset_model
from brittle.models.model import Model

OVER_IMAGES = "95 % intervals over images, for the batches that were shown"
WINDOWS = 20
"""In so many equal parts a stream with a single segment is drawn."""


def evaluate_stream(
    models: Sequence[Model],
    data: Dataset,
    stream: StreamBenchmark,
    folder: str | Path,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    callbacks: CallbackList | None = None,
) -> Results:
    """Show models the batches of a stream, one after the other, and keep the prediction for every image.

    What a model was shown before counts, so a stream is one unit of work for each model: it is shown from its start, or
    not at all if the folder holds it. Every model is reset at the start, and at each segment if the stream says so.
    """
    callbacks = callbacks or CallbackList()
    store = Store(folder)
    store.claim_for(data)
    for model in models:
        store.keep_model(model, None)
    _keep_recipe(store, stream)
    missing = [model for model in models if not store.has_rows(_path(store, model, stream))]
    call = Call(engine="local", batch_size=stream.batch_size, models={model.name: model.key for model in models})
    call.benchmark, call.seed = stream.name, stream.benchmark.seed
    cells = stream.benchmark.cells()
    callbacks.start(started_run(folder, data.name, len(data), call, cells if missing else []))
    if not missing:
        return load_results(folder)
    with store.recorded(call):
        decoded = decode(data, store.folder)
        assert data.labels is not None
        ids = [data.ids[i] for i in decoded.kept]
        shown = _Shown(
            stream, Drawn(decoded.images, ids, stream.benchmark), data.labels[decoded.kept], Classes.of(data)
        )
        call.unreadable = len(decoded.skipped)
        for model, predicted in zip(missing, shown.to(missing, threads, progress), strict=True):
            rows = shown.rows(model, predicted)
            store.write_rows(_path(store, model, stream), rows)
            accuracy = float(rows["correct"].mean() or 0.0)  # type: ignore[arg-type]
            callbacks.call("on_cell_end", model.name, Cell(stream.name), accuracy, len(rows))
        call.cells += len(cells)
    return load_results(folder)


def _path(store: Store, model: Model, stream: StreamBenchmark) -> Path:
    return store.folder / STREAMS / model_folder(model) / f"{stream.file_name}.parquet"


def _keep_recipe(store: Store, stream: StreamBenchmark) -> None:
    path = store.folder / STREAMS / f"{stream.file_name}.toml"
    if not is_complete(path):
        make_folder(path.parent)
        make_way(path)
        stream.save(path)


Answer = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Predictions and confidences."""


@dataclass(frozen=True, eq=False)
class _Shown:
    """A stream of one dataset."""

    stream: StreamBenchmark
    drawn: Drawn
    labels: NDArray[np.integer]
    classes: Classes

    @cached_property
    def cells(self) -> list[Cell]:
        return self.stream.benchmark.cells()

    @cached_property
    def batches(self) -> list[Batch]:
        return self.stream.batches(self.labels)

    def to(self, models: Sequence[Model], threads: int | None, progress: Progress | None) -> list[Answer]:
        """What each model answers, in the order of the stream, while threads draw the next batches."""
        answers: list[list[Answer]] = [[] for _ in models]
        titles = [cell.title for cell in self.stream.segments()] or [self.stream.name]
        total, done, segment = len(titles) * len(self.labels), 0, -1
        if self.stream.order == "mixed":
            total *= len(self.cells)
        with torch_threads(threads):
            for batch, images in zip(self.batches, prefetch(self._draw, self.batches, threads or cores()), strict=True):
                if segment < 0 or (self.stream.reset == "segment" and batch.segment != segment):
                    for model in models:
                        reset_model(model)
                segment = batch.segment
                where = f"step {len(answers[0]) + 1} of the stream {self.stream.name!r}"
                for model, known in zip(models, answers, strict=True):
                    predicted = predict(model, images, self.classes, where=where)
                    known.append((predicted[0], predicted[1]))
                done += len(images)
                if progress is not None:
                    progress(titles[segment], done, total)
        for model in models:
            reset_model(model)
        return [(np.concatenate([p for p, _ in known]), np.concatenate([c for _, c in known])) for known in answers]

    def _draw(self, batch: Batch) -> Image:
        """The images of a batch in their order, each under the corruption of its cell."""
        images = np.array(self.drawn.images[batch.images])
        for place in np.unique(batch.cells):
            chosen = np.flatnonzero(batch.cells == place)
            ids, cell = [self.drawn.ids[i] for i in batch.images[chosen]], self.cells[place]
            images[chosen] = self.stream.benchmark.apply(images[chosen], cell.corruption, cell.level, ids)
        return images

    def rows(self, model: Model, answer: Answer) -> pl.DataFrame:
        """A row for each image that was shown."""
        sizes = [len(batch.images) for batch in self.batches]
        images = np.concatenate([batch.images for batch in self.batches])
        shown = np.concatenate([batch.cells for batch in self.batches])
        labels, (predictions, confidences) = self.labels[images].astype(np.int32), answer
        return pl.DataFrame(
            {
                "stream": np.full(len(images), self.stream.file_name),
                "step": np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
                "segment": np.repeat(np.array([batch.segment for batch in self.batches], np.int32), sizes),
                "corruption": np.array([cell.corruption for cell in self.cells])[shown],
                "level": np.array([cell.severity for cell in self.cells])[shown],
                "sample": np.array(list(map(str, self.drawn.ids)))[images],
                "label": labels,
                "prediction": predictions,
                "confidence": confidences,
                "correct": predictions == labels,
            }
        ).with_columns(pl.lit(model.name).alias("model"))


@dataclass(frozen=True)
class Window:
    """A stretch of a stream: what was shown, after how many images it ends, and the error."""

    title: str
    end: int
    error: Estimate


@dataclass(frozen=True)
class StreamScores:
    """The error of one model on one stream: in all, under each corruption in the order of the stream, and over time."""

    model: str
    stream: str
    error: Estimate
    corruptions: dict[str, Estimate]
    over_time: tuple[Window, ...]


def stream_names(results: Results) -> dict[str, str]:
    """The streams of some results, by the names of their files, and what each is called."""
    if results.streams is None:
        return {}
    files = results.streams.select(pl.col("stream").cast(pl.String).unique().sort()).collect()["stream"]
    return {name: name.rpartition("-")[0] for name in files}


def stream_scores(results: Results, stream: str | None = None) -> list[StreamScores]:
    """The errors of every model on every stream of some results, or on one, the lowest first.

    The error of a stream is the mean over its segments, or over the cells of a mixed one. Intervals are over images,
    all that was shown of one image together; they take the batches as given, so what another order would do to a
    model that adapts is not in them.
    """
    rows = results.streams
    if rows is None:
        raise BrittleError(
            "these results hold no stream; `brittle run -b cifar10-c-continual` or evaluate(…, 'cifar10-c-continual')"
        )
    table, names = rows.sort("stream", "model", "step", maintain_order=True).collect(), stream_names(results)
    if stream is not None and stream not in names and stream not in names.values():
        raise BrittleError(f"there is no stream {stream!r}; {did_you_mean(stream, sorted(names.values()))}")
    scored = []
    for (name, model), part in table.partition_by("stream", "model", as_dict=True, maintain_order=True).items():
        if stream is None or stream in (name, names[str(name)]):
            scored.append(_score(str(model), str(name), part))
    return sorted(scored, key=lambda one: (one.stream, one.error.value, one.model))


def _score(model: str, stream: str, rows: pl.DataFrame) -> StreamScores:
    titles = [
        f"{corruption.rpartition('/')[2]} {level:g}" for corruption, level in rows.select("corruption", "level").rows()
    ]
    names = rows["corruption"].to_numpy()
    visit = np.unique(
        np.array([f"{segment:06d} {title}" for segment, title in zip(rows["segment"], titles, strict=True)]),
        return_inverse=True,
    )[1]
    wrong = ~rows["correct"].to_numpy()
    table = _by_visit(rows["sample"].to_numpy(), visit, wrong)
    order = list(dict.fromkeys(names.tolist()))
    by_corruption = {
        one: bootstrap(table[:, np.unique(visit[names == one])], name="error", bounded=True) for one in order
    }
    return StreamScores(
        model,
        stream,
        bootstrap(table, name="mean error", bounded=True),
        by_corruption,
        tuple(_windows(rows["segment"].to_numpy(), titles, wrong)),
    )


def _by_visit(samples: NDArray[np.str_], visit: NDArray[np.int64], wrong: NDArray[np.bool_]) -> FloatArray:
    """Whether each sample was wrong in each visit: [sample, visit]."""
    known, place = np.unique(samples, return_inverse=True)
    table = np.full((len(known), int(visit.max()) + 1), np.nan)
    table[place, visit] = wrong
    if np.isnan(table).any():
        raise BrittleError("this stream does not show every image in each of its segments; run it again")
    return table


def _windows(segments: NDArray[np.int32], titles: Sequence[str], wrong: NDArray[np.bool_]) -> list[Window]:
    """The error in each segment, or in equal parts of a single one."""
    if len(np.unique(segments)) > 1:
        ends = [*np.flatnonzero(np.diff(segments)) + 1, len(segments)]
        named = [titles[end - 1] for end in ends]
    else:
        ends = [len(segments) * part // WINDOWS for part in range(1, WINDOWS + 1)] if len(segments) >= WINDOWS else [
            len(segments)
        ]  # fmt: skip
        named = [f"part {part} of {len(ends)}" for part in range(1, len(ends) + 1)]
    made, start = [], 0
    for title, end in zip(named, map(int, ends), strict=True):
        made.append(Window(title, end, bootstrap(wrong[start:end, None].astype(float), name="error", bounded=True)))
        start = end
    return made


def stream_tables(results: Results, stream: str | None = None) -> list[ScoreTable]:
    """For each stream the mean error of every model, and the error under each corruption in the order of the stream."""
    tables: list[ScoreTable] = []
    scores = stream_scores(results, stream)
    for name in dict.fromkeys(one.stream for one in scores):
        chosen = [one for one in scores if one.stream == name]
        short = name.rpartition("-")[0]
        heads = (Column("corruption, in order of time"), *(Column(one.model, "lower") for one in chosen))
        rows: list[tuple[Value, ...]] = [
            (corruption.rpartition("/")[2], *(one.corruptions.get(corruption) for one in chosen))
            for corruption in chosen[0].corruptions
        ]
        rows.append(("mean", *(one.error for one in chosen)))
        tables.append(ScoreTable(f"stream-{short}", f"Error in percent on the stream {short}", heads, tuple(rows),
                                 OVER_IMAGES, (), "row"))  # fmt: skip
    return tables
