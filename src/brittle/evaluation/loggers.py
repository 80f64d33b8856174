"""Callbacks that log a run to TensorBoard, MLflow or Weights & Biases; their packages are imported when one is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError, did_you_mean
from brittle._optional import require
from brittle.benchmarks import Cell
from brittle.evaluation.records import Callback, StartedRun
from brittle.evaluation.results import Results
from brittle.evaluation.score import scores

PROJECT = "brittle"
"""The name of the experiment or project that runs go to if none is given."""


def final_scores(results: Results, models: Sequence[str] | None = None) -> dict[str, float]:
    """The scores of models by names such as `resnet/imagenet-c/mean_accuracy`, with `…_low` and `…_high`.

    Without a benchmark it is `resnet/clean_accuracy`.
    """
    chosen = results.models if models is None else models
    values: dict[str, float] = {}
    recipes = results.benchmarks()
    for recipe in recipes:
        for score in scores(results, recipe):
            for one in score.all() if score.model in chosen else ():
                key = f"{score.model}/{recipe.name}/{one.name.replace(' ', '_')}"
                ends = {} if one.low is None or one.high is None else {f"{key}_low": one.low, f"{key}_high": one.high}
                values |= {key: one.value, **ends}
    if not recipes:
        clean = [model for model in results.models_with([Cell()]) if model in chosen]
        values |= {f"{model}/clean_accuracy": results.clean_accuracy(model) for model in clean}
    return {key: value for key, value in values.items() if isfinite(value)}


class TensorBoardCallback(Callback):
    """Write scalars that TensorBoard shows: `model/corruption` over severity, scores, and the settings as text."""

    def __init__(self, folder: str | Path) -> None:
        require("tensorboard", "tensorboard")
        self._writer_class = require("torch.utils.tensorboard", "torch").SummaryWriter
        self.folder = Path(folder)

    def on_run_start(self, run: StartedRun) -> None:
        self._run, self._writer = run, self._writer_class(str(self.folder))
        lines = [f"| {name} | {value} |" for name, value in run.settings.items()]
        self._writer.add_text("settings", "\n".join(["| setting | value |", "|---|---|", *lines]))

    def on_cell_end(self, model: str, cell: Cell, accuracy: float, images: int) -> None:  # noqa: ARG002
        self._writer.add_scalar(f"{model}/{cell.corruption}", accuracy, _step(self._run, cell))

    def on_run_end(self, results: Results) -> None:
        for name, value in final_scores(results, self._run.models).items():
            self._writer.add_scalar(name, value, 0)
        self._writer.close()

    def on_exception(self, error: BaseException) -> None:  # noqa: ARG002
        self._writer.close()


class MLflowCallback(Callback):
    """Log to MLflow: metrics `model/corruption` with severity as the step, scores, and the settings as parameters.

    A new run in the experiment, by default "brittle"; or the run that is active, if neither is given.
    """

    def __init__(self, tracking_uri: str | None = None, experiment: str | None = None) -> None:
        self._mlflow = require("mlflow", "mlflow")
        self.tracking_uri, self.experiment = tracking_uri, experiment

    def on_run_start(self, run: StartedRun) -> None:
        self._run, self._client = run, self._mlflow.MlflowClient(self.tracking_uri)
        active = self._mlflow.active_run() if self.tracking_uri is None and self.experiment is None else None
        self._owned = active is None
        if active is None:
            name = self.experiment or PROJECT
            known = self._client.get_experiment_by_name(name)
            number = self._client.create_experiment(name) if known is None else known.experiment_id
            active = self._client.create_run(number, run_name=run.title)
        self.run_id: str = active.info.run_id
        for key, value in run.settings.items():
            self._client.log_param(self.run_id, key, value)

    def on_cell_end(self, model: str, cell: Cell, accuracy: float, images: int) -> None:  # noqa: ARG002
        self._log(f"{model}/{cell.corruption}", accuracy, _step(self._run, cell))

    def on_run_end(self, results: Results) -> None:
        for name, value in final_scores(results, self._run.models).items():
            self._log(name, value, 0)
        self._terminate("FINISHED")

    def on_exception(self, error: BaseException) -> None:
        self._terminate("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")

    def _log(self, name: str, value: float, step: int) -> None:
        self._client.log_metric(self.run_id, re.sub(r"[^\w\-. :/]", "_", name), value, step=step)

    def _terminate(self, status: str) -> None:
        if self._owned:
            self._client.set_terminated(self.run_id, status)


class WandbCallback(Callback):
    """Log to Weights & Biases: `model/corruption` over the axis `severity`, scores as the summary, and the settings.

    `mode` is that of `wandb.init`, such as "offline".
    """

    def __init__(self, project: str | None = None, mode: str | None = None) -> None:
        self._wandb = require("wandb", "wandb")
        self.project, self.mode = project or PROJECT, mode

    def on_run_start(self, run: StartedRun) -> None:
        self._run = run
        self._log = self._wandb.init(project=self.project, mode=self.mode, name=run.title, config=dict(run.settings))
        self._log.define_metric("severity", hidden=True)
        self._log.define_metric("*", step_metric="severity")

    def on_cell_end(self, model: str, cell: Cell, accuracy: float, images: int) -> None:  # noqa: ARG002
        self._log.log({f"{model}/{cell.corruption}": accuracy, "severity": cell.severity})

    def on_run_end(self, results: Results) -> None:
        self._log.summary.update(final_scores(results, self._run.models))
        self._log.finish()

    def on_exception(self, error: BaseException) -> None:  # noqa: ARG002
        self._log.finish(exit_code=1)


def _step(run: StartedRun, cell: Cell) -> int:
    return round(run.steps_per_severity * cell.severity)


LOGGERS = {"tensorboard": TensorBoardCallback, "mlflow": MLflowCallback, "wandb": WandbCallback}


def load_callback(log: str) -> Callback:
    """A callback by its name: `tensorboard:FOLDER`, `mlflow` or `mlflow:URI`, `wandb` or `wandb:PROJECT`."""
    name, _, value = log.partition(":")
    if name not in LOGGERS:
        raise BrittleError(f"there is no logger {log!r}; {did_you_mean(name, LOGGERS)}")
    if name == "tensorboard" and not value:
        raise BrittleError(f"{log!r} names no folder; write: tensorboard:FOLDER")
    kind: Any = LOGGERS[name]
    loaded: Callback = kind(value or None)
    return loaded
