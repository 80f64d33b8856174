from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.noise import replace_with_extremes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="noc", amount=evenly(0.032, first=0.003, clean=0))
def salt_pepper(image: Image, rng: Draws, *, amount: float) -> Image:
    """Sparse specks: a share of all values becomes 0 or 255, at even odds; at most 3 of 100.

    Channels are hit separately, so the specks are coloured.
    """
    return replace_with_extremes(image, rng.key("specks"), amount)
