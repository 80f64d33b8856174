"""The last step of every published corruption: clip to the grey scale and cut the fraction off."""

import numpy as np

from brittle.corruptions.kernels.compiled import compiled, inlined


@inlined
def to_byte(value):  # type: ignore[no-untyped-def]
    """Clip to 0…255 and truncate, as the published code does everywhere; it never rounds."""
    return np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))


@compiled
def truncate(field):  # type: ignore[no-untyped-def]
    """A whole float32 array to bytes."""
    out = np.empty(field.shape, np.uint8)
    source, target = field.reshape(-1), out.reshape(-1)
    for i in range(source.size):
        target[i] = to_byte(source[i])
    return out
