from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.mosaic import mosaic
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="digital",
    source="imagenet-c",
    scale=levels(
        *(0.6, 0.5, 0.4, 0.3, 0.25),
        at32=(0.95, 0.9, 0.85, 0.75, 0.65),
        at64=(0.9, 0.8, 0.7, 0.6, 0.5),
        at299=(0.5, 0.4, 0.3, 0.25, 0.2),
        clean=1,
    ),
)
def pixelate(image: Image, rng: Draws, *, scale: float) -> Image:  # noqa: ARG001
    """Shrink each side to ⌊side·c⌋ by averaging boxes, and enlarge again by repetition.

    Box means are whole numbers after each of the two passes, as Pillow's BOX filter makes them. The number of
    boxes is whole, so between the levels the mosaic moves in steps.
    """
    height, width = image.shape[:2]
    return mosaic(image, max(1, int(height * scale)), max(1, int(width * scale)))
