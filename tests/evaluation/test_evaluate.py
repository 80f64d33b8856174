"""A run computes each cell once, loses nothing when it is killed, and its rows depend on nothing but its inputs."""

import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.datasets import UnreadableImage, arrays, image_folder
from brittle.datasets.dataset import Dataset
from brittle.evaluation import evaluate, load_results, plan
from brittle.evaluation.store import Store
from brittle.models import ModelError, from_callable, from_torch
from tests.errors import naming

RECIPE = Benchmark("small", (Entry("fog", (1, 3.5)), Entry("gaussian_noise", (5,)), Entry("noc/brightness", ((1, 5),))))
COLOURS = np.random.default_rng(0).integers(0, 256, (4, 3))


def dataset(count: int = 50, *, broken: tuple[int, ...] = ()) -> Dataset:
    """Flat coloured squares with some noise; the class is the colour."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, count)
    images = np.clip(COLOURS[labels][:, None, None] + rng.normal(0, 20, (count, 16, 16, 3)), 0, 255).astype(np.uint8)

    def read(index: int) -> np.ndarray:
        if index in broken:
            raise UnreadableImage("cut off")
        return images[index]

    ids = [f"{i}.png" for i in range(count)]
    return Dataset("squares", read, ids, content=lambda: "squares 1", labels=labels, classes="abcd")


def nearest_colour(images: np.ndarray) -> np.ndarray:
    return -np.abs(images.mean((1, 2))[:, None] - COLOURS).sum(-1)


def model(name: str = "nearest", **how: str):
    return from_callable(nearest_colour, name=name, **how)


def rows(folder: Path) -> pl.DataFrame:
    return load_results(folder).rows.sort("model", "corruption", "level", "sample").collect()


def test_every_prediction_is_kept(tmp_path: Path) -> None:
    results = evaluate(model(), dataset(), RECIPE, tmp_path / "run")
    table = results.rows.collect()
    names = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
    assert table.columns == [*names, "label_probability", "label_in_top5", "square_sum"]
    assert len(table) == 50 * len(plan(RECIPE)) == 50 * 5
    assert results.clean_accuracy("nearest") > 0.9
    data = dataset()
    one = table.filter(
        (pl.col("corruption") == "imagenet-c/fog") & (pl.col("level") == 3.5) & (pl.col("sample") == "7.png")
    )
    foggy = brittle.corrupt(data.image(7), "fog", 3.5, sample="7.png")
    assert one["prediction"][0] == nearest_colour(foggy[None]).argmax()
    assert one["correct"][0] == (one["prediction"][0] == data.labels[7])


@pytest.mark.parametrize("how", [{"batch_size": 7}, {"threads": 1}, {"batch_size": 64, "threads": 4}])
def test_rows_do_not_depend_on_batches_or_threads(tmp_path: Path, how: dict) -> None:
    evaluate(model(), dataset(), RECIPE, tmp_path / "a", batch_size=16)
    evaluate(model(), dataset(), RECIPE, tmp_path / "b", **how)
    assert rows(tmp_path / "a").equals(rows(tmp_path / "b"))


def test_a_second_run_computes_only_what_is_missing(tmp_path: Path) -> None:
    calls = []

    def counting(images: np.ndarray) -> np.ndarray:
        calls.append(len(images))
        return nearest_colour(images)

    run = tmp_path / "run"
    one = from_callable(counting, name="one")
    evaluate(one, dataset(), RECIPE, run)
    assert sum(calls) == 250
    evaluate(one, dataset(), RECIPE, run)
    assert sum(calls) == 250
    longer = Benchmark("longer", (*RECIPE.entries, Entry("snow", (2,))))
    evaluate([one, from_callable(nearest_colour, name="two")], dataset(), longer, run)
    assert sum(calls) == 300
    assert load_results(run).models == ["one", "two"]
    evaluate(from_callable(counting, name="one", version="2"), dataset(), RECIPE, tmp_path / "other")
    assert sum(calls) == 550


def test_models_share_a_run_and_levels_become_a_matrix(tmp_path: Path) -> None:
    results = evaluate([model("a"), model("b")], dataset(), RECIPE, tmp_path / "run")
    correct, levels, samples = results.correct("a", "imagenet-c/fog")
    assert (correct.shape, levels.tolist(), len(samples)) == ((50, 3), [0, 1, 3.5], 50)
    accuracy = results.accuracy().filter((pl.col("model") == "a") & (pl.col("corruption") == "imagenet-c/fog"))
    np.testing.assert_allclose(accuracy["accuracy"], correct[:, 1:].mean(0))


def test_broken_images_are_left_out_and_counted(tmp_path: Path) -> None:
    from brittle.evaluation.inputs import decode

    data = dataset(broken=(3, 10))
    results = evaluate(model(), data, RECIPE, tmp_path / "run")
    assert len(results.rows.collect()) == 48 * 5
    assert decode(data, tmp_path / "run").skipped == {"3.png": "cut off", "10.png": "cut off"}
    full = evaluate(model(), dataset(), RECIPE, tmp_path / "full").rows.filter(
        ~pl.col("sample").is_in(["3.png", "10.png"])
    )
    assert (
        full.sort("corruption", "level", "sample")
        .collect()
        .equals(results.rows.sort("corruption", "level", "sample").collect())
    )


def test_other_data_need_another_folder(tmp_path: Path) -> None:
    evaluate(model(), dataset(), RECIPE, tmp_path)
    with pytest.raises(BrittleError, match=naming(50, "squares", 40)):
        evaluate(model(), dataset(40), RECIPE, tmp_path)


@pytest.mark.parametrize(
    ("scores", "values"),
    [
        (lambda x: np.zeros((len(x), 3)), (3, 4)),
        (lambda x: np.full((len(x), 4), np.nan), ("not numbers",)),
        (lambda _: np.zeros(4), ("(4,)", 50)),
        (lambda _: np.zeros((1, 4)), ("(1, 4)", 50)),
    ],
)
def test_a_model_that_does_not_fit_is_named(tmp_path: Path, scores, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming("'odd'", *values)):
        evaluate(from_callable(scores, name="odd"), dataset(), RECIPE, tmp_path / "run")


def test_images_of_different_sizes_are_named(tmp_path: Path) -> None:
    sizes = Dataset("sizes", lambda i: np.zeros((8 + i, 8, 3), np.uint8), [0, 1], content=str, labels=[0, 1])
    with pytest.raises(BrittleError, match=naming(1, "sizes", 9, 8, 3)):
        evaluate(model(), sizes.prepared("none"), RECIPE, tmp_path / "run")


def test_a_torch_module_is_a_model(tmp_path: Path) -> None:
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 4))
    wrapped = from_torch(net, name="linear", mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
    images = np.stack([dataset().image(i) for i in range(5)])
    expected = net((torch.from_numpy(images).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25).detach().numpy()
    np.testing.assert_allclose(wrapped.scores(images), expected, rtol=1e-4, atol=1e-5)
    key = wrapped.key
    with torch.no_grad():
        net[1].bias += 1
    assert from_torch(net, name="linear", mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25)).key != key
    assert len(evaluate(wrapped, dataset(), RECIPE, tmp_path / "run").rows.collect()) == 250


SLOW = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import tests.evaluation.test_evaluate as t
def slow(images):
    with Path(sys.argv[1]).with_suffix(".shown").open("a") as file:
        file.write(f"{len(images)}\\n")
    time.sleep(0.05)
    return t.nearest_colour(images)
t.evaluate(t.from_callable(slow, name="nearest", version="1"), t.dataset(), t.RECIPE, sys.argv[1], batch_size=8)
"""


