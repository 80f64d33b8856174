"""Run models through a benchmark: find the cells that are missing, have them computed here or on Ray, write each."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, RunError
from brittle._optional import is_taken, run_file
from brittle._parallel import check_engine, check_threads, torch_threads
from brittle._types import Image, Progress
from brittle.benchmarks import Benchmark, Cell, SequenceBenchmark, StreamBenchmark
from brittle.corruptions import get_corruption, list_corruptions
from brittle.datasets.dataset import Dataset
from brittle.evaluation.cell import (
    CellRows,
    Classes,
    Drawn,
    LabelledPredictions,
    common_batch_size,
    infer_labelled,
    joined,
    plan,
)
from brittle.evaluation.inputs import (
    as_benchmark,
    as_dataset,
    as_models,
    as_sequence_benchmark,
    as_stored_sequences,
    as_stored_set,
    as_stream_benchmark,
    check,
    decode,
    fitted,
    image_shape,
    with_names_of,
)
from brittle.evaluation.published_set import evaluate_stored
from brittle.evaluation.records import Call, Callback, CallbackList, started_run
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.sequences import evaluate_sequences
from brittle.evaluation.store import Store, model_folder
from brittle.evaluation.streams import evaluate_stream
from brittle.models import AdaptiveModel, reset_model
from brittle.models.model import Model

Task = tuple[Cell, Sequence[int]]
"""A cell, and the numbers of the models for which it is missing."""

Done = Iterator[tuple[Task, list[LabelledPredictions]]]


class Tick(Protocol):
    """Called after each batch, or each cell of a cluster with the address of its node."""

    def __call__(self, what: str, images: int, node: str = "") -> None: ...


@dataclass(frozen=True)
class Job:
    """All that the cells of a run have in common."""

    source: Drawn
    labels: NDArray[np.integer[Any]]
    classes: Classes
    models: Sequence[Model]
    batch_size: int
    threads: int | None
    data: str

    def batch(self, place: tuple[Cell, int]) -> tuple[Image, NDArray[np.integer[Any]]]:
        """The images of a cell from a start on, and their labels."""
        cell, start = place
        return self.source.batch(cell, start, self.batch_size), self.labels[start : start + self.batch_size]


def local(job: Job, tasks: Sequence[Task], tick: Tick) -> Done:
    """One cell after the other, though the batches of the next are prefetched when processors are idle.

    Models that adapt forget all that they were shown before each cell, so that a cell does not depend on others.
    """
    adapts = any(isinstance(model, AdaptiveModel) for model in job.models)
    for (missing, _), group in groupby(tasks, key=lambda task: (list(task[1]), task[0] if adapts else None)):
        cells, starts = [cell for cell, _ in group], range(0, len(job.source), job.batch_size)
        for model in job.models:
            reset_model(model)
        batches = infer_labelled(
            [job.models[i] for i in missing],
            job.batch,
            list(product(cells, starts)),
            job.classes,
            threads=job.threads,
            where=lambda place: place[0].of(job.data),
        )
        for cell in cells:
            seen: list[list[LabelledPredictions]] = []
            for predicted in islice(batches, len(starts)):
                seen.append(predicted)
                tick(cell.title, len(predicted[0][0]))
            yield (cell, missing), [joined(predicted) for predicted in zip(*seen, strict=True)]


def find_engine(name: str, address: str | None) -> Callable[[Job, Sequence[Task], Tick], Done]:
    """An engine by its name."""
    check_engine(name, address)
    if name == "local":
        return local

    def run(job: Job, tasks: Sequence[Task], tick: Tick) -> Any:
        return on_ray(job, tasks, tick, address)

    return run


def on_ray(job: Job, tasks: Sequence[Task], tick: Tick, address: str | None) -> Done:
    """The cells in the order in which they come back; nothing but predictions travels.

    Without an address a cluster of this machine is started, and stopped at the end. A task takes one processor, and
    one GPU if a model wants one. Errors of a model are raised here; only the loss of a worker is retried.
    """
    from brittle._ray import map_on_ray, ray_cluster

    wants_gpu = any(str(getattr(model, "device", "cpu")).startswith("cuda") for model in job.models)
    with ray_cluster(address) as ray:
        shared = ray.put(replace(job, threads=1))
        own = _own_corruptions(job.source.benchmark)
        work = [((cell, missing), (shared, own, cell, list(missing))) for cell, missing in tasks]
        for done in map_on_ray(ray, _cell, work, gpu=wants_gpu, title=lambda task: task[0].title):
            (cell, missing), predicted, node = done
            tick(f"{cell.title}{done.where}", len(job.source), node)
            yield (cell, missing), predicted


def _own_corruptions(benchmark: Benchmark | None) -> dict[str, str]:
    """The ids of the corruptions of a user, each with the Python file that registers it."""
    entries = benchmark.entries if benchmark is not None else ()
    own = {entry.id: entry.corruption.function for entry in entries if not entry.corruption.bundled}
    for name, function in own.items():
        if function.__module__ == "__main__":
            raise BrittleError(
                f"{name} is defined in the program that was started, which the workers of Ray do not run; define it in "
                "a Python file of its own, and import that"
            )
    return {name: str(Path(inspect.getfile(function)).resolve()) for name, function in own.items()}


def _cell(job: Job, own: dict[str, str], cell: Cell, missing: list[int]) -> list[LabelledPredictions]:
    """One cell on a worker, which must draw it as the driver would: its key covers the code of a user's corruption."""
    known = {corruption.id for corruption in list_corruptions()}
    for file, name in sorted({file: name for name, file in own.items() if name not in known}.items()):
        if not Path(file).is_file():
            raise RunError(
                f"a Ray node has no file {file!r}, which defines {name}; have the same file at the same place on every "
                "node; finished results are kept, the same command resumes"
            )
        run_file(file, None if is_taken(Path(file)) else Path(file).stem)
    benchmark = job.source.benchmark
    if benchmark is not None and cell not in plan(benchmark):
        raise RunError(
            f"a Ray node has other code of {cell.corruption} than this run; have the same file on every node; finished "
            "results are kept, the same command resumes"
        )
    [(_, predicted)] = local(job, [(cell, missing)], lambda *_: None)
    return predicted


