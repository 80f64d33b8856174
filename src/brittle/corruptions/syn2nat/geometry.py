"""Geometry of Syn2Nat's candidates."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.random_words import normals
from brittle.corruptions.kernels.resampling import jittered_square, project, read_axes, undistort
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, levels


@corruption(
    family="geometry", source="syn2nat", full_depth=True, smallest=evenly(0.6, clean=1), largest=evenly(0.8, clean=1)
)
def affines(image: Pixels, rng: Draws, *, smallest: float, largest: float) -> Pixels:
    """The picture shrinks about its centre, and its mirror images fill the rest.

    The published range is 0.6 … 0.8 of the size, the same in both directions, read bilinearly.
    """
    scale = rng.uniform("scale", smallest, largest)
    return read_axes(image, _shrunk(image.shape[0], scale), _shrunk(image.shape[1], scale))


def _shrunk(length: int, scale: float) -> NDArray[np.float64]:
    centre = (length - 1) / 2
    return np.asarray((np.arange(length) - centre) / scale + centre, np.float64)


@corruption(family="geometry", source="syn2nat", full_depth=True, jitter=evenly(50, clean=0, px=1))
def elastic_transform(image: Pixels, rng: Draws, *, jitter: float) -> Pixels:
    """A random affine map: three points move by up to 50 pixels in each direction; the edges are drawn out.

    Quirk kept: in spite of its name nothing is elastic. Not kept: the elastic part itself (α = 1, σ = 50), which
    moves pixels by some thousandths of a pixel.
    """
    moves = [[rng.uniform(f"{axis}{i}", -jitter, jitter) for axis in "xy"] for i in range(3)]
    return project(image, jittered_square(image.shape[0], image.shape[1], moves), replicate=True)


@corruption(family="geometry", source="syn2nat", full_depth=True)
def flip(image: Pixels, rng: Draws) -> Pixels:
    """Upside down, left to right, or both, at equal odds.

    There is no half a flip: it is on or off, and every severity above 0 is the published one.
    """
    axes = ((0,), (1,), (0, 1))[rng.integer("axes", 3)]
    return np.flip(image, axes).copy()


STEPS = 5


@corruption(family="geometry", source="syn2nat", full_depth=True, limit=evenly(1, clean=0))
def grid_distortion(image: Pixels, rng: Draws, *, limit: float) -> Pixels:
    """Columns and rows of a grid are stretched and squeezed, each to 0 … 2 times its width.

    The grid has ⌊side / 5⌋ pixels a cell, which makes six cells at 224: five, and four pixels of another. Widths
    add up from the top left, so the far side moves most; what lies outside mirrors.
    """
    return read_axes(image, _stretched(image.shape[0], rng, "y", limit), _stretched(image.shape[1], rng, "x", limit))


def _stretched(length: int, rng: Draws, axis: str, limit: float) -> NDArray[np.float64]:
    step = max(length // STEPS, 1)
    factors = np.array([1 + rng.uniform(f"{axis}{i}", -limit, limit) for i in range(-(-length // step))])
    starts = step * np.concatenate([[0.0], np.cumsum(factors)])
    at = np.arange(length)
    return np.asarray(starts[at // step] + (at % step) * factors[at // step], np.float64)


@corruption(
    family="geometry",
    source="syn2nat",
    full_depth=True,
    distortion=evenly(4, clean=0),
    shift=evenly(4, clean=0, px=1),
)
def optical_distortion(image: Pixels, rng: Draws, *, distortion: float, shift: float) -> Pixels:
    """A bad lens: straight lines bend inwards or outwards, up to a fish eye or a picture folded over itself.

    Positions are read at d·(1 + k·r² + k·r⁴) from a centre that is up to 4 pixels off, with r in image sides and k
    uniform on ± 4; what lies outside mirrors. The shift of the centre is a whole number of pixels, as published.
    """
    height, width = image.shape[:2]
    k = rng.uniform("k", -distortion, distortion)
    dy, dx = (round(rng.uniform(axis, -shift, shift)) for axis in ("dy", "dx"))
    return undistort(image, k, k, (height / 2 + dy, width / 2 + dx))


@corruption(
    family="geometry", source="syn2nat", full_depth=True, smallest=evenly(0.1, clean=0), largest=evenly(0.3, clean=0)
)
def perspective(image: Pixels, rng: Draws, *, smallest: float, largest: float) -> Pixels:
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


GRID = 4


@corruption(family="geometry", source="syn2nat", full_depth=True, exchanges=evenly(GRID**2 - 1, clean=0, integer=True))
def random_grid_shuffle(image: Pixels, rng: Draws, *, exchanges: float) -> Pixels:
    """A puzzle that is put together wrongly: the 4×4 tiles of the picture in random order.

    Fifteen random exchanges make a random order of sixteen tiles; lower severities do fewer of the same ones. Tiles
    are whole pixels; where a side is no multiple of four, the rest at the bottom or right stays where it is.
    """
    order = list(range(GRID**2))
    for i in range(int(exchanges)):
        partner = i + rng.integer(f"exchange{i}", GRID**2 - i)
        order[i], order[partner] = order[partner], order[i]
    tile_height, tile_width = image.shape[0] // GRID, image.shape[1] // GRID
    out = image.copy()
    for target, source in enumerate(order):
        (top, left), (row, column) = divmod(target, GRID), divmod(source, GRID)
        tile = image[row * tile_height : (row + 1) * tile_height, column * tile_width : (column + 1) * tile_width]
        out[top * tile_height : (top + 1) * tile_height, left * tile_width : (left + 1) * tile_width] = tile
    return out


@corruption(family="geometry", source="syn2nat", full_depth=True, limit=levels(7.2, 28.8, 64.8, 115.2, 180, clean=0))
def rotate(image: Pixels, rng: Draws, *, limit: float) -> Pixels:
    """Turned about its centre by any angle up to ± 180°, with mirror images in the corners.

    The largest angle grows with the square of the severity: a few degrees already move almost every pixel.
    """
    angle = math.radians(rng.uniform("angle", -limit, limit))
    c, s = math.cos(angle), math.sin(angle)
    y, x = (image.shape[0] - 1) / 2, (image.shape[1] - 1) / 2
    return project(image, np.array([[c, -s, x - c * x + s * y], [s, c, y - s * x - c * y], [0, 0, 1]]))


@corruption(family="geometry", source="syn2nat", full_depth=True, limit=evenly(0.7, clean=0))
def transpose(image: Pixels, rng: Draws, *, limit: float) -> Pixels:
    """Moved by up to 0.7 of the side in each direction, with mirror images in the rest.

    Quirk kept: in spite of its name this is a translation.
    """
    height, width = image.shape[:2]
    down, right = rng.uniform("y", -limit, limit) * height, rng.uniform("x", -limit, limit) * width
    return read_axes(image, np.arange(height) - down, np.arange(width) - right)
