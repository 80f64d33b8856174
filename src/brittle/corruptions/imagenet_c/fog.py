from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.blend import add_and_dim
from brittle.corruptions.kernels.plasma import plasma
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels

LARGEST_MAP = 8192
"""Longer images see the map again, without a seam: it is drawn on a torus."""


@corruption(
    family="weather",
    source="imagenet-c",
    strength=levels(
        *(1.5, 2, 2.5, 2.5, 3),
        at32=(0.2, 0.5, 0.75, 1, 1.5),
        at64=(0.4, 0.7, 1, 1.5, 2),
        at299=(1.5, 2, 2.5, 2.5, 3),
        clean=0,
    ),
    decay=levels(
        *(2, 2, 1.7, 1.5, 1.4),
        at32=(3, 3, 2.5, 2, 1.75),
        at64=(3, 3, 2.5, 2, 1.75),
        at299=(2, 2, 1.8, 1.6, 1.5),
        clean=None,
    ),
)
def fog(image: Image, rng: Draws, *, strength: float, decay: float) -> Image:
    """A cloud of plasma over the picture, the sum dimmed so that the brightest element stays as bright as it was.

    Quirks kept: the plasma's displacements fall by decay² per octave, not by decay; the map is the next power
    of two (256 for 224 px) and its top-left window is used; an all-black image stays black. A smaller decay
    makes rougher fog.
    """
    height, width = image.shape[:2]
    side = min(1 << (max(height, width) - 1).bit_length(), LARGEST_MAP)
    cloud = plasma(rng.key("plasma"), side, decay)
    return add_and_dim(image, cloud, strength)
