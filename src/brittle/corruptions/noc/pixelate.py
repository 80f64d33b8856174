from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.pool import pool_and_repeat
from brittle.corruptions.kernels.rounding import mix
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers, levels


@corruption(
    family="digital",
    source="noc",
    monotone=False,
    size=integers(2, 4, clean=2),
    weight=levels(1, 1, 1, 1, 1, clean=0),
)
def pixelate(image: Image, rng: Draws, *, size: float, weight: float) -> Image:  # noqa: ARG001
    """Blocks of n×n pixels with one colour each, their mean; n = 2, 3 or 4 at any image size.

    Quirk kept: where n does not divide the side, the last pixels are dropped and the mosaic is centred, mirrored at
    its rim; so n = 3 moves a picture of 224 px by one pixel, and can be further from the clean image than n = 4.
    Below severity 1 the mosaic of n = 2 fades in.
    """
    blocks = pool_and_repeat(image, int(size))
    return blocks if weight == 1 else mix(image, blocks, weight)
