from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.words import uniforms
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="occlusion",
    source="syn2nat",
    fewest=evenly(16, clean=0),
    most=evenly(48, clean=0),
    side=evenly(8, clean=8, px=1),
)
def coarse_dropout(image: Image, rng: Draws, *, fewest: float, most: float, side: float) -> Image:
    """Black squares of 8×8 pixels, 16 to 48 of them, anywhere inside the frame; they may overlap.

    Lower severities have fewer of the same squares. Other image sizes have squares of a whole number of pixels.
    """
    height, width = image.shape[:2]
    count = int(rng.uniform("count", fewest, most + 1))
    tall, wide = min(max(1, round(side)), height), min(max(1, round(side)), width)
    places = uniforms(rng.key("places"), max(count, 1), 2) * 0.5 + 0.5
    out = image.copy()
    for v, u in places[:count].tolist():
        top, left = int(v * (height - tall + 1)), int(u * (width - wide + 1))
        out[top : top + tall, left : left + wide] = 0
    return out
