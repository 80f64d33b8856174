"""A small explorer: models that are plain functions, a few photographs, and a client that knows the token."""

from collections.abc import Iterator

import numpy as np
import pytest

from brittle.datasets import arrays, photo, square
from brittle.explorer import State, create_app
from brittle.explorer.safety import Safety, allowed_hosts
from brittle.models import from_callable

HOST, TOKEN = "127.0.0.1:8765", "token-of-the-test"
HOSTILE = "<script>alert(1)</script>"


def light(images: np.ndarray) -> np.ndarray:
    """Three classes by how light a picture is: dark, grey and bright."""
    level = images.mean(axis=(1, 2, 3))[:, None] / 255
    return np.exp(-40 * (level - np.array([[0.1, 0.5, 0.9]])) ** 2)


def texture(images: np.ndarray) -> np.ndarray:
    """Two classes by how much neighbouring pixels differ: smooth and rough."""
    rough = np.abs(np.diff(images.astype(float), axis=2)).mean(axis=(1, 2, 3))[:, None] / 12
    return np.concatenate([1 - rough, rough], axis=1)


def broken(images: np.ndarray) -> np.ndarray:
    """A model whose code fails."""
    raise RuntimeError(f"{HOSTILE} has no weights for {len(images)} images")


def small_data(names: tuple[str, ...] = ("dark", "grey", HOSTILE)):
    images = np.stack([square(photo(name, 300), 48) for name in ("cat", "coffee", "cat", "coffee")])
    images[1] //= 4
    return arrays(images, [1, 0, 1, 1], names, name="small")


def small_state(**more: object) -> State:
    models = {"light": light, "texture": texture, "broken": broken}
    state = State.of({name: from_callable(f, name=name) for name, f in models.items()}, data=small_data(), **more)
    state.load()
    return state


@pytest.fixture(scope="module")
def state() -> State:
    return small_state()


@pytest.fixture(scope="module")
def client(state: State) -> Iterator[object]:
    """A browser that has opened the address of the explorer."""
    testclient = pytest.importorskip("starlette.testclient")
    safe = Safety(create_app(state), token=TOKEN, hosts=allowed_hosts("127.0.0.1", 8765))
    with testclient.TestClient(safe, base_url=f"http://{HOST}", raise_server_exceptions=False) as opened:
        assert opened.get("/", params={"token": TOKEN}).status_code == 200
        yield opened
