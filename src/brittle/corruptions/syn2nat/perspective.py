import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.project import project
from brittle.corruptions.kernels.words import normals
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="geometry", source="syn2nat", smallest=evenly(0.1, clean=0), largest=evenly(0.3, clean=0))
def perspective(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """Seen from an angle and closer up: the four corners move inwards, and what they enclose fills the frame.

    Each corner moves by |normal(0, σ)| of the side in both directions, modulo 1, with σ = 0.1 … 0.3. Where two
    corners would pass one another, they change places, so that the picture is never turned inside out.
    """
    height, width = image.shape[:2]
    sigma = rng.uniform("sigma", smallest, largest)
    inwards = np.abs(sigma * normals(rng.key("corners"), 4, 2).astype(np.float64)) % 1
    frame = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float64)
    corners = np.abs(frame - inwards)
    for axis, pairs in ((0, ((0, 1), (3, 2))), (1, ((0, 3), (1, 2)))):
        for pair in pairs:
            corners[pair, axis] = np.sort(corners[pair, axis])
    size = np.array([width, height])
    matrix = cv2.getPerspectiveTransform(*((p * size - 0.5).astype(np.float32) for p in (frame, corners)))
    return project(image, np.asarray(matrix, np.float64), replicate=True)
