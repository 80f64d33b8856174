from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.pixel_noise import multiply_pixels
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="syn2nat", smallest=evenly(0.7, clean=1), largest=evenly(1.3, clean=1))
def multiplicative_noise(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """Every pixel is brightened or darkened by its own factor of 0.7 … 1.3; the colours stay."""
    return multiply_pixels(image, rng.key("factors"), smallest, largest)
