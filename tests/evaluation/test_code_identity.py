"""Results belong to the code that made them: other code has another key, and is never taken for what is stored."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import corruption, levels, registry
from brittle.datasets import load_dataset
from brittle.evaluation import evaluate, load_results, plan
from brittle.models import from_callable, from_torch, load_model
from tests.errors import naming

DATA = load_dataset("demo").subset(range(0, 1000, 50))

ALWAYS = """
import numpy as np
from helpers import shift

BIAS = np.zeros(10)

def load():
    return lambda x: np.eye(10)[np.full(len(x), shift(3))] + BIAS
"""

HELPERS = """
def shift(place):
    return place + 0

def unused():
    return 1
"""

NETWORK = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.last = torch.nn.Linear(3 * 32 * 32, 10)

    def forward(self, x):
        return self.last(x.flatten(1))

def make():
    return Net()
"""

OF_A_MODEL = """
from brittle.models import from_callable, load_model

MODEL = load_model("demo:standard")
CALLED = from_callable(MODEL.scores, name="called")

class Halved:
    def __init__(self, model):
        self.model = model

    def __call__(self, images):
        return self.model.scores(images // 2)

def made():
    halved = Halved(MODEL)
    return lambda images: MODEL.scores(images) + CALLED.scores(images) + halved(images)
"""