def test_a_killed_run_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    """Killed as soon as one more cell is there, three times: what is there is never shown to the model again."""
    command = [sys.executable, "-c", SLOW, str(tmp_path / "killed"), str(Path(__file__).parents[2])]

    def cells() -> int:
        return len(list((tmp_path / "killed").glob("cells/*/*.parquet")))

    def shown() -> int:
        return sum(map(int, (tmp_path / "killed.shown").read_text().split()))

    stored = 0
    for _ in range(3):
        process = subprocess.Popen(command, env={**os.environ})
        while cells() <= stored and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stored = cells()
    images, total = len(dataset()), len(plan(RECIPE))
    assert 3 <= stored < total, "the run was not killed in its midst"
    before = shown()
    subprocess.run(command, check=True)
    assert shown() - before == images * (total - stored)
    evaluate(model(), dataset(), RECIPE, tmp_path / "whole")
    assert rows(tmp_path / "killed").equals(rows(tmp_path / "whole"))


class Moody:
    """A model whose own code fails at the third batch, in its own way."""

    name, key, shown = "moody", "1", 0

    def scores(self, images: np.ndarray) -> np.ndarray:
        self.shown += 1
        if self.shown == 3:
            raise LookupError("not today\nand not tomorrow")
        return nearest_colour(images)


