from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.rectangle import black_frame
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="occlusion", source="syn2nat", frame=evenly(47, clean=0, px=1))
def border(image: Image, rng: Draws, *, frame: float) -> Image:  # noqa: ARG001
    """A black frame, 47 pixels wide at 224: the central 130×130 are left.

    Other sizes get a frame of the same share of the shorter side. A pixel that the frame covers in part is
    darkened by that part.
    """
    height, width = image.shape[:2]
    return black_frame(image, frame, height - frame, frame, width - frame)
