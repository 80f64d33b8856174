"""Callbacks: when they are called, what an error of one does, and what the real loggers hold afterwards."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import brittle
from brittle import BrittleError, Results
from brittle._errors import CallbackFailed
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.datasets import write_arrays
from brittle.evaluation import Callback, StartedRun, evaluate, load_callback, load_results, scores
from brittle.evaluation.loggers import MLflowCallback, TensorBoardCallback, WandbCallback
from tests.errors import naming

RECIPE = Benchmark("two", (Entry("contrast", (1, 3)), Entry("brightness", (2.5,))))
DATA = brittle.load_dataset("demo").subset(range(0, 1000, 50))
MODELS = ["demo:standard", "demo:augmix"]


class Recorder(Callback):
    """Notes every call, and that the cell's file is there when it is told of the cell."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[tuple[str, Any]] = []
        self.fails, self.files = fails, 0

    def note(self, name: str, about: Any) -> None:
        self.calls.append((name, about))
        if self.fails == name:
            raise OSError("no space left")

    def on_run_start(self, run: StartedRun) -> None:
        self.run = run
        self.note("start", run)

    def on_cell_end(self, model: str, cell: Cell, accuracy: float, images: int) -> None:
        self.files = len(list(self.run.folder.glob("cells/*/*.parquet")))
        self.note("cell", (model, cell, accuracy, images))
        assert self.files == sum(name == "cell" for name, _ in self.calls) or self.fails == "resumed"

    def on_run_end(self, results: Results) -> None:
        self.note("end", results)

    def on_exception(self, error: BaseException) -> None:
        self.note("exception", error)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def test_each_cell_is_told_after_it_is_stored_with_its_accuracy(tmp_path: Path) -> None:
    recorder = Recorder()
    results = evaluate(MODELS, DATA, RECIPE, tmp_path / "run", callbacks=[recorder], threads=1)
    assert recorder.names == ["start", *["cell"] * 8, "end"]
    run = recorder.calls[0][1]
    assert run.models == ("demo-standard", "demo-augmix")
    assert len(run.cells) == 4
    assert {"data": "demo", "images": 20, "benchmark": "two", "engine": "local"}.items() <= run.settings.items()
    expected = {tuple(row[:3]): row[4] for row in results.accuracy().rows()}
    cells = [call for name, call in recorder.calls if name == "cell"]
    reported = {(model, cell.corruption, cell.level): (right, images) for model, cell, right, images in cells}
    assert reported == {place: (accuracy, 20) for place, accuracy in expected.items()}
    assert recorder.calls[-1][1].models == results.models


def test_a_resumed_run_tells_only_of_new_cells(tmp_path: Path) -> None:
    evaluate(MODELS[0], DATA, RECIPE, tmp_path / "run", threads=1)
    recorder = Recorder("resumed")
    evaluate(MODELS, DATA, RECIPE, tmp_path / "run", callbacks=[recorder], threads=1)
    assert {call[0] for name, call in recorder.calls if name == "cell"} == {"demo-augmix"}
    assert recorder.names == ["start", *["cell"] * 4, "end"]
    again = Recorder("resumed")
    evaluate(MODELS, DATA, RECIPE, tmp_path / "run", callbacks=[again], threads=1)
    assert again.names == ["start", "end"]
    assert again.run.cells == ()
    assert again.calls[-1][1].models == ["demo-augmix", "demo-standard"], "all results, those of earlier calls too"


def test_published_pictures_and_runs_without_a_folder_are_followed(tmp_path: Path) -> None:
    recorder = Recorder("resumed")
    results = evaluate(MODELS[0], DATA, RECIPE, callbacks=[recorder], threads=1)
    assert recorder.names == ["start", *["cell"] * 4, "end"]
    assert recorder.calls[-1][1] is results
    whole = brittle.load_benchmark("cifar10-c")
    recipe = replace(whole, entries=whole.entries[:2])
    images = np.stack([DATA.image(i) for i in range(len(DATA))])
    write_arrays(images, tmp_path / "set", recipe, labels=DATA.labels, workers=1)
    stored = Recorder()
    evaluate(MODELS[0], f"cifar-c:{tmp_path / 'set'}", folder=tmp_path / "run", callbacks=[stored], threads=1)
    assert stored.names == ["start", *["cell"] * 10, "end"]
    reported = sorted((call[1].place, call[2]) for name, call in stored.calls if name == "cell")
    rows = load_results(tmp_path / "run").accuracy().rows()
    assert reported == sorted(((corruption, level), accuracy) for _, corruption, level, _, accuracy in rows)


