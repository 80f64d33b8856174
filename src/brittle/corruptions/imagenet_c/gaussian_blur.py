from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.bytes import truncate
from brittle.corruptions.kernels.gaussian import gaussian
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="blur",
    source="imagenet-c",
    sigma=levels(
        *(1, 2, 3, 4, 6),
        at32=(0.4, 0.6, 0.7, 0.8, 1),
        at64=(0.5, 0.75, 1, 1.25, 1.5),
        at299=(1.5, 2.5, 3.5, 4.5, 6.5),
        clean=0,
        px=1,
    ),
)
def gaussian_blur(image: Image, rng: Draws, *, sigma: float) -> Image:  # noqa: ARG001
    """A Gaussian filter that ends at 4σ, edges replicated. One of the four extra corruptions."""
    return truncate(gaussian(image, sigma))
