"""How loops are compiled: on first use, kept on disk, without the GIL, with exact IEEE arithmetic."""

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")
inlined = njit(cache=True, nogil=True, error_model="numpy", inline="always")