def test_an_error_in_a_callback_is_named_and_loses_nothing(tmp_path: Path) -> None:
    bad, good = Recorder("cell"), Recorder()
    with pytest.warns(CallbackFailed, match=naming("Recorder", "on_cell_end", "no space left")) as warned:
        results = evaluate(MODELS[0], DATA, RECIPE, tmp_path / "run", callbacks=[bad, good], threads=1)
    assert len(warned) == 1
    assert bad.names == ["start", "cell"]
    assert good.names == ["start", *["cell"] * 4, "end"]
    assert len(results.cells) == 4
    with pytest.warns(CallbackFailed, match=naming("Recorder", "on_run_end")):
        evaluate(MODELS[0], DATA, RECIPE, tmp_path / "run", callbacks=[Recorder("end")], threads=1)


def test_a_callback_that_cannot_start_stops_before_anything_is_computed(tmp_path: Path) -> None:
    first, second = Recorder(), Recorder("start")
    with pytest.raises(BrittleError, match=naming("Recorder", "on_run_start", "no space left")):
        evaluate(MODELS[0], DATA, RECIPE, tmp_path / "run", callbacks=[first, second], threads=1)
    assert first.names == ["start", "exception"]
    assert not list((tmp_path / "run").glob("cells/*/*.parquet"))


def test_an_error_of_the_model_is_told(tmp_path: Path) -> None:
    def broken(images: np.ndarray) -> np.ndarray:  # noqa: ARG001
        raise RuntimeError("out of memory")

    recorder = Recorder()
    with pytest.raises(RuntimeError, match=naming("'broken'", "'demo'", "RuntimeError: out of memory")):
        evaluate(broken, DATA, RECIPE, tmp_path / "run", callbacks=[recorder], threads=1, batch_size=4)
    assert recorder.names == ["start", "exception"]


def test_a_callback_needs_only_the_methods_it_has() -> None:
    class Accuracies:
        def __init__(self) -> None:
            self.seen: list[float] = []

        def on_cell_end(self, model: str, cell: Cell, accuracy: float, images: int) -> None:  # noqa: ARG002
            self.seen.append(accuracy)

    callback = Accuracies()
    evaluate(MODELS[0], DATA, callbacks=[callback], threads=1)  # type: ignore[list-item]
    assert len(callback.seen) == 1


@pytest.mark.parametrize(
    ("callbacks", "named"),
    [
        ([3], ["3", "on_cell_end"]),
        ([Recorder], ["Recorder", "on_cell_end"]),
        (["tensorbord:x"], ["tensorbord:x", "tensorboard"]),
        (["tensorboard"], ["tensorboard", "FOLDER"]),
        ("mlflow", ["mlflow"]),
    ],
)
def test_what_is_no_callback_is_named(callbacks: Any, named: list[str]) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        evaluate(MODELS[0], DATA, callbacks=callbacks)


@pytest.mark.parametrize("package", ["tensorboard", "mlflow", "wandb"])
def test_a_missing_package_is_named_with_its_command(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=naming(f"pip install {package}")):
        load_callback(f"{package}:x")


def test_severities_become_whole_steps() -> None:
    def steps(*levels: float) -> int:
        cells = tuple(Cell("imagenet-c/fog", level) for level in levels)
        return StartedRun(Path(), (), cells).steps_per_severity

    assert (steps(), steps(1, 5), steps(1, 2.5), steps(0.25), steps(1 / 3)) == (1, 1, 10, 100, 1000)


