import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.channel_mix import mix_channels
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

SEPIA = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])


@corruption(family="colour", source="syn2nat", channels="rgb", strength=evenly(1, clean=0))
def to_sepia(image: Image, rng: Draws, *, strength: float) -> Image:  # noqa: ARG001
    """An old photograph: all colours become shades of brown.

    Lower severities mix the published matrix with the one that changes nothing. Grey pictures only grow brighter.
    """
    return mix_channels(image, np.eye(3) + strength * (SEPIA - np.eye(3)))
