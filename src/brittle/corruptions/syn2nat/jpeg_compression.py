import cv2

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour_space import convert
from brittle.corruptions.kernels.jpeg import jpeg
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="digital",
    source="syn2nat",
    fades=False,
    aliases=("image_compression",),
    worst=evenly(5, clean=100),
    best=evenly(15, clean=100),
)
def jpeg_compression(image: Image, rng: Draws, *, worst: float, best: float) -> Image:
    """One JPEG encoding and decoding at a quality drawn from 5 … 15, with 4:2:0 chroma.

    Quirk kept: red and blue are exchanged for the encoder, so blue counts 0.299 and red 0.114 of the
    luminance. Even the best quality halves the resolution of colour, so the effect does not fade in
    from nothing. The study has it twice, as JpegCompression and as ImageCompression; the two are one.
    """
    quality = min(int(rng.uniform("quality", worst, best + 1)), 100)
    if image.shape[2] == 1:
        return jpeg(image, quality)
    exchanged = convert(image, cv2.COLOR_RGB2BGR)
    return convert(jpeg(exchanged, quality), cv2.COLOR_BGR2RGB)
