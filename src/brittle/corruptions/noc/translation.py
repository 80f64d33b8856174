from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.nearest import shift
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, levels


@corruption(
    family="geometry",
    source="noc",
    share=evenly(1, first=0, clean=0),
    least=levels(15, 15, 15, 15, 15, clean=0, px=1),
    most=levels(62, 62, 62, 62, 62, clean=0, px=1),
)
def translation(image: Image, rng: Draws, *, share: float, least: float, most: float) -> Image:
    """The picture slides out of its frame along both axes; black comes in.

    Published are two independent distances, each a whole number uniform on 15 … 62 of 224 pixels. To have them move
    together with one severity, their *difference* is drawn once per image, from the distribution it has there, and
    severity leads along the diagonal of that difference: from where the shorter one is 15 to where the longer one is
    62. A uniform severity then gives exactly the published pairs.
    """
    gap = rng.uniform("row") - rng.uniform("column")
    start_y, start_x, way = max(gap, 0.0), max(-gap, 0.0), share * (1 - abs(gap))
    dy, dx = _distance(start_y + way, least, most), _distance(start_x + way, least, most)
    return shift(image, dy if rng.integer("up", 2) else -dy, dx if rng.integer("left", 2) else -dx)


def _distance(position: float, least: float, most: float) -> int:
    """The distance at a position on [0, 1]; each of the published whole numbers has an equal share of it."""
    return round(least + (most - least) * min(int(position * 48), 47) / 47)
