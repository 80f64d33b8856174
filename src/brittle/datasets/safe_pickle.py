"""Pickles of plain data: anything else in them is refused, so that no file runs code."""

from __future__ import annotations

import io
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def _rebuild(kind: Any, shape: Any, code: Any) -> Any:
    if kind is not np.ndarray or tuple(shape) != (0,):
        raise pickle.UnpicklingError("it holds something else than a plain array")
    return np.ndarray.__new__(np.ndarray, shape, code)


def _encode(text: str, _: str = "latin1") -> bytes:
    return text.encode("latin1")  # how Python 3 writes bytes into an old pickle


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _rebuild,
    ("numpy._core.multiarray", "_reconstruct"): _rebuild,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _encode,
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no plain data")
        return _ALLOWED[module, name]


def read_plain_pickle(path: str | Path) -> Any:
    """What a pickle holds, if that is numbers, text, lists, dictionaries and arrays only. Text of Python 2 is bytes."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy finds the spelling of 2009 old-fashioned
            return _Plain(io.BytesIO(path.read_bytes()), encoding="bytes").load()
    except Exception as error:  # a damaged pickle raises anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{str(path)!r} is not a pickle of plain data: {reason}") from error
