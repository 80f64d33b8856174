from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.viewpoint import perspective
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="geometry",
    source="c-bar",
    abs_offset=evenly(0.1, clean=0, steps=10),
    abs_shift_px=evenly(22.4, clean=0, steps=10, px=1),
    abs_log2_factor=evenly(0.15, clean=0, steps=10),
    denominator=evenly(0.2 / 224, clean=0, steps=10, px=-1),
)
def perspective_no_bars(
    image: Image, rng: Draws, *, abs_offset: float, abs_shift_px: float, abs_log2_factor: float, denominator: float
) -> Image:
    """The picture from another viewpoint: sheared, shifted, scaled and tilted, each by a fixed size and random sign.

    Where the view leaves the frame, the clean picture shows, so there are no black bars. Quirk kept: the tilt
    has no sign, so the far side is always the bottom right. Bilinear as Pillow does it, with truncation.
    """

    def signed(name: str, size: float) -> float:
        return size if rng.integer(name, 2) else -size

    b, d = signed("b", abs_offset), signed("d", abs_offset)
    c, f = signed("c", abs_shift_px), signed("f", abs_shift_px)
    a, e = 2 ** signed("a", abs_log2_factor), 2 ** signed("e", abs_log2_factor)
    return perspective(image, (a, b, c, d, e, f, denominator, denominator))
