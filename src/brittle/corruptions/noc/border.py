import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import look_up
from brittle.corruptions.kernels.rounding import nearest_bytes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers


@corruption(family="occlusion", source="noc", thickness=integers(9, 46, clean=0, px=1))
def border(image: Image, rng: Draws, *, thickness: float) -> Image:
    """A grey frame around the picture, 9 to 46 of 224 pixels thick, its grey uniform and drawn once per image.

    At other sizes a thickness may not be whole; the innermost ring of the frame is then see-through.
    """
    height, width = image.shape[:2]
    whole = min(int(thickness), height, width)
    part = thickness - whole
    grey = int(rng.uniform("grey") * 255 + 0.5)
    out = np.full_like(image, grey)
    inside = (slice(whole, max(height - whole, whole)), slice(whole, max(width - whole, whole)))
    out[inside] = image[inside]
    if 0 < part < 1:
        rim = nearest_bytes((1 - part) * np.arange(256) + part * grey)
        for ring in _sides(out[inside]):
            ring[:] = look_up(np.ascontiguousarray(ring), rim)
    return out


def _sides(picture: Image) -> tuple[Image, ...]:
    """The outermost rows and columns, each pixel in one of them only."""
    return picture[:1], picture[1:][-1:], picture[1:-1, :1], picture[1:-1, 1:][:, -1:]
