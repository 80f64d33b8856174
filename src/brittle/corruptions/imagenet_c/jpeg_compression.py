from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.jpeg import jpeg
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="digital",
    source="imagenet-c",
    fades=False,
    quality=levels(
        *(25, 18, 15, 10, 7),
        at32=(80, 65, 58, 50, 40),
        at64=(65, 58, 50, 40, 25),
        at299=(23, 16, 13, 8, 5),
        clean=100,
        whole=True,
    ),
)
def jpeg_compression(image: Image, rng: Draws, *, quality: float) -> Image:  # noqa: ARG001
    """One JPEG encoding and decoding with 4:2:0 chroma. Qualities are whole numbers, also between the levels.

    Towards severity 0 the quality goes to 100, but fine colour is still lost: chroma has half the resolution.
    """
    return jpeg(image, int(quality))
