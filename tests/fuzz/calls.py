"""Calls of `corrupt` and `Transform`: whatever the image, severity, seed and sample, a picture or a sentence."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from tests.fuzz.engine import Finding, Fuzzer

SEVERITIES: dict[str, Any] = {
    **{repr(x): x for x in (3, 1, 5, 0, 2.5, 0.1, 4.999, 10, 9.7, 5.5, 1e-9, 5e-324, -1, 1e308, 10**400)},
    **{"nan": float("nan"), "inf": float("inf"), "-0.0": -0.0, "True": True, "None": None, "text": "3", "list": [3]},
    **{"float32": np.float32(2.3), "int8": np.int8(2), "array": np.array(2.0), "fraction": Fraction(7, 3)},
    **{"huge fraction": Fraction(10**400, 3), "complex": 2 + 0j, "bool_": np.True_},
}
SEEDS: dict[str, Any] = {
    **{repr(x): x for x in (0, 1, 2**32, 2**63, 2**64 - 1, 2**64, -1, 10**100, 1.0, 1.5, None, True, "0")},
    "int64": np.int64(7),
    "nan": float("nan"),
}
SAMPLES: dict[str, Any] = {
    **{repr(x): x for x in (None, 0, 5, -1, 10**30, "cat.jpg", "", "\0", "ü☃", "a" * 5000, 1.5, True, b"x", (1,))},
    **{"surrogate": "\ud800", "low surrogate": "\udcff", "int64": np.int64(3), "list": [0, 1]},
}


def image_of(layout: str, dtype: str, shape: tuple[int, ...], content: str, seed: int) -> Any:
    """An image, or what somebody took for one."""
    rng = np.random.default_rng(seed)
    values = {
        "random": lambda: rng.random(shape),
        "black": lambda: np.zeros(shape),
        "white": lambda: np.ones(shape),
        "ramp": lambda: np.linspace(0, 1, int(np.prod(shape))).reshape(shape),
    }.get(content, lambda: rng.random(shape))()
    whole = np.dtype(dtype).kind in "iub"
    array = (np.rint(values * 255) if whole else values).astype(dtype)
    odd = {
        "one pixel": 0.3,
        "nan": np.nan,
        "inf": np.inf,
        "negative": -1e-6,
        "above one": 1 + 1e-6,
        "nearly one": 0.9999999,
    }
    if content in odd and array.size and not whole and dtype != "object":
        array.reshape(-1)[-1] = odd[content]
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "every second":
        return np.repeat(array, 2, axis=-2)[..., ::2, :] if array.ndim > 2 else np.repeat(array, 2, axis=0)[::2]
    if layout == "backwards":
        return array[::-1, ::-1]
    if layout == "read-only":
        array.flags.writeable = False
    elif layout == "subclass":
        return array.view(Own)
    elif layout == "masked":
        return np.ma.array(array)
    elif layout == "list":
        return array.tolist()
    elif layout == "memmap":
        return memory_mapped(array)
    elif layout == "pil" and dtype == "uint8" and array.ndim in (2, 3) and shape[-1] != 1 and 0 not in shape:
        return Pil.fromarray(array) if array.ndim == 2 or shape[2] in (3, 4) else array
    elif layout == "torch":
        import torch

        return torch.from_numpy(array) if dtype in ("uint8", "float32", "float64", "float16") else array
    return array


class Own(np.ndarray):
    """Somebody's arrays."""


def memory_mapped(array: np.ndarray) -> np.ndarray:
    """An array in a file that is gone already."""
    import tempfile

    if array.size == 0 or array.dtype == object:
        return array
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, array.dtype, "w+", shape=array.shape)
    mapped[...] = array
    return mapped


def content_of(image: Any) -> bytes:
    """What an image holds, to see that it stays."""
    return repr(image).encode() if isinstance(image, list) else np.asarray(image).tobytes()


def states() -> list[Any]:
    """The states of all global generators."""
    import torch

    legacy: Any = np.random.get_state()  # noqa: NPY002
    return [random.getstate(), legacy[1].tobytes(), legacy[2:], torch.get_rng_state().numpy().tobytes()]


