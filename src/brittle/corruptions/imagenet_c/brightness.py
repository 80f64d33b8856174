from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour import shift_value
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="weather",
    source="imagenet-c",
    value_shift=levels(
        *(0.1, 0.2, 0.3, 0.4, 0.5),
        at32=(0.05, 0.1, 0.15, 0.2, 0.3),
        at64=(0.1, 0.2, 0.3, 0.4, 0.5),
        at299=(0.1, 0.2, 0.3, 0.4, 0.5),
        clean=0,
    ),
)
def brightness(image: Image, rng: Draws, *, value_shift: float) -> Image:  # noqa: ARG001
    """Daylight: the value V of HSV grows, hue and saturation stay; a black pixel becomes grey."""
    return shift_value(image, value_shift)
