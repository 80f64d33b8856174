from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour_wheel import turn_colour_wheel
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="c-bar", channels="rgb", abs_hue_turns=evenly(0.5, clean=0, steps=10))
def hue_shift(image: Image, rng: Draws, *, abs_hue_turns: float) -> Image:
    """All hues turn along the colour wheel, one way or the other; at the maximum to their complements.

    Value, saturation and greys stay as they are.
    """
    return turn_colour_wheel(image, abs_hue_turns if rng.integer("sign", 2) else -abs_hue_turns)
