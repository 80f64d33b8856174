"""Models that load in the background, pictures by their ids alone, and uploads that are none."""

import inspect
import struct
import threading
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle.datasets import arrays, photo
from brittle.explorer.state import MAX_BYTES, MAX_PIXELS, Recent, State, _loading, locked, read_upload
from brittle.models import ZeroShotModel
from tests.errors import naming
from tests.explorer.conftest import small_state


def file_of(image: np.ndarray, kind: str = "PNG") -> bytes:
    stream = BytesIO()
    Pil.fromarray(image).save(stream, kind)
    return stream.getvalue()


def huge_png(side: int = 30_000) -> bytes:
    """A PNG of a few kilobytes that says it is 30,000 × 30,000."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(10_000))) + chunk(b"IEND", b"")


WHOLE = file_of(photo("cat", 64), "JPEG")
NO_PICTURES = {
    "empty": (b"", ()),
    "text": (b"root:x:0:0:root:/root:/bin/bash\n" * 99, ()),
    "html": (b"<html><script>alert(1)</script></html>", ()),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', ()),
    "cut": (WHOLE[: len(WHOLE) // 2], ()),
    "a header alone": (WHOLE[:30], ()),
    "bomb": (huge_png(), ("million", 50)),
    "a little too large": (huge_png(int(MAX_PIXELS**0.5) + 1), ("7,072",)),
    "too many bytes": (b"\x89PNG" + bytes(MAX_BYTES), (20,)),
}


@pytest.mark.parametrize(("content", "named"), NO_PICTURES.values(), ids=NO_PICTURES)
def test_what_is_no_picture_is_refused_in_a_sentence(content: bytes, named: tuple[object, ...]) -> None:
    with pytest.raises(BrittleError, match=naming(*named)) as refused:
        read_upload(content)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_pictures_of_many_kinds_are_read(kind: str) -> None:
    assert read_upload(file_of(photo("cat", 40), kind)).shape == (40, 40, 3)


@pytest.mark.parametrize(
    "identity",
    ["", "../../etc/passwd", "/etc/passwd", "d-1", "d4", "d٣", "d1e9", "d" + "9" * 400, "b0/", "u", "b0\0", "%2e%2e"],
)
def test_an_id_that_was_never_given_out_is_no_picture(state: State, identity: str) -> None:
    with pytest.raises(BrittleError):
        state.picture(identity)


@pytest.mark.parametrize("name", ["../../etc/passwd", "C:\\temp\\cat.png", "<b>.png", "a\nb.png", "", "x" * 500])
def test_the_name_of_an_upload_is_no_path(name: str) -> None:
    shown = small_state().upload(file_of(photo("cat", 40)), name)
    assert 0 < len(shown.name) <= 80
    assert not set(shown.name) & set("/\\<>\n")


def test_uploads_make_room_and_keep_their_pixels() -> None:
    state = State.of(())
    state.uploads.limit = 5 * 40 * 40 * 3
    shown = [state.upload(file_of(photo("cat", 40) // (i + 1)), "cat.png") for i in range(8)]
    assert len(state.uploads) == 5
    assert np.array_equal(state.picture(shown[7].id).pixels, photo("cat", 40) // 8)
    with pytest.raises(BrittleError, match=naming(shown[0].id)):
        state.picture(shown[0].id)


def test_a_value_is_computed_once_for_all_who_wait() -> None:
    recent: Recent[int] = Recent(3)
    calls, begin = [], threading.Barrier(4)

    def ask() -> None:
        begin.wait()
        assert recent.once("key", compute) == 1

    def compute() -> int:
        calls.append(1)
        threading.Event().wait(0.05)
        return len(calls)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]
    with pytest.raises(ZeroDivisionError):
        recent.once("error", lambda: 1 // 0)
    assert recent.once("error", lambda: 7) == 7
    for i in range(10):
        recent.once(i, lambda: 1)
    assert len(recent) == 3
    assert recent.get("key") is None
    assert recent.get(9) == 1


def test_a_model_that_cannot_be_loaded_is_told_and_the_others_work() -> None:
    state = State.of(["nowhere.onnx", lambda images: np.ones((len(images), 2))])
    state.load()
    assert [model.status for model in state.models] == ["failed", "ready"]
    assert "nowhere.onnx" in state.models[0].error


def test_data_that_cannot_be_loaded_are_told() -> None:
    state = State.of((), data="/nowhere/at/all")
    state.load()
    assert state.dataset is None
    assert "/nowhere/at/all" in state.dataset_error


def test_pictures_are_given_in_many_ways(tmp_path: Path) -> None:
    path = tmp_path / "a photo.jpg"
    path.write_bytes(WHOLE)
    given = ["coffee", path, photo("cat", 33), Pil.fromarray(photo("cat", 20)), ("mine", photo("cat", 21))]
    state = State.of((), pictures=given)
    assert [shown.name for shown in state.photos.values()] == [
        "coffee",
        "a photo.jpg",
        "picture 2",
        "picture 3",
        "mine",
    ]
    assert [shown.pixels.shape[0] for shown in state.photos.values()] == [300, 64, 33, 20, 21]
    [shown] = State.of((), pictures={"one": photo("cat", 20)}).photos.values()
    assert shown.name == "one"


@pytest.mark.parametrize("given", [{"pictures": "nowhere.jpg"}, {"runs": ["nowhere"]}])
def test_what_is_not_there_is_named(given: dict[str, object]) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        State.of((), **given)


class ByName:
    """A model that takes the names of classes, and is given them slowly."""

    name, key = "by name", "k"

    def __init__(self, classes: tuple[str, ...] = (), given: threading.Event | None = None) -> None:
        self.classes, self.given = classes, given or threading.Event()

    def for_classes(self, names: Sequence[str]) -> "ByName":
        if "broken" in names:
            raise OSError("no tokenizer")
        assert self.given.wait(20)
        return ByName(tuple(names))

    def scores(self, images: np.ndarray) -> np.ndarray:
        if not self.classes:
            raise BrittleError("there are no names")
        return np.ones((len(images), len(self.classes)), np.float32)


def test_a_model_behind_a_lock_still_takes_the_names_of_classes() -> None:
    model = locked(ByName(), threading.Lock())
    for name in ("name", "key", "scores", "classes", "for_classes"):  # as isinstance does from Python 3.12 on
        inspect.getattr_static(model, name)
    assert isinstance(model, ZeroShotModel)
    assert not isinstance(locked(ByName().scores, threading.Lock()), ZeroShotModel)


def test_a_model_is_ready_only_when_it_has_the_names_of_classes() -> None:
    model = ByName()
    data = arrays(np.zeros((2, 8, 8, 3), np.uint8), [0, 1], ["cat", "dog"], name="pets")
    state = State(models=_loading([model]), data=data)
    thread = threading.Thread(target=state.load)
    thread.start()
    assert not state.models[0].done.wait(0.5)
    assert state.models[0].status == "loading"
    model.given.set()
    thread.join(20)
    assert (state.models[0].status, state.problems) == ("ready", [])
    assert state.models[0].model.classes == ("cat", "dog")
    assert state.models[0].model.scores(np.zeros((1, 8, 8, 3), np.uint8)).shape == (1, 2)


def test_a_model_that_cannot_take_the_names_says_why() -> None:
    data = arrays(np.zeros((2, 8, 8, 3), np.uint8), [0, 1], ["cat", "broken"], name="pets")
    state = State(models=_loading([ByName()]), data=data)
    state.load()
    assert state.loaded.is_set()
    assert (state.models[0].status, state.problems) == ("failed", ["by name: no tokenizer"])
