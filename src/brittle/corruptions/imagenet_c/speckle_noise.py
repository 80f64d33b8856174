from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.noise import add_normal
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="noise",
    source="imagenet-c",
    sigma=levels(
        *(0.15, 0.20, 0.35, 0.45, 0.60),
        at32=(0.06, 0.10, 0.12, 0.16, 0.20),
        at64=(0.15, 0.20, 0.25, 0.30, 0.35),
        at299=(0.16, 0.21, 0.36, 0.46, 0.61),
        clean=0,
    ),
)
def speckle_noise(image: Image, rng: Draws, *, sigma: float) -> Image:
    """Normal noise in proportion to brightness: x + x·n for every element. One of the four extra corruptions."""
    return add_normal(image, rng.key("noise"), gain=sigma)
