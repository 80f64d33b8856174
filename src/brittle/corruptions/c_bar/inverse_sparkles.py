from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.layer import fade_to_white
from brittle.corruptions.kernels.stars import star
from brittle.corruptions.kernels.words import normals
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", fades=False, falloff_exponent=evenly(1.3, clean=0, steps=10))
def inverse_sparkles(image: Image, rng: Draws, *, falloff_exponent: float) -> Image:
    """The picture is seen inside one large star and turns white outside it.

    The published "amount" is 100 − 50·falloff_exponent. Quirk kept: rays are paler towards their edges at any
    exponent, so just above severity 0 the whole picture is already a twelfth whiter, in rays.
    """
    height, width = image.shape[:2]
    rays = 50 + rng.integer("rays", 150)
    lengths = 0.25 * min(height, width) * (1 + 0.25 * normals(rng.key("lengths"), 1, rays)[0])
    centre = (rng.uniform("y", 0.25, 0.75) * height, rng.uniform("x", 0.25, 0.75) * width)
    return fade_to_white(image, star(height, width, centre=centre, lengths=lengths, exponent=falloff_exponent))
