"""Damaged files of images, arrays, tables, weights and recipes: read, left out with a reason, or refused."""

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pil

import brittle
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import Dataset, arrays, load_dataset
from brittle.evaluation import evaluate, import_predictions, load_rules
from brittle.models import from_callable, load_model
from tests.datasets.fake_layouts import cifar_batches
from tests.fuzz.damage import DAMAGE, damaged
from tests.fuzz.engine import SENTENCES, Finding, Fuzzer

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 12, 10, 3), np.uint8)
LABELS = np.arange(4) % 2
IMAGE_FILES = ("png", "jpg", "webp", "gif", "bmp", "tiff")


@cache
def pristine() -> Path:
    """A folder with one good file of each kind."""
    folder = Path(tempfile.mkdtemp(prefix="brittle-files-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for suffix in IMAGE_FILES:
        Pil.fromarray(PIXELS[0]).save(folder / f"image.{suffix}")
    np.savez(folder / "data.npz", images=PIXELS, labels=LABELS)
    np.savez_compressed(folder / "packed.npz", images=PIXELS, labels=LABELS)
    np.save(folder / "images.npy", PIXELS)
    np.save(folder / "labels.npy", LABELS)
    rows = [f"{i},clean,0,{i % 2},0.{5 + i}" for i in range(4)] + [f"{i},fog,3,{i % 2},0.5" for i in range(4)]
    (folder / "table.csv").write_text("sample,corruption,level,prediction,confidence\n" + "\n".join(rows) + "\n")
    columns = zip(*(row.split(",") for row in rows), strict=True)
    names = ("sample", "corruption", "level", "prediction", "confidence")
    np.savez(folder / "table.npz", **{name: np.array(column) for name, column in zip(names, columns, strict=True)})
    Benchmark("small", (Entry("fog", (1, 3)), Entry("gaussian_noise", ((1, 5),)))).save(folder / "recipe.toml")
    (folder / "rules.toml").write_text('[[rule]]\nmetric = "clean accuracy"\nat_least = 0.5\n')
    small = np.random.default_rng(1).integers(0, 256, (4, 32, 32, 3), np.uint8)
    cifar_batches(folder, small, [0, 1, 0, 1], key=b"labels", name="batch")
    _write_networks(folder)
    return folder


def _write_networks(folder: Path) -> None:
    import torch

    from brittle.models import build_network
    from brittle.models.networks import save_trained
    from tests.models.graphs import write

    network = build_network("small:2", 2)
    save_trained(network, folder / "net.safetensors", "small:2", ["a", "b"], (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    torch.save(network.state_dict(), folder / "net.pt")
    write(folder / "net.onnx", ("batch", 3, 12, 10))


def read_image(path: Path) -> str:
    """A folder with the file and a good one."""
    other = path.parent / "set" / "b" / "good.png"
    (path.parent / "set" / "a").mkdir(parents=True)
    other.parent.mkdir()
    Pil.fromarray(PIXELS[1]).save(other)
    path.rename(path.parent / "set" / "a" / path.name)
    data = load_dataset(path.parent / "set", prepare="12x10")
    model = from_callable(
        lambda images: np.stack([images.mean((1, 2, 3)), images.std((1, 2, 3))], 1), name="m", version="1"
    )
    rows = evaluate(model, data, folder=path.parent / "run", progress=None, threads=1).rows.collect()
    if not 1 <= len(rows) <= 2 or "b/good.png" not in rows["sample"].to_list():
        raise Finding(f"rows of {rows['sample'].to_list()}")
    return "read" if len(rows) == 2 else "left out"


def read_arrays(path: Path) -> str:
    """A data set in a file; every image has one size and a label that a class has."""
    if path.name == "labels.npy":
        shutil.copy(pristine() / "images.npy", path.parent)
        path = path.with_name("images.npy")
    elif path.name == "images.npy":
        shutil.copy(pristine() / "labels.npy", path.parent)
    _check_data(load_dataset(path, prepare="none"))
    return "read"


def _check_data(data: Dataset) -> None:
    for i in range(min(len(data), 8)):
        image = data.image(i)
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise Finding(f"an image of {image.dtype} {image.shape}")
    if data.labels is not None and len(data.labels) != len(data):
        raise Finding("labels and images are not as many")
    if not data.key:
        raise Finding("data without a key")


def read_batch(path: Path) -> str:
    """A pickle of CIFAR's; no code in it may run."""
    folder = path.parent / "cifar-10-batches-py"
    folder.mkdir()
    path.rename(folder / "test_batch")
    _check_data(load_dataset(f"cifar10:{path.parent}"))
    return "read"


def read_table(path: Path) -> str:
    """Predictions; every row that comes in is one of a sample that there is, of a class that there is."""
    data = arrays(PIXELS, LABELS, ["a", "b"], name="squares")
    rows = import_predictions(path, data, path.parent / "run").rows.collect()
    if not rows["prediction"].is_between(0, 1).all() or not set(rows["sample"]) <= set("0123"):
        raise Finding("rows that are not in the data")
    return "read"


def read_model(path: Path) -> str:
    """Weights; scores are numbers, or a sentence says that they are not."""
    data = (
        arrays(PIXELS, LABELS, name="squares")
        if path.suffix == ".onnx"
        else arrays(PIXELS, LABELS, ["a", "b"], name="squares")
    )
    if path.suffix == ".pt":
        from brittle.models import build_network, load_into

        load_into(build_network("small:2", 2), path)
        return "read"
    model = load_model(str(path), device="cpu")
    evaluate(model, data, progress=None, threads=1)
    return "read"


def read_recipe(path: Path) -> str:
    """A recipe, as far as its cells."""
    Benchmark.load(path).cells()
    return "read"


def read_rules(path: Path) -> str:
    """Rules of a check."""
    load_rules(path)
    return "read"


READERS: dict[str, Callable[[Path], str]] = {
    **{f"image.{suffix}": read_image for suffix in IMAGE_FILES},
    **dict.fromkeys(("data.npz", "packed.npz", "images.npy", "labels.npy"), read_arrays),
    "table.csv": read_table,
    "recipe.toml": read_recipe,
    "table.npz": read_table,
    "rules.toml": read_rules,
    "batch": read_batch,
    **dict.fromkeys(("net.safetensors", "net.pt", "net.onnx"), read_model),
}


def check(file: str, damage: str, seed: int) -> str:
    """Damage a file and read it, through the function that a user would call."""
    with tempfile.TemporaryDirectory(prefix="brittle-fuzz-") as folder:
        path = Path(folder) / file
        path.write_bytes(damaged((pristine() / file).read_bytes(), damage, seed))
        state = np.random.get_state()[1].tobytes()  # type: ignore[index] # noqa: NPY002
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", brittle._io.DamagedFile)
            try:
                outcome = READERS[file](path)
            except SENTENCES as error:
                if not _is_sentence(error):
                    raise
                outcome = "refused"
        if np.random.get_state()[1].tobytes() != state:  # type: ignore[index] # noqa: NPY002
            raise Finding("a global generator was used")
    if damage == "nothing" and outcome != "read":
        raise Finding(f"a good file was {outcome}")
    return outcome


def _is_sentence(error: Any) -> bool:
    """Whether a message tells anything, in a few lines."""
    text = str(error).strip()
    return len(text) > 15 and text.count("\n") < 8


FILES = Fuzzer("files", {"file": list(READERS), "damage": list(DAMAGE), "seed": range(2**31)}, check)
