"""What models give back: scores of any dtype, shape and value, from code that may write into its input."""

from typing import Any

import numpy as np

from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import arrays
from brittle.evaluation import evaluate
from brittle.models import from_callable
from tests.fuzz.engine import SENTENCES, Finding, Fuzzer

IMAGES = np.random.default_rng(0).integers(0, 256, (13, 8, 8, 3), np.uint8)
LABELS = np.arange(13) % 4
RAISES: dict[str, type[BaseException]] = {
    kind.__name__: kind
    for kind in (LookupError, SystemExit, StopIteration, KeyboardInterrupt, GeneratorExit, MemoryError, RecursionError)
}
RECIPE = Benchmark("one", (Entry("imagenet-c/contrast", (3,)),))


def shaped(shape: str, count: int) -> tuple[int, ...]:
    """A shape by its name, for `count` images."""
    known = {"N": (count,), "4×N": (4, count), "N×4×1": (count, 4, 1), "1×4": (1, 4), "()": (), "2N×4": (2 * count, 4)}
    known |= {"(N-1)×4": (count - 1, 4)}
    return known.get(shape) or (() if shape == "()" else (count, int(shape[2:])))


def scores(images: np.ndarray, shape: str, values: str) -> np.ndarray:
    """Scores that depend on each image alone."""
    wanted = shaped(shape, len(images))
    levels = np.resize(images.mean((1, 2, 3)) / 255, len(images))
    columns = int(np.prod(wanted)) // max(len(images), 1) if wanted else 1
    logits = np.sin(levels[:, None] * 40 + np.arange(max(columns, 1))) * 3
    if values in ("probabilities", "nearly one", "above one"):
        logits = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        logits = logits * {"nearly one": 0.9995, "above one": 1.003}.get(values, 1)
    constants = {"zeros": 0.0, "ties": 1.0, "nan": np.nan, "inf": np.inf, "-inf": -np.inf, "1e30": 1e30, "tiny": 1e-320}
    if values in constants:
        logits = np.full_like(logits, constants[values])
    if values == "one nan":
        logits[-1, -1] = np.nan
    return np.resize(logits, wanted)


def converted(given: np.ndarray, dtype: str, kind: str) -> Any:
    """Scores of a dtype, in a container."""
    import torch

    if dtype == "bfloat16" or kind in ("tensor", "grad tensor"):
        tensor = torch.from_numpy(np.array(given, np.float32)).to(
            torch.bfloat16 if dtype == "bfloat16" else torch.float32
        )
        return tensor.requires_grad_() if kind == "grad tensor" else tensor
    with np.errstate(all="ignore"):
        array = given.astype(dtype if dtype != "str" else str)
    return {
        "list": array.tolist,
        "tuple": lambda: (array, array),
        "dict": lambda: {"logits": array},
        "none": lambda: None,
        "scalar": lambda: 3.0,
        "generator": lambda: (row for row in array),
        "text": lambda: "cat",
        "strided": lambda: np.repeat(array, 2, axis=0)[::2] if array.ndim else array,
    }.get(kind, lambda: array)()


def check(
    shape: str, values: str, dtype: str, kind: str, writes: str, raises: str, from_batch: int, size: int, first: bool
) -> str:
    """Beside it runs a model that is as it should be: its rows are those it has alone, whatever the other one does."""
    seen: list[np.ndarray] = []

    def odd(images: np.ndarray) -> Any:
        answer = scores(images, shape, values)
        seen.append(images)
        if writes == "zeros":
            images[...] = 0
        elif writes == "negative":
            np.subtract(255, images, out=images)
        elif writes == "into a view":
            images.transpose(0, 3, 1, 2).reshape(-1)[...] = 7
        if raises != "nothing" and len(seen) > from_batch:
            raise RAISES[raises]("not today")
        return converted(answer, dtype, kind)

    def good(images: np.ndarray) -> np.ndarray:
        return scores(images, "N×4", "logits")

    odd_one = from_callable(odd, name="odd", version="1")
    pair = [odd_one, from_callable(good, name="good", version="1")]
    data = arrays(IMAGES, LABELS, list("abcd"), name="squares")
    try:
        with np.errstate(all="ignore"):
            results = evaluate(pair if first else pair[::-1], data, RECIPE, batch_size=size, progress=None, threads=1)
    except SENTENCES as error:
        if "odd" not in str(error):
            raise Finding(f"the model is not named: {error}") from error
        return "refused"
    except (KeyboardInterrupt, GeneratorExit, SystemExit) as error:
        if type(error).__name__ != raises:
            raise
        return "interrupted"
    rows = results.rows.collect()
    if len(rows) != 2 * 2 * len(IMAGES):
        raise Finding(f"{len(rows)} rows")
    right = good_rows()
    kept = rows.filter(rows["model"] == "good").sort("corruption", "sample").select("prediction", "confidence")
    if not kept.equals(right):
        raise Finding("the other model's rows have changed")
    other = rows.filter(rows["model"] == "odd")
    confidence = other["confidence"]
    if not (confidence.is_finite().all() and confidence.min() >= 0 and confidence.max() <= 1.001):
        raise Finding(f"confidences from {confidence.min()} to {confidence.max()}")
    if not other["prediction"].is_between(0, 3).all():
        raise Finding("a prediction that is no class")
    return "accepted"


def good_rows() -> Any:
    """The rows of the good model alone."""
    if not _GOOD:
        data = arrays(IMAGES, LABELS, list("abcd"), name="squares")
        model = from_callable(lambda images: scores(images, "N×4", "logits"), name="good", version="1")
        rows = evaluate(model, data, RECIPE, batch_size=13, progress=None, threads=1).rows.collect()
        _GOOD.append(rows.sort("corruption", "sample").select("prediction", "confidence"))
    return _GOOD[0]


_GOOD: list[Any] = []

OUTPUTS = Fuzzer(
    "outputs",
    {
        "shape": ("N×4",),
        "values": ("logits", "probabilities", "zeros", "ties", "nearly one", "above one"),
        "dtype": ("float32", "float64", "float16", "bfloat16", "int64", "uint8"),
        "kind": ("array", "tensor", "list", "grad tensor", "strided"),
        "writes": ("nothing", "zeros", "negative", "into a view"),
        "raises": ("nothing",),
        "from_batch": (0, 1, 3),
        "size": (13, 5, 1, 64),
        "first": (True, False),
    },
    check,
    odd={
        "shape": ("N×5", "N×3", "N×1", "N×0", "N", "4×N", "N×4×1", "1×4", "(N-1)×4", "()", "2N×4", "N×1000"),
        "values": ("nan", "inf", "-inf", "1e30", "tiny", "one nan"),
        "dtype": ("bool", "object", "complex64", "str", "longdouble"),
        "kind": ("tuple", "dict", "none", "scalar", "generator", "text"),
        "raises": tuple(RAISES),
    },
)
