"""The last step of every published corruption: clip to the grey scale and cut the fraction off."""

import numpy as np

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.compiled import compiled, inlined


@inlined
def to_byte(value):
    """Clip to 0…255 and truncate, as the published code does everywhere; it never rounds."""
    return np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))


def truncate(field: Field) -> Image:
    """A whole float32 array to bytes."""
    return _truncate(field)


@compiled
def _truncate(field):
    out = np.empty(field.shape, np.uint8)
    source, target = field.reshape(-1), out.reshape(-1)
    for i in range(source.size):
        target[i] = to_byte(source[i])
    return out
