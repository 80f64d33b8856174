"""Datasets of torch and Hugging Face, known by what they can do."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pil

from brittle import BrittleError
from brittle.datasets import UnreadableImage, from_hugging_face, from_torch
from brittle.datasets.images import any_image
from tests.datasets.fake_layouts import pixels
from tests.errors import naming

IMAGE = pixels(6, 5, 3)
DEEP = Pil.fromarray(IMAGE[..., 0].astype(np.uint16) * 257)


class Tensor:
    """What of a torch tensor is used."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.ndim = array, array.shape, array.ndim

    def detach(self) -> "Tensor":
        return self

    cpu = detach

    def numpy(self) -> Any:
        return self.array


def _file(picture: Any) -> bytes:
    stream = io.BytesIO()
    Pil.fromarray(picture).save(stream, "PNG")
    return stream.getvalue()


GREY = np.repeat(IMAGE[..., :1], 3, axis=2)
KINDS: dict[str, tuple[Any, Any]] = {
    "Pillow": (Pil.fromarray(IMAGE), IMAGE),
    "grey Pillow": (Pil.fromarray(IMAGE[..., 0]), GREY),
    "16-bit Pillow": (DEEP, GREY),
    "array": (IMAGE, IMAGE),
    "grey array": (IMAGE[..., 0], GREY),
    "RGBA array": (np.dstack([IMAGE, IMAGE[..., 0]]), IMAGE),
    "int64 array": (IMAGE.astype(int), IMAGE),
    "real array": (IMAGE / 255, IMAGE),
    "tensor": (Tensor(IMAGE.transpose(2, 0, 1)), IMAGE),
    "real tensor": (Tensor((IMAGE.transpose(2, 0, 1) / 255).astype(np.float32)), IMAGE),
    "grey tensor": (Tensor(IMAGE[None, ..., 0]), GREY),
    "bytes": ({"bytes": _file(IMAGE), "path": None}, IMAGE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_image_becomes_rgb(kind: str) -> None:
    value, meant = KINDS[kind]
    image = any_image(value)
    assert image.dtype == np.uint8
    assert np.array_equal(image, meant)


@pytest.mark.parametrize(
    ("value", "error", "values"),
    [
        (IMAGE / 255 - 0.5, ValueError, ("float64", 0, 1, "-0.5", "0.472549")),
        (IMAGE.astype(int) * 2, ValueError, ("int64", 0, 255, 496)),
        (np.full((4, 4, 3), np.nan), ValueError, ("float64", 0, 1, "nan")),
        (IMAGE.transpose(2, 0, 1), ValueError, (1, 3, "(3, 6, 5)")),
        (3, TypeError, (2, 3, "int", "()")),
        ({"bytes": b"no image", "path": None}, UnreadableImage, ("Pillow",)),
    ],
)
def test_what_is_no_image_is_told(value: Any, error: type[Exception], values: tuple) -> None:
    with pytest.raises(error, match=naming(*values)):
        any_image(value)


class Pairs:
    """A map-style dataset."""

    def __init__(self, labels: list[int], **more: Any) -> None:
        self.labels, self.read = labels, 0
        self.__dict__.update(more)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Any:
        self.read += 1
        return Pil.fromarray(pixels(6, 5, 3, seed=index)), self.labels[index]


def test_a_torch_dataset() -> None:
    data = from_torch(Pairs([2, 0, 1], classes=["a", "b", "c"]))
    assert data.labels is not None
    assert (data.labels.tolist(), data.classes, data.ids) == ([2, 0, 1], ("a", "b", "c"), (0, 1, 2))
    assert np.array_equal(data.image(2), pixels(6, 5, 3, seed=2))
    assert data.key == from_torch(Pairs([2, 0, 1]), classes=["a", "b", "c"]).key
    assert data.key != from_torch(Pairs([2, 0, 1]), classes=["a", "b", "c"], key="v1").key


def test_targets_spare_reading_unless_they_are_transformed() -> None:
    many = Pairs([1] * 50, targets=[1] * 50)
    assert from_torch(many).labels is not None
    assert many.read < 10
    changed = Pairs([1, 0], targets=[1, 1], target_transform=abs)
    labels = from_torch(changed).labels
    assert labels is not None
    assert labels.tolist() == [1, 0]


def test_a_dataset_that_changes_is_refused() -> None:
    moving = Pairs([0, 1, 2])
    data = from_torch(moving)
    moving.labels = [0, 2, 1]
    with pytest.raises(BrittleError, match=naming(1, 2)):
        data.image(1)
    moving.__class__ = type("Random", (Pairs,), {"__getitem__": _noise})
    with pytest.raises(BrittleError, match=naming(0)):
        from_torch(moving)
    with pytest.raises(BrittleError, match=naming("torch", "empty")):
        from_torch([])
    with pytest.raises(TypeError, match=naming("list_iterator", "map-style")):
        from_torch(iter([]))


def _noise(self: Pairs, index: int) -> Any:
    self.read += 1
    return pixels(6, 5, 3, seed=self.read), self.labels[index]


def test_real_torch_datasets() -> None:
    torch = pytest.importorskip("torch")
    images = torch.from_numpy(np.stack([pixels(3, 6, 5, seed=seed) for seed in range(4)]))
    whole = torch.utils.data.TensorDataset(images, torch.tensor([3, 1, 0, 2]))
    part = from_torch(torch.utils.data.Subset(whole, [2, 0]))
    assert part.labels is not None
    assert part.labels.tolist() == [0, 3]
    assert np.array_equal(part.image(1), pixels(3, 6, 5).transpose(1, 2, 0))
    assert from_torch(torch.utils.data.TensorDataset(images)).labels is None


class Split:
    """What of a Hugging Face split is used."""

    def __init__(self, columns: dict[str, list[Any]], **more: Any) -> None:
        self.columns, self.column_names = columns, list(columns)
        self.__dict__.update(more)

    def __len__(self) -> int:
        return len(self.columns[self.column_names[0]])

    def __getitem__(self, key: int | str) -> Any:
        return self.columns[key] if isinstance(key, str) else {name: col[key] for name, col in self.columns.items()}


def _split(**more: Any) -> Split:
    names = type("ClassLabel", (), {"names": ["cat", "dog"]})()
    return Split({"img": [IMAGE, IMAGE[::-1]], "label": [1, 0]}, features={"label": names}, **more)


def test_a_hugging_face_split() -> None:
    data = from_hugging_face(_split())
    assert data.labels is not None
    assert (data.labels.tolist(), data.classes) == ([1, 0], ("cat", "dog"))
    assert np.array_equal(data.image(1), IMAGE[::-1])
    keys = {from_hugging_face(_split(_fingerprint=text)).key for text in "aba"}
    assert len(keys) == 2
    assert from_hugging_face(Split({"image": [IMAGE], "label": [-1]})).labels is None
    named = from_hugging_face(Split({"photo": [IMAGE], "kind": [4]}), image="photo", label="kind")
    assert named.labels is not None
    assert named.labels.tolist() == [4]


@pytest.mark.parametrize(
    ("dataset", "options", "values"),
    [
        (Split({"pixels": [IMAGE]}), {}, ("image=…", "pixels")),
        (Split({"image": [IMAGE]}), {"label": "y"}, ("y", "image")),
        (type("Dict", (), {"column_names": {"train": [], "test": []}})(), {}, ("train", "test")),
        ([IMAGE], {}, ("list", "Hugging Face")),
        (
            Split({"image": [IMAGE], "label": [2]}, features={"label": _split().features["label"]}),
            {},
            ("'Split'", 2, 0, 1),
        ),
    ],
)
def test_what_is_wrong_with_a_split_is_told(dataset: Any, options: dict[str, str], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        from_hugging_face(dataset, **options)
