"""Keras on the backend jax, JAX and Flax, for real, in an environment of their own; skipped aloud without them."""

import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ["KERAS_BACKEND"] = "jax"
jax = pytest.importorskip("jax")
keras = pytest.importorskip("keras")
jnp = jax.numpy

import brittle  # noqa: E402
from brittle import BrittleError  # noqa: E402
from brittle.datasets import arrays  # noqa: E402
from brittle.models import from_callable, load_model, wrap_model  # noqa: E402
from tests.errors import naming  # noqa: E402
from tests.models.networks import images  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras on JAX


def network(*, scaled: bool = True, seed: int = 0) -> Any:
    keras.utils.set_random_seed(seed)
    first = [keras.layers.Rescaling(1 / 127.5, offset=-1)] if scaled else []
    convolution, pooling = keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.GlobalAveragePooling2D()
    layers = [keras.layers.Input((16, 16, 3)), *first, convolution, pooling, keras.layers.Dense(5)]
    return keras.Sequential(layers, name="tiny")


def linear(parameters: dict[str, Any], batch: Any) -> Any:
    return (batch.astype(jnp.float32) / 255).mean((1, 2)) @ parameters["weights"] + parameters["bias"]


WEIGHTS = {"weights": np.arange(15, dtype=np.float32).reshape(3, 5) / 10, "bias": np.ones(5, np.float32)}


def expected(batch: np.ndarray) -> np.ndarray:
    return (batch.astype(np.float32) / 255).mean((1, 2)) @ WEIGHTS["weights"] + WEIGHTS["bias"]