def check(
    call: str,
    corruption: str,
    height: int,
    width: int,
    channels: int | None,
    batch: int | None,
    dtype: str,
    layout: str,
    content: str,
    pixels: int,
    severity: str,
    seed: str,
    sample: str,
    table: Any,
    jpeg85: bool,
) -> str:
    """Call it twice: the same picture, of the kind of the one given, which has not changed; or a sentence twice."""
    shape = (*(() if batch is None else (batch,)), height, width, *(() if channels is None else (channels,)))
    image = image_of(layout, dtype, shape, content, pixels)
    before, generators = content_of(image), states()

    def answer() -> Any:
        options = {"table": table, **({"jpeg85": True} if jpeg85 and call == "corrupt" else {})}
        try:
            if call == "corrupt":
                given = {"seed": SEEDS[seed], "sample": SAMPLES[sample]}
                return brittle.corrupt(image, corruption, SEVERITIES[severity], **given, **options)
            transform = brittle.Transform([corruption], SEVERITIES[severity], seed=SEEDS[seed], **options)
            return transform(image) if call == "transform" else transform.apply(image, SAMPLES[sample])
        except BrittleError as error:
            if not str(error).strip():
                raise Finding("an error without a sentence") from error
            return error

    one, two = answer(), answer()
    if content_of(image) != before:
        raise Finding("the input was changed")
    if states() != generators:
        raise Finding("a global generator was used")
    if isinstance(one, BrittleError):
        if str(one) != str(two):
            raise Finding(f"two sentences: {one} | {two}")
        return "refused"
    if content_of(one) != content_of(two) and call != "transform":
        raise Finding("two pictures")
    if type(one) is not type(image) and layout not in ("memmap", "subclass"):
        raise Finding(f"{type(image).__name__} became {type(one).__name__}")
    if layout == "pil":
        if getattr(one, "size", 0) != getattr(image, "size", 0):
            raise Finding("another size")
    else:
        expected = np.asarray(image).dtype.newbyteorder("=")
        if one.shape != image.shape or np.asarray(one).dtype.newbyteorder("=") != expected:
            raise Finding(f"{np.asarray(image).dtype} {image.shape} became {np.asarray(one).dtype} {one.shape}")
        if call == "corrupt" and np.shares_memory(np.asarray(one), np.asarray(image)):
            raise Finding("the result is the input")
        if expected.kind == "f" and not (np.asarray(one).min() >= 0 and np.asarray(one).max() <= 1):
            raise Finding("values outside of [0, 1]")
    return "corrupted"


CALLS = Fuzzer(
    "calls",
    {
        "call": ("corrupt", "apply", "transform"),
        "corruption": [one.id for one in brittle.list_corruptions()],
        "height": (32, 8, 1, 2, 3, 5, 7, 31, 33, 64, 97),
        "width": (32, 8, 1, 2, 3, 5, 7, 31, 33, 64, 97),
        "channels": (3, 1, None, 4),
        "batch": (None,),
        "dtype": ("uint8", "float32", "float64"),
        "layout": ("plain", "read-only", "fortran", "every second", "backwards", "memmap", "subclass", "pil"),
        "content": ("random", "black", "white", "ramp", "one pixel", "nearly one"),
        "pixels": range(1000),
        "severity": ("3", "1", "5", "0", "2.5", "0.1", "4.999", "1e-09", "5e-324", "float32", "int8"),
        "seed": ("0", "1", "4294967296", "int64"),
        "sample": ("None", "0", "5", "'cat.jpg'", "'ü☃'", "int64"),
        "table": (None, 224),
        "jpeg85": (False, True),
    },
    check,
    odd={
        "height": (0, 224, 400),
        "width": (0, 224, 400),
        "channels": (2, 0, 5),
        "batch": (2, 1, 0, 3),
        "dtype": ("float16", "int16", "bool", ">f4", "uint16", "object", "complex64"),
        "layout": ("masked", "list", "torch"),
        "content": ("nan", "inf", "negative", "above one"),
        "severity": list(SEVERITIES),
        "seed": list(SEEDS),
        "sample": list(SAMPLES),
        "table": (32, 64, 299, 7, 0, -1, "32", 1.5),
    },
)
