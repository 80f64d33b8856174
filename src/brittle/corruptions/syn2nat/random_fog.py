import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.between_sizes import between_sizes, box
from brittle.corruptions.kernels.discs import count_discs, layers_of_white
from brittle.corruptions.kernels.words import uniforms
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

FRAME = 224
"""Where the fog bank is published; its points are spread over any other frame in proportion."""


@corruption(family="weather", source="syn2nat", opacity=evenly(0.08, clean=0), size=evenly(1, clean=0, px=1))
def random_fog(image: Image, rng: Draws, *, opacity: float, size: float) -> Image:
    """Thin haze in overlapping round patches, and a slight blur.

    The published rings of white discs, about 20 of them with a weight of 0.064 … 0.08, one blended after the other
    in 8 bit; then a box blur, whose kernel may be even and then moves the picture by half a pixel. The same draw of
    0.8 … 1 sets how thick, how large and how many. Lower severities have thinner discs and less blur; an oblong
    picture has as many discs for each square of it.
    """
    height, width = image.shape[:2]
    density = rng.uniform("density", 0.8, 1)
    patch = int(FRAME // 3 * density)
    squares = max(height, width) / min(height, width)
    rows, columns = _points(rng, patch, squares)
    scale = np.array([height / FRAME, width / FRAME])
    radius = patch // 2 * min(scale)
    counts = count_discs(height, width, rows * scale[0], columns * scale[1], np.full(len(rows), radius))
    hazy = layers_of_white(image, counts, np.full(int(counts.max()), opacity * density))
    return between_sizes(hazy, 1 + (patch // 10 - 1) * size, box, step=1)


def _points(rng: Draws, patch: int, squares: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows and columns of the discs' centres in the published frame, ring by ring."""
    low = np.array([FRAME // 2 - patch, FRAME // 2 - 2 * patch])  # y, x
    rings = []
    while (low > -patch).any():
        rings.append(low)
        low = low - 3 * patch * FRAME // (2 * FRAME)
    sizes = [round(patch // 10 * (i + 1) * squares) for i in range(len(rings))]
    starts = np.repeat(rings, sizes, axis=0)
    share = uniforms(rng.key("points"), len(starts), 2).astype(np.float64) * 0.5 + 0.5
    corners = starts + np.floor(share * (FRAME - patch - 2 * starts + 1))
    return corners[:, 0] + patch // 2, corners[:, 1] + patch // 2
