from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.noise import add_normal
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="noise",
    source="imagenet-c",
    sigma=levels(
        *(0.08, 0.12, 0.18, 0.26, 0.38),
        at32=(0.04, 0.06, 0.08, 0.09, 0.10),
        at64=(0.04, 0.08, 0.12, 0.15, 0.18),
        at299=(0.09, 0.13, 0.19, 0.27, 0.40),
        clean=0,
    ),
)
def gaussian_noise(image: Image, rng: Draws, *, sigma: float) -> Image:
    """Normal noise of standard deviation σ, independent for every pixel and channel, as from a sensor in low light."""
    return add_normal(image, rng.key("noise"), constant=255 * sigma)
