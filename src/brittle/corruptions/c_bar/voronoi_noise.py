from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.kernels.voronoi import distance_to_points
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", intensity=evenly(255, clean=0, steps=10))
def voronoi_noise(image: Image, rng: Draws, *, intensity: float) -> Image:
    """Soft round cells around scattered points, dark ones or bright ones at even odds.

    The cells cover more than the gaps, so the whole picture darkens or brightens with them. Quirk kept: points are
    scattered by a hash whose strength is drawn too; where that is small they stand in a nearly regular grid.
    """
    height, width = image.shape[:2]
    distance = distance_to_points(
        height,
        width,
        size=rng.uniform("size", 0.05, 0.2) * min(height, width),
        spread=rng.uniform("spread", 0, 10) * 0.0025,
    )
    distance *= rng.uniform("density", 0.5, 0.9)
    sign = -1 if rng.uniform("sign") > 0.5 else 1
    return add_layer(image, distance * distance * (3 - 2 * distance) - 0.5, sign * intensity)
