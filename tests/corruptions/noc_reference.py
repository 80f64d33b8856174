# ruff: noqa: ARG001 - every reading takes the same arguments, also those that draw nothing
"""A slow, plain reading of the 23 NOC definitions, from the fact sheet's table, sharing no code with the kernels.

Only the random numbers are the same: each reading takes them from `Draws` by the names that the corruption uses.
Images are H×W×3 uint8; `v` is the published parameter; shapes are the published ones, for 224 px.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image as Pil
from scipy import ndimage, stats

from brittle.corruptions import Draws

Array = np.ndarray

RANGES: dict[str, tuple[float, float, str]] = {
    "quantization": (8, 3, "integer"),
    "gaussian": (0.05, 0.18, "uniform"),
    "salt_pepper": (0.003, 0.032, "uniform"),
    "blur": (0.4, 0.95, "uniform"),
    "thumbnail_resize": (1.1, 3.25, "uniform"),
    "pixelate": (2, 4, "integer"),
    "artifacts": (14, 170, "integer"),
    "vertical_artifacts": (14, 180, "integer"),
    "rhombus": (9, 76, "integer"),
    "rain": (12, 120, "integer"),
    "circle": (7, 50, "integer"),
    "obstruction": (47, 125, "integer"),
    "border": (9, 46, "integer"),
    "translation": (15, 62, "integer"),
    "shear": (12, 39, "integer"),
    "elastic": (44, 110, "integer"),
    "rotation": (7, 50, "integer"),
    "backlight": (0.11, 0.44, "uniform"),
    "brightness": (0.16, 0.51, "uniform"),
    "contrast": (0.33, 0.74, "uniform"),
    "color_disortion": (0.09, 0.4, "uniform"),
    "gray_scale": (0.49, 1.0, "uniform"),
    "hue": (0.05, 0.5, "uniform"),
}
"""The weak end, the strong end, and how the published code draws in between."""


def value_at(name: str, severity: float) -> float:
    weak, strong, kind = RANGES[name]
    share = (severity - 1) / 4
    if kind == "uniform":
        return weak + share * (strong - weak)
    low, count = min(weak, strong), int(abs(strong - weak)) + 1
    index = min(int(share * count), count - 1)
    return low + index if strong > weak else weak - index


def finish(x: Array) -> Array:
    """[0, 1] to bytes, rounded."""
    return np.floor(np.clip(x, 0, 1) * 255 + 0.5).astype(np.uint8)


def word(draws: Draws, name: str, i: int) -> int:
    """SplitMix64 at position i."""
    start, step = (int(k) for k in draws.key(name))
    z = (start + i * (step | 1)) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def sign(draws: Draws) -> int:
    return 1 if draws.integer("sign", 2) else -1


def quantization(image: Array, draws: Draws, v: float) -> Array:
    return finish(np.round(image / 255 * v) / v)


def gaussian(image: Array, draws: Draws, v: float) -> Array:
    words = [word(draws, "noise", i) for i in range(-(-image.size // 4))]
    quarters = np.array([(w >> 16 * q) & 0xFFFF for w in words for q in range(4)][: image.size])
    normal = stats.norm.ppf((quarters + 0.5) / 65536).reshape(image.shape)
    return finish(image / 255 + np.abs(v * normal))


def salt_pepper(image: Array, draws: Draws, v: float) -> Array:
    words = [word(draws, "specks", i) for i in range(-(-image.size // 2))]
    halves = np.array([(w >> 32 * h) & 0xFFFFFFFF for w in words for h in range(2)][: image.size]).reshape(image.shape)
    return np.where(halves // 2 / 2**31 < v, np.where(halves % 2, 255, 0), image).astype(np.uint8)


def blur(image: Array, draws: Draws, v: float) -> Array:
    x = b = image / 255
    for _ in range(5):
        b = ndimage.uniform_filter(b, (3, 3, 1), mode="constant", cval=0)
    return finish((1 - v) * x + v * b)


def triangle(old: int, new: int) -> Array:
    """The matrix of a bilinear resize; when it shrinks, the triangle is as wide as the pixels get."""
    scale = old / new
    centre = (np.arange(new)[:, None] + 0.5) * scale
    weights = np.clip(1 - np.abs(np.arange(old)[None, :] + 0.5 - centre) / max(scale, 1), 0, None)
    return weights / weights.sum(1, keepdims=True)


def resize(image: Array, height: int, width: int) -> Array:
    """To bytes after each of the two passes, as 8-bit Pillow does it."""
    across = finish(np.einsum("ij,yjc->yic", triangle(image.shape[1], width), image / 255))
    return finish(np.einsum("ij,jxc->ixc", triangle(image.shape[0], height), across / 255))


def thumbnail_resize(image: Array, draws: Draws, v: float) -> Array:
    height, width = image.shape[:2]
    return resize(resize(image, int(height / v), int(width / v)), height, width)


def pixelate(image: Array, draws: Draws, v: float) -> Array:
    n = int(v)
    height, width, channels = image.shape
    rows, columns = height // n, width // n
    means = image[: rows * n, : columns * n].reshape(rows, n, columns, n, channels).mean((1, 3))
    large = means.repeat(n, 0).repeat(n, 1)
    down, right = height - rows * n, width - columns * n
    return finish(
        np.pad(large, ((down // 2, down - down // 2), (right // 2, right - right // 2), (0, 0)), "reflect") / 255
    )


def artifacts(image: Array, draws: Draws, v: float) -> Array:
    out = image / 255
    height, width = image.shape[:2]
    grey = draws.uniform("grey")
    for i in range(int(v)):
        place, repeats = word(draws, "dashes", 2 * i), (word(draws, "dashes", 2 * i + 1) >> 32) * 7 >> 32
        r = 1 + ((place >> 32) * (height - 2) >> 32)
        x = 2 + ((place & 0xFFFFFFFF) * (width - 4) >> 32)
        columns = [x - 2, x - 1, x, x + 1, x + 2]
        if repeats and x + 2 < width - 12:
            columns += [x + 6, x + 8, x + 10, x + 12, x + 14]
        if repeats and x - 2 > 7:
            columns += [x - 10, x - 8, x - 6, x - 4, x - 2]
        for row in (r - 1, r, r + 1):
            out[row, columns] = grey
    return finish(out)


def vertical_artifacts(image: Array, draws: Draws, v: float) -> Array:
    return artifacts(image.transpose(1, 0, 2), draws, v).transpose(1, 0, 2)


def centres(image: Array, draws: Draws, name: str, count: float) -> Iterator[tuple[int, int, float]]:
    """Row and column on 7 … side−7, and a grey."""
    for i in range(int(count)):
        place = word(draws, name, 2 * i)
        y = 7 + ((place >> 32) * (image.shape[0] - 13) >> 32)
        x = 7 + ((place & 0xFFFFFFFF) * (image.shape[1] - 13) >> 32)
        yield y, x, (word(draws, name, 2 * i + 1) >> 40) / 2**24


def disc(y: int, x: int) -> Iterator[tuple[int, int]]:
    for row in range(-6, 7):
        half = (6, 6, 5, 5, 4, 3, 1)[abs(row)]
        for column in range(-half, half + 1):
            yield y + row, x + column


def rhombus(image: Array, draws: Draws, v: float) -> Array:
    out = image / 255
    for y, x, grey in centres(image, draws, "diamonds", v):
        for i in range(-7, 7):
            for k in range(-(7 - abs(i)), 7 - abs(i)):
                out[y + i, x + k] = grey
    return finish(out)


def rain(image: Array, draws: Draws, v: float) -> Array:
    out = image / 255
    for y, x, _ in centres(image, draws, "drops", v):
        for at in disc(y, x):
            out[at] = 0.5 + 0.5 * out[at]
    return finish(out)


def circle(image: Array, draws: Draws, v: float) -> Array:
    out = image / 255
    for y, x, grey in centres(image, draws, "discs", v):
        for at in disc(y, x):
            out[at] = grey
    return finish(out)


def obstruction(image: Array, draws: Draws, v: float) -> Array:
    out = image / 255
    a = int(v)
    top = draws.integer("row", image.shape[0] - a + 1)
    left = draws.integer("column", image.shape[1] - a + 1)
    out[top : top + a, left : left + a] = draws.uniform("grey")
    return finish(out)


def border(image: Array, draws: Draws, v: float) -> Array:
    t = int(v)
    inner = image[t:-t, t:-t] / 255
    return finish(np.pad(inner, ((t, t), (t, t), (0, 0)), constant_values=draws.uniform("grey")))


def affine(image: Array, a: float, b: float, c: float, d: float) -> Array:
    """Pillow's, about the centre, from the output to the input."""
    height, width = image.shape[:2]
    x, y = width / 2, height / 2
    matrix = (a, b, x - a * x - b * y, c, d, y - c * x - d * y)
    return np.array(Pil.fromarray(image).transform((width, height), Pil.Transform.AFFINE, matrix))