def code(folder: Path, name: str, text: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(text)
    return str(folder / f"{name}.py")


def key_elsewhere(place: str) -> str:
    """The key in a process of its own, as every command is."""
    ask = f"from brittle.models import load_model; print(load_model({place!r}).key)"
    return subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


def test_the_key_of_a_function_follows_its_file_and_what_it_uses(tmp_path: Path) -> None:
    place = f"{code(tmp_path, 'models', ALWAYS)}:load"
    code(tmp_path, "helpers", HELPERS)
    keys = [key_elsewhere(place), key_elsewhere(place)]
    assert keys[0] == keys[1]
    for file, text in [
        ("models", ALWAYS.replace("shift(3)", "shift(4)")),
        ("models", ALWAYS.replace("zeros", "ones")),
        ("helpers", HELPERS.replace("+ 0", "+ 1")),
    ]:
        code(tmp_path, file, text)
        keys.append(key_elsewhere(place))
    assert len(set(keys)) == 4


def test_a_model_that_a_function_uses_counts_by_its_key_in_every_process(tmp_path: Path) -> None:
    place = f"{code(tmp_path, 'models', OF_A_MODEL)}:made"
    assert key_elsewhere(place) == key_elsewhere(place) == load_model(place).key

    class Keyed:
        name = "keyed"

        def __init__(self, key: str, seen: int) -> None:
            self.key, self.seen = key, seen

        def scores(self, images: np.ndarray) -> np.ndarray:
            return images.mean((1, 2))

    def key(model: Keyed) -> str:
        return from_callable(lambda images: model.scores(images), name="m").key

    assert key(Keyed("1", 0)) == key(Keyed("1", 7)) != key(Keyed("2", 0))


def test_the_place_of_a_file_is_no_part_of_the_key(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        code(tmp_path / folder, "models", NETWORK)
    assert load_model(f"{tmp_path}/a/models.py:make").key == load_model(f"{tmp_path}/b/models.py:make").key


def scaled(factor: float, images: np.ndarray) -> np.ndarray:
    return images.mean((1, 2)) * factor


class Scaled:
    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def __call__(self, images: np.ndarray) -> np.ndarray:
        return images.mean((1, 2)) * self.weights


def test_values_that_a_function_uses_are_told_apart_unless_there_is_a_version() -> None:
    def closed(factor: object):
        return lambda images: images.mean((1, 2)) * factor

    functions = [
        *(partial(scaled, factor) for factor in (1, 2)),
        *(Scaled(np.full(3, weight)) for weight in (1, 2)),
        *(closed(factor) for factor in (1, 2, np.ones(3), torch.ones(3), torch.zeros(3), nn.Linear(2, 2))),
        Scaled(np.ones(3)).__call__,
        lambda images: images.mean((1, 2)),
        lambda images: images.max((1, 2)),
    ]
    keys = [from_callable(function, name="m").key for function in functions]
    assert len(set(keys)) == len(keys)
    assert keys[0] == from_callable(partial(scaled, 1), name="m").key
    one, other, changed = (
        from_callable(closed(factor), name="m", version=version).key
        for factor, version in [(1, "1"), (2, "1"), (1, "2")]
    )
    assert one == other != changed


def test_a_callable_without_code_needs_a_version() -> None:
    with pytest.raises(BrittleError, match=naming("'top'", "'negative'", "version='1'")):
        from_callable(np.negative, name="top")
    keys = {from_callable(np.negative, name="top", version=version).key for version in ("1", "2")}
    assert len(keys) == 2


class Negated(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return -super().forward(x)


class Doubled(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


def test_the_key_of_a_network_follows_its_code_settings_hooks_and_version() -> None:
    Doubled.__name__ = "Negated"  # so that only the code differs

    def network(kind: type = nn.Linear, slope: float = 0.1, hook: object = None, **how: str) -> str:
        layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.LeakyReLU(slope), nn.Flatten(), kind(4, 2))
        for value in layers.state_dict().values():
            value.zero_()
        if hook is not None:
            layers.register_forward_hook(hook)
        return from_torch(layers, name="n", **how).key

    keys = [
        network(),
        network(Negated),
        network(Doubled),
        network(slope=0.2),
        network(hook=lambda *seen: -seen[2]),
        network(hook=lambda *seen: 2 * seen[2]),
        network(version="2"),
    ]
    assert len(set(keys)) == len(keys)
    assert network(Negated) == keys[1]


def test_a_changed_forward_is_another_model_in_the_same_folder(tmp_path: Path) -> None:
    place = f"{code(tmp_path, 'net', NETWORK)}:make"
    before = evaluate(load_model(place), DATA, None, tmp_path / "run")
    code(tmp_path, "net", NETWORK.replace("return self.last", "return -self.last"))
    after = evaluate(load_model(place), DATA, None, tmp_path / "run")
    assert before.models == ["make"]
    assert len(after.models) == 2
    assert all(name.startswith("make (") for name in after.models)
    first, second = (
        after.rows.filter(model=name).sort("sample").collect()["prediction"].to_list() for name in after.models
    )
    assert first != second


@pytest.mark.parametrize("folders", [("one", "one"), ("one", "two")])
def test_models_of_one_name_are_told_apart_by_where_they_are(tmp_path: Path, folders: tuple[str, str]) -> None:
    for (place, folder), which in zip(zip("ab", folders, strict=True), "35", strict=True):
        code(tmp_path / place, "helpers", HELPERS)
        path = code(tmp_path / place, "models", ALWAYS.replace("shift(3)", which))
        evaluate(load_model(f"{path}:load"), DATA, None, tmp_path / folder)
        sys.modules.pop("helpers")
    results = load_results(*(tmp_path / folder for folder in dict.fromkeys(folders)))
    names = [f"load ({tmp_path}/{place}/models.py)" for place in "ab"]
    assert results.models == names
    table = results.rows.collect()
    assert len(table) == 2 * len(DATA)
    for name, which in zip(names, (3, 5), strict=True):
        assert set(table.filter(model=name)["prediction"]) == {which}


def dim(by: int):
    """Registers the corruption mine/dim, as a file of somebody's own does when it is run."""

    @corruption(family="colour", source="mine", amount=levels(1, 2, 3, 4, 5, clean=0))
    def dim(image: np.ndarray, _: object, *, amount: float) -> np.ndarray:
        """Darker pictures, as an example of one's own code."""
        return np.asarray(image / (1 + amount * by), np.uint8)

    return Benchmark("mine", (Entry("mine/dim", (1, 3)),))


def test_a_changed_corruption_is_another_cell_and_is_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.list_corruptions()  # all of brittle's own are known before a copy is made
    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))
    model = from_callable(lambda x: np.eye(10)[(x.mean((1, 2, 3)) / 26).astype(int)], name="m")
    first = plan(dim(1))
    evaluate(model, DATA, dim(1), tmp_path / "a")
    evaluate(model, DATA, dim(1), tmp_path / "a")  # the same code: nothing to do, nothing to refuse
    second = plan(dim(4))
    assert all(one.key != other.key for one, other in zip(first[1:], second[1:], strict=True))
    with pytest.raises(BrittleError, match=naming(1, "mine/dim")):
        evaluate(model, DATA, dim(4), tmp_path / "a")
    evaluate(model, DATA, dim(4), tmp_path / "b")
    with pytest.raises(BrittleError, match=naming("a'", "b'", "mine.dim")):
        load_results(tmp_path / "a", tmp_path / "b")


def test_the_keys_of_brittles_own_corruptions_are_those_of_their_recipe() -> None:
    assert {one.code for one in brittle.list_corruptions()} == {""}
    recipe = brittle.load_benchmark("imagenet-c-extra")
    for cell in plan(recipe)[1:]:
        alone = Benchmark("x", (Entry(cell.corruption, (cell.level,)),), seed=recipe.seed)
        assert cell.key == alone.hash[:8]