FUNCTIONS = {
    "partial": lambda: partial(linear, WEIGHTS),
    "jitted": lambda: jax.jit(partial(linear, WEIGHTS)),
    "partial of jitted": lambda: partial(jax.jit(linear), WEIGHTS),
    "weights on a device": lambda: partial(jax.jit(linear), jax.tree.map(jnp.asarray, WEIGHTS)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_jax_are_models(name: str) -> None:
    model = wrap_model(FUNCTIONS[name](), name="linear")
    given = images(4, 9, 7)
    scores = model.scores(given)
    assert isinstance(scores, np.ndarray)
    np.testing.assert_allclose(scores, expected(given), rtol=1e-5)
    results = brittle.evaluate(model, arrays(given, [0, 1, 2, 3], list("abcde"), name="noise"), progress=None)
    np.testing.assert_array_equal(results.rows.collect()["prediction"], scores.argmax(1))


def test_half_precision_is_read() -> None:
    model = from_callable(lambda batch: jnp.asarray(batch).astype(jnp.bfloat16).mean((1, 2)), name="half")
    given = images(3, 8, 8)
    assert model.scores(given).dtype == np.float32
    np.testing.assert_allclose(model.scores(given), given.mean((1, 2)), rtol=0.02)


def test_the_key_covers_the_code_and_the_weights_below_the_compilation() -> None:
    other = {**WEIGHTS, "bias": WEIGHTS["bias"] * 2}

    def another(parameters: dict[str, Any], batch: Any) -> Any:
        return linear(parameters, batch) * 2

    made = [
        partial(jax.jit(linear), WEIGHTS),
        partial(jax.jit(linear), other),
        jax.jit(partial(linear, other)),
        partial(jax.jit(another), WEIGHTS),
    ]
    keys = [from_callable(function, name="a").key for function in made]
    assert len({keys[0], keys[1], keys[3]}) == 3
    assert from_callable(partial(jax.jit(linear), dict(WEIGHTS)), name="a").key == keys[0]


CODE = """
import os, sys
os.environ["KERAS_BACKEND"] = "jax"
from brittle.models import load_model
print(*(load_model(text).key for text in sys.argv[1:]))
"""

NETS = """
import os
os.environ["KERAS_BACKEND"] = "jax"
from functools import partial
import flax.linen, jax, jax.numpy as jnp

class Net(flax.linen.Module):
    classes: int
    @flax.linen.compact
    def __call__(self, batch):
        x = flax.linen.Conv(4, (3, 3))(batch.astype(jnp.float32) / 255)
        return flax.linen.Dense(self.classes)(flax.linen.relu(x).mean((1, 2)))

def flax_net():
    net = Net(5)
    parameters = net.init(jax.random.key(0), jnp.zeros((1, 8, 8, 3)))
    return partial(jax.jit(net.apply), parameters)

def helper(batch):
    return batch.mean((1, 2))
compiled = jax.jit(helper)
def uses():
    return lambda batch: compiled(jnp.asarray(batch, jnp.float32))
"""


def test_flax_is_a_function_of_its_parameters_with_one_key_in_every_process(tmp_path: Path) -> None:
    pytest.importorskip("flax")
    (tmp_path / "nets.py").write_text(NETS)
    texts = [f"{tmp_path / 'nets.py'}:flax_net", f"{tmp_path / 'nets.py'}:uses"]
    given = images(3, 8, 8)
    models = [load_model(text) for text in texts]
    assert models[0].scores(given).shape == (3, 5)
    np.testing.assert_allclose(models[1].scores(given), given.mean((1, 2)), rtol=1e-5)
    runs = [
        subprocess.run([sys.executable, "-c", CODE, *texts], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert runs[0] == runs[1] == [model.key for model in models]
    (tmp_path / "nets.py").write_text(NETS.replace("Conv(4", "Conv(6"))
    assert load_model(texts[0]).key != runs[0][0]


def test_a_network_of_keras_sees_pixels_as_they_are() -> None:
    net = network()
    model = wrap_model(net)
    given = images(4, 20, 30)
    resized = model.prepare.pixels(given)
    assert resized.shape == (4, 16, 16, 3)
    np.testing.assert_allclose(model.scores(given), np.asarray(net(resized.astype(np.float32))), atol=1e-5)
    assert (model.name, "0 to 255" in model.preprocessing_text) == ("tiny", True)
    results = brittle.evaluate(model, arrays(given, [0, 1, 2, 3], list("abcde"), name="noise"), progress=None)
    np.testing.assert_array_equal(results.rows.collect()["prediction"], model.scores(given).argmax(1))


def test_mean_and_std_replace_the_scale() -> None:
    net = network(scaled=False)
    model = wrap_model(net, mean=(0.5,) * 3, std=(0.5,) * 3, name="normalised")
    given = images(2, 16, 16)
    np.testing.assert_allclose(model.scores(given), np.asarray(net(given / np.float32(127.5) - 1)), atol=1e-5)
    same = wrap_model(network(seed=0))  # the layer Rescaling does the same
    np.testing.assert_allclose(model.scores(given), same.scores(given), atol=1e-4)
    others = [wrap_model(net), wrap_model(network(scaled=False, seed=1)), wrap_model(net, version="2")]
    assert len({each.key for each in (model, *others)}) == 4


def test_a_file_is_the_network_it_was_saved_from(tmp_path: Path) -> None:
    net = network()
    net.save(tmp_path / "net.keras")
    given = images(3, 24, 24)
    model = load_model(tmp_path / "net.keras")
    np.testing.assert_allclose(model.scores(given), wrap_model(net).scores(given), atol=1e-6)
    assert (model.name, load_model(f"keras:{tmp_path / 'net.keras'}").key) == ("net", model.key)
    assert load_model(f"{tmp_path / 'net.keras'},mean=0.5,std=0.5").key != model.key
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.scores(given), model.scores(given), atol=1e-6)
    (tmp_path / "nets.py").write_text(
        f"import keras\ndef make():\n    return keras.saving.load_model({str(tmp_path / 'net.keras')!r})\n"
    )
    made = load_model(f"{tmp_path / 'nets.py'}:make,name=made")
    np.testing.assert_allclose(made.scores(given), model.scores(given), atol=1e-6)
    assert made.name == "made"


def test_code_in_a_file_is_refused(tmp_path: Path) -> None:
    proof = tmp_path / "it ran"
    bad = keras.Sequential(
        [
            keras.layers.Input((8, 8, 3)),
            keras.layers.Lambda(lambda x, path=str(proof): (__import__("os").makedirs(path, exist_ok=True), x)[1]),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )
    bad.save(tmp_path / "bad.keras")
    proof.rmdir()  # it was run when the network was built
    with pytest.raises(BrittleError, match=naming("bad.keras", "Lambda")):
        load_model(tmp_path / "bad.keras")
    assert not proof.exists()


def test_files_and_networks_that_do_not_fit(tmp_path: Path) -> None:
    network().save(tmp_path / "net.keras")
    content = (tmp_path / "net.keras").read_bytes()
    (tmp_path / "half.keras").write_bytes(content[: len(content) // 2])
    (tmp_path / "text.keras").write_text("no zip")
    for name in ("half.keras", "text.keras"):
        with pytest.raises(BrittleError, match=naming(name, "truncated")):
            load_model(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"gone\.keras"):
        load_model(tmp_path / "gone.keras")
    with pytest.raises(BrittleError, match=naming("net.keras", "(16, 16)", "(8, 8)")):
        load_model(tmp_path / "net.keras", size=8)
    with pytest.raises(BrittleError, match=naming("grey", "1")):
        wrap_model(keras.Sequential([keras.layers.Input((8, 8, 1)), keras.layers.Flatten()], name="grey"))
    with pytest.raises(TypeError, match=naming("'layout'", "mean")):
        wrap_model(network(), layout="NHWC")


def test_on_the_backend_torch_it_is_no_module_of_channels_first(tmp_path: Path) -> None:
    net = network()
    net.save(tmp_path / "net.keras")
    code = (
        "import sys, numpy as np, brittle, keras\n"
        "from tests.models.networks import images\n"
        "assert keras.backend.backend() == 'torch'\n"
        "net = keras.saving.load_model(sys.argv[1])\n"
        "model = brittle.wrap_model(net)\n"
        "print(type(model).__name__, *np.round(model.scores(images(1, 16, 16))[0], 3))\n"
    )
    environment = {**os.environ, "KERAS_BACKEND": "torch"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "net.keras")],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    kind, *scores = done.stdout.split()
    assert kind == "KerasModel"
    np.testing.assert_allclose(np.array(scores, float), wrap_model(net).scores(images(1, 16, 16))[0], atol=2e-3)
