from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.mean_filter import mean_filter
from brittle.corruptions.kernels.rounding import mix
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, levels


@corruption(
    family="blur",
    source="noc",
    weight=evenly(0.95, first=0.4, clean=0),
    width=levels(3, 3, 3, 3, 3, clean=None, px=1),
)
def blur(image: Image, rng: Draws, *, weight: float, width: float) -> Image:  # noqa: ARG001
    """A haze of blur: the picture mixed with a copy of itself that went through a 3×3 mean filter five times.

    Severity is the weight of the blurred copy. Quirk kept: outside the frame it is black, in each of the five passes,
    so a dark rim appears. On images larger than 224 px the filter grows with the shorter side; on smaller ones it
    stays 3×3.
    """
    return mix(image, mean_filter(image, max(width, 3.0), passes=5), weight)
