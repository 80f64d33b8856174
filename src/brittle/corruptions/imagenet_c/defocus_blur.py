from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.disk import defocus
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="blur",
    source="imagenet-c",
    blends=True,
    radius=levels(
        *(3, 4, 6, 8, 10),
        at32=(0.3, 0.4, 0.5, 1, 1.5),
        at64=(0.5, 1, 1.5, 2.5, 3),
        at299=(4, 5, 7, 10, 12),
        clean=0,
        px=1,
    ),
    alias_sigma=levels(
        *(0.1, 0.5, 0.5, 0.5, 0.5),
        at32=(0.4, 0.5, 0.6, 0.2, 0.1),
        at64=(0.6, 0.1, 0.1, 0.01, 0.1),
        at299=(0.1, 0.5, 0.5, 0.5, 0.5),
        clean=0,
        px=1,
    ),
)
def defocus_blur(image: Image, rng: Draws, *, radius: float, alias_sigma: float) -> Image:  # noqa: ARG001
    """A lens out of focus: correlation with a disk whose rim is smoothed a little.

    Quirks kept: the kernels of radius 8 and 10 sum to 1.013 and 1.011 (7, 10 and 12 at 299 px likewise), so the
    picture gets brighter; a radius below one pixel leaves only the 3×3 Gaussian of the rim. Between the levels the two
    neighbouring blurs are blended; at sizes without a table the disk passes smoothly from one ring of pixels to the
    next.
    """
    return defocus(image, radius, alias_sigma)
