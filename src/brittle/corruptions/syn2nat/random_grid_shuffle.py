from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

GRID = 4


@corruption(family="geometry", source="syn2nat", exchanges=evenly(GRID**2 - 1, clean=0, whole=True))
def random_grid_shuffle(image: Image, rng: Draws, *, exchanges: float) -> Image:
    """A puzzle that is put together wrongly: the 4×4 tiles of the picture in random order.

    Fifteen random exchanges make a random order of sixteen tiles; lower severities do fewer of the same ones. Tiles
    are whole pixels; where a side is no multiple of four, the rest at the bottom or right stays where it is.
    """
    order = list(range(GRID**2))
    for i in range(int(exchanges)):
        other = i + rng.integer(f"exchange{i}", GRID**2 - i)
        order[i], order[other] = order[other], order[i]
    tall, wide = image.shape[0] // GRID, image.shape[1] // GRID
    out = image.copy()
    for to, taken in enumerate(order):
        (top, left), (row, column) = divmod(to, GRID), divmod(taken, GRID)
        tile = image[row * tall : (row + 1) * tall, column * wide : (column + 1) * wide]
        out[top * tall : (top + 1) * tall, left * wide : (left + 1) * wide] = tile
    return out
