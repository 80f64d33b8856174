from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.affine_jitter import jittered_square
from brittle.corruptions.kernels.project import project
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="geometry", source="syn2nat", jitter=evenly(50, clean=0, px=1))
def elastic_transform(image: Image, rng: Draws, *, jitter: float) -> Image:
    """A random affine map: three points move by up to 50 pixels in each direction; the edges are drawn out.

    Quirk kept: in spite of its name nothing is elastic. Not kept: the elastic part itself (α = 1, σ = 50), which
    moves pixels by some thousandths of a pixel.
    """
    moves = [[rng.uniform(f"{axis}{i}", -jitter, jitter) for axis in "xy"] for i in range(3)]
    return project(image, jittered_square(image.shape[0], image.shape[1], moves), replicate=True)