def evaluate(
    model: Any,
    data: Any,
    benchmark: str | Path | Benchmark | SequenceBenchmark | StreamBenchmark | None = None,
    folder: str | Path | None = None,
    *,
    batch_size: int | None = None,
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    progress: Progress | Literal["auto"] | None = "auto",
    overwrite: bool = False,
    clean: Any = None,
    callbacks: Sequence[Callback | str] = (),
) -> Results:
    """Run one or more models through a benchmark and keep every prediction.

    >>> import brittle
    >>> data = brittle.load_dataset("demo").limited(50)
    >>> results = brittle.evaluate("demo:standard", data)       # clean images alone
    >>> results.models, len(results.rows.collect())
    (['demo-standard'], 50)

    `brittle.evaluate(network, "photos/", "imagenet-c", "run")` is enough for a `torch.nn.Module` and a folder of
    images. Cells that a folder holds already are not computed again, so an interrupted run is resumed, and another
    model or another recipe on the same data adds only what is missing. The rows do not depend on threads or engine,
    nor on the batch size, except for the last digits of confidences: networks add in another order then. Images that
    cannot be read are left out of every cell and counted. An error of a model's own code is raised as a `ModelError`
    that names the cell; the cells before it are kept.

    Args:
        model: a name such as "demo:standard", a `torch.nn.Module` (shown images normalised as those of ImageNet;
            `brittle.wrap_model` sets another mean, std and size), a function that takes uint8 batches N×H×W×3 and gives
            scores, or a model; or a list of them, or a dictionary by their names. They share the corrupted
            batches.
        data: a name such as "demo" or "cifar10:PATH", a folder with a folder for each class, (images, labels) as arrays
            or tensors, a torch or Hugging Face dataset, or a `Dataset`. Photographs of different sizes are
            brought to one, see `fitted`. "imagenet-c:PATH", "cifar-c:PATH", "cns-bench:PATH" … or a `StoredSet` are
            published corrupted images, all of whose cells are run; there is no benchmark then.
        benchmark: a name such as "imagenet-c", the path of a recipe, or a `Benchmark`; None runs the clean images
            alone, as for a natural shift. "imagenet-p" and "cifar10-p", or a `SequenceBenchmark`, show sequences
            frame by frame; `results.sequence_scores()` tells how often predictions flip. "imagenet-p:PATH" and
            "cifar10-p:PATH" as `data` are the published sequences. "cifar10-c-continual" and other streams, or a
            `StreamBenchmark`, show cells batch after batch in one order, to models that adapt;
            `results.stream_scores()` tells the error over time.
        folder: where the results go. Without one the rows stay in memory, and the clean images, which a report shows,
            in a temporary folder that is removed with the results.
        batch_size: images shown to a model at once, kept for later calls; by default see `common_batch_size`.
        threads: number of threads that corrupt images and compute; by default two for each processor.
        engine: "local", or "ray" to run cells in parallel on a cluster at `address` (by default this machine).
        address: address of the Ray cluster.
        progress: called after each batch; by default a bar in a terminal or a notebook, with None nothing.
        overwrite: remove the run that the folder holds, and start from scratch; other files in the folder stay.
        clean: the clean images that belong to published corrupted ones, as `data`; without them there is no clean
            accuracy.
        callbacks: objects with methods of `Callback`, which are called after every cell, or names of loggers such as
            "tensorboard:FOLDER", "mlflow:URI" or "wandb:PROJECT".
    """
    followers = CallbackList(callbacks)
    models, stored = as_models(model), as_stored_set(data)
    sequences, published = as_sequence_benchmark(benchmark, data), as_stored_sequences(data)
    stream = as_stream_benchmark(benchmark) if sequences is None else None
    recipe = as_benchmark(benchmark) if sequences is None and stream is None else None
    if (sequences is not None or stream is not None) and engine != "local":
        what = "sequences" if stream is None else "streams"
        raise BrittleError(f"{what} are run here, by the local engine; got {engine!r}")
    if stream is not None and stored is not None:
        raise BrittleError(f"a stream draws its pictures from clean ones, and {stored.name!r} holds corrupted ones")
    if stream is not None and batch_size is not None:
        stream = stream.cut(batch_size=batch_size)
    if stored is not None and recipe is not None:
        raise BrittleError(f"{stored.name!r} holds corrupted pictures already; leave the benchmark out")
    if stored is not None and engine != "local":
        raise BrittleError(f"published pictures are run here, by the local engine; got {engine!r}")
    if stored is None and clean is not None:
        raise BrittleError(
            "clean images belong to published corrupted ones, such as imagenet-c:PATH, and these are none"
        )
    check_threads(threads)
    run: Callable[..., Results]
    if published is not None and sequences is not None:
        run = partial(
            evaluate_sequences,
            models,
            published,
            sequences,
            batch_size=batch_size,
            threads=threads,
            overwrite=overwrite,
            callbacks=followers,
        )
    elif stored is not None:
        run = partial(
            evaluate_stored,
            models,
            stored,
            clean=None if clean is None else as_dataset(clean),
            batch_size=batch_size,
            threads=threads,
            overwrite=overwrite,
            callbacks=followers,
        )
    else:
        dataset = as_dataset(data)
        check(models, dataset, batch_size)
        options = RunOptions(engine, address, batch_size, threads, overwrite, followers)
        run = partial(_evaluate, models, dataset, recipe, options)
        if sequences is not None:
            run = partial(_clean_and_sequences, models, dataset, sequences, options)
        if stream is not None:
            run = partial(_clean_and_stream, models, dataset, stream, options)
    shown: AbstractContextManager[Progress | None] = _shown_progress() if progress == "auto" else nullcontext(progress)
    place = Path(tempfile.mkdtemp(prefix="brittle-") if folder is None else folder)
    try:
        with shown as on_progress:
            results = run(folder=place, progress=on_progress)
        if folder is None:  # frames made from the rows may outlive the folder
            frames = None if results.sequences is None else results.sequences.collect().lazy()
            steps = None if results.streams is None else results.streams.collect().lazy()
            results = replace(results, rows=results.rows.collect().lazy(), sequences=frames, streams=steps)
    except BaseException as error:
        followers.call("on_exception", error)
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)
        raise
    if folder is None:
        weakref.finalize(results, _remove, place, os.getpid())
    followers.call("on_run_end", results)
    return results


