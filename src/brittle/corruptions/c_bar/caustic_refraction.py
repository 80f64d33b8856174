import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.caustics import caustics, refract, slopes
from brittle.corruptions.kernels.enlarge import enlarge
from brittle.corruptions.kernels.gaussian import gaussian
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

LARGEST = 224
"""Larger images are seen through the water of 224 px, enlarged; its slopes would otherwise vanish with the size."""


@corruption(
    family="geometry",
    source="c-bar",
    lens_scale=evenly(0.5 * 224, clean=0, steps=10, px=1),
    lighting=evenly(2, clean=0, steps=10),
)
def caustic_refraction(image: Image, rng: Draws, *, lens_scale: float, lighting: float) -> Image:
    """The picture at the bottom of a pool, seen and lit through moving water.

    Quirks kept: the surface is the brightness of caustic_noise; it ends at the frame, so the edge bends most and
    is lit or shaded; slopes below 2.6° do not bend at all, where the shift jumps; outside the picture it is black;
    shifts are rounded to a thousandth of a pixel. The surface is smoothed by one pixel at 32 px as at 224 px.
    """
    height, width = image.shape[:2]
    scale = min(LARGEST / min(height, width), 1.0)
    rows, columns = round(height * scale), round(width * scale)
    time, size = rng.uniform("time", 0.5, 2), rng.uniform("size", 0.75, 1.25) * min(rows, columns)
    slope = slopes(gaussian(caustics(rows, columns, time=time, size=size), 1, mirrored=True))
    if scale < 1:
        slope = np.stack([enlarge(each, height, width) for each in slope])
    return refract(image, slope, lens=lens_scale, light=lighting)
