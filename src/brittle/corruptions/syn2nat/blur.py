from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.between_sizes import between_sizes, box
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="blur", source="syn2nat", smallest=evenly(2, clean=0, px=1), largest=evenly(4, clean=0, px=1))
def blur(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """A box blur of 5×5, 7×7 or 9×9 pixels, at equal odds.

    The parameters are radii; between whole radii the two neighbouring boxes are mixed.
    """
    radius = smallest + (largest - smallest) * rng.integer("size", 3) / 2
    return between_sizes(image, 2 * radius + 1, box)
