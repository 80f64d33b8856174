from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="syn2nat", limit=evenly(1.5, clean=0))
def random_contrast(image: Image, rng: Draws, *, limit: float) -> Image:
    """Every value is multiplied by one factor of −0.5 … 2.5.

    Quirk kept: one draw in six is not above 0 and gives a black picture. It is about black, not about the mean, so
    it looks like a change of brightness.
    """
    return through_table(image, GREYS * (1 + rng.uniform("factor", -limit, limit)))
