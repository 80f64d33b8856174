"""The same rows from a Ray cluster, also when one of its workers is killed."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import ray

import brittle
from brittle import BrittleError
from brittle._errors import RunError
from brittle._optional import run_file
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.corruptions import registry
from brittle.datasets import load_dataset
from brittle.evaluation import Callback, evaluate, load_results
from brittle.models import ModelError, from_callable, from_torch
from tests.errors import naming, unnamed

RECIPE = Benchmark(
    "small", (Entry("fog", (1, 3.5)), Entry("gaussian_noise", (2, 5)), Entry("c-bar/plasma_noise", (4,)))
)
DATA = load_dataset("demo").subset(range(0, 1000, 10))

pytestmark = pytest.mark.filterwarnings("default")  # Ray starts processes and leaves sockets in its own way


@pytest.fixture(scope="module", autouse=True)
def _sent_whole() -> None:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # tests are not installed on the workers


def rows(folder: Path) -> pl.DataFrame:
    return load_results(folder).rows.sort("model", "corruption", "level", "sample").collect()


def network():
    import torch

    torch.manual_seed(0)
    return from_torch(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(32 * 32 * 3, 10)), name="linear")


def brightness(images: np.ndarray) -> np.ndarray:
    return -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10))


def test_rows_are_those_of_the_local_engine(tmp_path: Path) -> None:
    models = [network(), from_callable(brightness, name="brightness")]
    evaluate(models, DATA, RECIPE, tmp_path / "local", batch_size=32)
    evaluate(models, DATA, RECIPE, tmp_path / "ray", batch_size=32, engine="ray")
    assert rows(tmp_path / "ray").equals(rows(tmp_path / "local"))
    assert load_results(tmp_path / "ray").runs[0].calls[0].engine == "ray"


def test_a_corruption_of_a_users_file_is_drawn_by_workers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))
    model = from_callable(brightness, name="brightness")

    def evaluated(name: str, engine: str) -> Path:
        recipe = Benchmark("own", (Entry(f"mine/{name}", (1, 4)),))
        evaluate(model, DATA, recipe, tmp_path / engine / name, batch_size=32, engine=engine)
        return tmp_path / engine / name

    for name in ("darker_on_ray", "much_darker_on_ray"):
        (tmp_path / f"{name}.py").write_text(
            "from brittle.corruptions import corruption, levels\n\n\n"
            '@corruption(family="digital", source="mine", strength=levels(1, 2, 3, 4, 5, clean=0))\n'
            f'def {name}(image, rng, *, strength):\n    """Darker."""\n    return image // (1 + int(strength))\n'
        )
        run_file(tmp_path / f"{name}.py", name)
        evaluated(name, "local")
    assert rows(evaluated("darker_on_ray", "ray")).equals(rows(tmp_path / "local" / "darker_on_ray"))
    (tmp_path / "much_darker_on_ray.py").unlink()
    with pytest.raises(RunError, match=naming("much_darker_on_ray.py", "mine/much_darker_on_ray")):
        evaluated("much_darker_on_ray", "ray")


def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def deadly(images: np.ndarray) -> np.ndarray:
        """Kills its own process, hard, the first two times that it sees a second batch."""
        seen = len(list(marks.iterdir()))
        if len(images) < 32 and seen < 2:
            (marks / f"{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return brightness(images)

    evaluate(from_callable(brightness, name="m"), DATA, RECIPE, tmp_path / "calm", batch_size=32)
    evaluate(from_callable(deadly, name="m"), DATA, RECIPE, tmp_path / "ray", batch_size=32, engine="ray")
    assert len(list(marks.iterdir())) >= 2
    assert rows(tmp_path / "ray").equals(rows(tmp_path / "calm"))


def test_work_that_ends_its_own_process_is_told_in_a_sentence_and_finished_cells_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import brittle._ray as ours

    monkeypatch.setattr(ours, "RETRIES", 1)
    cells = tmp_path / "ray" / "cells"

    def deadly(images: np.ndarray) -> np.ndarray:
        """Ends its process, hard, on pictures of little contrast, as soon as the clean ones are done."""
        if images.std((1, 2, 3)).mean() < 25:
            while not list(cells.glob("*/clean.parquet")):
                time.sleep(0.05)
            os._exit(1)
        return brightness(images)

    recipe = Benchmark("grey", (Entry("imagenet-c/contrast", (5,)),))
    with pytest.raises(RunError, match=naming("contrast 5", "2 times")) as caught:
        evaluate(from_callable(deadly, name="m"), DATA, recipe, tmp_path / "ray", engine="ray")
    assert isinstance(caught.value.__cause__, ray.exceptions.WorkerCrashedError)
    assert load_results(tmp_path / "ray").cells == [Cell()]
    mended = evaluate(from_callable(brightness, name="m"), DATA, recipe, tmp_path / "ray", engine="ray")
    assert mended.cells == [Cell(), Cell("imagenet-c/contrast", 5)]


@pytest.mark.parametrize(
    ("error", "values"),
    [
        (ray.exceptions.OutOfMemoryError("killed"), ("fog 3", "memory")),
        (
            ray.exceptions.NodeDiedError("gone"),
            ("fog 3", "`ray status`"),
        ),
        (ray.exceptions.LocalRayletDiedError(), ("fog 3", "`ray status`")),
        (ray.exceptions.OutOfDiskError(), ("object store", "disk")),
        (ray.exceptions.ObjectLostError("0" * 56, None, "f"), ("fog 3", "lost")),
        (ray.exceptions.RaySystemError("x\nno module y"), ("fog 3", "no module y")),
        (ray.exceptions.RuntimeEnvSetupError("pip"), ("fog 3", "RuntimeEnvSetupError", "pip")),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_each_loss_has_its_sentence(error: Exception, values: tuple) -> None:
    from brittle._ray import ray_error

    loss = ray_error(ray, error, "fog 3", 6)
    assert type(loss) is RunError
    assert unnamed(str(loss), *values, "resumes") == []


def test_an_error_of_the_models_own_code_travels_with_its_traceback(tmp_path: Path) -> None:
    def moody(_: np.ndarray) -> np.ndarray:
        raise LookupError("not today")

    with pytest.raises(ModelError, match=naming("m", "demo")) as caught:
        evaluate(from_callable(moody, name="m"), DATA, None, tmp_path / "ray", engine="ray")
    assert 'raise LookupError("not today")' in str(caught.value.__cause__)


def test_an_error_of_the_model_is_told_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming("nan")):
        evaluate(
            from_callable(lambda x: np.full((len(x), 10), np.nan), name="nan"),
            DATA,
            RECIPE,
            tmp_path / "ray",
            engine="ray",
        )
    done = evaluate(from_callable(brightness, name="nan", version="2"), DATA, RECIPE, tmp_path / "ray", engine="ray")
    assert done.models == ["nan"]


@pytest.mark.parametrize("version", ["0.0.9", brittle.__version__])
def test_a_worker_with_another_brittle_is_refused_with_both_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """The tasks say that they come from another version, or from the same version with other code."""
    import brittle._ray as ours

    honest = ours.version_and_code

    def claimed():
        here, look = os.getpid(), honest()
        return lambda: (version, "other") if os.getpid() == here else look()

    monkeypatch.setattr(ours, "version_and_code", claimed)
    other = ("other code",) if version == brittle.__version__ else ()
    named = naming(f"brittle {brittle.__version__}", f"brittle {version}", *other)
    with pytest.raises(RunError, match=named):
        evaluate(from_callable(brightness, name="m"), DATA, RECIPE, tmp_path / "ray", engine="ray")
    assert not list((tmp_path / "ray").glob("cells/*/*"))


def test_an_unknown_engine_or_address_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match=naming("spark")):
        evaluate(network(), DATA, RECIPE, tmp_path, engine="spark")
    with pytest.raises(BrittleError, match=naming("local", "'here:1'", "engine='ray'")):
        evaluate(network(), DATA, RECIPE, tmp_path, address="here:1")


def test_an_address_where_nothing_answers_is_told_at_once() -> None:
    from brittle._ray import check_reachable

    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(ConnectionError, match=naming(repr(address), "`ray start`")):
            check_reachable(address)
    check_reachable("auto")
    check_reachable(None)


def test_callbacks_are_told_here_of_cells_from_the_cluster(tmp_path: Path) -> None:
    class Told(Callback):
        def __init__(self) -> None:
            self.cells: dict[tuple[str, float], float] = {}

        def on_cell_end(self, model: str, cell: Cell, accuracy: float, images: int) -> None:  # noqa: ARG002
            assert os.getpid() == process
            self.cells[cell.place] = accuracy

    process, callback = os.getpid(), Told()
    results = evaluate(network(), DATA, RECIPE, tmp_path, engine="ray", callbacks=[callback])
    assert callback.cells == {(row[1], row[2]): row[4] for row in results.accuracy().rows()}