def _clean_and_sequences(
    models: Sequence[Model],
    dataset: Dataset,
    benchmark: SequenceBenchmark,
    options: RunOptions,
    *,
    folder: Path,
    progress: Progress | None,
) -> Results:
    """The clean images, then the sequences made from them."""
    dataset = fitted(dataset, models, None if options.overwrite else folder)
    models = with_names_of(models, dataset)
    _evaluate(models, dataset, None, options, folder=folder, progress=progress)
    return evaluate_sequences(
        models,
        dataset,
        benchmark,
        folder,
        batch_size=options.batch_size,
        threads=options.threads,
        progress=progress,
        callbacks=options.callbacks,
    )


def _clean_and_stream(
    models: Sequence[Model],
    dataset: Dataset,
    stream: StreamBenchmark,
    options: RunOptions,
    *,
    folder: Path,
    progress: Progress | None,
) -> Results:
    """The clean images, then the stream made from them; both in batches of the same size."""
    dataset = fitted(dataset, models, None if options.overwrite else folder)
    models = with_names_of(models, dataset)
    options = replace(options, batch_size=stream.batch_size)
    _evaluate(models, dataset, None, options, folder=folder, progress=progress)
    return evaluate_stream(
        models, dataset, stream, folder, threads=options.threads, progress=progress, callbacks=options.callbacks
    )


