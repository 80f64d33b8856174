from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="syn2nat", smallest=evenly(3, clean=1), largest=evenly(10, clean=1))
def random_gamma(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """Dark, but for the brightest places: 255·(x/255)^γ with γ of 3 … 10, in steps of a hundredth as published."""
    gamma = smallest + (largest - smallest) * rng.integer("gamma", 701) / 700
    return through_table(image, 255 * (GREYS / 255) ** gamma + 1e-9)