def shear(image: Array, draws: Draws, v: float) -> Array:
    return affine(image, 1, math.tan(math.radians(sign(draws) * v)), 0, 1)


def rotation(image: Array, draws: Draws, v: float) -> Array:
    angle = math.radians(sign(draws) * v)
    return affine(image, math.cos(angle), math.sin(angle), -math.sin(angle), math.cos(angle))


def elastic(image: Array, draws: Draws, v: float) -> Array:
    d = int(v)
    return resize(image[d:] if draws.integer("axis", 2) else image[:, d:], *image.shape[:2])


def backlight(image: Array, draws: Draws, v: float) -> Array:
    axis = draws.integer("axis", 2)
    length = image.shape[axis]
    split = length // 2 + round(draws.uniform("edge", -0.2, 0.2) * length)
    side = np.where(np.arange(length) < split, 1, -1) * sign(draws)
    return finish(image / 255 + v * (side[:, None, None] if axis == 0 else side[None, :, None]))


def brightness(image: Array, draws: Draws, v: float) -> Array:
    return finish(image / 255 + sign(draws) * v)


def contrast(image: Array, draws: Draws, v: float) -> Array:
    x = image / 255
    return finish((1 - v) * x + v * x.mean())


def color_disortion(image: Array, draws: Draws, v: float) -> Array:
    x = image / 255
    x[..., draws.integer("channel", 3)] += v
    return finish(x)


def gray_scale(image: Array, draws: Draws, v: float) -> Array:
    grey = np.array(Pil.fromarray(image).convert("L"))[..., None] / 255
    return finish(v * grey + (1 - v) * image / 255)


def hue(image: Array, draws: Draws, v: float) -> Array:
    h, s, value = Pil.fromarray(image).convert("HSV").split()
    turned = (np.array(h).astype(int) + int(sign(draws) * v * 255)) % 256
    return np.array(Pil.merge("HSV", (Pil.fromarray(turned.astype(np.uint8)), s, value)).convert("RGB"))


REFERENCE: dict[str, Callable[[Array, Draws, float], Array]] = {
    function.__name__: function
    for function in (
        quantization, gaussian, salt_pepper, blur, thumbnail_resize, pixelate, artifacts, vertical_artifacts, rhombus,
        rain, circle, obstruction, border, shear, elastic, rotation, backlight, brightness, contrast, color_disortion,
        gray_scale, hue,
    )
}  # fmt: skip
"""All but translation, whose two distances have a test of their own."""
