from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.zoom import mean_of_zooms
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="blur",
    source="imagenet-c",
    largest_zoom=levels(
        *(1.11, 1.15, 1.20, 1.24, 1.30),
        at32=(1.06, 1.11, 1.15, 1.20, 1.25),
        at64=(1.06, 1.11, 1.15, 1.20, 1.25),
        at299=(1.11, 1.15, 1.20, 1.24, 1.30),
        clean=1,
    ),
    layers=levels(
        *(12, 16, 11, 13, 11),
        at32=(7, 12, 16, 21, 26),
        at64=(7, 12, 16, 21, 26),
        at299=(12, 16, 11, 13, 11),
        clean=None,
        whole=True,
    ),
)
def zoom_blur(image: Image, rng: Draws, *, largest_zoom: float, layers: float) -> Image:  # noqa: ARG001
    """A camera that moves towards the scene: the mean of the image and of ever larger enlargements of it.

    Quirks kept: the clean image counts twice, because the list of enlargements begins with 1; and the ends of
    the lists are those that floating-point rounding gave the published ranges (1.11 is in, 1.16 is out). The
    number of layers is rounded between the levels.
    """
    return mean_of_zooms(image, largest_zoom, int(layers))
