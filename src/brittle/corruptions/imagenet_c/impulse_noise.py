from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.noise import replace_with_extremes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="noise",
    source="imagenet-c",
    amount=levels(
        *(0.03, 0.06, 0.09, 0.17, 0.27),
        at32=(0.01, 0.02, 0.03, 0.05, 0.07),
        at64=(0.01, 0.02, 0.05, 0.08, 0.14),
        at299=(0.04, 0.07, 0.10, 0.18, 0.28),
        clean=0,
    ),
)
def impulse_noise(image: Image, rng: Draws, *, amount: float) -> Image:
    """Salt and pepper: a share of all elements becomes 0 or 255, at even odds.

    Quirk kept: channels are hit separately, so the specks are coloured.
    """
    return replace_with_extremes(image, rng.key("specks"), amount)
