from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour import draw_towards_mean
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="digital",
    source="imagenet-c",
    factor=levels(
        *(0.4, 0.3, 0.2, 0.1, 0.05),
        at32=(0.75, 0.5, 0.4, 0.3, 0.15),
        at64=(0.4, 0.3, 0.2, 0.1, 0.05),
        at299=(0.4, 0.3, 0.2, 0.1, 0.05),
        clean=1,
    ),
)
def contrast(image: Image, rng: Draws, *, factor: float) -> Image:  # noqa: ARG001
    """Every channel is drawn towards its own mean: (x − μ)·c + μ.

    Quirk kept: μ is the mean of the channel, not of the luminance, so colour casts stay.
    """
    return draw_towards_mean(image, factor)
