from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour import change_saturation
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="digital",
    source="imagenet-c",
    monotone=False,
    channels="rgb",
    factor=levels(
        *(0.3, 0.1, 2, 5, 20),
        at32=(0.3, 0.1, 1.5, 2, 2.5),
        at64=(0.3, 0.1, 2, 5, 30),
        at299=(0.3, 0.1, 2, 5, 20),
        clean=1,
    ),
    shift=levels(
        *(0, 0, 0, 0.1, 0.2),
        at32=(0, 0, 0, 0.1, 0.2),
        at64=(0, 0, 0, 0.1, 0.2),
        at299=(0, 0, 0, 0.1, 0.2),
        clean=0,
    ),
)
def saturate(image: Image, rng: Draws, *, factor: float, shift: float) -> Image:  # noqa: ARG001
    """Colours fade (severities 1 and 2) or glow (3 to 5): S ← S·a + b of HSV. One of the four extra corruptions.

    Quirks kept: a neutral grey has hue 0, so the shift of severities 4 and 5 turns it red; and the published
    series changes direction, so on its way from 2 to 3 the picture passes through the clean one.
    """
    return change_saturation(image, factor, shift)