def _remove(folder: Path, process: int) -> None:
    """Remove a temporary folder, but not at the end of a fork of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class RunOptions:
    """How cells are computed and written, as `evaluate` takes it; rows do not depend on it."""

    engine: str
    address: str | None
    batch_size: int | None
    threads: int | None
    overwrite: bool
    callbacks: CallbackList


def _evaluate(
    models: Sequence[Model],
    dataset: Dataset,
    benchmark: Benchmark | None,
    options: RunOptions,
    folder: Path,
    progress: Progress | None,
) -> Results:
    compute = find_engine(options.engine, options.address)
    dataset = fitted(dataset, models, None if options.overwrite else folder)
    models = with_names_of(models, dataset)
    store = Store(folder)
    store.claim_for(dataset, overwrite=options.overwrite)
    if benchmark is not None:
        store.keep_recipe(benchmark)
    size = options.batch_size or next(filter(None, map(store.batch_size, models)), None)
    for model in models:
        store.keep_model(model, options.batch_size)
    tasks: list[Task] = []
    for cell in plan(benchmark):
        missing: Sequence[int] = [i for i, model in enumerate(models) if not store.has(model_folder(model), cell)]
        if missing:
            tasks.append((cell, missing))
    if size is None and tasks:
        with torch_threads(options.threads):
            size = common_batch_size(models, image_shape(dataset), len(dataset))
    keys = {model.name: model.key for model in models}
    call = Call(engine=options.engine, batch_size=size, models=keys, notes=tuple(dataset.notes))
    if benchmark is not None:
        call.benchmark, call.recipe, call.seed = benchmark.name, benchmark.hash, benchmark.seed
    options.callbacks.start(started_run(folder, dataset.name, len(dataset), call, [cell for cell, _ in tasks]))
    if not tasks:
        return load_results(folder)
    assert size is not None
    with store.recorded(call):
        decoded = decode(dataset, store.folder, progress and (lambda done, total: progress("reading", done, total)))
        ids = [dataset.ids[i] for i in decoded.kept]
        assert dataset.labels is not None
        labels, samples = dataset.labels[decoded.kept], list(map(str, ids))
        drawn, classes = Drawn(decoded.images, ids, benchmark), Classes.of(dataset)
        job = Job(drawn, labels, classes, models, size, options.threads, dataset.name)
        check_repeatable(drawn, [cell for cell, _ in tasks])
        height, width = decoded.images.shape[1:3]
        call.unreadable, call.size = len(decoded.skipped), (height, width)
        done, total = 0, len(tasks) * len(ids)

        def tick(what: str, images: int, node: str = "") -> None:
            nonlocal done
            done += images
            if node:
                call.nodes[node] = call.nodes.get(node, 0) + 1
            if progress is not None:
                progress(what, done, total)

        for (cell, missing), predicted in compute(job, tasks, tick):
            for i, answers in zip(missing, predicted, strict=True):
                rows = CellRows(samples, labels, *answers)
                store.write(models[i], cell, rows)
                options.callbacks.call("on_cell_end", models[i].name, cell, rows.accuracy, len(labels))
            call.cells += 1
    return load_results(folder)


def check_repeatable(drawn: Drawn, cells: Sequence[Cell]) -> None:
    """Raise if a user's corruption draws other pixels for the same image when it is called again."""
    tried: set[str] = set()
    for cell in cells:
        if cell.is_clean or cell.corruption in tried or get_corruption(cell.corruption).bundled:
            continue
        tried.add(cell.corruption)
        first, second = (drawn.batch(cell, 0, 1) for _ in range(2))
        if not np.array_equal(first, second):
            raise BrittleError(
                f"the corruption {cell.corruption!r} gives other pixels when it is called again with the same image; "
                "take all random numbers from its argument rng, so that results can be repeated"
            )


@contextmanager
def _shown_progress() -> Iterator[Progress]:
    """A bar in a terminal, or in a notebook with ipywidgets, and nothing where what is printed goes to a file."""
    from importlib.util import find_spec

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    screen = Console(stderr=True)
    visible = screen.is_terminal or (screen.is_jupyter and find_spec("ipywidgets") is not None)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=screen, disable=not visible, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield show
