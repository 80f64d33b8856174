from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.dashes import dashes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers, levels


@corruption(
    family="digital",
    source="noc",
    count=integers(14, 170, clean=0),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def artifacts(image: Image, rng: Draws, *, count: float, pixel: float) -> Image:
    """Dotted dashes along the rows, all in one grey that is drawn once per image, as of a failing screen.

    A dash is 5×3 pixels; six of seven have five dots of 1×3 pixels on each side where they fit. Quirks kept: the
    code draws how often to repeat a dash, but every repetition lies on the first, so there is one; the dots on one
    side begin nearer to the dash than on the other, the innermost inside it. Code and paper differ in the smallest
    number (14 and 15): the code's is kept. Lengths grow with the shorter side of the image, the number stays.
    """
    grey = int(rng.uniform("grey") * 255 + 0.5)
    return dashes(image, rng.key("dashes"), int(count), grey, pixel, vertical=False)