def test_an_error_of_the_models_own_code_is_told_with_its_cell_and_finished_cells_are_kept(tmp_path: Path) -> None:
    moody = Moody()
    with pytest.raises(ModelError, match=naming("'moody'", "fog 3.5", "'squares'", "LookupError: not today")) as caught:
        evaluate(moody, dataset(), RECIPE, tmp_path / "run")
    assert "tomorrow" not in str(caught.value)  # the first line only
    assert isinstance(caught.value.__cause__, LookupError)
    assert "raise LookupError" in "".join(traceback.format_exception(caught.value))
    assert load_results(tmp_path / "run").cells == [Cell(), Cell("imagenet-c/fog", 1)]
    assert len(evaluate(moody, dataset(), RECIPE, tmp_path / "run").cells) == 5
    assert moody.shown == 3 + 3


def test_photographs_of_any_size_and_names_of_imagenet_just_work_in_python(tmp_path: Path) -> None:
    """A folder read by hand, too: sizes are brought to one, and 1000 outputs are those of ImageNet."""
    for number, name in enumerate(("tench", "great_white_shark")):
        (tmp_path / "p" / name).mkdir(parents=True)
        pixels = np.full((300 + 50 * number, 280, 3), 10 + number, np.uint8)
        Pil.fromarray(pixels).save(tmp_path / "p" / name / "x.png")

    def scores(images: np.ndarray) -> np.ndarray:
        return np.eye(1000, dtype=np.float32)[(images[:, 0, 0, 0] - 10) * 2]

    results = evaluate(from_callable(scores, name="large"), image_folder(tmp_path / "p"), None, tmp_path / "r")
    assert np.load(tmp_path / "r" / "images.npy").shape == (2, 224, 224, 3)
    assert results.rows.collect()["label"].sort().to_list() == [0, 2]
    assert results.clean_accuracy("large") == 1
    small = from_callable(lambda images: np.eye(2)[11 - images[:, 0, 0, 0]], name="small")  # sorted: great_white_shark
    results = evaluate(small, image_folder(tmp_path / "p"), None, tmp_path / "s")
    assert results.clean_accuracy("small") == 1


def test_a_batch_size_is_kept_only_if_it_was_given(tmp_path: Path) -> None:
    shown: list[int] = []

    def scores(images: np.ndarray) -> np.ndarray:
        shown.append(len(images))
        return images.mean((1, 2))

    model, data = (
        from_callable(scores, name="m"),
        arrays(np.zeros((100, 8, 8, 3), np.uint8), [0] * 100, ["a", "b", "c"]),
    )
    evaluate(model, data, None, tmp_path / "free")
    assert (shown, Store(tmp_path / "free").batch_size(model)) == ([64, 36], None)
    evaluate(model, data, None, tmp_path / "given", batch_size=50, threads=1)
    assert (shown[2:], Store(tmp_path / "given").batch_size(model)) == ([50, 50], 50)


def test_a_model_of_another_size_joins_a_run_of_photographs(tmp_path: Path) -> None:
    """It is shown the images that the first one was shown, at its own size."""
    import torch

    for number in range(2):
        (tmp_path / "p" / f"{number}").mkdir(parents=True)
        Pil.fromarray(np.full((60 + number, 80, 3), 90, np.uint8)).save(tmp_path / "p" / f"{number}" / "x.png")
    net = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 2))
    for side in (32, 40):
        model = from_torch(net, name=f"net-{side}", size=side)
        results = evaluate(model, image_folder(tmp_path / "p"), None, tmp_path / "r")
    assert results.models == ["net-32", "net-40"]
    assert np.load(tmp_path / "r" / "images.npy").shape == (2, 32, 32, 3)