def check(logged: dict[str, dict[float, float]], results: Results, per_severity: int) -> None:
    """Every cell is there at its step, and every score."""
    for model, corruption, level, _, accuracy in results.accuracy().rows():
        assert logged[f"{model}/{corruption}"][per_severity * level] == pytest.approx(accuracy, abs=1e-6)
    for score in scores(results):
        for one in score.all():
            name = f"{score.model}/two/{one.name.replace(' ', '_')}"
            assert list(logged[name].values()) == pytest.approx([one.value], abs=1e-6)
            assert list(logged[f"{name}_low"].values()) == pytest.approx([one.low], abs=1e-6)


@pytest.mark.filterwarnings("default", "error::brittle._errors.CallbackFailed")  # of packages that are not ours
def test_tensorboard_holds_the_cells_and_scores(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    logger = TensorBoardCallback(tmp_path / "logs")
    results = evaluate(MODELS, DATA, RECIPE, callbacks=[logger], threads=1)
    events = import_module("tensorboard.backend.event_processing.event_accumulator").EventAccumulator(
        str(tmp_path / "logs")
    )
    events.Reload()
    tags = events.Tags()
    logged = {tag: {event.step: event.value for event in events.Scalars(tag)} for tag in tags["scalars"]}
    check(logged, results, 10)
    [settings] = events.Tensors("settings/text_summary")
    assert b"| benchmark | two |" in settings.tensor_proto.string_val[0]


@pytest.mark.filterwarnings("default", "error::brittle._errors.CallbackFailed")
def test_mlflow_holds_the_cells_and_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow 3 wants to be asked for files
    callback = MLflowCallback((tmp_path / "mlruns").as_uri(), "robustness")
    results = evaluate(MODELS, DATA, RECIPE, callbacks=[callback], threads=1)
    client = mlflow.MlflowClient((tmp_path / "mlruns").as_uri())
    run = client.get_run(callback.run_id)
    assert run.info.status == "FINISHED"
    assert client.get_experiment(run.info.experiment_id).name == "robustness"
    assert run.data.params["benchmark"] == "two"
    assert run.data.params["images"] == "20"
    logged = {
        name: {point.step: point.value for point in client.get_metric_history(callback.run_id, name)}
        for name in run.data.metrics
    }
    check(logged, results, 10)
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    mlflow.set_experiment("of the user")
    with mlflow.start_run() as active:
        evaluate(MODELS[0], DATA, RECIPE, callbacks=["mlflow"], threads=1)
    found_names = client.get_run(active.info.run_id).data.metrics
    assert "demo-standard/imagenet-c/contrast" in found_names, "the run that is active is logged to"


def leveldb_log(data: bytes) -> Iterator[bytes]:
    """The records of a log of LevelDB: blocks of 32 KiB with parts of records, each (checksum, length, kind)."""
    place, record = 7, b""  # W&B's own header
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        record += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


@pytest.mark.filterwarnings("default", "error::brittle._errors.CallbackFailed")
def test_wandb_holds_the_cells_and_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    results = evaluate(MODELS, DATA, RECIPE, callbacks=[WandbCallback("robustness", "offline")], threads=1)
    [path] = tmp_path.glob("wandb/offline-run-*/*.wandb")
    records = import_module("wandb.proto.wandb_internal_pb2")
    logged: dict[str, dict[float, float]] = {}
    config: dict[str, Any] = {}
    deadline = time.monotonic() + 30
    while True:  # W&B's service may write the end of its file after `finish` came back
        log = [records.Record.FromString(data) for data in leveldb_log(path.read_bytes())]
        if any(record.HasField("exit") for record in log) or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    for record in log:
        row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        for name, value in row.items():
            logged.setdefault(name, {})[row.get("severity", 0)] = value
        for item in record.summary.update:
            logged.setdefault(item.key or "/".join(item.nested_key), {})[0] = json.loads(item.value_json)
        config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
    check(logged, results, 1)
    assert config["benchmark"] == "two"
