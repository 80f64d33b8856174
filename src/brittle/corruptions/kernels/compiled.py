"""How loops are compiled: on first use, kept on disk, without the GIL, with exact IEEE arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def _kept(**options: Any) -> Callable[[Any], Any]:
    """A compiling decorator that keeps its code on disk, or does without where there is nowhere to write to."""

    def decorate(function: Any) -> Any:
        try:
            return njit(cache=True, nogil=True, error_model="numpy", **options)(function)
        except RuntimeError:  # neither the package, nor the home folder, nor NUMBA_CACHE_DIR can be written to
            return njit(nogil=True, error_model="numpy", **options)(function)

    return decorate


compiled = _kept()
inlined = _kept(inline="always")
